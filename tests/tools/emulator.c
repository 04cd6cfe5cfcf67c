#include "emulator.h"

#include <ctype.h>
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "cuda_emulator.h"

enum { WARP = 32, MOST_THREADS = 1024, STACK = 256 * 1024, MOST_WATCHED = 1 << 20 };

/* ---- threads --------------------------------------------------------------------------------- */

typedef enum state { RUNS, AT_BARRIER, IN_WARP, DONE } state;

typedef struct lane {
    ucontext_t context;
    state state;
    int site, from;
    unsigned mask;
    unsigned long long value;
    uint32_t warp_time; /* meetings of its warp */
} lane;

typedef struct machine {
    pdm_emulation face; /* what kernels see */
    const emulator_kernel *kernel;
    void **arguments;
    lane *lanes;
    char *stacks;
    unsigned threads, current, block_number;
    uint32_t time; /* barriers of this block */
    uint64_t launch, block; /* numbers */
    bool coroutines;
    ucontext_t scheduler;
    jmp_buf end; /* of a launch without coroutines */
    char fault[512];
} machine;

static machine m;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The thread at work does not come back. */
static void fault(const char *text)
{
    if (!m.fault[0])
        snprintf(m.fault, sizeof m.fault, "%s (thread %u of block %u)", text, m.current,
                 m.block_number);
    if (m.coroutines)
        setcontext(&m.scheduler);
    longjmp(m.end, 1);
}

/* ---- accesses -------------------------------------------------------------------------------- */

typedef struct moment {
    uint32_t thread; /* of the grid, counted from 1; 0: none */
    uint32_t time, warp_time;
} moment;

typedef struct record {
    moment writer, readers[2];
} record;

static moment now(void)
{
    return (moment){(m.block_number * m.threads) + m.current + 1, m.time,
                    m.coroutines ? m.lanes[m.current].warp_time : 0};
}

static bool races(const moment *a, const moment *b)
{
    if (a->thread == 0 || a->thread == b->thread)
        return false;
    if ((a->thread - 1) / m.threads != (b->thread - 1) / m.threads)
        return true;
    const bool one_warp = (a->thread - 1) % m.threads / WARP == (b->thread - 1) % m.threads / WARP;
    return a->time == b->time && !(one_warp && a->warp_time != b->warp_time);
}

static record *shadow_of(pdm_region *region)
{
    static uint64_t factor = UINT64_C(1) << 32;
    const uint64_t launch = region->shared ? m.launch * factor + m.block : m.launch;

    if (region->local || region->count > MOST_WATCHED)
        return NULL;
    if (region->launch != launch || !region->shadow) {
        const size_t bytes = (size_t)region->count * sizeof(record);
        free(region->shadow);
        region->shadow = calloc(1, bytes ? bytes : 1);
        region->launch = launch;
    }
    return region->shadow;
}

static void look(pdm_region *region, record *r, bool write)
{
    char text[256];
    const moment here = now();
    bool bad = races(&r->writer, &here);

    for (int i = 0; write && i < 2; i++)
        bad = bad || races(&r->readers[i], &here);
    if (bad) {
        snprintf(text, sizeof text, "threads race in %s '%s'", region->shared ? "shared memory" : "memory",
                 region->name);
        fault(text);
    }
    if (!write && region->shared && r->writer.thread == 0) {
        snprintf(text, sizeof text, "shared memory '%s' is read before it was written", region->name);
        fault(text);
    }
    if (write) {
        r->writer = here;
    } else if (r->readers[0].thread == here.thread) {
        r->readers[0] = here;
    } else {
        r->readers[1] = r->readers[0];
        r->readers[0] = here;
    }
}

static void access_element(pdm_region *region, long long at, bool write)
{
    char text[256];

    if (at < 0 || at >= region->count) {
        snprintf(text, sizeof text, "%s '%s' has %lld elements, number %lld is %s",
                 region->shared ? "shared memory" : "memory", region->name, region->count, at,
                 write ? "written" : "read");
        fault(text);
    }
    record *shadow = shadow_of(region);
    if (shadow)
        look(region, &shadow[at], write);
}

/* ---- meetings -------------------------------------------------------------------------------- */

static void turn_to(unsigned number)
{
    m.current = number;
    const pdm_dim3 *size = &m.face.block_size;

    m.face.thread_index = (pdm_dim3){number % size->x, number / size->x % size->y, number / size->x / size->y};
}

static void wait_as(state how, int site)
{
    lane *self = &m.lanes[m.current];

    if (!m.coroutines)
        fault("the kernel waits, but was not known to");
    self->state = how;
    self->site = site;
    swapcontext(&self->context, &m.scheduler);
}

static void barrier(int site)
{
    wait_as(AT_BARRIER, site);
}

