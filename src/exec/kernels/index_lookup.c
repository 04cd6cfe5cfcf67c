/* Tables looked up by ids, and what is made of ids. */
#include "exec/kernels/tensor_impl.h"

#include <math.h>
#include <stdlib.h>

/* Result 0, dims [ids..., width]: rows of the table, zeros where `blank` says so. */
static void *rows_out(pdm_k *k, const pdm_tensor *ids, pdm_dtype dtype, int id_rank, int64_t width)
{
    int64_t dims[PDM_MAX_RANK + 1];

    if (!pdm_shape_rank(k, (size_t)id_rank + 1))
        return NULL;
    memcpy(dims, ids->dims, sizeof ids->dims);
    dims[id_rank] = width;
    void *out = pdm_k_out(k, 0, dtype, id_rank + 1, dims);
    if (out)
        pdm_k_share_lod(k, 0, ids);
    return out;
}

/* Id i of any integer type. */
static bool are_ids(pdm_k *k, const pdm_tensor *ids)
{
    if (PDM_K_OK(k) && !pdm_dtype_is_int(ids->dtype))
        pdm_k_fail(k, "ids are of type %s", pdm_dtype_name(ids->dtype));
    return PDM_K_OK(k);
}

/* Ids of [first, first + rows of the table) give rows, the id `padding` gives zeros (-1: none), so
 * do ids outside when `lenient`. */
static pdm_status look_up(pdm_k *k, const pdm_tensor *ids, int id_rank, const pdm_tensor *table,
                          int64_t padding, int64_t first, bool lenient)
{
    if (!are_ids(k, ids))
        return k->status;
    if (table->rank != 2)
        return pdm_k_fail(k, "a table has 2 dimensions, not %d", table->rank);
    const int64_t rows = table->dims[0], width = table->dims[1], n = pdm_tensor_count(ids);
    const size_t bytes = (size_t)width * pdm_dtype_size(table->dtype);
    const char *from = table->data;
    char *out = rows_out(k, ids, table->dtype, id_rank, width);
    for (int64_t i = 0; out && i < n; i++) {
        const int64_t id = pdm_get_int(ids, i);
        const bool outside = id < first || (uint64_t)id - (uint64_t)first >= (uint64_t)rows;
        if (id == padding && padding != -1)
            memset(out + (size_t)i * bytes, 0, bytes);
        else if (!outside)
            memcpy(out + (size_t)i * bytes, from + (size_t)(id - first) * bytes, bytes);
        else if (lenient)
            memset(out + (size_t)i * bytes, 0, bytes);
        else
            return pdm_k_fail(k, "id %lld is not among the %lld rows of the table", (long long)id,
                              (long long)rows);
    }
    return k->status;
}

/* x, weight */
pdm_status pdm_kernel_embedding(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *table = pdm_k_in(k, 1);
    const int64_t padding = pdm_k_int(k, "padding_idx");

    return PDM_K_OK(k) ? look_up(k, x, x->rank, table, padding, 0, false) : k->status;
}

/* weight, x: a part of a table */
pdm_status pdm_kernel_c_embedding(pdm_k *k)
{
    const pdm_tensor *table = pdm_k_in(k, 0), *x = pdm_k_in(k, 1);
    const int64_t first = pdm_k_int(k, "start_index");

    return PDM_K_OK(k) ? look_up(k, x, x->rank, table, -1, first, true) : k->status;
}

/* w, ids [..., 1] */
pdm_status pdm_kernel_lookup_table(pdm_k *k)
{
    const pdm_tensor *table = pdm_k_in(k, 0), *ids = pdm_k_in(k, 1);
    const int64_t padding = pdm_k_int(k, "padding_idx");

    if (!PDM_K_OK(k))
        return k->status;
    if (ids->rank == 0 || ids->dims[ids->rank - 1] != 1)
        return pdm_k_fail(k, "the last dimension of ids is not 1");
    return look_up(k, ids, ids->rank - 1, table, padding, 0, false);
}

/* w, ids: rows hold the least and the largest value, then bytes in between, four to an element. */
pdm_status pdm_kernel_lookup_table_dequant(pdm_k *k)
{
    const pdm_tensor *table = pdm_k_in(k, 0), *ids = pdm_k_in(k, 1);
    const int64_t padding = pdm_k_int(k, "padding_idx");

    if (!PDM_K_OK(k) || !are_ids(k, ids))
        return k->status;
    if (table->rank != 2 || table->dtype != PDM_F32 || table->dims[1] < 2 ||
        table->dims[1] > INT64_MAX / 4 || ids->rank == 0 || ids->dims[ids->rank - 1] != 1)
        return pdm_k_fail(k, "the table or the ids have not the shape that is needed");
    const int64_t stored = table->dims[1], width = (stored - 2) * 4, n = pdm_tensor_count(ids);
    float *out = rows_out(k, ids, PDM_F32, ids->rank - 1, width);
    for (int64_t i = 0; out && i < n; i++, out += width) {
        const int64_t id = pdm_get_int(ids, i);
        if (id == padding && padding != -1) {
            memset(out, 0, (size_t)width * sizeof *out);
            continue;
        }
        if (id < 0 || id >= table->dims[0])
            return pdm_k_fail(k, "id %lld is not among the %lld rows of the table", (long long)id,
                              (long long)table->dims[0]);
        const float *row = (const float *)table->data + id * stored;
        const float low = row[0], scale = (row[1] - low) / 256.0F;
        const uint8_t *bytes = (const uint8_t *)(row + 2);
        for (int64_t j = 0; j < width; j++)
            out[j] = scale * (float)bytes[j] + low;
    }
    return k->status;
}

