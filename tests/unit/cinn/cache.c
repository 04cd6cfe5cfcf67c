/* Code that is kept: keys, files, many processes at once, broken files, kernels that are shared. */
#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "cinn/backend.h"
#include "cinn/cache.h"
#include "cinn/kernels.h"
#include "cinn/lower.h"
#include "cinn/native.h"
#include "cinn/notes.h"
#include "unit/base/scratch.h"

Suite *pdm_suite_cache(void);

/* ---- keys ------------------------------------------------------------------------------------ */

typedef struct form {
    const char *name;
    double factor;
    int64_t extent;
    uint32_t first_var;
    bool same; /* both factors are one load */
    pdm_dtype dtype;
    pdm_loop_op op;
} form;

/* y[i] = tanh(op(x[i], x or c[i])) * factor */
static pdm_loop_fn *make(const form *f)
{
    pdm_loop_fn *fn;

    ck_assert_int_eq(pdm_loop_fn_create(f->name, &fn), PDM_OK);
    const pdm_loop_expr *extent = f->extent ? pdm_loop_index(fn, f->extent) : pdm_loop_add_symbol(fn, 0, 0);
    fn->num_vars = f->first_var + 1;
    const uint32_t x = pdm_loop_add_buffer(fn, f->name, PDM_LOOP_INPUT, f->dtype, 1, &extent);
    const uint32_t c = pdm_loop_add_buffer(fn, "c", PDM_LOOP_INPUT, f->dtype, 1, &extent);
    const uint32_t y = pdm_loop_add_buffer(fn, "y", PDM_LOOP_OUTPUT, f->dtype, 1, &extent);
    const pdm_loop_expr *i = pdm_loop_var(fn, f->first_var);
    const pdm_loop_expr *value = pdm_loop_binary(
        fn, f->op, pdm_loop_load(fn, x, &i), pdm_loop_load(fn, f->same ? x : c, &i));
    value = pdm_loop_unary(fn, PDM_LOOP_TANH, value);
    value = pdm_loop_binary(fn, PDM_LOOP_MUL, value, pdm_loop_float(fn, f->dtype, f->factor));
    fn->body = pdm_loop_for(fn, f->first_var, extent, pdm_loop_store(fn, y, &i, value));
    pdm_cinn_schedule_cpu(fn, false);
    ck_assert_int_eq(fn->status, PDM_OK);
    return fn;
}

static pdm_buf key_of(const form *f)
{
    pdm_loop_fn *fn = make(f);
    pdm_buf key;

    pdm_buf_init(&key);
    pdm_loop_key(fn, &key);
    pdm_loop_fn_destroy(fn);
    ck_assert(pdm_buf_ok(&key));
    return key;
}

static const form plain = {"x", 3, 8, 0, false, PDM_F32, PDM_LOOP_ADD};

static void compare(form other, bool same)
{
    pdm_buf a = key_of(&plain), b = key_of(&other);

    ck_assert_msg(!strcmp(a.data, b.data) == same, "%s\n%s", a.data, b.data);
    pdm_buf_deinit(&a);
    pdm_buf_deinit(&b);
}

START_TEST(keys)
{
    form f = plain;

    f.name = "other";
    f.first_var = 7;
    compare(f, true);
#define CHANGED(member, value) f = plain, f.member = (value), compare(f, false)
    CHANGED(factor, 3.5);
    CHANGED(extent, 9);
    CHANGED(extent, 0);
    CHANGED(same, true);
    CHANGED(dtype, PDM_F64);
    CHANGED(op, PDM_LOOP_SUB);
#undef CHANGED
}
END_TEST

START_TEST(zeros_and_nans_differ)
{
    form f = plain, g = plain;

    f.factor = 0.0;
    g.factor = -0.0;
    pdm_buf a = key_of(&f), b = key_of(&g);
    ck_assert_str_ne(a.data, b.data);
    pdm_buf_deinit(&a);
    pdm_buf_deinit(&b);
}
END_TEST

/* ---- files ----------------------------------------------------------------------------------- */

static void set_up(void)
{
    scratch_make();
    ck_assert_int_eq(pdm_cinn_cache_configure(scratch("kept"), false, 0), PDM_OK);
}

static void tear_down(void)
{
    ck_assert_int_eq(pdm_cinn_cache_configure(NULL, true, 0), PDM_OK);
    scratch_remove();
}

