#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_TMPFILE, copy_file_range, SEEK_HOLE, renameat2 */
#endif

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER_SIZE = 256 * 1024, COPY_CHUNK = 1 << 30, NAME_TRIES = 100 };

const char *pdm_errno_text(int error, char *storage, size_t size)
{
    return strerror_r(error, storage, size);
}

static pdm_status fail(pdm_diag_sink *sink, pdm_diag_code code, const char *path, const char *what,
                       int error)
{
    char text[128];
    pdm_loc loc = PDM_NOWHERE;

    loc.file = path;
    return pdm_diag(sink, code, &loc, NULL, "%s: %s", what,
                    pdm_errno_text(error, text, sizeof text));
}

/* ---- reading --------------------------------------------------------------------------------- */

pdm_file_kind pdm_file_stat(const char *path, uint64_t *out_size)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return PDM_FILE_NONE;
    if (out_size)
        *out_size = st.st_size > 0 ? (uint64_t)st.st_size : 0;
    if (S_ISREG(st.st_mode))
        return PDM_FILE_REGULAR;
    return S_ISDIR(st.st_mode) ? PDM_FILE_FOLDER : PDM_FILE_OTHER;
}

static pdm_status open_for_reading(const char *path, pdm_diag_sink *sink, int *out_fd,
                                   struct stat *out_stat)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return fail(sink, PDM_D_FILE_MISSING, path, "the file cannot be found", errno);
    if (fd < 0)
        return fail(sink, PDM_D_FILE_READ, path, "the file cannot be opened", errno);
    if (fstat(fd, out_stat) != 0 || S_ISDIR(out_stat->st_mode)) {
        const int error = S_ISDIR(out_stat->st_mode) ? EISDIR : errno;
        close(fd);
        return fail(sink, PDM_D_FILE_READ, path, "the file cannot be read", error);
    }
    *out_fd = fd;
    return PDM_OK;
}

pdm_status pdm_file_open(const char *path, pdm_diag_sink *sink, int *out_fd, uint64_t *out_size)
{
    struct stat st;
    int fd;
    pdm_loc loc = PDM_NOWHERE;

    /* Asked before opening: to open a pipe would wait for its writer. */
    if (pdm_file_stat(path, NULL) == PDM_FILE_OTHER) {
        loc.file = path;
        return pdm_diag(sink, PDM_D_FILE_READ, &loc, NULL, "not a regular file");
    }
    PDM_TRY(open_for_reading(path, sink, &fd, &st));
    *out_fd = fd;
    *out_size = (uint64_t)st.st_size;
    return PDM_OK;
}

