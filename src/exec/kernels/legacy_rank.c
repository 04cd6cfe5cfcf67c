/* Rank tables, and ops that take sequences apart and put them together by them or by a mask. */
#include <stdlib.h>

#include "base/vec.h"
#include "exec/kernels/legacy_sub.h"

enum { MOST_LEVELS = 8 };

/* ---- checks ---------------------------------------------------------------------------------- */

/* Each level ascends from 0 and ends at the number of parts of the next one, the last at the rows.
 */
static bool lod_fits(pdm_k *k, const pdm_tensor *t)
{
    const size_t levels = pdm_tensor_num_lod(t);

    if (!PDM_K_OK(k))
        return false;
    if (t->rank < 1 || levels > MOST_LEVELS) {
        pdm_k_fail(k, "a tensor with %d dimensions and %zu levels of LoD", t->rank, levels);
        return false;
    }
    for (size_t l = 0; l < levels; l++) {
        size_t n, below = (size_t)t->dims[0] + 1;
        const int64_t *off = pdm_tensor_lod(t, l, &n);
        if (l + 1 < levels)
            pdm_tensor_lod(t, l + 1, &below);
        bool good = n > 0 && off[0] == 0 && off[n - 1] == (int64_t)below - 1;
        for (size_t i = 1; good && i < n; i++)
            good = off[i] >= off[i - 1];
        if (!good) {
            pdm_k_fail(k, "level %zu of the LoD does not fit the tensor", l);
            return false;
        }
    }
    return true;
}

/* Parts at a level: sequences, or rows below the last level. */
static int64_t num_parts(const pdm_tensor *t, size_t level)
{
    size_t n;

    if (level >= pdm_tensor_num_lod(t))
        return t->dims[0];
    pdm_tensor_lod(t, level, &n);
    return (int64_t)n - 1;
}

/* ---- putting parts together ------------------------------------------------------------------ */

typedef struct part {
    const pdm_tensor *from;
    int64_t begin, end; /* rows */
} part;

typedef struct joiner {
    PDM_VEC(part) parts;
    PDM_VEC(int64_t) offsets[MOST_LEVELS];
    size_t levels;
    bool nomem;
} joiner;

static void add_length(joiner *j, size_t level, int64_t length)
{
    if (level >= MOST_LEVELS)
        return;
    if (j->offsets[level].n == 0 && !PDM_VEC_PUSH(&j->offsets[level], 0)) {
        j->nomem = true;
        return;
    }
    const int64_t end = j->offsets[level].v[j->offsets[level].n - 1];
    if (!PDM_VEC_PUSH(&j->offsets[level], end + length))
        j->nomem = true;
    if (level >= j->levels)
        j->levels = level + 1;
}

/* Part `index` of `from` at a level, with the levels below it, which begin at out_level. */
static void add_part(joiner *j, const pdm_tensor *from, size_t level, int64_t index,
                     size_t out_level)
{
    part p = {from, index, index + 1};

    for (; level < pdm_tensor_num_lod(from); level++, out_level++) {
        size_t n;
        const int64_t *off = pdm_tensor_lod(from, level, &n);
        for (int64_t i = p.begin; i < p.end; i++)
            add_length(j, out_level, off[i + 1] - off[i]);
        p.begin = off[p.begin];
        p.end = off[p.end];
    }
    if (!PDM_VEC_PUSH(&j->parts, p))
        j->nomem = true;
}

static void copy_rows(const joiner *j, pdm_tensor *out)
{
    const size_t size = (size_t)pdm_k_product(out->dims, 1, out->rank) * pdm_dtype_size(out->dtype);
    char *to = out->data;

    for (size_t i = 0; i < j->parts.n; i++) {
        const part *p = &j->parts.v[i];
        const size_t bytes = (size_t)(p->end - p->begin) * size;
        memcpy(to, (const char *)p->from->data + (size_t)p->begin * size, bytes);
        to += bytes;
    }
}

