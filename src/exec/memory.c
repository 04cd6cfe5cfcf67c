#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* madvise */
#endif
#include "exec/memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <sys/mman.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/checked.h"

enum {
    ALIGNMENT = PDM_TENSOR_ALIGNMENT,
    MAX_PLANNED = 4096, /* the largest results; planning is quadratic */
    NUM_CLASSES = 128,  /* of sizes of kept buffers */
    LARGE_BLOCK = 4 << 20,
    MOST_UNKNOWN = 8 /* a plan by foreseen sizes leaves at most an eighth of what it has to others */
};

#define NOWHERE SIZE_MAX

/* What is known of a result, and its place in the block. */
typedef struct record {
    uint64_t first, last; /* life on the clock of the watched run; first 0: not allocated */
    size_t size;          /* the most that was needed */
    size_t place;         /* in the block; NOWHERE: not planned */
} record;

/* A place of the block. Its buffer has no references while the place is free. */
typedef struct region {
    pdm_buffer buffer;
    pdm_exec_memory *memory;
    size_t begin, end;
} region;

/* A buffer of its own: data follow. Watched ones tell when they go, others are kept for reuse. */
typedef struct lone {
    pdm_buffer buffer;
    pdm_exec_memory *memory;
    record *watched;   /* NULL: not in a watched run */
    uint64_t run;      /* the watched run */
    size_t size;       /* room for data */
    struct lone *next; /* kept */
} lone;

struct pdm_exec_memory {
    pthread_mutex_t lock;
    atomic_size_t users; /* the session and all buffers that are referred to */
    uint32_t num_results;
    record *records;
    region *regions; /* by result */
    size_t *bytes;   /* by result: what is foreseen for a run */
    void *block;     /* malloc'ed; regions lie in the aligned part of it */
    char *base;
    size_t block_size, planned; /* there is room for more than is planned when inputs were larger before */
    uint32_t *live; /* results whose regions were given out; those that were released go lazily */
    size_t num_live;
    lone *kept[NUM_CLASSES];
    size_t kept_bytes, most_kept;
    uint64_t signature, clock, run;
    bool has_plan, watching, closed;
    bool knows_lives; /* of a run that was watched to its end */
    bool derived;     /* the plan is for foreseen sizes */
    bool partial;     /* of which some are not known, or lives were others */
    size_t own_bytes; /* that the run has taken beside the plan */
    size_t slack;     /* room for as much in the block, from the next plan on */
    size_t in_use, peak;
    uint64_t num_new;
};

/* ---- life ------------------------------------------------------------------------------------ */

static void free_kept(pdm_exec_memory *m)
{
    for (int i = 0; i < NUM_CLASSES; i++) {
        while (m->kept[i]) {
            lone *l = m->kept[i];
            m->kept[i] = l->next;
            free(l);
        }
    }
    m->kept_bytes = 0;
}

static void leave(pdm_exec_memory *m)
{
    if (atomic_fetch_sub_explicit(&m->users, 1, memory_order_acq_rel) != 1)
        return;
    free_kept(m);
    pthread_mutex_destroy(&m->lock);
    free(m->block);
    free(m->records);
    free(m->regions);
    free(m->live);
    free(m->bytes);
    free(m);
}

pdm_status pdm_exec_memory_create(uint32_t num_results, pdm_exec_memory **out_memory)
{
    pdm_exec_memory *m = calloc(1, sizeof *m);

    if (!m)
        return PDM_NOMEM;
    pthread_mutex_init(&m->lock, NULL);
    atomic_init(&m->users, 1);
    m->num_results = num_results;
    m->records = calloc((size_t)num_results + 1, sizeof *m->records);
    m->regions = calloc((size_t)num_results + 1, sizeof *m->regions);
    m->live = calloc((size_t)num_results + 1, sizeof *m->live);
    m->bytes = calloc((size_t)num_results + 1, sizeof *m->bytes);
    if (!m->records || !m->regions || !m->live || !m->bytes) {
        pdm_exec_memory_destroy(m);
        return PDM_NOMEM;
    }
    *out_memory = m;
    return PDM_OK;
}