static pdm_buf text(const char *what, int number)
{
    pdm_buf b;

    pdm_buf_init(&b);
    pdm_buf_printf(&b, "%s %d", what, number);
    ck_assert(pdm_buf_ok(&b));
    return b;
}

static void put(int number, size_t size)
{
    pdm_buf key = text("key", number), data = text("data", number);

    while (data.size < size)
        pdm_buf_putc(&data, (char)('a' + number % 26));
    pdm_cinn_cache_store(&key, data.data, data.size);
    pdm_buf_deinit(&key);
    pdm_buf_deinit(&data);
}

/* Whether it is there; what is there is right. */
static bool there(int number)
{
    pdm_buf key = text("key", number), want = text("data", number);
    void *data;
    size_t size;

    ck_assert_int_eq(pdm_cinn_cache_find(&key, &data, &size), PDM_OK);
    const bool found = data != NULL;
    ck_assert(!found || (size >= want.size && !memcmp(data, want.data, want.size)));
    free(data);
    pdm_buf_deinit(&key);
    pdm_buf_deinit(&want);
    return found;
}

static pdm_cinn_cache_counts counts(void)
{
    pdm_cinn_cache_counts c;

    ck_assert_int_eq(pdm_cinn_cache_count(&c), PDM_OK);
    return c;
}

/* The text of the notes since last time, or "". */
static const char *notes(void)
{
    static char all[4 * PDM_CINN_NOTE_ROOM];
    char one[PDM_CINN_NOTE_ROOM];
    pdm_cinn_note_kind kind;

    all[0] = '\0';
    while (pdm_cinn_take_note(&kind, one)) {
        if (strlen(all) + strlen(one) + 2 < sizeof all)
            strcat(strcat(all, one), "\n");
    }
    return all;
}

START_TEST(kept)
{
    struct stat st;

    ck_assert(!there(1));
    put(1, 0);
    put(2, 100000);
    ck_assert(there(1) && there(2) && !there(3));
    put(1, 50); /* again */
    ck_assert(there(1));
    ck_assert_uint_eq(counts().entries, 2);
    ck_assert_int_eq(stat(scratch("kept"), &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0700);
    ck_assert_str_eq(notes(), "");
}
END_TEST

/* The path of the only entry. */
static const char *only_entry(void)
{
    static char path[1024];
    DIR *folder = opendir(scratch("kept"));

    path[0] = '\0';
    for (const struct dirent *d; (d = readdir(folder));) {
        if (d->d_name[0] != '.')
            snprintf(path, sizeof path, "%s/%s", scratch("kept"), d->d_name);
    }
    closedir(folder);
    return path;
}

/* Any byte changed, any length cut: it counts as missing, and is removed. */
START_TEST(broken)
{
    char whole[4096], file[4096];
    pdm_cinn_cache_counts c;

    put(1, 40);
    char path[1024], other[1024];
    struct stat st;
    snprintf(path, sizeof path, "%s", only_entry());
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0600);
    const int fd = open(path, O_RDONLY);
    const ssize_t size = read(fd, whole, sizeof whole);
    close(fd);
    ck_assert_int_eq(size, st.st_size);
    for (ssize_t i = 0; i < 2 * size + 1; i++) {
        const bool cut = i >= size;
        const size_t length = (size_t)(cut ? i - size : size);
        const int out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        memcpy(file, whole, sizeof file);
        if (!cut)
            file[i] ^= 0x40;
        ck_assert_int_eq(write(out, file, length), (ssize_t)length);
        close(out);
        if (i % 2) {
            ck_assert_int_eq(pdm_cinn_cache_verify(&c), PDM_OK);
            ck_assert_uint_eq(c.broken, i != 2 * size);
            ck_assert_uint_eq(c.removed, i != 2 * size);
        }
        ck_assert_msg(there(1) == (i == 2 * size), "byte %zd of %zd", i, size);
        ck_assert_uint_eq(counts().entries, i == 2 * size);
    }
    ck_assert_ptr_nonnull(strstr(notes(), "made anew"));
    /* Another key of the same hash. */
    put(2, 0);
    unlink(path);
    snprintf(other, sizeof other, "%s", only_entry());
    ck_assert_int_eq(rename(other, path), 0);
    ck_assert(!there(1));
    ck_assert_int_eq(pdm_cinn_cache_verify(&c), PDM_OK);
    ck_assert_uint_eq(c.broken, 1);
}
END_TEST

