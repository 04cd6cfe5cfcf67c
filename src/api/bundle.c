/* Named tensors for the public functions. */
#include "api/run.h"

#include <stdlib.h>
#include <string.h>

pdm_status pdm_bundle_create(pdm_context *context, pdm_bundle **out_bundle)
{
    if (!context || !out_bundle)
        return PDM_INVALID_ARG;
    pdm_bundle *bundle = calloc(1, sizeof *bundle);
    if (!bundle)
        return PDM_NOMEM;
    bundle->context = context;
    *out_bundle = bundle;
    return PDM_OK;
}

pdm_status pdm_bundle_read(pdm_context *context, const char *path, pdm_bundle **out_bundle)
{
    pdm_bundle *bundle;

    if (!path)
        return PDM_INVALID_ARG;
    PDM_TRY(pdm_bundle_create(context, &bundle));
    pdm_diag_sink sink = pdm_api_sink(context);
    const pdm_status status = pdm_npz_read(&bundle->npz, path, 0, &sink);
    if (status != PDM_OK) {
        pdm_bundle_destroy(bundle);
        return status;
    }
    *out_bundle = bundle;
    return PDM_OK;
}

void pdm_bundle_destroy(pdm_bundle *bundle)
{
    if (!bundle)
        return;
    pdm_npz_deinit(&bundle->npz);
    free(bundle);
}

size_t pdm_bundle_count(const pdm_bundle *bundle)
{
    return bundle->npz.count;
}

const char *pdm_bundle_key(const pdm_bundle *bundle, size_t index)
{
    return index < bundle->npz.count ? bundle->npz.items[index].key : NULL;
}

pdm_status pdm_bundle_get(const pdm_bundle *bundle, size_t index, pdm_tensor_view *out_view)
{
    if (!bundle || index >= bundle->npz.count || !out_view)
        return PDM_INVALID_ARG;
    pdm_api_view(&bundle->npz.items[index].tensor, NULL, out_view);
    return PDM_OK;
}

pdm_status pdm_api_bundle_add(pdm_bundle *bundle, const char *key, const pdm_tensor *tensor)
{
    const pdm_npz_key parsed = pdm_npz_key_parse(key);

    PDM_TRY(pdm_npz_add(&bundle->npz, key, tensor));
    if (pdm_tensor_num_lod(tensor) == 0 ||
        (parsed.kind != PDM_NPZ_IN && parsed.kind != PDM_NPZ_OUT))
        return PDM_OK;
    return pdm_npz_add_lod(&bundle->npz, parsed.kind == PDM_NPZ_IN ? "in" : "out", parsed.name,
                           tensor);
}

pdm_status pdm_bundle_add(pdm_bundle *bundle, const char *key, const pdm_tensor_view *view)
{
    pdm_tensor borrowed = {0}, copy = {0};
    pdm_status status;

    if (!bundle || !key || !view)
        return PDM_INVALID_ARG;
    PDM_TRY(pdm_api_tensor(view, &borrowed));
    status = pdm_tensor_copy(&copy, &borrowed);
    if (status == PDM_OK)
        status = pdm_api_bundle_add(bundle, key, &copy);
    pdm_tensor_deinit(&copy);
    pdm_tensor_deinit(&borrowed);
    return status;
}

pdm_status pdm_bundle_write(const pdm_bundle *bundle, const char *path, bool overwrite)
{
    if (!bundle || !path)
        return PDM_INVALID_ARG;
    pdm_diag_sink sink = pdm_api_sink(bundle->context);
    return pdm_npz_write(&bundle->npz, path, overwrite, &sink);
}

/* ---- views ----------------------------------------------------------------------------------- */

void pdm_api_view(const pdm_tensor *tensor, pdm_api_lod *lod, pdm_tensor_view *out_view)
{
    *out_view = (pdm_tensor_view){.dtype = pdm_dtype_name(tensor->dtype),
                                  .dims = tensor->dims,
                                  .rank = (size_t)tensor->rank,
                                  .data = tensor->data,
                                  .bytes = pdm_tensor_bytes(tensor)};
    const size_t levels = pdm_tensor_num_lod(tensor);
    if (!lod || levels == 0 || levels > PDM_API_MAX_LOD)
        return;
    for (size_t i = 0; i < levels; i++)
        lod->offsets[i] = pdm_tensor_lod(tensor, i, &lod->counts[i]);
    out_view->lod = lod->offsets;
    out_view->lod_counts = lod->counts;
    out_view->num_lod = levels;
}

/* Offsets begin at 0, do not fall, and end at the next level's sequences or at the rows. */
static bool sound_lod(const pdm_tensor_view *view)
{
    for (size_t i = 0; i < view->num_lod; i++) {
        const int64_t *offsets = view->lod[i];
        const size_t count = view->lod_counts[i];
        if (!offsets || count < 1 || offsets[0] != 0)
            return false;
        for (size_t k = 1; k < count; k++) {
            if (offsets[k] < offsets[k - 1])
                return false;
        }
        const int64_t below = i + 1 < view->num_lod ? (int64_t)view->lod_counts[i + 1] - 1
                              : view->rank > 0      ? view->dims[0]
                                                    : 0;
        if (offsets[count - 1] != below)
            return false;
    }
    return true;
}

pdm_status pdm_api_tensor(const pdm_tensor_view *view, pdm_tensor *out)
{
    static char nothing[PDM_TENSOR_ALIGNMENT]; /* the data of tensors without elements */
    pdm_tensor made = {0};
    uint64_t count, bytes;

    if (!view->dtype || view->rank > PDM_MAX_RANK || (view->rank > 0 && !view->dims))
        return PDM_INVALID_ARG;
    made.dtype = pdm_dtype_from_name(view->dtype);
    made.rank = (int32_t)view->rank;
    if (pdm_dtype_size(made.dtype) == 0 || !pdm_count_elements(view->dims, view->rank, &count) ||
        !pdm_mul_u64(count, pdm_dtype_size(made.dtype), &bytes) || bytes != view->bytes ||
        (bytes > 0 && !view->data) || !sound_lod(view))
        return PDM_INVALID_ARG;
    for (size_t i = 0; i < view->rank; i++)
        made.dims[i] = view->dims[i];
    made.data = bytes > 0 ? (void *)(uintptr_t)view->data : nothing;
    PDM_TRY(pdm_tensor_set_lod(&made, view->num_lod, view->lod, view->lod_counts));
    pdm_tensor_deinit(out);
    *out = made;
    return PDM_OK;
}

const pdm_tensor *pdm_api_bundle_input(const pdm_bundle *bundle, const char *name)
{
    const pdm_tensor *plain = NULL;

    for (size_t i = 0; i < bundle->npz.count; i++) {
        const pdm_npz_key key = pdm_npz_key_parse(bundle->npz.items[i].key);
        if (key.name_len != strlen(name) || memcmp(key.name, name, key.name_len) != 0)
            continue;
        if (key.kind == PDM_NPZ_IN)
            return &bundle->npz.items[i].tensor;
        if (key.kind == PDM_NPZ_PLAIN)
            plain = &bundle->npz.items[i].tensor;
    }
    return plain;
}