/* The parts as one tensor of the form of `like`. */
static void join(pdm_k *k, joiner *j, const pdm_tensor *like, pdm_tensor *out)
{
    const int64_t *offsets[MOST_LEVELS];
    size_t counts[MOST_LEVELS];
    int64_t dims[PDM_MAX_RANK];

    if (j->nomem)
        pdm_k_nomem(k);
    if (!PDM_K_OK(k) || !out)
        return;
    memcpy(dims, like->dims, sizeof dims);
    dims[0] = 0;
    for (size_t i = 0; i < j->parts.n; i++) {
        const pdm_tensor *from = j->parts.v[i].from;
        dims[0] += j->parts.v[i].end - j->parts.v[i].begin;
        if (from->dtype != like->dtype || from->rank != like->rank ||
            memcmp(from->dims + 1, like->dims + 1, (size_t)(like->rank - 1) * sizeof *dims) != 0) {
            pdm_k_fail(k, "the rows differ in shape or element type");
            return;
        }
    }
    pdm_tensor made = {0};
    if (pdm_tensor_alloc(&made, like->dtype, like->rank, dims) != PDM_OK) {
        pdm_k_nomem(k);
        return;
    }
    copy_rows(j, &made);
    for (size_t l = 0; l < j->levels; l++) {
        offsets[l] = j->offsets[l].v;
        counts[l] = j->offsets[l].n;
    }
    if (j->levels && pdm_tensor_set_lod(&made, j->levels, offsets, counts) != PDM_OK)
        pdm_k_nomem(k);
    pdm_tensor_ref(out, &made);
    pdm_tensor_deinit(&made);
}

