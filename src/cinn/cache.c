#include "cinn/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/intern.h"
#include "base/vec.h"
#include "cinn/notes.h"

#define SUFFIX   ".kernel"
#define UNBORN   ".new-" /* files that are being written */
#define MAGIC    "PDMKERN1"

enum { NAME = 48, MAX_ENTRY = 1 << 26, MAX_KEY = 1 << 26, HOUR = 3600 };

/* What a file begins with; key and data follow. */
typedef struct head {
    char magic[8];
    uint64_t key_size, data_size;
    uint64_t sum; /* of both */
} head;

/* Readers use the folder, a writer opens or changes it. */
static struct {
    pthread_rwlock_t lock;
    char *folder; /* as configured, or NULL */
    bool off, opened;
    int fd; /* of the folder; -1: there is none */
    uint64_t max_size;
    _Atomic uint64_t size; /* about what is there; 0: was not counted */
    atomic_uint number;    /* of files written */
} cache = {.lock = PTHREAD_RWLOCK_INITIALIZER, .fd = -1, .max_size = PDM_CINN_CACHE_DEFAULT_SIZE};

/* ---- the folder ------------------------------------------------------------------------------ */

static bool is_off(void)
{
    const char *given = getenv("PDM_CACHE");

    return cache.off || (!cache.folder && given && !strcmp(given, "off"));
}

/* "" when there is no such folder. */
static void put_path(pdm_buf *out)
{
    const char *own = getenv("PDM_CACHE_DIR"), *xdg = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");

    if (cache.folder)
        pdm_buf_puts(out, cache.folder);
    else if (own && own[0])
        pdm_buf_puts(out, own);
    else if (xdg && xdg[0] == '/')
        pdm_buf_printf(out, "%s/pdmigrate", xdg);
    else if (home && home[0] == '/')
        pdm_buf_printf(out, "%s/.cache/pdmigrate", home);
    else
        pdm_buf_puts(out, "");
}

static bool make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        const bool bad = mkdir(path, 0700) != 0 && errno != EEXIST;
        *slash = '/';
        if (bad && errno != EROFS && errno != EACCES)
            return false;
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

/* Why a folder is not to be trusted; NULL when it is. */
static const char *distrust(int fd)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return "it cannot be looked at";
    if (st.st_uid != geteuid())
        return "it belongs to somebody else, and code from there would be executed";
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return "others may write there, and code from there would be executed";
    return NULL;
}