/* ---- made of ids ----------------------------------------------------------------------------- */

/* x, num_classes. Old programs may name an element type and allow ids that are no class. */
pdm_status pdm_kernel_one_hot(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const int64_t classes = pdm_k_in_int(k, 1, 0);
    const pdm_dtype given =
        k->legacy && pdm_k_has_attr(k, "dtype") ? pdm_k_dtype(k, "dtype") : PDM_F32;
    const pdm_dtype dtype = given == PDM_UNDEFINED ? PDM_F32 : given;
    const bool lenient = k->legacy && pdm_k_bool_or(k, "allow_out_of_range", false);

    if (!PDM_K_OK(k) || !are_ids(k, x))
        return k->status;
    void *out = rows_out(k, x, dtype, x->rank, classes);
    if (!out)
        return k->status;
    pdm_tensor *t = pdm_k_out_tensor(k, 0);
    memset(out, 0, pdm_tensor_bytes(t));
    const int64_t n = pdm_tensor_count(x);
    for (int64_t i = 0; i < n; i++) {
        const int64_t id = pdm_get_int(x, i);
        if (id >= 0 && id < classes)
            pdm_set_double(t, i * classes + id, 1);
        else if (!lenient)
            return pdm_k_fail(k, "class %lld is not one of %lld", (long long)id,
                              (long long)classes);
    }
    return k->status;
}

/* Ids of one shard, counted within it; ignore_value for others. */
pdm_status pdm_kernel_shard_index(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const int64_t total = pdm_k_int(k, "index_num"), shards = pdm_k_int(k, "nshards"),
                  mine = pdm_k_int(k, "shard_id"), ignore = pdm_k_int(k, "ignore_value");

    if (!PDM_K_OK(k) || !are_ids(k, x))
        return k->status;
    if (total < 1 || total > INT32_MAX || shards < 1 || shards > INT32_MAX || mine < 0 ||
        mine >= shards)
        return pdm_k_fail(k, "shard %lld of %lld for %lld ids", (long long)mine, (long long)shards,
                          (long long)total);
    if (!pdm_k_out_like(k, 0, x))
        return k->status;
    const int64_t size = (total + shards - 1) / shards, n = pdm_tensor_count(x);
    for (int64_t i = 0; i < n; i++) {
        const int64_t id = pdm_get_int(x, i);
        if (id < 0 || id >= total)
            return pdm_k_fail(k, "id %lld is not below %lld", (long long)id, (long long)total);
        pdm_set_int(pdm_k_out_tensor(k, 0), i, id / size == mine ? id % size : ignore);
    }
    return k->status;
}

/* x, max_len: ones up to each length; without a limit up to the longest */
pdm_status pdm_kernel_sequence_mask(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    int64_t width = pdm_k_in_int(k, 1, -1);
    const pdm_dtype given = pdm_k_dtype(k, "out_dtype");
    const pdm_dtype dtype = given == PDM_UNDEFINED ? PDM_I64 : given;
    int64_t dims[PDM_MAX_RANK + 1] = {0};

    if (!PDM_K_OK(k) || !pdm_shape_rank(k, (size_t)x->rank + 1))
        return k->status;
    const int64_t n = pdm_tensor_count(x);
    if (width < 0) {
        width = 0;
        for (int64_t i = 0; i < n; i++)
            width = pdm_get_int(x, i) > width ? pdm_get_int(x, i) : width;
    }
    memcpy(dims, x->dims, sizeof x->dims);
    dims[x->rank] = width;
    void *out = pdm_k_out(k, 0, dtype, x->rank + 1, dims);
    if (!out)
        return k->status;
    const pdm_element one = pdm_element_of_double(1, dtype);
    const size_t size = pdm_dtype_size(dtype);
    memset(out, 0, pdm_tensor_bytes(pdm_k_out_tensor(k, 0)));
    for (int64_t i = 0; i < n; i++) {
        const int64_t length = pdm_get_int(x, i);
        for (int64_t j = 0; j < length && j < width; j++)
            memcpy(pdm_at(out, i * width + j, size), one.bytes, size);
    }
    return k->status;
}