/* All that are there become older. */
static void age(int seconds)
{
    DIR *folder = opendir(scratch("kept"));
    for (const struct dirent *d; (d = readdir(folder));) {
        struct stat st;
        if (d->d_name[0] == '.' || fstatat(dirfd(folder), d->d_name, &st, 0) != 0)
            continue;
        const struct timespec times[2] = {{st.st_mtime - seconds, 0}, {st.st_mtime - seconds, 0}};
        ck_assert_int_eq(utimensat(dirfd(folder), d->d_name, times, 0), 0);
    }
    closedir(folder);
}

START_TEST(bounded)
{
    pdm_cinn_cache_counts c;

    ck_assert_int_eq(pdm_cinn_cache_configure(scratch("kept"), false, 100000), PDM_OK);
    for (int i = 0; i < 9; i++) {
        put(i, 10000);
        age(4000);
    }
    ck_assert(there(0)); /* which is a use */
    ck_assert_uint_eq(counts().entries, 9);
    put(9, 10000);
    put(10, 10000);
    ck_assert_uint_lt(counts().bytes, 100000);
    ck_assert(there(0) && !there(1) && there(9) && there(10));
    ck_assert_int_eq(pdm_cinn_cache_prune(25000, &c), PDM_OK);
    ck_assert_uint_eq(c.entries, 2);
    ck_assert_uint_le(c.bytes, 25000);
    ck_assert_int_eq(pdm_cinn_cache_prune(0, &c), PDM_OK);
    ck_assert_uint_eq(c.entries, 0);
    ck_assert_uint_eq(c.removed, 2);
    ck_assert_int_eq(scratch_entries(), 1); /* the folder itself */
}
END_TEST

/* Processes that read, write, break and remove the same entries. */
START_TEST(processes)
{
    enum { PROCESSES = 8, KEYS = 20, TURNS = 150 };
    pid_t children[PROCESSES];
    int status;

    for (int p = 0; p < PROCESSES; p++) {
        children[p] = fork();
        if (children[p])
            continue;
        bool good = true;
        pdm_cinn_cache_counts c;
        srand((unsigned)p);
        for (int t = 0; t < TURNS; t++) {
            const int n = rand() % KEYS;
            if (rand() % 3)
                put(n, 2000);
            else
                there(n);
            if (p == 0 && t % 10 == 0)
                good = good && pdm_cinn_cache_prune(10000, &c) == PDM_OK;
            if (p == 1 && t % 10 == 0)
                good = good && pdm_cinn_cache_verify(&c) == PDM_OK && c.broken == 0;
        }
        _exit(good && !notes()[0] ? 0 : 1);
    }
    for (int p = 0; p < PROCESSES; p++) {
        ck_assert_int_eq(waitpid(children[p], &status, 0), children[p]);
        ck_assert_int_eq(status, 0);
    }
    pdm_cinn_cache_counts c;
    ck_assert_int_eq(pdm_cinn_cache_verify(&c), PDM_OK);
    ck_assert_uint_eq(c.broken, 0);
    for (int n = 0; n < KEYS; n++)
        there(n);
}
END_TEST