static void joiner_deinit(joiner *j)
{
    PDM_VEC_FREE(&j->parts);
    for (size_t l = 0; l < MOST_LEVELS; l++)
        PDM_VEC_FREE(&j->offsets[l]);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static int by_length(const void *a, const void *b)
{
    const pdm_rank_row *x = a, *y = b;

    if (x->length != y->length)
        return x->length > y->length ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static int by_index(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

pdm_status pdm_kernel_old_lod_rank_table(pdm_k *k)
{
    const pdm_tensor *x = pdm_sub_slot(k, "X");
    const int64_t level = pdm_k_int_or(k, "level", 0);
    pdm_value *out = pdm_k_out_slot_value(k, "Out");
    size_t n;

    if (!lod_fits(k, x) || !out)
        return k->status;
    if (level < 0 || (uint64_t)level >= pdm_tensor_num_lod(x))
        return pdm_k_fail(k, "there is no level %lld among %zu of LoD", (long long)level,
                          pdm_tensor_num_lod(x));
    const int64_t *off = pdm_tensor_lod(x, (size_t)level, &n);
    pdm_rank_row *rows = calloc(n, sizeof *rows);
    if (!rows)
        return pdm_k_nomem(k);
    for (size_t i = 0; i + 1 < n; i++)
        rows[i] = (pdm_rank_row){(int64_t)i, off[i + 1] - off[i]};
    qsort(rows, n - 1, sizeof *rows, by_length);
    pdm_value_deinit(out);
    out->kind = PDM_VALUE_RANK_TABLE;
    out->table.rows = rows;
    out->table.count = n - 1;
    out->table.level = (size_t)level;
    return PDM_OK;
}

static const pdm_value *table_of(pdm_k *k)
{
    const pdm_value *table = pdm_k_slot_value(k, "RankTable");

    if (table && table->kind == PDM_VALUE_RANK_TABLE)
        return table;
    pdm_k_fail(k, "operand 'RankTable' is no rank table");
    return NULL;
}

static int64_t longest(const pdm_value *table)
{
    return table->table.count ? table->table.rows[0].length : 0;
}

/* How many sequences are longer than `step`: they come first. */
static size_t num_longer(const pdm_value *table, int64_t step)
{
    size_t low = 0, high = table->table.count;

    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (table->table.rows[mid].length > step)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

pdm_status pdm_kernel_old_max_sequence_len(pdm_k *k)
{
    const pdm_value *table = table_of(k);
    pdm_tensor *out = table ? pdm_sub_out(k, "Out", PDM_I64, 1, &(int64_t){1}) : NULL;

    if (out)
        *(int64_t *)out->data = longest(table);
    return k->status;
}

pdm_status pdm_kernel_old_shrink_rnn_memory(pdm_k *k)
{
    const pdm_value *table = table_of(k);
    const pdm_tensor *x = pdm_sub_slot(k, "X"), *step = pdm_sub_slot(k, "I");
    joiner j = {0};

    if (!lod_fits(k, x))
        return k->status;
    if (pdm_tensor_count(step) < 1)
        return pdm_k_fail(k, "the number of the step is empty");
    const size_t n = num_longer(table, pdm_get_int(step, 0));
    if ((int64_t)n > num_parts(x, 0))
        return pdm_k_fail(k, "%zu sequences are wanted of %lld", n, (long long)num_parts(x, 0));
    for (size_t i = 0; i < n; i++)
        add_part(&j, x, 0, (int64_t)i, 0);
    join(k, &j, x, pdm_k_out_slot(k, "Out"));
    joiner_deinit(&j);
    return k->status;
}

pdm_status pdm_kernel_old_reorder_by_rank(pdm_k *k)
{
    const pdm_value *table = table_of(k);
    const pdm_tensor *x = pdm_sub_slot(k, "X");
    joiner j = {0};

    if (!lod_fits(k, x))
        return k->status;
    for (size_t i = 0; i < table->table.count && PDM_K_OK(k); i++) {
        const int64_t index = table->table.rows[i].index;
        if (index >= num_parts(x, 0))
            pdm_k_fail(k, "there is no sequence %lld", (long long)index);
        else
            add_part(&j, x, 0, index, 0);
    }
    join(k, &j, x, pdm_k_out_slot(k, "Out"));
    joiner_deinit(&j);
    return k->status;
}

/* ---- arrays of steps ------------------------------------------------------------------------- */

static pdm_value *array_of(pdm_k *k, const char *slot)
{
    pdm_value *out = pdm_k_out_slot_value(k, slot);

    if (out) {
        pdm_value_deinit(out);
        out->kind = PDM_VALUE_ARRAY;
    }
    return out;
}

/* Step t: part t of all sequences that are so long, in the order of the table. */
static void write_step(pdm_k *k, const pdm_value *table, const pdm_tensor *x, int64_t t,
                       pdm_value *array)
{
    const size_t level = table->table.level, n = num_longer(table, t);
    pdm_tensor *place = pdm_value_array_at(array, (size_t)t);
    joiner j = {0};
    size_t count;
    const int64_t *off = pdm_tensor_lod(x, level, &count);

    if (!place)
        pdm_k_nomem(k);
    for (size_t i = 0; i < n; i++)
        add_part(&j, x, level + 1, off[table->table.rows[i].index] + t, 0);
    join(k, &j, x, place);
    joiner_deinit(&j);
}

/* The table is of a tensor with the same sequences. */
static bool table_fits(pdm_k *k, const pdm_value *table, const pdm_tensor *x)
{
    size_t n = 0;
    const int64_t *off = NULL;

    if (!lod_fits(k, x))
        return false;
    if (table->table.level < pdm_tensor_num_lod(x))
        off = pdm_tensor_lod(x, table->table.level, &n);
    for (size_t i = 0; i < table->table.count; i++) {
        const pdm_rank_row *row = &table->table.rows[i];
        if (row->index + 1 >= (int64_t)n || off[row->index + 1] - off[row->index] != row->length) {
            pdm_k_fail(k, "the rank table is of other sequences");
            return false;
        }
    }
    return true;
}

pdm_status pdm_kernel_old_lod_tensor_to_array(pdm_k *k)
{
    const pdm_value *table = table_of(k);
    const pdm_tensor *x = pdm_sub_slot(k, "X");

    if (!PDM_K_OK(k) || !table_fits(k, table, x))
        return k->status;
    pdm_value *array = array_of(k, "Out");
    for (int64_t t = 0; array && t < longest(table) && PDM_K_OK(k); t++)
        write_step(k, table, x, t, array);
    return k->status;
}

/* Step t of the sequence at rank `rank`. */
static void read_step(pdm_k *k, const pdm_value *array, int64_t t, int64_t rank, joiner *j)
{
    const pdm_tensor *step = (uint64_t)t < array->array.count ? &array->array.items[t] : NULL;

    if (!step || step->dtype == PDM_UNDEFINED) {
        pdm_k_fail(k, "the array has no step %lld", (long long)t);
        return;
    }
    if (!lod_fits(k, step))
        return;
    if (rank >= num_parts(step, 0))
        pdm_k_fail(k, "step %lld has no sequence %lld", (long long)t, (long long)rank);
    else
        add_part(j, step, 0, rank, 1);
}

pdm_status pdm_kernel_old_array_to_lod_tensor(pdm_k *k)
{
    const pdm_value *table = table_of(k), *array = pdm_k_slot_value(k, "X");
    joiner j = {0};

    if (!PDM_K_OK(k))
        return k->status;
    if (!array || array->kind != PDM_VALUE_ARRAY || array->array.count == 0)
        return pdm_k_fail(k, "operand 'X' is no tensor array with items");
    const size_t n = table->table.count;
    int64_t(*order)[2] = pdm_k_temp(k, (n + 1) * sizeof *order); /* sequence, rank */
    if (!order)
        return k->status;
    for (size_t i = 0; i < n; i++) {
        order[i][0] = table->table.rows[i].index;
        order[i][1] = (int64_t)i;
    }
    qsort(order, n, sizeof *order, by_index);
    for (size_t i = 0; i < n && PDM_K_OK(k); i++) {
        const int64_t length = table->table.rows[order[i][1]].length;
        add_length(&j, 0, length);
        for (int64_t t = 0; t < length && PDM_K_OK(k); t++)
            read_step(k, array, t, order[i][1], &j);
    }
    if (PDM_K_OK(k) && array->array.items[0].rank < 1)
        pdm_k_fail(k, "the steps have no dimensions");
    join(k, &j, &array->array.items[0], pdm_k_out_slot(k, "Out"));
    joiner_deinit(&j);
    return k->status;
}

/* ---- masks ----------------------------------------------------------------------------------- */

static bool is_mask(pdm_k *k, const pdm_tensor *mask)
{
    if (PDM_K_OK(k) && mask->dtype != PDM_BOOL)
        pdm_k_unsupported_dtype(k, mask->dtype);
    return PDM_K_OK(k);
}

static size_t level_of(pdm_k *k, const pdm_tensor *x)
{
    const int64_t level = pdm_k_int_or(k, "level", 0);
    const size_t levels = pdm_tensor_num_lod(x);

    if (level < 0 || (levels && (uint64_t)level >= levels))
        pdm_k_fail(k, "there is no level %lld among %zu of LoD", (long long)level, levels);
    return levels ? (size_t)level : 0;
}

pdm_status pdm_kernel_old_split_lod_tensor(pdm_k *k)
{
    const pdm_tensor *x = pdm_sub_slot(k, "X"), *mask = pdm_sub_slot(k, "Mask");
    joiner j[2] = {{.levels = 0}};

    if (!is_mask(k, mask) || !lod_fits(k, x))
        return k->status;
    const size_t level = level_of(k, x);
    if (PDM_K_OK(k) && pdm_tensor_count(mask) != num_parts(x, level))
        pdm_k_fail(k, "the mask has %lld elements for %lld parts",
                   (long long)pdm_tensor_count(mask), (long long)num_parts(x, level));
    for (int64_t i = 0; PDM_K_OK(k) && i < num_parts(x, level); i++)
        add_part(&j[((const uint8_t *)mask->data)[i] ? 1 : 0], x, level, i, 0);
    join(k, &j[1], x, pdm_k_out_slot(k, "OutTrue"));
    join(k, &j[0], x, pdm_k_out_slot(k, "OutFalse"));
    joiner_deinit(&j[0]);
    joiner_deinit(&j[1]);
    return k->status;
}

pdm_status pdm_kernel_old_merge_lod_tensor(pdm_k *k)
{
    const pdm_tensor *mask = pdm_sub_slot(k, "Mask");
    const pdm_tensor *in[2] = {pdm_k_slot(k, "InFalse"), pdm_k_slot(k, "InTrue")};
    const pdm_tensor *like = in[1] ? in[1] : in[0];
    int64_t next[2] = {0, 0};
    joiner j = {0};

    if (!is_mask(k, mask))
        return k->status;
    if (!like)
        return pdm_k_fail(k, "there is nothing to merge");
    for (int i = 0; i < 2; i++) {
        if (in[i] && !lod_fits(k, in[i]))
            return k->status;
    }
    for (int64_t i = 0, n = pdm_tensor_count(mask); i < n && PDM_K_OK(k); i++) {
        const int side = ((const uint8_t *)mask->data)[i] ? 1 : 0;
        if (!in[side] || next[side] >= num_parts(in[side], 0))
            pdm_k_fail(k, "the mask wants more than %lld parts of one operand",
                       (long long)next[side]);
        else
            add_part(&j, in[side], 0, next[side]++, 0);
    }
    join(k, &j, like, pdm_k_out_slot(k, "Out"));
    joiner_deinit(&j);
    return k->status;
}