/* -1 and why when it cannot be used; -1 and "" when there is none. */
static int open_folder(bool create, char reason[PDM_CINN_CACHE_REASON])
{
    pdm_buf path;
    char storage[128];
    int fd = -1;

    reason[0] = '\0';
    pdm_buf_init(&path);
    put_path(&path);
    if (!pdm_buf_ok(&path))
        snprintf(reason, PDM_CINN_CACHE_REASON, "out of memory");
    else if (path.size == 0)
        snprintf(reason, PDM_CINN_CACHE_REASON, "there is neither PDM_CACHE_DIR nor HOME");
    else if (create && !make_folders(path.data))
        snprintf(reason, PDM_CINN_CACHE_REASON, "%s: %s", path.data,
                 pdm_errno_text(errno, storage, sizeof storage));
    else if ((fd = open(path.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) {
        if (errno != ENOENT)
            snprintf(reason, PDM_CINN_CACHE_REASON, "%s: %s", path.data,
                     pdm_errno_text(errno, storage, sizeof storage));
    } else if (distrust(fd)) {
        snprintf(reason, PDM_CINN_CACHE_REASON, "%s: %s", path.data, distrust(fd));
        close(fd);
        fd = -1;
    }
    pdm_buf_deinit(&path);
    return fd;
}

pdm_status pdm_cinn_cache_configure(const char *folder, bool off, uint64_t max_size)
{
    char *copy = folder ? strdup(folder) : NULL;

    if (folder && !copy)
        return PDM_NOMEM;
    pthread_rwlock_wrlock(&cache.lock);
    free(cache.folder);
    if (cache.fd >= 0)
        close(cache.fd);
    cache.folder = copy;
    cache.off = off;
    cache.opened = false;
    cache.fd = -1;
    cache.max_size = max_size ? max_size : PDM_CINN_CACHE_DEFAULT_SIZE;
    atomic_store(&cache.size, 0);
    pthread_rwlock_unlock(&cache.lock);
    return PDM_OK;
}

uint64_t pdm_cinn_cache_max_size(void)
{
    pthread_rwlock_rdlock(&cache.lock);
    const uint64_t size = cache.max_size;
    pthread_rwlock_unlock(&cache.lock);
    return size;
}

/* Take the lock for reading; whether there is a folder to use, which is made if need be. */
static bool begin(void)
{
    char reason[PDM_CINN_CACHE_REASON];

    pthread_rwlock_rdlock(&cache.lock);
    if (!cache.opened) {
        pthread_rwlock_unlock(&cache.lock);
        pthread_rwlock_wrlock(&cache.lock);
        if (!cache.opened && !is_off()) {
            cache.fd = open_folder(true, reason);
            if (cache.fd < 0)
                pdm_cinn_note(PDM_CINN_NOTE_CACHE_BAD, "compiled code is not kept: %s", reason);
        }
        cache.opened = true;
        pthread_rwlock_unlock(&cache.lock);
        pthread_rwlock_rdlock(&cache.lock);
    }
    return cache.fd >= 0;
}

static void end(void)
{
    pthread_rwlock_unlock(&cache.lock);
}

/* ---- entries --------------------------------------------------------------------------------- */

static void name_of(const pdm_buf *key, char name[NAME])
{
    snprintf(name, NAME, "%016" PRIx64 "%016" PRIx64 SUFFIX, pdm_hash_bytes(key->data, key->size, 0),
             pdm_hash_bytes(key->data, key->size, 0x6b65726e656c));
}

static uint64_t sum_of(const void *key, size_t key_size, const void *data, size_t data_size)
{
    return pdm_hash_bytes(data, data_size, pdm_hash_bytes(key, key_size, 1));
}

typedef struct entry {
    head head;
    char *key;
    void *data;
} entry;

static void entry_deinit(entry *e)
{
    free(e->key);
    free(e->data);
}

static const char no_memory[] = "out of memory";

/* What is wrong with a file; NULL and its contents when nothing is. */
static const char *read_entry(int fd, entry *out)
{
    struct stat st;
    head *h = &out->head;

    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
        return "it is no file of this user";
    if (pdm_file_read_at(fd, 0, h, sizeof *h) != PDM_OK)
        return "it is cut off";
    if (memcmp(h->magic, MAGIC, sizeof h->magic) != 0)
        return "it is no such file";
    if (h->key_size > MAX_KEY || h->data_size > MAX_ENTRY ||
        (uint64_t)st.st_size != sizeof *h + h->key_size + h->data_size)
        return "it has another length";
    out->key = malloc(h->key_size + 1);
    out->data = malloc(h->data_size + 1);
    if (!out->key || !out->data)
        return no_memory;
    if (pdm_file_read_at(fd, sizeof *h, out->key, h->key_size) != PDM_OK ||
        pdm_file_read_at(fd, sizeof *h + h->key_size, out->data, h->data_size) != PDM_OK)
        return "it cannot be read";
    if (sum_of(out->key, h->key_size, out->data, h->data_size) != h->sum)
        return "its checksum is wrong";
    return NULL;
}

/* Tell that it was used, by its time; so exactly does nobody need to know. */
static void touch(int fd)
{
    struct stat st;

    if (fstat(fd, &st) == 0 && time(NULL) - st.st_mtime > HOUR)
        (void)futimens(fd, NULL);
}

static pdm_status find(const pdm_buf *key, void **out_data, size_t *out_size)
{
    char name[NAME];
    entry e = {.key = NULL};
    pdm_status status = PDM_OK;

    name_of(key, name);
    const int fd = openat(cache.fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return PDM_OK;
    const char *fault = read_entry(fd, &e);
    if (fault == no_memory) {
        status = PDM_NOMEM;
    } else if (fault) {
        pdm_cinn_note(PDM_CINN_NOTE_CACHE, "compiled code is made anew: %s in the cache: %s", name,
                      fault);
        unlinkat(cache.fd, name, 0);
    } else if (e.head.key_size == key->size && !memcmp(e.key, key->data, key->size)) {
        touch(fd);
        *out_data = e.data;
        *out_size = e.head.data_size;
        e.data = NULL;
    }
    entry_deinit(&e);
    close(fd);
    return status;
}

pdm_status pdm_cinn_cache_find(const pdm_buf *key, void **out_data, size_t *out_size)
{
    *out_data = NULL;
    *out_size = 0;
    if (!pdm_buf_ok(key))
        return PDM_NOMEM;
    const pdm_status status = begin() ? find(key, out_data, out_size) : PDM_OK;
    end();
    return status;
}

/* ---- all of them ----------------------------------------------------------------------------- */

typedef struct file {
    char name[NAME];
    uint64_t size;
    struct timespec used;
} file;

typedef struct files {
    file *v;
    size_t n, cap;
} files;

static bool is_entry(const char *name)
{
    const size_t size = strlen(name), end_size = strlen(SUFFIX);

    return size == 32 + end_size && !strcmp(name + 32, SUFFIX) &&
           strspn(name, "0123456789abcdef") == 32;
}

/* What was being written when its process ended goes, too. */
static void remove_unborn(int fd, const char *name)
{
    struct stat st;

    if (!strncmp(name, UNBORN, strlen(UNBORN)) &&
        fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && time(NULL) - st.st_mtime > HOUR)
        unlinkat(fd, name, 0);
}

static pdm_status list(int fd, files *out)
{
    const int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = copy < 0 ? NULL : fdopendir(copy);
    pdm_status status = folder ? PDM_OK : PDM_IO;

    if (!folder && copy >= 0)
        close(copy);
    for (const struct dirent *d; status == PDM_OK && (d = readdir(folder));) {
        struct stat st;
        file f = {.size = 0};
        if (!is_entry(d->d_name)) {
            remove_unborn(fd, d->d_name);
            continue;
        }
        if (fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue; /* somebody else removed it */
        memcpy(f.name, d->d_name, strlen(d->d_name) + 1);
        f.size = (uint64_t)st.st_size;
        f.used = st.st_mtim;
        if (!PDM_VEC_PUSH(out, f))
            status = PDM_NOMEM;
    }
    if (folder)
        closedir(folder);
    return status;
}

static int by_use(const void *a, const void *b)
{
    const file *x = a, *y = b;

    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    if (x->used.tv_nsec != y->used.tv_nsec)
        return x->used.tv_nsec < y->used.tv_nsec ? -1 : 1;
    return strcmp(x->name, y->name);
}

static pdm_status prune(int fd, uint64_t max_size, pdm_cinn_cache_counts *out)
{
    files all = {NULL, 0, 0};
    const pdm_status status = list(fd, &all);

    for (size_t i = 0; i < all.n; i++)
        out->bytes += all.v[i].size;
    out->entries = all.n;
    if (all.n)
        qsort(all.v, all.n, sizeof *all.v, by_use);
    for (size_t i = 0; i < all.n && out->bytes > max_size; i++) {
        if (unlinkat(fd, all.v[i].name, 0) == 0) {
            out->removed++;
            out->removed_bytes += all.v[i].size;
        } else if (errno != ENOENT) {
            continue;
        }
        out->bytes -= all.v[i].size;
        out->entries--;
    }
    PDM_VEC_FREE(&all);
    return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* A limit on the length of files is an error here, and not the end of the process. */
static bool write_all(int fd, const void *data, size_t size)
{
    const char *at = data;
    sigset_t block, old, pending;
    bool good = true;

    sigemptyset(&block);
    sigaddset(&block, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &block, &old);
    while (good && size > 0) {
        const ssize_t n = write(fd, at, size);
        if (n > 0) {
            at += n;
            size -= (size_t)n;
        } else if (n == 0 || errno != EINTR) {
            good = false;
        }
    }
    const int error = errno;
    if (!good && error == EFBIG && !sigismember(&old, SIGXFSZ) && sigpending(&pending) == 0 &&
        sigismember(&pending, SIGXFSZ))
        (void)sigtimedwait(&block, NULL, &(struct timespec){0, 0});
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    errno = error;
    return good;
}

static bool write_entry(int fd, const pdm_buf *key, const void *data, size_t size)
{
    head h = {.key_size = key->size,
              .data_size = size,
              .sum = sum_of(key->data, key->size, data, size)};

    memcpy(h.magic, MAGIC, sizeof h.magic);
    return write_all(fd, &h, sizeof h) && write_all(fd, key->data, key->size) &&
           write_all(fd, data, size);
}

static bool store(const pdm_buf *key, const void *data, size_t size)
{
    char name[NAME], unborn[NAME];
    struct timespec now;

    name_of(key, name);
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(unborn, sizeof unborn, UNBORN "%lx-%lx-%x", (unsigned long)getpid(),
             (unsigned long)now.tv_nsec, atomic_fetch_add(&cache.number, 1));
    const int fd = openat(cache.fd, unborn, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return false;
    bool good = write_entry(fd, key, data, size);
    int error = errno;
    if (close(fd) != 0 && good) {
        good = false;
        error = errno;
    }
    if (good && renameat(cache.fd, unborn, cache.fd, name) != 0) {
        good = false;
        error = errno;
    }
    if (!good)
        unlinkat(cache.fd, unborn, 0);
    errno = error;
    return good;
}

/* The size is counted once; then only what this process writes, so that it is about right. */
static void keep_bound(uint64_t added)
{
    pdm_cinn_cache_counts counts = {0};

    if (atomic_load(&cache.size) == 0) {
        if (prune(cache.fd, UINT64_MAX, &counts) == PDM_OK)
            atomic_store(&cache.size, counts.bytes);
    } else {
        atomic_fetch_add(&cache.size, added);
    }
    if (atomic_load(&cache.size) <= cache.max_size)
        return;
    counts = (pdm_cinn_cache_counts){0};
    if (prune(cache.fd, cache.max_size - cache.max_size / 4, &counts) == PDM_OK)
        atomic_store(&cache.size, counts.bytes + 1);
}

static void tell_not_kept(int error)
{
    char storage[128];
    pdm_buf path;

    pdm_buf_init(&path);
    put_path(&path);
    pdm_cinn_note(PDM_CINN_NOTE_CACHE_BAD, "compiled code is not kept: %s: %s",
                  pdm_buf_ok(&path) && path.data ? path.data : "the cache",
                  pdm_errno_text(error, storage, sizeof storage));
    pdm_buf_deinit(&path);
}

void pdm_cinn_cache_store(const pdm_buf *key, const void *data, size_t size)
{
    if (!pdm_buf_ok(key) || key->size > MAX_KEY || size > MAX_ENTRY)
        return;
    if (begin()) {
        if (store(key, data, size))
            keep_bound(sizeof(head) + key->size + size);
        else
            tell_not_kept(errno);
    }
    end();
}

/* ---- for people ------------------------------------------------------------------------------ */

pdm_status pdm_cinn_cache_folder(pdm_buf *out, char out_reason[PDM_CINN_CACHE_REASON])
{
    pthread_rwlock_rdlock(&cache.lock);
    put_path(out);
    const int fd = open_folder(false, out_reason);
    if (fd >= 0)
        close(fd);
    pthread_rwlock_unlock(&cache.lock);
    return pdm_buf_ok(out) ? PDM_OK : PDM_NOMEM;
}

static pdm_status verify(int fd, pdm_cinn_cache_counts *out)
{
    files all = {NULL, 0, 0};
    pdm_status status = list(fd, &all);

    for (size_t i = 0; i < all.n && status == PDM_OK; i++) {
        entry e = {.key = NULL};
        pdm_buf key;
        char name[NAME];
        const int at = openat(fd, all.v[i].name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (at < 0 && errno == ENOENT)
            continue;
        const char *fault = at < 0 ? "it cannot be opened" : read_entry(at, &e);
        bool bad = fault != NULL;
        if (fault == no_memory)
            status = PDM_NOMEM;
        if (!bad) {
            key = (pdm_buf){.data = e.key, .size = e.head.key_size};
            name_of(&key, name);
            bad = strcmp(name, all.v[i].name) != 0;
        }
        if (bad && status == PDM_OK) {
            out->broken++;
            if (unlinkat(fd, all.v[i].name, 0) == 0) {
                out->removed++;
                out->removed_bytes += all.v[i].size;
            }
        } else if (!bad) {
            out->entries++;
            out->bytes += all.v[i].size;
        }
        entry_deinit(&e);
        if (at >= 0)
            close(at);
    }
    PDM_VEC_FREE(&all);
    return status;
}

typedef enum task { COUNT, VERIFY, PRUNE } task;

static pdm_status over_all(task what, uint64_t max_size, pdm_cinn_cache_counts *out)
{
    char reason[PDM_CINN_CACHE_REASON];
    pdm_cinn_cache_counts counts = {0};
    pdm_status status = PDM_OK;

    pthread_rwlock_rdlock(&cache.lock);
    const int fd = open_folder(false, reason);
    if (fd >= 0) {
        status = what == VERIFY ? verify(fd, &counts) : prune(fd, max_size, &counts);
        close(fd);
    } else if (reason[0]) {
        status = PDM_IO;
    }
    pthread_rwlock_unlock(&cache.lock);
    if (status == PDM_OK)
        *out = counts;
    return status;
}

pdm_status pdm_cinn_cache_count(pdm_cinn_cache_counts *out)
{
    return over_all(COUNT, UINT64_MAX, out);
}

pdm_status pdm_cinn_cache_verify(pdm_cinn_cache_counts *out)
{
    return over_all(VERIFY, 0, out);
}

pdm_status pdm_cinn_cache_prune(uint64_t max_size, pdm_cinn_cache_counts *out)
{
    return over_all(PRUNE, max_size, out);
}