void pdm_exec_memory_destroy(pdm_exec_memory *m)
{
    if (!m)
        return;
    pthread_mutex_lock(&m->lock);
    m->closed = true; /* nothing is kept from here on */
    free_kept(m);
    pthread_mutex_unlock(&m->lock);
    leave(m);
}

static void count_use(pdm_exec_memory *m, size_t size)
{
    m->in_use += size;
    if (m->in_use > m->peak)
        m->peak = m->in_use;
}

/* ---- buffers of their own -------------------------------------------------------------------- */

/* Classes are an eighth of a power of two wide; *out_size is the largest size of the class. */
static int class_of(size_t size, size_t *out_size)
{
    int power = 9; /* up to 512 bytes are one class */

    if (size <= 512) {
        *out_size = 512;
        return 0;
    }
    while (power < 62 && size > (size_t)1 << (power + 1))
        power++;
    const size_t base = (size_t)1 << power, step = base / 8;
    const size_t n = (size - base + step - 1) / step; /* 1 to 8 */
    *out_size = base + n * step;
    const int index = (power - 9) * 8 + (int)n;
    return index < NUM_CLASSES ? index : -1;
}

static void *data_of(lone *l)
{
    const uintptr_t first = (uintptr_t)(l + 1);

    return (char *)(l + 1) + (ALIGNMENT - first % ALIGNMENT) % ALIGNMENT;
}

static void lone_release(pdm_buffer *buffer)
{
    lone *l = (lone *)buffer;
    pdm_exec_memory *m = l->memory;
    size_t size;
    const int class = class_of(l->size, &size);

    pthread_mutex_lock(&m->lock);
    m->in_use -= l->size;
    const bool keep =
        !l->watched && !m->closed && class >= 0 && m->kept_bytes + l->size <= m->most_kept;
    if (l->watched && l->run == m->run && m->watching)
        l->watched->last = ++m->clock;
    if (keep) {
        m->kept_bytes += l->size;
        l->next = m->kept[class];
        m->kept[class] = l;
    }
    pthread_mutex_unlock(&m->lock);
    if (!keep)
        free(l);
    leave(m);
}

/* With the lock held. */
static lone *take_kept(pdm_exec_memory *m, size_t size)
{
    size_t room;
    const int class = class_of(size, &room);

    if (class < 0 || !m->kept[class])
        return NULL;
    lone *l = m->kept[class];
    m->kept[class] = l->next;
    m->kept_bytes -= l->size;
    return l;
}

/* With the lock held. */
static pdm_status own_buffer(pdm_exec_memory *m, record *r, size_t size, pdm_buffer **out_buffer,
                             void **out_data)
{
    const bool watched = m->watching;
    size_t room = size;
    lone *l = watched ? NULL : take_kept(m, size);

    if (!l) {
        if (!watched && class_of(size, &room) < 0)
            room = size;
        if (room > SIZE_MAX - sizeof *l - ALIGNMENT)
            return PDM_NOMEM;
        l = malloc(sizeof *l + ALIGNMENT + room);
        if (!l)
            return PDM_NOMEM;
        l->size = room;
        m->num_new++;
    }
    atomic_init(&l->buffer.refs, 1);
    l->buffer.release = lone_release;
    l->memory = m;
    l->watched = NULL;
    l->run = m->run;
    if (watched) {
        l->watched = r;
        ++m->clock;
        if (r->first == 0)
            r->first = m->clock;
        r->last = UINT64_MAX; /* until it goes */
        if (r->size < size)
            r->size = size;
    }
    atomic_fetch_add_explicit(&m->users, 1, memory_order_relaxed);
    count_use(m, l->size);
    m->own_bytes += l->size;
    *out_buffer = &l->buffer;
    *out_data = data_of(l);
    return PDM_OK;
}

/* ---- places ---------------------------------------------------------------------------------- */

static void region_release(pdm_buffer *buffer)
{
    region *g = (region *)buffer;
    pdm_exec_memory *m = g->memory;

    pthread_mutex_lock(&m->lock);
    m->in_use -= g->end - g->begin;
    pthread_mutex_unlock(&m->lock);
    leave(m);
}