static void meet_in_warp(int site, unsigned mask, unsigned long long value, int from)
{
    lane *self;

    if (!m.coroutines)
        fault("the kernel waits, but was not known to");
    self = &m.lanes[m.current];
    if (!(mask >> m.current % WARP & 1U))
        fault("a lane is not in the mask of its own shuffle");
    self->mask = mask;
    self->from = from;
    self->value = value;
    wait_as(IN_WARP, site);
}

static unsigned long long exchange(int site, unsigned mask, unsigned long long value, int from)
{
    if (from >= 0 && !(mask >> from & 1U))
        fault("a shuffle takes the value of a lane that is not in its mask");
    meet_in_warp(site, mask, value, from);
    return from < 0 ? 0 : m.lanes[m.current].value; /* put there by the release */
}

/* What lanes gave when they met last. They have all run before they meet again. */
static unsigned long long gathered[MOST_THREADS];

static void gather(int site, unsigned mask, unsigned long long value, unsigned long long *out)
{
    meet_in_warp(site, mask, value, -1);
    const unsigned first = m.current - m.current % WARP;
    for (unsigned i = 0; i < WARP; i++)
        out[i] = gathered[first + i];
}

static const char diverges[] = "lanes of a warp do not come to the same shuffle";

/* Whether the lanes of a mask are all there; they go on then. */
static bool release_warp(unsigned number)
{
    const lane *asks = &m.lanes[number];
    const unsigned first = number - number % WARP;
    unsigned long long values[WARP] = {0};

    for (unsigned i = 0; i < WARP; i++) {
        if (!(asks->mask >> i & 1U))
            continue;
        const lane *other = first + i < m.threads ? &m.lanes[first + i] : NULL;
        if (!other || other->state != IN_WARP || other->site != asks->site || other->mask != asks->mask)
            return false;
        values[i] = other->value;
    }
    const unsigned mask = asks->mask;
    for (unsigned i = 0; i < WARP; i++) {
        if (!(mask >> i & 1U))
            continue;
        lane *other = &m.lanes[first + i];
        gathered[first + i] = values[i];
        if (other->from >= 0)
            other->value = values[other->from & (WARP - 1)];
        other->state = RUNS;
        other->warp_time++;
    }
    return true;
}

static bool release_barrier(void)
{
    for (unsigned i = 0; i < m.threads; i++) {
        if (m.lanes[i].state != AT_BARRIER || m.lanes[i].site != m.lanes[0].site)
            return false;
    }
    for (unsigned i = 0; i < m.threads; i++)
        m.lanes[i].state = RUNS;
    m.time++;
    return true;
}

