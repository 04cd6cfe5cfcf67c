/* einsum: sums of products over all places that the labels span. */
#include "exec/kernels/nn_impl.h"

/* Labels are numbered: a to z, A to Z, then the dims that an ellipsis stands for. */
#define ELLIPSIS     52
#define LABELS       (ELLIPSIS + PDM_MAX_RANK)
#define MAX_OPERANDS 16

typedef struct einsum {
    size_t operands;
    const pdm_tensor *x[MAX_OPERANDS];
    pdm_tensor *out;
    int64_t sizes[LABELS]; /* 0: not seen */
    int64_t strides[MAX_OPERANDS][LABELS];
    int seen[LABELS]; /* how often */
    int ellipsis;     /* dims of the longest one */
    int kept[PDM_MAX_RANK], num_kept, summed[LABELS], num_summed;
    int64_t sums; /* places to be summed up for one result */
} einsum;

static int label_of(char c)
{
    if (c >= 'a' && c <= 'z')
        return c - 'a';
    return c >= 'A' && c <= 'Z' ? c - 'A' + 26 : -1;
}

/* Dims that the ellipsis of an operand stands for; -1: the term does not fit the operand. */
static int ellipsis_dims(const char *term, const char *end, int rank)
{
    int labels = 0;
    bool dots = false;

    for (const char *c = term; c < end; c++) {
        labels += label_of(*c) >= 0;
        dots = dots || *c == '.';
    }
    return labels == rank || (dots && labels < rank) ? rank - labels : -1;
}

static void add_dim(pdm_k *k, einsum *e, size_t operand, int label, int64_t size, int64_t stride)
{
    e->seen[label]++;
    if (e->seen[label] > 1 && size != 1 && e->sizes[label] != 1 && e->sizes[label] != size) {
        pdm_k_fail(k, "a label stands for %lld and for %lld", (long long)e->sizes[label],
                   (long long)size);
        return;
    }
    if (e->seen[label] == 1 || size != 1)
        e->sizes[label] = size;
    if (size != 1)
        e->strides[operand][label] += stride;
}

static void read_term(pdm_k *k, einsum *e, size_t operand, const char *term, const char *end)
{
    const pdm_tensor *x = e->x[operand];
    const int dots = ellipsis_dims(term, end, x->rank);
    int d = 0;

    if (dots < 0) {
        pdm_k_fail(k, "operand %zu has %d dimensions, its labels are '%.*s'", operand, x->rank,
                   (int)(end - term), term);
        return;
    }
    for (const char *c = term; c < end && d <= x->rank; c++) {
        int n = 1, label = label_of(*c);
        if (*c == '.' && end - c >= 3) {
            c += 2;
            n = dots;
            label = LABELS - dots; /* aligned at the last one */
            if (dots > e->ellipsis)
                e->ellipsis = dots;
        } else if (label < 0) {
            if (*c != ' ')
                pdm_k_fail(k, "'%c' is no label", *c);
            continue;
        }
        for (int i = 0; i < n && d < x->rank; i++, d++)
            add_dim(k, e, operand, label + i, x->dims[d], pdm_k_product(x->dims, d + 1, x->rank));
    }
}

static void keep(pdm_k *k, einsum *e, int label)
{
    if (e->num_kept == PDM_MAX_RANK || e->seen[label] <= 0)
        pdm_k_fail(k, "the result has too many labels, or one that no operand has");
    else
        e->kept[e->num_kept++] = label;
    e->seen[label] = -1;
}

/* Labels of the result: as written, or all that stand once, in the order of the alphabet. */
static void read_result(pdm_k *k, einsum *e, const char *arrow)
{
    if (!arrow) {
        for (int i = LABELS - e->ellipsis; i < LABELS; i++)
            keep(k, e, i);
        for (int i = 0; i < ELLIPSIS; i++) {
            const int label = i < 26 ? i + 26 : i - 26; /* capitals are first */
            if (e->seen[label] == 1)
                keep(k, e, label);
        }
    }
    for (const char *c = arrow ? arrow + 2 : ""; *c && PDM_K_OK(k); c++) {
        if (!strncmp(c, "...", 3)) {
            for (int i = LABELS - e->ellipsis; i < LABELS; i++)
                keep(k, e, i);
            c += 2;
        } else if (label_of(*c) >= 0) {
            keep(k, e, label_of(*c));
        } else if (*c != ' ') {
            pdm_k_fail(k, "'%c' is no label", *c);
        }
    }
    e->sums = 1;
    for (int i = 0; i < LABELS; i++) {
        if (e->seen[i] > 0) {
            e->summed[e->num_summed++] = i;
            e->sums = pdm_nn_mul(k, e->sums, e->sizes[i]);
        }
    }
}