pdm_status pdm_file_read_at(int fd, uint64_t offset, void *out, size_t size)
{
    char *p = out;

    if (offset > INT64_MAX || size > INT64_MAX - offset)
        return PDM_IO;
    while (size > 0) {
        const ssize_t n = pread(fd, p, size, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return PDM_IO;
        p += n;
        offset += (uint64_t)n;
        size -= (size_t)n;
    }
    return PDM_OK;
}

static pdm_status too_large(const char *path, uint64_t max_size, pdm_diag_sink *sink)
{
    pdm_loc loc = PDM_NOWHERE;

    loc.file = path;
    return pdm_diag(sink, PDM_D_LIMIT, &loc, NULL,
                    "the file is larger than %" PRIu64 " bytes, too large for what it should be",
                    max_size);
}

/* Read to the end of fd; the size that stat told is only a first guess (pipes, files that grow). */
static pdm_status read_all(int fd, const char *path, uint64_t guess, uint64_t max_size,
                           pdm_diag_sink *sink, char **out, size_t *out_size)
{
    size_t capacity = (size_t)guess + 1, size = 0;
    char *data = malloc(capacity);
    pdm_status status = data ? PDM_OK : PDM_NOMEM;

    while (status == PDM_OK) {
        if (size == capacity) {
            char *grown = capacity > SIZE_MAX / 4 ? NULL : realloc(data, capacity * 2 + 4096);
            if (!grown) {
                status = PDM_NOMEM;
                break;
            }
            data = grown;
            capacity = capacity * 2 + 4096;
        }
        const ssize_t n = read(fd, data + size, capacity - size);
        if (n < 0 && errno != EINTR)
            status = fail(sink, PDM_D_FILE_READ, path, "the file cannot be read", errno);
        if (n == 0)
            break;
        size += n > 0 ? (size_t)n : 0;
        if (size > max_size)
            status = too_large(path, max_size, sink);
    }
    if (status != PDM_OK) {
        free(data);
        return status;
    }
    /* The loop ends with a read into free room, so there is a byte left. */
    data[size] = '\0';
    *out = data;
    *out_size = size;
    return PDM_OK;
}

pdm_status pdm_file_read(const char *path, uint64_t max_size, pdm_diag_sink *sink, char **out,
                         size_t *out_size)
{
    struct stat st;
    int fd;
    pdm_status status;

    PDM_TRY(open_for_reading(path, sink, &fd, &st));
    const uint64_t size = S_ISREG(st.st_mode) && st.st_size > 0 ? (uint64_t)st.st_size : 0;
    if (size > max_size || size >= PTRDIFF_MAX)
        status = too_large(path, max_size, sink);
    else
        status = read_all(fd, path, size, max_size, sink, out, out_size);
    close(fd);
    return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* malloc'ed folder part of path: "." when there is none. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

/* Six characters that another process is unlikely to take; whoever creates the name checks that. */
static void random_suffix(char out[7])
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    uint64_t r = 0;

    if (getrandom(&r, sizeof r, GRND_NONBLOCK) != sizeof r) {
        struct timespec now = {0};
        clock_gettime(CLOCK_MONOTONIC, &now);
        r = (uint64_t)now.tv_nsec * 2654435761u ^ (uint64_t)getpid() << 20;
    }
    for (int i = 0; i < 6; i++, r /= 36)
        out[i] = letters[r % 36];
    out[6] = '\0';
}

/* malloc'ed FOLDER/.NAME.tmp-XXXXXX. */
static char *hidden_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    /* A name near the limit of the file system must not make the hidden one too long. */
    const int keep = strlen(name) > 200 ? 200 : (int)strlen(name);
    char suffix[7], *out;

    random_suffix(suffix);
    if (asprintf(&out, "%.*s.%.*s.tmp-%s", (int)(name - path), path, keep, name, suffix) < 0)
        return NULL;
    return out;
}

static int nameless(const char *folder)
{
    const int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    char proc[64];

    if (fd < 0)
        return -1;
    /* Without /proc the file could not be given a name later. */
    snprintf(proc, sizeof proc, "/proc/self/fd/%d", fd);
    if (access(proc, F_OK) != 0) {
        close(fd);
        errno = EOPNOTSUPP;
        return -1;
    }
    return fd;
}

static pdm_status open_named(pdm_out *out, int *out_error)
{
    for (int i = 0; i < NAME_TRIES; i++) {
        char *name = hidden_name(out->path);
        if (!name)
            return PDM_NOMEM;
        /* The mode is left to the umask, as for any new file; hence not mkostemp. */
        out->fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (out->fd >= 0) {
            out->temp_path = name;
            return PDM_OK;
        }
        *out_error = errno;
        free(name);
        if (*out_error != EEXIST)
            break;
    }
    return PDM_IO;
}

static char *final_path(const char *path)
{
    struct stat st;
    char *target;

    if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode) && (target = realpath(path, NULL)))
        return target;
    return strdup(path);
}

static pdm_status open_out(pdm_out *out, pdm_diag_sink *sink)
{
    char *folder = folder_of(out->path);
    int error = 0;
    pdm_status status = PDM_OK;

    if (!folder)
        return PDM_NOMEM;
    out->fd = nameless(folder);
    if (out->fd < 0) {
        error = errno;
        /* These mean that the folder is at fault; anything else, that the file system has no
         * nameless files. */
        if (error == ENOENT && access(folder, F_OK) == 0)
            error = EOPNOTSUPP;
        if (error == ENOENT || error == ENOTDIR || error == EACCES || error == EROFS)
            status = PDM_IO;
        else
            status = open_named(out, &error);
    }
    free(folder);
    if (status == PDM_IO)
        return fail(sink, PDM_D_FILE_WRITE, out->path, "the output cannot be created", error);
    return status;
}

pdm_status pdm_out_begin(pdm_out *out, const char *path, pdm_diag_sink *sink)
{
    const size_t length = strlen(path);
    struct stat st;
    pdm_status status;

    *out = (pdm_out){.fd = -1};
    if (length == 0 || path[length - 1] == '/')
        return fail(sink, PDM_D_FILE_WRITE, path, "the output cannot be created",
                    length ? EISDIR : ENOENT);
    /* A device or pipe must not be replaced by a file. */
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return fail(sink, PDM_D_FILE_WRITE, path, "the output is not a regular file",
                    S_ISDIR(st.st_mode) ? EISDIR : EINVAL);
    out->path = final_path(path);
    out->buffer = malloc(BUFFER_SIZE);
    status = out->path && out->buffer ? open_out(out, sink) : PDM_NOMEM;
    if (status != PDM_OK)
        pdm_out_deinit(out);
    return status;
}

