/*
 * Files: read whole small ones, read ranges of large ones, and write outputs that appear
 * atomically. Failures are reported to the sink with the path and errno's text, and returned as
 * PDM_IO.
 */
#ifndef PDM_BASE_FILE_H
#define PDM_BASE_FILE_H

#include "base/buf.h"
#include "base/diag.h"

typedef enum pdm_file_kind {
    PDM_FILE_NONE,
    PDM_FILE_REGULAR,
    PDM_FILE_FOLDER,
    PDM_FILE_OTHER
} pdm_file_kind;

pdm_file_kind pdm_file_stat(const char *path, uint64_t *out_size /* may be NULL */);

/* Read a whole file into *out (malloc'ed, *out_size bytes and a NUL). Files above max_size are
 * refused (PDM_D_LIMIT). */
PDM_MUST_USE pdm_status pdm_file_read(const char *path, uint64_t max_size, pdm_diag_sink *sink,
                                      char **out, size_t *out_size);

/* Open a regular file for reading at any offset. The caller closes *out_fd. */
PDM_MUST_USE pdm_status pdm_file_open(const char *path, pdm_diag_sink *sink, int *out_fd,
                                      uint64_t *out_size);
/* The message of an errno value, in storage or elsewhere. */
const char *pdm_errno_text(int error, char *storage, size_t size);
/* Exactly size bytes at offset, or PDM_IO. */
PDM_MUST_USE pdm_status pdm_file_read_at(int fd, uint64_t offset, void *out, size_t size);

/*
 * An output that is invisible until pdm_out_publish: a nameless file (O_TMPFILE) in the target's
 * folder, or a hidden named one where the file system has none. After a kill or an error nothing,
 * or the old file, is there.
 */
typedef struct pdm_out {
    int fd;
    char *path; /* the final path; a symbolic link is followed, so that its target is replaced */
    char *temp_path; /* NULL while nameless */
    uint64_t written;
    char *buffer; /* pending bytes of pdm_out_put */
    size_t buffered;
    int error; /* first errno; sticky */
} pdm_out;

PDM_MUST_USE pdm_status pdm_out_begin(pdm_out *out, const char *path, pdm_diag_sink *sink);
/* Buffered; a failure is sticky and told by pdm_out_finish. */
void pdm_out_put(pdm_out *out, const void *data, size_t size);
/*
 * Append bytes [offset, offset+size) of fd, copied in the kernel where possible, holes kept, in
 * constant memory. Moves the file position of fd. Failures as above.
 */
void pdm_out_copy(pdm_out *out, int fd, uint64_t offset, uint64_t size);
/* Flush and fsync, ready for pdm_out_publish: lets several outputs be complete before the first one
 * appears. */
PDM_MUST_USE pdm_status pdm_out_finish(pdm_out *out, pdm_diag_sink *sink);
/* Make it appear under its path. replace false: an existing file is PDM_EXISTS. */
PDM_MUST_USE pdm_status pdm_out_publish(pdm_out *out, bool replace, pdm_diag_sink *sink);
/* Tell that an output is there and must not be replaced: PDM_EXISTS. */
PDM_MUST_USE pdm_status pdm_out_exists(const char *path, pdm_diag_sink *sink);
/* Drop what was not published; always call it at the end (a zeroed struct is fine). */
void pdm_out_deinit(pdm_out *out);

#endif
