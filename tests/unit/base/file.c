/* Files: reading, outputs that appear atomically, copies that keep holes. Some system calls are
 * made to fail on demand. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "unit/base/scratch.h"

Suite *pdm_suite_file(void);

/* ---- faults: these definitions come before those of libc ------------------------------------- */

static struct {
    bool no_tmpfile, no_proc_link, no_empty_path;
    int copy_error;       /* errno of copy_file_range */
    long short_writes;    /* pwrite takes at most this many bytes; 0: no limit */
    long long full_after; /* pwrite fails with ENOSPC from this offset on; 0: never */
    int fsync_error;
    int interrupts; /* so many calls end with EINTR first */
} fault;

static long copy_calls, write_calls;

static bool interrupted(void)
{
    if (fault.interrupts == 0)
        return false;
    fault.interrupts--;
    errno = EINTR;
    return true;
}

int open(const char *path, int flags, ...)
{
    va_list args;
    mode_t mode = 0;

    if (flags & (O_CREAT | __O_TMPFILE)) {
        va_start(args, flags);
        mode = va_arg(args, mode_t);
        va_end(args);
    }
    if (fault.no_tmpfile && (flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

ssize_t copy_file_range(int in, off64_t *in_at, int out, off64_t *out_at, size_t n, unsigned flags)
{
    copy_calls++;
    if (interrupted())
        return -1;
    if (fault.copy_error) {
        errno = fault.copy_error;
        return -1;
    }
    return syscall(SYS_copy_file_range, in, in_at, out, out_at, n, flags);
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t at)
{
    write_calls++;
    if (interrupted())
        return -1;
    if (fault.full_after && at + (long long)n > fault.full_after) {
        errno = ENOSPC;
        return -1;
    }
    if (fault.short_writes && n > (size_t)fault.short_writes)
        n = (size_t)fault.short_writes;
    return syscall(SYS_pwrite64, fd, data, n, at);
}

int fsync(int fd)
{
    if (fault.fsync_error) {
        errno = fault.fsync_error;
        return -1;
    }
    return (int)syscall(SYS_fsync, fd);
}

int linkat(int from_at, const char *from, int to_at, const char *to, int flags)
{
    if ((fault.no_proc_link && !(flags & AT_EMPTY_PATH)) ||
        (fault.no_empty_path && (flags & AT_EMPTY_PATH))) {
        errno = ENOENT;
        return -1;
    }
    return (int)syscall(SYS_linkat, from_at, from, to_at, to, flags);
}

/* ---- helpers --------------------------------------------------------------------------------- */

static char last_id[64], last_message[512];

static void record(void *user, const pdm_diagnostic *d)
{
    (void)user;
    snprintf(last_id, sizeof last_id, "%s", d->id);
    snprintf(last_message, sizeof last_message, "%s", d->message);
}

static pdm_diag_sink sink = {.fn = record};

static void check_content(const char *name, const void *data, size_t size)
{
    char *got;
    size_t got_size;

    ck_assert_int_eq(pdm_file_read(scratch(name), UINT64_MAX, &sink, &got, &got_size), PDM_OK);
    ck_assert_uint_eq(got_size, size);
    ck_assert_int_eq(memcmp(got, data, size), 0);
    ck_assert_int_eq(got[size], '\0');
    free(got);
}

static pdm_status write_text(const char *name, const char *text, bool replace)
{
    pdm_out out;
    pdm_status status;

    status = pdm_out_begin(&out, scratch(name), &sink);
    if (status == PDM_OK) {
        pdm_out_put(&out, text, strlen(text));
        status = pdm_out_finish(&out, &sink);
    }
    if (status == PDM_OK)
        status = pdm_out_publish(&out, replace, &sink);
    pdm_out_deinit(&out);
    return status;
}

/* ---- reading --------------------------------------------------------------------------------- */

START_TEST(read_whole)
{
    char *got = NULL;
    size_t size = 7;

    scratch_write("a", "hello\0x", 7);
    check_content("a", "hello\0x", 7);
    scratch_write("empty", "", 0);
    check_content("empty", "", 0);
    ck_assert_int_eq(pdm_file_read(scratch("a"), 7, &sink, &got, &size), PDM_OK);
    free(got);
    got = NULL;
    ck_assert_int_eq(pdm_file_read(scratch("a"), 6, &sink, &got, &size), PDM_INVALID_MODEL);
    ck_assert_str_eq(last_id, "limit");
    ck_assert_int_eq(pdm_file_read(scratch("none"), 6, &sink, &got, &size), PDM_IO);
    ck_assert_str_eq(last_id, "file-missing");
    ck_assert_int_eq(pdm_file_read(scratch("a/b"), 6, &sink, &got, &size), PDM_IO);
    ck_assert_int_eq(pdm_file_read(scratch_root, 6, &sink, &got, &size), PDM_IO);
    ck_assert_str_eq(last_id, "file-read");
    ck_assert_ptr_null(got);
    ck_assert_uint_eq(size, 7);
}
END_TEST

/* What is no regular file tells no size: it is read to its end. */
START_TEST(read_from_a_pipe)
{
    int ends[2];
    char path[64], *got;
    size_t size;
    static char big[300000];

    memset(big, 'p', sizeof big);
    ck_assert_int_eq(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        const char *p = big;
        size_t left = sizeof big;
        while (left > 0) {
            const ssize_t n = write(ends[1], p, left);
            if (n <= 0)
                _exit(1);
            p += n;
            left -= (size_t)n;
        }
        _exit(0);
    }
    close(ends[1]);
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    ck_assert_int_eq(pdm_file_read(path, 1 << 20, &sink, &got, &size), PDM_OK);
    waitpid(child, NULL, 0);
    ck_assert_uint_eq(size, sizeof big);
    ck_assert_int_eq(memcmp(got, big, size), 0);
    free(got);
}
END_TEST

START_TEST(stat_and_open)
{
    uint64_t size = 0;
    int fd;
    char two[2];

    scratch_write("a", "12345", 5);
    ck_assert_int_eq(pdm_file_stat(scratch("a"), &size), PDM_FILE_REGULAR);
    ck_assert_uint_eq(size, 5);
    ck_assert_int_eq(pdm_file_stat(scratch_root, NULL), PDM_FILE_FOLDER);
    ck_assert_int_eq(pdm_file_stat("/dev/null", NULL), PDM_FILE_OTHER);
    ck_assert_int_eq(pdm_file_stat(scratch("no"), NULL), PDM_FILE_NONE);
    ck_assert_int_eq(pdm_file_open(scratch("a"), &sink, &fd, &size), PDM_OK);
    ck_assert_int_eq(pdm_file_read_at(fd, 3, two, 2), PDM_OK);
    ck_assert_int_eq(memcmp(two, "45", 2), 0);
    ck_assert_int_eq(pdm_file_read_at(fd, 4, two, 2), PDM_IO);
    ck_assert_int_eq(pdm_file_read_at(fd, UINT64_MAX, two, 2), PDM_IO);
    close(fd);
    ck_assert_int_eq(pdm_file_open("/dev/null", &sink, &fd, &size), PDM_IO);
    ck_assert_int_eq(mkfifo(scratch("fifo"), 0666), 0);
    ck_assert_int_eq(pdm_file_open(scratch("fifo"), &sink, &fd, &size), PDM_IO); /* does not hang */
}
END_TEST

START_TEST(names_are_bytes)
{
    ck_assert_int_eq(write_text("caf\xc3\xa9 \xff\xfe", "x", false), PDM_OK);
    check_content("caf\xc3\xa9 \xff\xfe", "x", 1);
}
END_TEST

/* ---- outputs --------------------------------------------------------------------------------- */

START_TEST(output_appears_when_published)
{
    pdm_out out;
    struct stat st;
    const mode_t mask = umask(027);

    fault.no_tmpfile = _i;
    ck_assert_int_eq(pdm_out_begin(&out, scratch("o"), &sink), PDM_OK);
    pdm_out_put(&out, "some ", 5);
    pdm_out_put(&out, "text", 4);
    ck_assert_int_eq(pdm_out_finish(&out, &sink), PDM_OK);
    ck_assert_int_eq(pdm_file_stat(scratch("o"), NULL), PDM_FILE_NONE);
    ck_assert_int_eq(scratch_entries(), _i); /* only the hidden one */
    ck_assert_int_eq(pdm_out_publish(&out, false, &sink), PDM_OK);
    pdm_out_deinit(&out);
    pdm_out_deinit(&out);
    umask(mask);
    check_content("o", "some text", 9);
    ck_assert_int_eq(scratch_entries(), 1);
    ck_assert_int_eq(stat(scratch("o"), &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0640);
}
END_TEST

START_TEST(existing_file_is_kept_or_replaced)
{
    fault.no_tmpfile = _i;
    scratch_write("o", "old", 3);
    ck_assert_int_eq(write_text("o", "new", false), PDM_EXISTS);
    ck_assert_str_eq(last_id, "file-exists");
    check_content("o", "old", 3);
    ck_assert_int_eq(scratch_entries(), 1);
    ck_assert_int_eq(write_text("o", "new", true), PDM_OK);
    check_content("o", "new", 3);
    ck_assert_int_eq(scratch_entries(), 1);
    ck_assert_int_eq(write_text("p", "fresh", true), PDM_OK);
    check_content("p", "fresh", 5);
    ck_assert_int_eq(scratch_entries(), 2);
}
END_TEST

START_TEST(dropped_output_leaves_nothing)
{
    pdm_out out, zero = {0};

    fault.no_tmpfile = _i;
    scratch_write("o", "old", 3);
    ck_assert_int_eq(pdm_out_begin(&out, scratch("o"), &sink), PDM_OK);
    pdm_out_put(&out, "x", 1);
    ck_assert_int_eq(pdm_out_finish(&out, &sink), PDM_OK);
    pdm_out_deinit(&out);
    pdm_out_deinit(&zero);
    ck_assert_int_eq(fcntl(0, F_GETFD) >= 0 || errno == EBADF, 1);
    check_content("o", "old", 3);
    ck_assert_int_eq(scratch_entries(), 1);
}
END_TEST

START_TEST(publishing_without_proc_or_without_rights)
{
    fault.no_proc_link = true;
    /* AT_EMPTY_PATH alone works for root and on new kernels; where it does not, the error is told.
     */
    const pdm_status status = write_text("o", "text", false);
    if (status == PDM_OK)
        check_content("o", "text", 4);
    else
        ck_assert_str_eq(last_id, "file-write");
    fault.no_empty_path = true;
    ck_assert_int_eq(write_text("p", "text", true), PDM_IO);
    ck_assert_int_eq(scratch_entries(), status == PDM_OK);
}
END_TEST

START_TEST(symbolic_link_is_followed)
{
    struct stat st;

    scratch_write("target", "old", 3);
    ck_assert_int_eq(symlink("target", scratch("link")), 0);
    ck_assert_int_eq(write_text("link", "new", false), PDM_EXISTS);
    ck_assert_int_eq(write_text("link", "new", true), PDM_OK);
    check_content("target", "new", 3);
    ck_assert_int_eq(lstat(scratch("link"), &st), 0);
    ck_assert(S_ISLNK(st.st_mode));
    ck_assert_int_eq(scratch_entries(), 2);
}
END_TEST

START_TEST(places_where_no_output_can_be)
{
    pdm_out out;
    struct stat st;

    fault.no_tmpfile = _i;
    ck_assert_int_eq(mkdir(scratch("dir"), 0777), 0);
    scratch_write("file", "", 0);
    ck_assert_int_eq(pdm_out_begin(&out, "", &sink), PDM_IO);
    ck_assert_int_eq(pdm_out_begin(&out, scratch("dir/"), &sink), PDM_IO);
    ck_assert_int_eq(pdm_out_begin(&out, scratch("dir"), &sink), PDM_IO);
    ck_assert_int_eq(pdm_out_begin(&out, scratch("none/o"), &sink), PDM_IO);
    ck_assert_str_eq(last_id, "file-write");
    ck_assert_ptr_nonnull(strstr(last_message, "No such file"));
    ck_assert_int_eq(pdm_out_begin(&out, scratch("file/o"), &sink), PDM_IO);
    ck_assert_int_eq(pdm_out_begin(&out, "/dev/null", &sink), PDM_IO);
    pdm_out_deinit(&out);
    ck_assert_int_eq(stat("/dev/null", &st), 0);
    ck_assert(S_ISCHR(st.st_mode));
}
END_TEST

START_TEST(long_names)
{
    char name[256];

    fault.no_tmpfile = _i;
    memset(name, 'n', 255);
    name[255] = '\0';
    ck_assert_int_eq(write_text(name, "1", false), PDM_OK);
    ck_assert_int_eq(write_text(name, "2", true), PDM_OK);
    check_content(name, "2", 1);
    ck_assert_int_eq(scratch_entries(), 1);
}
END_TEST

START_TEST(relative_path)
{
    pdm_out out;

    ck_assert_int_eq(chdir(scratch_root), 0);
    fault.no_tmpfile = _i;
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(pdm_out_begin(&out, "here", &sink), PDM_OK);
        pdm_out_put(&out, "x", 1);
        ck_assert_int_eq(pdm_out_finish(&out, &sink), PDM_OK);
        ck_assert_int_eq(pdm_out_publish(&out, i == 1, &sink), PDM_OK);
        pdm_out_deinit(&out);
    }
    check_content("here", "x", 1);
    ck_assert_int_eq(scratch_entries(), 1);
    ck_assert_int_eq(chdir("/"), 0);
}
END_TEST

/* Pieces of all sizes, around the size of the buffer too, with writes that are short or
 * interrupted. */
START_TEST(many_puts)
{
    static char data[3000000];
    pdm_out out;
    size_t done = 0, piece = 1;

    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)(i * 7 + i / 253);
    fault.short_writes = _i ? 5000 : 0;
    fault.interrupts = _i ? 3 : 0;
    ck_assert_int_eq(pdm_out_begin(&out, scratch("o"), &sink), PDM_OK);
    while (done < sizeof data) {
        const size_t n = piece < sizeof data - done ? piece : sizeof data - done;
        pdm_out_put(&out, data + done, n);
        done += n;
        piece = piece * 3 % 400009 + 1;
    }
    pdm_out_put(&out, data, 0);
    ck_assert_int_eq(pdm_out_finish(&out, &sink), PDM_OK);
    ck_assert_int_eq(pdm_out_publish(&out, false, &sink), PDM_OK);
    pdm_out_deinit(&out);
    check_content("o", data, sizeof data);
}
END_TEST

START_TEST(full_disk)
{
    pdm_out out;
    static char data[1000000];
    int fd;
    uint64_t size;

    scratch_write("src", data, sizeof data);
    scratch_write("o", "old", 3);
    ck_assert_int_eq(pdm_file_open(scratch("src"), &sink, &fd, &size), PDM_OK);
    fault.no_tmpfile = _i & 1;
    fault.full_after = 500000;
    fault.copy_error = ENOSPC;
    ck_assert_int_eq(pdm_out_begin(&out, scratch("o"), &sink), PDM_OK);
    if (_i & 2)
        pdm_out_copy(&out, fd, 0, size);
    else
        pdm_out_put(&out, data, sizeof data);
    pdm_out_put(&out, data, 10);
    ck_assert_int_eq(pdm_out_finish(&out, &sink), PDM_IO);
    ck_assert_str_eq(last_id, "file-write");
    ck_assert_ptr_nonnull(strstr(last_message, "No space left"));
    ck_assert_int_eq(pdm_out_publish(&out, true, &sink),
                     PDM_IO); /* cannot be published by mistake */
    pdm_out_deinit(&out);
    close(fd);
    check_content("o", "old", 3);
    ck_assert_int_eq(scratch_entries(), 2);
}
END_TEST

START_TEST(failing_fsync)
{
    fault.fsync_error = EIO;
    ck_assert_int_eq(write_text("o", "x", false), PDM_IO);
    ck_assert_int_eq(scratch_entries(), 0);
    fault.fsync_error = EINVAL; /* a file system that has none */
    ck_assert_int_eq(write_text("o", "x", false), PDM_OK);
}
END_TEST

/* Killed at any point before it is published, a nameless output leaves nothing. */
START_TEST(killed_writer_leaves_nothing)
{
    static char data[600000];

    scratch_write("o", "old", 3);
    for (int stage = 0; stage < 4; stage++) {
        const pid_t child = fork();
        if (child == 0) {
            pdm_out out;
            if (pdm_out_begin(&out, scratch("o"), &sink) != PDM_OK)
                _exit(1);
            if (stage >= 1)
                pdm_out_put(&out, data, sizeof data);
            if (stage >= 2)
                pdm_out_put(&out, data, 10);
            if (stage >= 3 && pdm_out_finish(&out, &sink) != PDM_OK)
                _exit(1);
            kill(getpid(), SIGKILL);
            _exit(1);
        }
        int how = 0;
        waitpid(child, &how, 0);
        ck_assert(WIFSIGNALED(how));
        check_content("o", "old", 3);
        ck_assert_int_eq(scratch_entries(), 1);
    }
}
END_TEST

/* ---- copies ---------------------------------------------------------------------------------- */

enum { SPARSE_SIZE = 64 << 20 };

/* A hole, data, a hole, data in the middle, a hole at the end. */
static void make_sparse(const char *name)
{
    const int fd = open(scratch(name), O_RDWR | O_CREAT, 0666);
    char block[10000];

    ck_assert_int_ge(fd, 0);
    for (size_t i = 0; i < sizeof block; i++)
        block[i] = (char)(i % 251 + 1);
    ck_assert_int_eq(ftruncate(fd, SPARSE_SIZE), 0);
    ck_assert_int_eq(pwrite(fd, block, sizeof block, 5 << 20), sizeof block);
    ck_assert_int_eq(pwrite(fd, block, sizeof block, (40 << 20) + 123), sizeof block);
    close(fd);
}

static void check_same(const char *a, uint64_t a_at, const char *b, uint64_t b_at, uint64_t size)
{
    int fa, fb;
    uint64_t total;
    static char pa[1 << 16], pb[1 << 16];

    ck_assert_int_eq(pdm_file_open(scratch(a), &sink, &fa, &total), PDM_OK);
    ck_assert_int_eq(pdm_file_open(scratch(b), &sink, &fb, &total), PDM_OK);
    ck_assert_uint_eq(total, b_at + size);
    while (size > 0) {
        const size_t n = size < sizeof pa ? (size_t)size : sizeof pa;
        ck_assert_int_eq(pdm_file_read_at(fa, a_at, pa, n), PDM_OK);
        ck_assert_int_eq(pdm_file_read_at(fb, b_at, pb, n), PDM_OK);
        ck_assert_int_eq(memcmp(pa, pb, n), 0);
        a_at += n;
        b_at += n;
        size -= n;
    }
    close(fa);
    close(fb);
}

static void copy_range(const char *from, const char *to, const char *prefix, uint64_t at,
                       uint64_t n)
{
    pdm_out out;
    int fd;
    uint64_t size;

    ck_assert_int_eq(pdm_file_open(scratch(from), &sink, &fd, &size), PDM_OK);
    ck_assert_int_eq(pdm_out_begin(&out, scratch(to), &sink), PDM_OK);
    pdm_out_put(&out, prefix, strlen(prefix));
    pdm_out_copy(&out, fd, at, n);
    ck_assert_uint_eq(out.written, strlen(prefix) + n);
    ck_assert_int_eq(pdm_out_finish(&out, &sink), PDM_OK);
    ck_assert_int_eq(pdm_out_publish(&out, true, &sink), PDM_OK);
    pdm_out_deinit(&out);
    close(fd);
}

static uint64_t kept_bytes(const char *name)
{
    struct stat st;

    ck_assert_int_eq(stat(scratch(name), &st), 0);
    return (uint64_t)st.st_blocks * 512;
}

static const int copy_errors[] = {0, EXDEV, ENOSYS, EOPNOTSUPP, EINVAL};

START_TEST(copy_keeps_holes)
{
    make_sparse("src");
    if (kept_bytes("src") > 1 << 20)
        return; /* this file system keeps no holes at all: nothing to keep */
    fault.copy_error = copy_errors[_i];
    fault.interrupts = 2;
    copy_range("src", "whole", "", 0, SPARSE_SIZE);
    check_same("src", 0, "whole", 0, SPARSE_SIZE);
    ck_assert_uint_le(kept_bytes("whole"), kept_bytes("src") + 64 * 1024);
    ck_assert_int_gt(copy_calls, 0);
    copy_range("src", "moved", "abc", 1000, SPARSE_SIZE - 1000);
    check_same("src", 1000, "moved", 3, SPARSE_SIZE - 1000);
    ck_assert_uint_le(kept_bytes("moved"), kept_bytes("src") + 64 * 1024);
}
END_TEST

START_TEST(copy_of_parts)
{
    static char data[700001];

    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)(i % 250 + 1);
    scratch_write("src", data, sizeof data);
    fault.copy_error = copy_errors[_i];
    copy_range("src", "a", "", 0, sizeof data);
    check_content("a", data, sizeof data);
    copy_range("src", "b", "pre", 12345, 3);
    check_same("src", 12345, "b", 3, 3);
    copy_range("src", "c", "pre", 0, 0);
    check_content("c", "pre", 3);
    copy_range("src", "d", "", sizeof data, 0);
    check_content("d", "", 0);
}
END_TEST

/* Parts in another order, as a reordered parameter file needs. */
START_TEST(copies_and_puts_follow_each_other)
{
    pdm_out out;
    int fd;
    uint64_t size;

    scratch_write("src", "0123456789", 10);
    ck_assert_int_eq(pdm_file_open(scratch("src"), &sink, &fd, &size), PDM_OK);
    ck_assert_int_eq(pdm_out_begin(&out, scratch("o"), &sink), PDM_OK);
    pdm_out_copy(&out, fd, 5, 5);
    pdm_out_put(&out, "-", 1);
    pdm_out_copy(&out, fd, 0, 2);
    pdm_out_copy(&out, fd, 2, 3);
    pdm_out_put(&out, "!", 1);
    ck_assert_int_eq(pdm_out_finish(&out, &sink), PDM_OK);
    ck_assert_int_eq(pdm_out_publish(&out, false, &sink), PDM_OK);
    pdm_out_deinit(&out);
    close(fd);
    check_content("o", "56789-01234!", 12);
}
END_TEST

START_TEST(copy_past_the_end_fails)
{
    pdm_out out;
    int fd;
    uint64_t size;

    scratch_write("src", "0123456789", 10);
    ck_assert_int_eq(pdm_file_open(scratch("src"), &sink, &fd, &size), PDM_OK);
    ck_assert_int_eq(pdm_out_begin(&out, scratch("o"), &sink), PDM_OK);
    pdm_out_copy(&out, fd, 5, 6);
    ck_assert_int_eq(pdm_out_finish(&out, &sink), PDM_IO);
    pdm_out_deinit(&out);
    close(fd);
    ck_assert_int_eq(scratch_entries(), 1);
}
END_TEST

/* 12 GiB that are a hole but for the ends. */
START_TEST(copy_of_a_huge_file)
{
    const off_t huge = (off_t)12 << 30;
    const int fd = open(scratch("src"), O_RDWR | O_CREAT, 0666);

    ck_assert_int_ge(fd, 0);
    if (ftruncate(fd, huge) != 0) {
        /* A file system without such sizes says so. */
        ck_assert(errno == EFBIG || errno == EINVAL || errno == ENOSPC);
        close(fd);
        return;
    }
    ck_assert_int_eq(pwrite(fd, "first", 5, 0), 5);
    ck_assert_int_eq(pwrite(fd, "last", 4, huge - 4), 4);
    close(fd);
    if (kept_bytes("src") > 1 << 20)
        return;
    copy_range("src", "o", "", 0, (uint64_t)huge);
    ck_assert_uint_lt(kept_bytes("o"), 1 << 20);
    check_same("src", (uint64_t)huge - 1000, "src", (uint64_t)huge - 1000, 1000);
    check_same("src", (uint64_t)huge - 1000, "o", (uint64_t)huge - 1000, 1000);
}
END_TEST

Suite *pdm_suite_file(void)
{
    Suite *suite = suite_create("file");
    TCase *tc = tcase_create("file");

    tcase_add_checked_fixture(tc, scratch_make, scratch_remove);
    tcase_add_test(tc, read_whole);
    tcase_add_test(tc, read_from_a_pipe);
    tcase_add_test(tc, stat_and_open);
    tcase_add_test(tc, names_are_bytes);
    tcase_add_loop_test(tc, output_appears_when_published, 0, 2);
    tcase_add_loop_test(tc, existing_file_is_kept_or_replaced, 0, 2);
    tcase_add_loop_test(tc, dropped_output_leaves_nothing, 0, 2);
    tcase_add_test(tc, publishing_without_proc_or_without_rights);
    tcase_add_test(tc, symbolic_link_is_followed);
    tcase_add_loop_test(tc, places_where_no_output_can_be, 0, 2);
    tcase_add_loop_test(tc, long_names, 0, 2);
    tcase_add_loop_test(tc, relative_path, 0, 2);
    tcase_add_loop_test(tc, many_puts, 0, 2);
    tcase_add_loop_test(tc, full_disk, 0, 4);
    tcase_add_test(tc, failing_fsync);
    tcase_add_test(tc, killed_writer_leaves_nothing);
    tcase_add_loop_test(tc, copy_keeps_holes, 0, 5);
    tcase_add_loop_test(tc, copy_of_parts, 0, 5);
    tcase_add_test(tc, copies_and_puts_follow_each_other);
    tcase_add_test(tc, copy_past_the_end_fails);
    tcase_add_test(tc, copy_of_a_huge_file);
    suite_add_tcase(suite, tc);
    return suite;
}
