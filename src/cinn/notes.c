#include "cinn/notes.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { MAX_NOTES = 16 };

static struct {
    pthread_mutex_t lock;
    atomic_uint waiting;
    unsigned count, taken; /* those that are taken stay, to be known again */
    struct {
        pdm_cinn_note_kind kind;
        char text[PDM_CINN_NOTE_ROOM];
    } notes[MAX_NOTES];
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

void pdm_cinn_note(pdm_cinn_note_kind kind, const char *format, ...)
{
    char text[PDM_CINN_NOTE_ROOM];
    bool known = false;
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pthread_mutex_lock(&all.lock);
    for (unsigned i = 0; i < all.count && !known; i++)
        known = !strcmp(all.notes[i].text, text);
    if (!known && all.count < MAX_NOTES) {
        all.notes[all.count].kind = kind;
        memcpy(all.notes[all.count].text, text, sizeof text);
        all.count++;
        atomic_fetch_add(&all.waiting, 1);
    }
    pthread_mutex_unlock(&all.lock);
}

bool pdm_cinn_has_notes(void)
{
    return atomic_load_explicit(&all.waiting, memory_order_relaxed) > 0;
}

bool pdm_cinn_take_note(pdm_cinn_note_kind *out_kind, char text[PDM_CINN_NOTE_ROOM])
{
    pthread_mutex_lock(&all.lock);
    const bool there = all.taken < all.count;
    if (there) {
        *out_kind = all.notes[all.taken].kind;
        memcpy(text, all.notes[all.taken].text, PDM_CINN_NOTE_ROOM);
        all.taken++;
        atomic_fetch_sub(&all.waiting, 1);
    }
    pthread_mutex_unlock(&all.lock);
    return there;
}