/* What the disk does not take is not there at all, and the process lives. */
START_TEST(full)
{
    struct rlimit old, limit;

    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
    limit = (struct rlimit){1000, old.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    put(1, 5000);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
    ck_assert(!there(1));
    ck_assert_ptr_nonnull(strstr(notes(), "kept: File too large"));
    pdm_cinn_cache_counts c;
    ck_assert_int_eq(pdm_cinn_cache_prune(0, &c), PDM_OK);
    ck_assert_uint_eq(c.removed, 0);
    ck_assert_int_eq(rmdir(scratch("kept")), 0); /* nothing was left in it */
}
END_TEST

START_TEST(distrusted)
{
    char reason[PDM_CINN_CACHE_REASON];
    pdm_buf path;

    ck_assert_int_eq(mkdir(scratch("kept"), 0700), 0);
    ck_assert_int_eq(chmod(scratch("kept"), 0777), 0);
    put(1, 0);
    ck_assert(!there(1));
    ck_assert_ptr_nonnull(strstr(notes(), "others may write there"));
    pdm_buf_init(&path);
    ck_assert_int_eq(pdm_cinn_cache_folder(&path, reason), PDM_OK);
    ck_assert_ptr_nonnull(strstr(reason, "others may write there"));
    ck_assert_str_eq(path.data, scratch("kept"));
    pdm_buf_deinit(&path);
    pdm_cinn_cache_counts c;
    ck_assert_int_eq(pdm_cinn_cache_count(&c), PDM_IO);
    /* A file is in its place; the folder around it is missing and cannot be made. */
    scratch_write("file", "", 0);
    ck_assert_int_eq(pdm_cinn_cache_configure(scratch("file"), false, 0), PDM_OK);
    ck_assert(!there(1));
    ck_assert_ptr_nonnull(strstr(notes(), "file: Not a directory"));
    ck_assert_int_eq(pdm_cinn_cache_configure(scratch("file/kept"), false, 0), PDM_OK);
    ck_assert(!there(1));
    ck_assert_ptr_nonnull(strstr(notes(), "file/kept: Not a directory"));
}
END_TEST

START_TEST(off)
{
    ck_assert_int_eq(pdm_cinn_cache_configure(scratch("kept"), true, 0), PDM_OK);
    put(1, 0);
    ck_assert(!there(1));
    ck_assert_int_eq(scratch_entries(), 0);
    ck_assert_str_eq(notes(), "");
}
END_TEST

/* ---- kernels --------------------------------------------------------------------------------- */

static const pdm_cinn_backend *llvm(void)
{
    const char *reason;

    return pdm_cinn_backend_find("llvm", &reason);
}

static void run(const pdm_cinn_backend *backend, const void *image, float *y)
{
    float x[8], c[8];
    void *data[] = {x, c, y};

    for (int i = 0; i < 8; i++) {
        x[i] = (float)i / 8;
        c[i] = 1;
    }
    ck_assert_int_eq(backend->run(image, 0, data, NULL, 0, 8), PDM_OK);
}

START_TEST(shared)
{
    const pdm_cinn_backend *backend = llvm();
    form other = plain;
    pdm_cinn_kernel *a, *b, *c;
    float y[8], again[8];

    if (!backend || !backend->load)
        return; /* built without, or another machine */
    other.name = "z";
    pdm_loop_fn *first = make(&plain), *second = make(&other);
    const pdm_cinn_kernel_stats before = pdm_cinn_kernel_get_stats();
    ck_assert_int_eq(pdm_cinn_kernel_take(backend, first, &a), PDM_OK);
    ck_assert_int_eq(pdm_cinn_kernel_take(backend, second, &b), PDM_OK);
    ck_assert_ptr_eq(a, b);
    run(backend, pdm_cinn_kernel_image(a), y);
    pdm_cinn_kernel_release(a);
    pdm_cinn_kernel_release(b);
    ck_assert_int_eq(pdm_cinn_kernel_take(backend, first, &c), PDM_OK); /* nobody had it */
    pdm_cinn_kernel_release(c);
    pdm_cinn_kernels_trim();
    ck_assert_int_eq(pdm_cinn_kernel_take(backend, first, &c), PDM_OK); /* from disk */
    run(backend, pdm_cinn_kernel_image(c), again);
    ck_assert_mem_eq(y, again, sizeof y);
    pdm_cinn_kernel_release(c);
    pdm_cinn_kernels_trim();
    const pdm_cinn_kernel_stats after = pdm_cinn_kernel_get_stats();
    ck_assert_uint_eq(after.made - before.made, 1);
    ck_assert_uint_eq(after.loaded - before.loaded, 1);
    ck_assert_uint_eq(after.shared - before.shared, 2);
    /* What LLVM loads by itself is the same code. */
    const char *reason;
    const pdm_cinn_backend *module = pdm_cinn_backend_module(&reason);
    void *image;
    ck_assert_ptr_nonnull(module);
    ck_assert_int_eq(module->compile(first, &image), PDM_OK);
    run(module, image, again);
    ck_assert_mem_eq(y, again, sizeof y);
    module->destroy(image);
    pdm_loop_fn_destroy(first);
    pdm_loop_fn_destroy(second);
    ck_assert_str_eq(notes(), "");
}
END_TEST

/* ---- threads --------------------------------------------------------------------------------- */

static atomic_uint made;

static void number_target(pdm_buf *out)
{
    pdm_buf_puts(out, "number");
}

static pdm_status number_make(const pdm_loop_fn *fn, void **out_code, size_t *out_size)
{
    atomic_fetch_add(&made, 1);
    *out_code = malloc(sizeof fn->num_exprs);
    *out_size = sizeof fn->num_exprs;
    memcpy(*out_code, &fn->num_exprs, *out_size);
    return PDM_OK;
}

static pdm_status number_load(const pdm_loop_fn *fn, const void *code, size_t size, void **out_image)
{
    (void)fn;
    *out_image = malloc(size);
    memcpy(*out_image, code, size);
    return PDM_OK;
}

/* Code is the number of expressions of the function. */
static const pdm_cinn_backend number = {.version = PDM_CINN_BACKEND_VERSION,
                                        .name = "number",
                                        .destroy = free,
                                        .target = number_target,
                                        .make = number_make,
                                        .load = number_load};

enum { FUNCTIONS = 6 };
static pdm_loop_fn *functions[FUNCTIONS];

static void *take_and_release(void *arg)
{
    unsigned random = (unsigned)(uintptr_t)arg;
    pdm_cinn_kernel *kernel;

    for (int t = 0; t < 300; t++) {
        const pdm_loop_fn *fn = functions[rand_r(&random) % FUNCTIONS];
        if (pdm_cinn_kernel_take(&number, fn, &kernel) != PDM_OK ||
            memcmp(pdm_cinn_kernel_image(kernel), &fn->num_exprs, sizeof fn->num_exprs) != 0)
            return arg;
        pdm_cinn_kernel_release(kernel);
        if (t % 50 == 0)
            pdm_cinn_kernels_trim();
    }
    return NULL;
}

/* Each function is made once, whoever wants it; then it is there, or on disk. */
START_TEST(threads)
{
    enum { THREADS = 6 };
    pthread_t ids[THREADS];
    void *bad;

    for (int i = 0; i < FUNCTIONS; i++) {
        form f = plain;
        f.extent = 100 + i;
        f.same = i % 2;
        functions[i] = make(&f);
    }
    atomic_store(&made, 0);
    for (uintptr_t i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&ids[i], NULL, take_and_release, (void *)(i + 1)), 0);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_join(ids[i], &bad), 0);
        ck_assert_ptr_null(bad);
    }
    ck_assert_uint_eq(atomic_load(&made), FUNCTIONS);
    pdm_cinn_kernels_trim();
    for (int i = 0; i < FUNCTIONS; i++)
        pdm_loop_fn_destroy(functions[i]);
    ck_assert_str_eq(notes(), "");
}
END_TEST