static bool is_free(const region *g)
{
    return atomic_load_explicit(&g->buffer.refs, memory_order_acquire) == 0;
}

static void forget_released(pdm_exec_memory *m)
{
    for (size_t i = 0; i < m->num_live;) {
        if (is_free(&m->regions[m->live[i]]))
            m->live[i] = m->live[--m->num_live];
        else
            i++;
    }
}

/* What lives and overlaps a place; NULL: nothing. */
static const region *in_the_way(const pdm_exec_memory *m, size_t begin, size_t end)
{
    for (size_t i = 0; i < m->num_live; i++) {
        const region *other = &m->regions[m->live[i]];
        if (other->begin < end && begin < other->end)
            return other;
    }
    return NULL;
}

/* Where it was planned to be, or, when something lives longer than foreseen (threads go another way in each run), the
 * lowest place that is free. */
static bool find_room(pdm_exec_memory *m, region *g, size_t planned)
{
    const size_t size = g->end - g->begin;
    const region *other;

    forget_released(m);
    if (in_the_way(m, planned, planned + size)) {
        size_t at = 0;
        while ((other = in_the_way(m, at, at + size)))
            at = other->end;
        if (at > m->block_size || size > m->block_size - at)
            return false;
        planned = at;
    }
    g->begin = planned;
    g->end = planned + size;
    return true;
}

/* With the lock held; false when the place cannot be had. */
static bool planned_buffer(pdm_exec_memory *m, uint32_t result, size_t size,
                           pdm_buffer **out_buffer, void **out_data)
{
    region *g = &m->regions[result];

    if (!m->has_plan || m->watching || m->records[result].place == NOWHERE ||
        size > m->records[result].size || !is_free(g) || !find_room(m, g, m->records[result].place))
        return false;
    atomic_store_explicit(&g->buffer.refs, 1, memory_order_release);
    m->live[m->num_live++] = result;
    atomic_fetch_add_explicit(&m->users, 1, memory_order_relaxed);
    count_use(m, g->end - g->begin);
    *out_buffer = &g->buffer;
    *out_data = m->base + g->begin;
    return true;
}

pdm_status pdm_exec_memory_alloc(pdm_exec_memory *m, uint32_t result, pdm_tensor *tensor,
                                 pdm_dtype dtype, int rank, const int64_t *dims)
{
    pdm_tensor made = {.dtype = dtype, .rank = rank};
    uint64_t count, bytes;
    pdm_status status = PDM_OK;

    if (rank < 0 || rank > PDM_MAX_RANK || pdm_dtype_size(dtype) == 0 || result >= m->num_results)
        return PDM_INVALID_ARG;
    if (!pdm_count_elements(dims, (size_t)rank, &count) ||
        !pdm_mul_u64(count, pdm_dtype_size(dtype), &bytes) || bytes > SIZE_MAX / 2)
        return PDM_NOMEM;
    for (int i = 0; i < rank; i++)
        made.dims[i] = dims[i];
    /* What the result held goes first: its place may be needed. */
    pdm_tensor_deinit(tensor);
    pthread_mutex_lock(&m->lock);
    if (!planned_buffer(m, result, (size_t)bytes, &made.buffer, &made.data))
        status = own_buffer(m, &m->records[result], (size_t)bytes, &made.buffer, &made.data);
    pthread_mutex_unlock(&m->lock);
    if (status == PDM_OK)
        *tensor = made;
    return status;
}

/* ---- planning -------------------------------------------------------------------------------- */

typedef struct candidate {
    size_t size;
    uint32_t result;
} candidate;

static int larger_first(const void *a, const void *b)
{
    const candidate *x = a, *y = b;

    if (x->size != y->size)
        return x->size < y->size ? 1 : -1;
    return (x->result > y->result) - (x->result < y->result);
}

static int lower_first(const void *a, const void *b)
{
    const region *x = *(const region *const *)a, *y = *(const region *const *)b;

    return (x->begin > y->begin) - (x->begin < y->begin);
}