/* All of data at the end of the file. */
static void append(pdm_out *out, const char *data, size_t size)
{
    while (size > 0 && !out->error) {
        const ssize_t n = pwrite(out->fd, data, size, (off_t)out->written);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            out->error = n < 0 ? errno : EIO;
            return;
        }
        out->written += (uint64_t)n;
        data += n;
        size -= (size_t)n;
    }
}

static void flush(pdm_out *out)
{
    const size_t n = out->buffered;

    out->buffered = 0;
    append(out, out->buffer, n);
}

void pdm_out_put(pdm_out *out, const void *data, size_t size)
{
    if (out->error || size == 0)
        return;
    const bool direct = size > BUFFER_SIZE / 2;
    if (direct || size > BUFFER_SIZE - out->buffered)
        flush(out);
    if (direct) {
        append(out, data, size);
        return;
    }
    memcpy(out->buffer + out->buffered, data, size);
    out->buffered += size;
}

/* The slow way: through the buffer, which is empty now. */
static void copy_by_reads(pdm_out *out, int fd, uint64_t offset, uint64_t size)
{
    while (size > 0 && !out->error) {
        const size_t chunk = size < BUFFER_SIZE ? (size_t)size : BUFFER_SIZE;
        const ssize_t n = pread(fd, out->buffer, chunk, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            out->error = n < 0 ? errno : EIO; /* EIO: the file became shorter */
            return;
        }
        append(out, out->buffer, (size_t)n);
        offset += (uint64_t)n;
        size -= (uint64_t)n;
    }
}

static bool kernel_cannot(int error)
{
    return error == EXDEV || error == ENOSYS || error == EINVAL || error == EOPNOTSUPP ||
           error == EPERM || error == ETXTBSY || error == EBADF;
}

static void copy_data(pdm_out *out, int fd, uint64_t offset, uint64_t size)
{
    while (size > 0 && !out->error) {
        off_t in = (off_t)offset, to = (off_t)out->written;
        const size_t chunk = size < COPY_CHUNK ? (size_t)size : COPY_CHUNK;
        const ssize_t n = copy_file_range(fd, &in, out->fd, &to, chunk, 0);
        if (n < 0 && errno == EINTR)
            continue;
        /* 0 is what some file systems answer that cannot do it; a file that is too short shows in
         * the reads. */
        if (n == 0 || (n < 0 && kernel_cannot(errno))) {
            copy_by_reads(out, fd, offset, size);
            return;
        }
        if (n < 0) {
            out->error = errno;
            return;
        }
        out->written += (uint64_t)n;
        offset += (uint64_t)n;
        size -= (uint64_t)n;
    }
}

/* First byte at or after offset that is data (limit: there is none); offset itself where holes are
 * not known. */
static uint64_t next_data(int fd, uint64_t offset, uint64_t limit)
{
    const off_t at = lseek(fd, (off_t)offset, SEEK_DATA);

    if (at < 0)
        return errno == ENXIO ? limit : offset;
    return (uint64_t)at < limit ? (uint64_t)at : limit;
}

static uint64_t next_hole(int fd, uint64_t offset, uint64_t limit)
{
    const off_t at = lseek(fd, (off_t)offset, SEEK_HOLE);

    return at < 0 || (uint64_t)at > limit || (uint64_t)at <= offset ? limit : (uint64_t)at;
}

void pdm_out_copy(pdm_out *out, int fd, uint64_t offset, uint64_t size)
{
    struct stat st;

    flush(out);
    if (out->error || size == 0)
        return;
    if (fstat(fd, &st) != 0) {
        out->error = errno;
        return;
    }
    if (offset > (uint64_t)st.st_size || size > (uint64_t)st.st_size - offset) {
        out->error = EIO;
        return;
    }
    const uint64_t end = offset + size;
    while (offset < end && !out->error) {
        const uint64_t data = next_data(fd, offset, end);
        out->written += data - offset;
        if (data == end)
            break;
        offset = next_hole(fd, data, end);
        copy_data(out, fd, data, offset - data);
    }
    /* A hole at the end has to be asked for. */
    if (!out->error && ftruncate(out->fd, (off_t)out->written) != 0)
        out->error = errno;
}

