/*
 * What the compiler has to say to people (that code cannot be kept, that a kernel was refused)
 * arises where no sink is at hand, in any thread. It waits here for the next one who has a sink.
 */
#ifndef PDM_CINN_NOTES_H
#define PDM_CINN_NOTES_H

#include <stdbool.h>

typedef enum pdm_cinn_note_kind {
    PDM_CINN_NOTE_CACHE,        /* a remark */
    PDM_CINN_NOTE_CACHE_BAD,    /* code is not kept */
    PDM_CINN_NOTE_NOT_COMPILED, /* ops are run one by one instead */
    PDM_CINN_NOTE_LIBRARY,      /* a library of a device is missing: a remark */
} pdm_cinn_note_kind;

/* The same text is told once in a process, and no more than some. */
void pdm_cinn_note(pdm_cinn_note_kind kind, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool pdm_cinn_has_notes(void);
/* Take the oldest; text has room for it. */
enum { PDM_CINN_NOTE_ROOM = 640 };
bool pdm_cinn_take_note(pdm_cinn_note_kind *out_kind, char text[PDM_CINN_NOTE_ROOM]);

#endif