static bool parse(pdm_k *k, einsum *e)
{
    const char *text = pdm_k_str(k, "equation"), *arrow = strstr(text, "->");
    const char *end = arrow ? arrow : text + strlen(text), *term = text;

    e->operands = pdm_k_list_count(k, 0);
    if (e->operands < 1 || e->operands > MAX_OPERANDS) {
        pdm_k_fail(k, "%zu operands", e->operands);
        return false;
    }
    for (size_t i = 0; i < e->operands && PDM_K_OK(k); i++) {
        const char *comma = memchr(term, ',', (size_t)(end - term));
        const char *last = i + 1 < e->operands ? comma : comma ? NULL : end;
        e->x[i] = pdm_k_list_at(k, 0, i);
        if (!last)
            pdm_k_fail(k, "'%s' is not for %zu operands", text, e->operands);
        else if (e->x[i] && e->x[i]->dtype != e->x[0]->dtype)
            pdm_k_fail(k, "the operands differ in type");
        else if (e->x[i])
            read_term(k, e, i, term, last);
        term = last ? last + 1 : end;
    }
    if (PDM_K_OK(k))
        read_result(k, e, arrow);
    return PDM_K_OK(k);
}

/* Offsets of the operands at place `index` of the space that the labels span. */
static void find(const einsum *e, const int *labels, int n, int64_t index, const int64_t *base,
                 int64_t *offsets)
{
    memcpy(offsets, base, e->operands * sizeof *offsets);
    for (int i = n - 1; i >= 0; i--) {
        const int64_t size = e->sizes[labels[i]], at = index % size;
        index /= size;
        for (size_t o = 0; o < e->operands; o++)
            offsets[o] += at * e->strides[o][labels[i]];
    }
}

#define ELEMENT(code, suffix, type, acc, load, store, sum_type)                                    \
    static void element_##suffix(const einsum *e, const int64_t *base, int64_t at)                 \
    {                                                                                              \
        const int last = e->num_summed - 1;                                                        \
        const int64_t run = last >= 0 ? e->sizes[e->summed[last]] : 1;                             \
        sum_type sum = 0;                                                                          \
        for (int64_t i = 0; i < e->sums; i += run) {                                               \
            int64_t offsets[MAX_OPERANDS];                                                         \
            find(e, e->summed, e->num_summed, i, base, offsets);                                   \
            for (int64_t j = 0; j < run; j++) {                                                    \
                sum_type product = 1;                                                              \
                for (size_t o = 0; o < e->operands; o++) {                                         \
                    const int64_t stride = last >= 0 ? e->strides[o][e->summed[last]] : 0;         \
                    product *=                                                                     \
                        (sum_type)load(((const type *)e->x[o]->data)[offsets[o] + j * stride]);    \
                }                                                                                  \
                sum += product;                                                                    \
            }                                                                                      \
        }                                                                                          \
        ((type *)e->out->data)[at] = (type)store((acc)sum);                                        \
    }
PDM_K_FLOATS(ELEMENT, double)
PDM_K_INTS(ELEMENT, uint64_t)
PDM_K_COMPLEXES(ELEMENT, double complex)

#define SET(X, ...)                                                                                \
    PDM_K_FLOATS(X, __VA_ARGS__)                                                                   \
    PDM_K_INTS(X, __VA_ARGS__)                                                                     \
    PDM_K_COMPLEXES(X, __VA_ARGS__)

typedef struct job {
    pdm_k *k;
    const einsum *e;
} job;

static void elements(void *arg, int64_t begin, int64_t end)
{
    static const int64_t zeros[MAX_OPERANDS] = {0};
    const einsum *e = ((job *)arg)->e;
    pdm_k *k = ((job *)arg)->k;

    for (int64_t i = begin; i < end; i++) {
        int64_t base[MAX_OPERANDS];
        find(e, e->kept, e->num_kept, i, zeros, base);
        PDM_K_DISPATCH(k, e->x[0]->dtype, SET, element, e, base, i);
    }
}

pdm_status pdm_kernel_einsum(pdm_k *k)
{
    einsum e = {0};
    int64_t dims[PDM_MAX_RANK];

    if (!parse(k, &e))
        return k->status;
    for (int i = 0; i < e.num_kept; i++)
        dims[i] = e.sizes[e.kept[i]];
    e.out = pdm_nn_out(k, 0, e.x[0]->dtype, e.num_kept, dims);
    job j = {k, &e};
    if (e.out)
        pdm_k_parallel(k, pdm_tensor_count(e.out), 1 + PDM_NN_GRAIN / (e.sums + 1), elements, &j);
    return k->status;
}