/* Who waits for whom when nobody can run. */
static const char *stuck(void)
{
    for (unsigned i = 0; i < m.threads; i++) {
        if (m.lanes[i].state == IN_WARP)
            return diverges;
    }
    return "threads of a block do not come to the same barrier";
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void begin(void)
{
    lane *self = &m.lanes[m.current];

    m.kernel->thread(m.arguments);
    self->state = DONE;
    setcontext(&m.scheduler);
}

/* By itself, for getcontext is taken for a function that returns twice: no variable may live across it. */
static void start_lane(lane *l, char *stack)
{
    getcontext(&l->context);
    l->context.uc_stack.ss_sp = stack;
    l->context.uc_stack.ss_size = STACK;
    l->context.uc_link = NULL;
    makecontext(&l->context, begin, 0);
    l->state = RUNS;
    l->warp_time = 0;
}

/* Lanes run in turn until each waits or is done; then those go on that have come together. */
static void run_block(void)
{
    volatile unsigned next;
    bool more = true;

    m.time = 0;
    for (unsigned i = 0; i < m.threads; i++)
        start_lane(&m.lanes[i], m.stacks + (size_t)i * STACK);
    while (more && !m.fault[0]) {
        for (next = 0; next < m.threads && !m.fault[0]; next++) {
            if (m.lanes[next].state != RUNS)
                continue;
            turn_to(next);
            swapcontext(&m.scheduler, &m.lanes[next].context);
        }
        bool goes_on = false, all_done = true;
        for (unsigned i = 0; i < m.threads && !m.fault[0]; i++) {
            all_done = all_done && m.lanes[i].state == DONE;
            if (m.lanes[i].state == IN_WARP)
                goes_on = release_warp(i) || goes_on;
            goes_on = goes_on || m.lanes[i].state == RUNS;
        }
        more = !all_done;
        if (more && !goes_on && !m.fault[0] && !release_barrier())
            snprintf(m.fault, sizeof m.fault, "%s (block %u)", stuck(), m.block_number);
    }
}

static void run_alone(void)
{
    if (setjmp(m.end))
        return;
    for (unsigned i = 0; i < m.threads; i++) {
        turn_to(i);
        m.kernel->thread(m.arguments);
    }
}

static bool take_memory(void)
{
    if (!m.lanes)
        m.lanes = calloc(MOST_THREADS, sizeof *m.lanes);
    if (!m.stacks) {
        void *at = mmap(NULL, (size_t)MOST_THREADS * STACK, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        m.stacks = at == MAP_FAILED ? NULL : at;
    }
    return m.lanes && m.stacks;
}

static void launch(const emulator_kernel *kernel, emulator_size grid, emulator_size block, void **arguments)
{
    m.face.grid_size = (pdm_dim3){grid.x, grid.y, grid.z};
    m.face.block_size = (pdm_dim3){block.x, block.y, block.z};
    m.threads = block.x * block.y * block.z;
    m.kernel = kernel;
    m.arguments = arguments;
    m.coroutines = kernel->waits;
    m.launch++;
    m.block = 0;
    if (m.coroutines && !take_memory())
        snprintf(m.fault, sizeof m.fault, "out of memory");
    for (unsigned i = 0; i < grid.x * grid.y * grid.z && !m.fault[0]; i++) {
        m.face.block_index = (pdm_dim3){i % grid.x, i / grid.x % grid.y, i / grid.x / grid.y};
        m.block_number = i;
        m.block++;
        if (m.coroutines)
            run_block();
        else
            run_alone();
    }
}

const char *emulator_launch(const emulator_kernel *kernel, emulator_size grid, emulator_size block, void **arguments,
                            const long long *bytes)
{
    static _Thread_local char told[sizeof m.fault];

    const unsigned long long threads = 1ULL * block.x * block.y * block.z, blocks = 1ULL * grid.x * grid.y * grid.z;

    if (threads == 0 || threads > MOST_THREADS || blocks > UINT32_MAX / MOST_THREADS)
        return "the emulator knows blocks of 1 to 1024 threads, and no more than 4 million blocks";
    pthread_mutex_lock(&lock);
    m.fault[0] = '\0';
    kernel->bounds(bytes);
    launch(kernel, grid, block, arguments);
    strcpy(told, m.fault);
    pthread_mutex_unlock(&lock);
    return told[0] ? told : NULL;
}

/* ---- text ------------------------------------------------------------------------------------ */

static const char keyword[] = "PDM_KERNEL ";

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* One parameter: its name is the last word. */
typedef struct parameter {
    const char *type, *name, *end;
    bool pointer;
} parameter;

static const char *next_parameter(const char *at, parameter *out)
{
    const char *end = at;

    while (*end && *end != ',' && *end != ')')
        end++;
    out->end = end;
    out->name = end;
    while (out->name > at && is_name(out->name[-1]))
        out->name--;
    out->type = at;
    out->pointer = memchr(at, '*', (size_t)(out->name - at)) != NULL;
    return end;
}

static void add_type(const parameter *p, pdm_buf *out)
{
    pdm_buf_printf(out, "%.*s", (int)(p->name - p->type), p->type);
}

static void add_name(const parameter *p, pdm_buf *out)
{
    pdm_buf_printf(out, "%.*s", (int)(p->end - p->name), p->name);
}

/* What the kernel's text has in it up to the next one. */
static bool text_waits(const char *from, const char *to)
{
    static const char *const words[] = {"__sync", "__shfl", "_sync("};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (memmem(from, (size_t)(to - from), words[i], strlen(words[i])))
            return true;
    }
    return false;
}

static void add_call(const char *name, int len, const char *open, pdm_buf *out)
{
    parameter p;
    unsigned n = 0;

    pdm_buf_printf(out, "void %.*s_thread(void **a);\nvoid %.*s_thread(void **a)\n{\n    %.*s(", len, name, len, name,
                   len, name);
    for (const char *at = open + 1; *at && *at != ')'; n++) {
        const char *end = next_parameter(at, &p);
        pdm_buf_printf(out, "%s*(", n ? ", " : "");
        add_type(&p, out);
        pdm_buf_printf(out, "*)a[%u]", n);
        at = *end == ',' ? end + 1 : end;
    }
    pdm_buf_printf(out, ");\n}\nconst unsigned %.*s_arguments = %u;\n", len, name, n);
}

static void add_bounds(const char *name, int len, const char *open, pdm_buf *out)
{
    parameter p;
    unsigned n = 0;

    pdm_buf_printf(out, "void %.*s_bounds(const long long *bytes);\nvoid %.*s_bounds(const long long *bytes)\n{\n", len,
                   name, len, name);
    for (const char *at = open + 1; *at && *at != ')'; n++) {
        const char *end = next_parameter(at, &p);
        if (p.pointer) {
            pdm_buf_puts(out, "    pdm_bound(&");
            add_name(&p, out);
            pdm_buf_puts(out, "_region, \"");
            add_name(&p, out);
            pdm_buf_printf(out, "\", bytes[%u], sizeof(*(", n);
            add_type(&p, out);
            pdm_buf_puts(out, ")0));\n");
        }
        at = *end == ',' ? end + 1 : end;
    }
    pdm_buf_puts(out, "}\n");
}

static void add_kinds(const char *name, int len, const char *open, pdm_buf *out)
{
    parameter p;

    pdm_buf_printf(out, "const bool %.*s_pointers[] = {", len, name);
    for (const char *at = open + 1; *at && *at != ')';) {
        const char *end = next_parameter(at, &p);
        pdm_buf_puts(out, p.pointer ? "true, " : "false, ");
        at = *end == ',' ? end + 1 : end;
    }
    pdm_buf_puts(out, "false};\n");
}

/* Each name of a parameter once. Declaring it again would be an error only with a value. */
static void add_regions(const char *open, pdm_buf *out)
{
    parameter p;

    for (const char *at = open + 1; *at && *at != ')';) {
        const char *end = next_parameter(at, &p);
        if (p.pointer) {
            pdm_buf_puts(out, "static pdm_region ");
            add_name(&p, out);
            pdm_buf_puts(out, "_region;\n");
        }
        at = *end == ',' ? end + 1 : end;
    }
}

/* text ends with 0. */
static void each_kernel(const char *text, bool regions, pdm_buf *out)
{
    for (const char *at = strstr(text, keyword), *next; at; at = next) {
        const char *name = at + sizeof keyword - 1, *open = name;
        while (is_name(*open))
            open++;
        next = strstr(open, keyword);
        if (*open != '(' || (at > text && at[-1] != '\n'))
            continue;
        const int len = (int)(open - name);
        if (regions) {
            add_regions(open, out);
            continue;
        }
        add_call(name, len, open, out);
        add_bounds(name, len, open, out);
        pdm_buf_printf(out, "const bool %.*s_waits = %d;\n\n", len, name,
                       text_waits(open, next ? next : open + strlen(open)));
        add_kinds(name, len, open, out);
    }
}

void emulator_wrap(const char *text, size_t size, pdm_buf *out)
{
    char *copy = malloc(size + 1);

    if (!copy)
        return;
    memcpy(copy, text, size);
    copy[size] = '\0';
    pdm_buf_puts(out, "#include \"cuda_emulator.h\"\n"
                      "static void pdm_bound(pdm_region *r, const char *name, long long bytes, unsigned long size)\n"
                      "{\n    r->name = name;\n    r->count = bytes / (long long)size;\n    r->size = (int)size;\n"
                      "    r->shared = false;\n    r->launch = 0;\n}\n");
    each_kernel(copy, true, out);
    pdm_buf_puts(out, copy);
    each_kernel(copy, false, out);
    free(copy);
}

bool emulator_compile(const pdm_buf *wrapped, const char *folder, const char *library)
{
    char path[512], command[2048];
    const char *cc = getenv("CC"), *srcdir = getenv("srcdir");

    snprintf(path, sizeof path, "%s/kernel.c", folder);
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    const bool written = fwrite(wrapped->data, 1, wrapped->size, file) == wrapped->size;
    if (fclose(file) != 0 || !written)
        return false;
    snprintf(command, sizeof command,
             "%s -w -O0 -std=gnu11 -fwrapv -ffp-contract=off -fPIC -shared -I'%s/tests/tools' -o '%s' '%s' -lm",
             cc && *cc ? cc : "cc", srcdir ? srcdir : ".", library, path);
    const bool made = system(command) == 0;
    remove(path);
    return made;
}

static void *symbol_of(void *library, const char *name, const char *suffix)
{
    char full[512];

    snprintf(full, sizeof full, "%s%s", name, suffix);
    return dlsym(library, full);
}

bool emulator_find(void *library, const char *name, emulator_kernel *out)
{
    void (*attach)(pdm_emulation *);
    void *thread = symbol_of(library, name, "_thread"), *bounds = symbol_of(library, name, "_bounds"),
         *entry = dlsym(library, "pdm_attach");
    const bool *waits = symbol_of(library, name, "_waits");
    const unsigned *count = symbol_of(library, name, "_arguments");

    out->pointers = symbol_of(library, name, "_pointers");

    if (!thread || !bounds || !entry || !waits || !count || !out->pointers)
        return false;
    memcpy(&out->thread, &thread, sizeof thread);
    memcpy(&out->bounds, &bounds, sizeof bounds);
    memcpy(&attach, &entry, sizeof entry);
    out->waits = *waits;
    out->num_arguments = *count;
    m.face.access = access_element;
    m.face.barrier = barrier;
    m.face.exchange = exchange;
    m.face.gather = gather;
    m.face.fault = fault;
    attach(&m.face);
    return true;
}
