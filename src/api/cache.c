/* The folder of compiled code: cinn/cache.h for people. */
#include "cinn/cache.h"

#include "api/api.h"

pdm_status pdm_cache_set(const pdm_cache_options *options)
{
    pdm_cache_options given = {0};

    PDM_API_OPTIONS(given, options);
    return pdm_cinn_cache_configure(given.folder, given.off, given.max_size);
}

/* What is there to use, or why nothing is; told once it is asked for. */
static pdm_status tell_unusable(pdm_context *context, pdm_status status)
{
    char reason[PDM_CINN_CACHE_REASON];
    pdm_diag_sink sink = pdm_api_sink(context);
    pdm_buf path;

    if (status != PDM_IO)
        return status;
    pdm_buf_init(&path);
    status = pdm_cinn_cache_folder(&path, reason);
    pdm_buf_deinit(&path);
    PDM_TRY(status);
    return pdm_diag(&sink, PDM_D_FILE_READ, NULL, NULL, "%s",
                    reason[0] ? reason : "the cache cannot be read");
}

pdm_status pdm_cache_path(char **out_path)
{
    char reason[PDM_CINN_CACHE_REASON];
    pdm_buf path;

    if (!out_path)
        return PDM_INVALID_ARG;
    pdm_buf_init(&path);
    const pdm_status status = pdm_cinn_cache_folder(&path, reason);
    if (status == PDM_OK)
        *out_path = pdm_buf_take(&path);
    pdm_buf_deinit(&path);
    return status == PDM_OK && !*out_path ? PDM_NOMEM : status;
}

pdm_status pdm_cache_do(pdm_context *context, pdm_cache_task task, uint64_t max_size,
                        pdm_cache_info *out_info)
{
    pdm_cinn_cache_counts counts = {0};
    pdm_status status = PDM_INVALID_ARG;

    if (!context || !out_info)
        return PDM_INVALID_ARG;
    switch (task) {
    case PDM_CACHE_COUNT:
        status = pdm_cinn_cache_count(&counts);
        break;
    case PDM_CACHE_VERIFY:
        status = pdm_cinn_cache_verify(&counts);
        break;
    case PDM_CACHE_PRUNE:
        status = pdm_cinn_cache_prune(max_size, &counts);
        break;
    }
    PDM_TRY(tell_unusable(context, status));
    *out_info = (pdm_cache_info){.entries = counts.entries,
                                 .bytes = counts.bytes,
                                 .broken = counts.broken,
                                 .removed = counts.removed,
                                 .removed_bytes = counts.removed_bytes,
                                 .max_size = pdm_cinn_cache_max_size()};
    return PDM_OK;
}