/* Objects with any byte changed, or cut off, are loaded or refused; nothing else happens. */
START_TEST(hostile_objects)
{
    const pdm_cinn_backend *backend = llvm();
    pdm_loop_fn *fn = make(&plain);
    pdm_cinn_native *native;
    void *code;
    size_t size;

    if (backend && backend->load) {
        ck_assert_int_eq(backend->make(fn, &code, &size), PDM_OK);
        ck_assert_int_eq(pdm_cinn_native_load(code, size, 1, &native), PDM_OK);
        pdm_cinn_native_destroy(native);
        ck_assert_int_eq(pdm_cinn_native_load(code, size, 2, &native), PDM_UNSUPPORTED);
        char *copy = malloc(size);
        for (size_t i = 0; i < 2 * size; i++) {
            memcpy(copy, code, size);
            if (i < size)
                copy[i] ^= (char)(1 << i % 8);
            char *exact = malloc(i < size ? size : i - size + 1);
            memcpy(exact, copy, i < size ? size : i - size);
            if (pdm_cinn_native_load(exact, i < size ? size : i - size, 1, &native) == PDM_OK)
                pdm_cinn_native_destroy(native);
            free(exact);
        }
        free(copy);
        free(code);
    }
    pdm_loop_fn_destroy(fn);
}
END_TEST

Suite *pdm_suite_cache(void)
{
    Suite *s = suite_create("cache");
    TCase *keyed = tcase_create("keys"), *files = tcase_create("files");

    tcase_add_test(keyed, keys);
    tcase_add_test(keyed, zeros_and_nans_differ);
    tcase_add_test(keyed, hostile_objects);
    suite_add_tcase(s, keyed);
    tcase_add_checked_fixture(files, set_up, tear_down);
    tcase_add_test(files, kept);
    tcase_add_test(files, broken);
    tcase_add_test(files, bounded);
    tcase_add_test(files, processes);
    tcase_add_test(files, full);
    tcase_add_test(files, distrusted);
    tcase_add_test(files, off);
    tcase_add_test(files, shared);
    tcase_add_test(files, threads);
    suite_add_tcase(s, files);
    return s;
}