static bool meet(const record *a, const record *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* The lowest place that no result alive at the same time has; placed are in order of their begin.
 */
static size_t find_place(const pdm_exec_memory *m, region *const *placed, size_t num_placed,
                         const record *r, size_t size)
{
    size_t at = 0;

    for (size_t i = 0; i < num_placed; i++) {
        if (!meet(r, &m->records[placed[i] - m->regions]))
            continue;
        if (placed[i]->begin >= at + size)
            break;
        if (placed[i]->end > at)
            at = placed[i]->end;
    }
    return at;
}

static void insert_sorted(region **placed, size_t count, region *g)
{
    size_t i = count;

    for (; i > 0 && lower_first(&placed[i - 1], &g) > 0; i--)
        placed[i] = placed[i - 1];
    placed[i] = g;
}

/* Largest first, each as low as possible. */
static size_t place_all(pdm_exec_memory *m, const candidate *c, size_t count, region **placed)
{
    size_t end = 0;

    for (size_t i = 0; i < count; i++) {
        record *r = &m->records[c[i].result];
        region *g = &m->regions[c[i].result];
        const size_t size = (c[i].size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        r->place = find_place(m, placed, i, r, size);
        *g = (region){.memory = m, .begin = r->place, .end = r->place + size};
        atomic_init(&g->buffer.refs, 0);
        g->buffer.release = region_release;
        insert_sorted(placed, i, g);
        if (end < g->end)
            end = g->end;
    }
    return end;
}

/* A run goes through all of a large block, page by page: larger pages make det 4 % faster. None are promised. */
static void ask_for_large_pages(char *block, size_t size)
{
#ifdef MADV_HUGEPAGE
    const long page = sysconf(_SC_PAGESIZE);

    if (size < LARGE_BLOCK || page <= 0)
        return;
    const size_t skipped = (size_t)page - (uintptr_t)block % (size_t)page;
    (void)madvise(block + skipped, (size - skipped) / (size_t)page * (size_t)page, MADV_HUGEPAGE);
#else
    (void)block;
    (void)size;
#endif
}

/* Room for that many bytes. What is there is taken if it is not much too large. */
static bool take_block(pdm_exec_memory *m, size_t size)
{
    enum { SMALL_BLOCK = 1 << 20 };

    if (m->block && m->block_size >= size && (m->block_size <= SMALL_BLOCK || m->block_size / 4 <= size))
        return true;
    free(m->block);
    m->block_size = 0;
    m->block = malloc(size + ALIGNMENT);
    if (!m->block)
        return false;
    ask_for_large_pages(m->block, size + ALIGNMENT);
    const uintptr_t at = (uintptr_t)m->block;
    m->base = (char *)m->block + (ALIGNMENT - at % ALIGNMENT) % ALIGNMENT;
    m->block_size = size;
    return true;
}

/* Places for all results of known life that are marked with a size. A plan is an improvement only: when memory for it is
 * lacking there is none. */
static void make_plan(pdm_exec_memory *m)
{
    candidate *c = calloc((size_t)m->num_results + 1, sizeof *c);
    region **placed = calloc((size_t)m->num_results + 1, sizeof *placed);
    size_t count = 0;

    m->has_plan = false;
    m->num_live = 0;
    for (uint32_t i = 0; c && i < m->num_results; i++) {
        m->records[i].place = NOWHERE;
        if (m->records[i].first > 0 && m->bytes[i] != PDM_EXEC_NO_SIZE && m->bytes[i] > 0) {
            m->records[i].size = m->bytes[i];
            c[count++] = (candidate){m->bytes[i], i};
        }
    }
    if (c && placed && count > 0) {
        qsort(c, count, sizeof *c, larger_first);
        m->planned = place_all(m, c, count < MAX_PLANNED ? count : MAX_PLANNED, placed);
        m->has_plan = take_block(m, m->planned + m->slack);
    }
    /* Loops keep more than one value of a result: about as much as all of them may stay. */
    m->most_kept = m->block_size + ((size_t)1 << 20);
    if (m->kept_bytes > m->most_kept)
        free_kept(m);
    free(c);
    free(placed);
}

/* What a watched run had goes back to the system before the block is used, or the most memory would be both. */
static void give_back(size_t size)
{
#ifdef __GLIBC__
    if (size >= LARGE_BLOCK)
        (void)malloc_trim(0);
#else
    (void)size;
#endif
}

static void plan_watched(pdm_exec_memory *m)
{
    for (uint32_t i = 0; i < m->num_results; i++)
        m->bytes[i] = m->records[i].size;
    make_plan(m);
    give_back(m->planned);
    m->knows_lives = true;
    m->derived = m->partial = false;
}

/* Bytes: sums of places must not overflow, whatever is foreseen. */
#define MOST_FORESEEN (SIZE_MAX / 4)

/* Whether this run is better watched than planned by sizes that are foreseen: too little is known of them, or they are absurd. */
static bool too_little(const pdm_exec_memory *m, bool *out_partial)
{
    size_t known = 0, unknown = 0;

    for (uint32_t i = 0; i < m->num_results; i++) {
        if (m->records[i].first == 0)
            continue;
        if (m->bytes[i] != PDM_EXEC_NO_SIZE) {
            if (m->bytes[i] > MOST_FORESEEN - known) /* the run will tell that there is no memory */
                return true;
            known += m->bytes[i];
        } else /* about as much as the last time */
            unknown += m->records[i].size < SIZE_MAX - unknown ? m->records[i].size : 0;
    }
    *out_partial = unknown > 0;
    return known == 0 || unknown > known / MOST_UNKNOWN;
}

static bool plan_foreseen(pdm_exec_memory *m, pdm_exec_foresee_fn foresee, void *self)
{
    bool partial;

    if (!m->knows_lives || (m->derived && m->partial && m->own_bytes > m->planned / MOST_UNKNOWN) || !foresee ||
        !foresee(self, m->bytes) || too_little(m, &partial))
        return false;
    make_plan(m);
    m->derived = true;
    m->partial = partial;
    return m->has_plan;
}

/* Results lived longer, as they may with threads; or the run went another way. */
static void add_slack(pdm_exec_memory *m)
{
    const size_t most = m->planned / 4;

    if (m->slack >= most)
        m->partial = true; /* better watch again */
    m->slack = m->slack + m->own_bytes < most ? m->slack + m->own_bytes : most;
}

static void watch(pdm_exec_memory *m)
{
    free(m->block);
    free_kept(m);
    m->block = NULL;
    m->block_size = m->planned = m->slack = m->num_live = 0;
    m->has_plan = m->knows_lives = false;
    m->watching = true;
    m->clock = 0;
    for (uint32_t i = 0; i < m->num_results; i++)
        m->records[i] = (record){.place = NOWHERE};
}

/* Whether a region is referred to: then the block must stay. */
static bool block_in_use(pdm_exec_memory *m)
{
    for (uint32_t i = 0; i < m->num_results; i++) {
        if (m->records[i].place != NOWHERE && m->regions[i].memory && !is_free(&m->regions[i]))
            return true;
    }
    return false;
}

void pdm_exec_memory_begin(pdm_exec_memory *m, uint64_t signature, pdm_exec_foresee_fn foresee, void *self)
{
    pthread_mutex_lock(&m->lock);
    m->num_new = 0;
    m->run++;
    m->peak = m->in_use;
    m->watching = false;
    const bool other = m->signature != signature;
    /* Outputs of the last run that somebody holds keep the old plan alive; this run gets along. */
    if (!m->has_plan || ((other || m->partial) && !block_in_use(m))) {
        if (!other || !plan_foreseen(m, foresee, self))
            watch(m);
        m->signature = signature;
    }
    m->own_bytes = 0;
    pthread_mutex_unlock(&m->lock);
}

void pdm_exec_memory_end(pdm_exec_memory *m, bool complete)
{
    pthread_mutex_lock(&m->lock);
    if (m->watching && complete)
        plan_watched(m);
    else if (m->derived && m->own_bytes > m->planned / MOST_UNKNOWN)
        add_slack(m);
    m->watching = false;
    pthread_mutex_unlock(&m->lock);
}

pdm_exec_memory_stats pdm_exec_memory_get_stats(pdm_exec_memory *m)
{
    pthread_mutex_lock(&m->lock);
    const pdm_exec_memory_stats stats = {m->planned, m->in_use, m->peak, m->num_new};
    pthread_mutex_unlock(&m->lock);
    return stats;
}