pdm_status pdm_out_finish(pdm_out *out, pdm_diag_sink *sink)
{
    flush(out);
    if (!out->error && fsync(out->fd) != 0 && errno != EINVAL && errno != EROFS)
        out->error = errno;
    if (out->error)
        return fail(sink, PDM_D_FILE_WRITE, out->path, "the output cannot be written", out->error);
    return PDM_OK;
}

/* 0, or errno. Names the nameless file. */
static int link_nameless(int fd, const char *path)
{
    char proc[64];

    snprintf(proc, sizeof proc, "/proc/self/fd/%d", fd);
    if (linkat(AT_FDCWD, proc, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0)
        return 0;
    const int error = errno;
    if (error == EEXIST)
        return error;
    if (linkat(fd, "", AT_FDCWD, path, AT_EMPTY_PATH) == 0)
        return 0;
    return errno == EEXIST ? EEXIST : error;
}

/* Give the nameless file a hidden name, from which it can be renamed over an existing one. */
static int name_hidden(pdm_out *out)
{
    int error = EEXIST;

    for (int i = 0; i < NAME_TRIES && error == EEXIST; i++) {
        char *name = hidden_name(out->path);
        if (!name)
            return ENOMEM;
        error = link_nameless(out->fd, name);
        if (error == 0)
            out->temp_path = name;
        else
            free(name);
    }
    return error;
}

/* Rename the hidden file, but never over an existing one. */
static int rename_new(const char *from, const char *to)
{
    struct stat st;

    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return errno;
    if (link(from, to) == 0)
        return unlink(from) == 0 ? 0 : errno;
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS)
        return errno;
    /* No links here (FAT): this leaves a short race, which nothing on such a file system can close.
     */
    if (lstat(to, &st) == 0)
        return EEXIST;
    return rename(from, to) == 0 ? 0 : errno;
}

static int publish(pdm_out *out, bool replace)
{
    int error;

    if (!out->temp_path) {
        /* With replace too: if nothing is there, the nameless file never needs a hidden name. */
        error = link_nameless(out->fd, out->path);
        if (error != EEXIST || !replace)
            return error;
        error = name_hidden(out);
        if (error)
            return error;
    }
    if (replace)
        error = rename(out->temp_path, out->path) == 0 ? 0 : errno;
    else
        error = rename_new(out->temp_path, out->path);
    if (error == 0) {
        free(out->temp_path);
        out->temp_path = NULL;
    }
    return error;
}

static pdm_status publish_in(pdm_out *out, const char *folder, bool replace, pdm_diag_sink *sink)
{
    /* The new name is lasting only when the folder is synced; one that cannot be opened is left
     * alone. */
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = publish(out, replace);

    if (!error && fd >= 0 && fsync(fd) != 0 && (errno == EIO || errno == ENOSPC))
        error = errno;
    if (fd >= 0)
        close(fd);
    if (error == EEXIST && !replace)
        return pdm_out_exists(out->path, sink);
    if (error == ENOMEM)
        return PDM_NOMEM;
    if (error)
        return fail(sink, PDM_D_FILE_WRITE, out->path, "the output cannot be written", error);
    return PDM_OK;
}

pdm_status pdm_out_exists(const char *path, pdm_diag_sink *sink)
{
    pdm_loc loc = PDM_NOWHERE;

    loc.file = path;
    return pdm_diag(sink, PDM_D_FILE_EXISTS, &loc, "use --force to replace it",
                    "the output exists already");
}

pdm_status pdm_out_publish(pdm_out *out, bool replace, pdm_diag_sink *sink)
{
    if (out->error)
        return fail(sink, PDM_D_FILE_WRITE, out->path, "the output cannot be written", out->error);
    char *folder = folder_of(out->path);
    if (!folder)
        return PDM_NOMEM;
    const pdm_status status = publish_in(out, folder, replace, sink);
    free(folder);
    return status;
}

void pdm_out_deinit(pdm_out *out)
{
    /* Without a path the struct is zeroed, and fd 0 is not ours. */
    if (out->path && out->fd >= 0)
        close(out->fd);
    if (out->temp_path)
        unlink(out->temp_path);
    free(out->temp_path);
    free(out->path);
    free(out->buffer);
    *out = (pdm_out){.fd = -1};
}
