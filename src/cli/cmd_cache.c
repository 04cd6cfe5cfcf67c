/* pdmigrate cache [path|list|verify|prune|clear] */
#include <inttypes.h>
#include <string.h>

#include "cli.h"

typedef struct answer {
    const char *word;
    char *path;
    pdm_cache_info info;
} answer;

static void print_json(const answer *a)
{
    printf(", \"path\": ");
    cli_json_string(stdout, a->path);
    if (strcmp(a->word, "path") != 0)
        printf(", \"kernels\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"max_bytes\": %" PRIu64
               ", \"broken\": %" PRIu64 ", \"removed\": %" PRIu64 ", \"removed_bytes\": %" PRIu64,
               a->info.entries, a->info.bytes, a->info.max_size, a->info.broken, a->info.removed,
               a->info.removed_bytes);
}

static void print_text(const answer *a)
{
    const pdm_cache_info *info = &a->info;

    if (!strcmp(a->word, "path")) {
        puts(a->path);
        return;
    }
    printf("%s: %" PRIu64 " kernel%s, ", a->path, info->entries, info->entries == 1 ? "" : "s");
    cli_print_bytes(stdout, info->bytes);
    fputs(" of ", stdout);
    cli_print_bytes(stdout, info->max_size);
    putchar('\n');
    if (!strcmp(a->word, "verify"))
        printf("%" PRIu64 " broken%s\n", info->broken, info->broken ? ", removed" : "");
    if (!strcmp(a->word, "prune") || !strcmp(a->word, "clear")) {
        printf("%" PRIu64 " removed, ", info->removed);
        cli_print_bytes(stdout, info->removed_bytes);
        putchar('\n');
    }
}

/* What is to be done; false: the word is not known. */
static bool task_of(const cli_options *options, const char *word, pdm_cache_task *out_task,
                    uint64_t *out_size)
{
    *out_size = 0;
    if (!strcmp(word, "list") || !strcmp(word, "path")) {
        *out_task = PDM_CACHE_COUNT;
    } else if (!strcmp(word, "verify")) {
        *out_task = PDM_CACHE_VERIFY;
    } else if (!strcmp(word, "prune") || !strcmp(word, "clear")) {
        *out_task = PDM_CACHE_PRUNE;
        *out_size = options->max_size;
    } else {
        return false;
    }
    return true;
}

int cli_cache(pdm_context *context, const cli_options *options, cli_report *report)
{
    answer a = {.word = options->model ? options->model : "list"};
    pdm_cache_task task;
    uint64_t size;

    if (!task_of(options, a.word, &task, &size))
        return cli_usage(report, "it is path, list, verify, prune or clear",
                         "'%s' cannot be done with the cache", a.word);
    if (options->has[OPT_MAX_SIZE] && strcmp(a.word, "prune") != 0)
        return cli_usage(report, NULL, "--max-size is for cache prune");
    pdm_status status = pdm_cache_path(&a.path);
    if (status == PDM_OK && !a.path[0]) {
        pdm_free(a.path);
        return cli_usage(report, "use --cache-dir", "there is neither PDM_CACHE_DIR nor HOME");
    }
    if (status == PDM_OK && strcmp(a.word, "path") != 0)
        status = pdm_cache_do(context, task, size, &a.info);
    int code = cli_failed(report, status);
    if (code == CLI_EXIT_OK && a.info.broken > 0)
        code = CLI_EXIT_DIFFERENT;
    if (report->json)
        cli_json_begin(code, "cache");
    if (status == PDM_OK && report->json)
        print_json(&a);
    else if (status == PDM_OK)
        print_text(&a);
    if (report->json)
        cli_json_end(report);
    pdm_free(a.path);
    return code;
}
