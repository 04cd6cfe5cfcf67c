/*
 * Writing: program and parameters are completed under no name, then named, parameters first. What
 * already lies there is not touched before that, and put back as far as possible when the program
 * cannot be named after the parameters were.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* asprintf */
#endif

#include "api/api.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "legacy_graph/write.h"

enum { INDENT = 4 };
/* Parameters are copied in pieces of this size, so that a request to stop is heard. */
#define COPY_PIECE ((uint64_t)256 << 20)

/* ---- where ----------------------------------------------------------------------------------- */

typedef struct target {
    char *program, *params; /* malloc'ed */
    char *folder;           /* NULL: path names a file */
} target;

static void target_deinit(target *t)
{
    free(t->program);
    free(t->params);
    free(t->folder);
    *t = (target){0};
}

static pdm_status bad_form(const char *path, pdm_diag_sink *sink)
{
    pdm_loc loc = PDM_NOWHERE;

    loc.file = *path ? path : NULL;
    if (pdm_api_has_suffix(path, ".pdmodel"))
        return pdm_diag(sink, PDM_D_USAGE, &loc, "use a name ending in .json",
                        "the legacy form cannot be written");
    return pdm_diag(sink, PDM_D_USAGE, &loc, "use NAME.json, NAME.pir, or FOLDER/",
                    "an output is a name ending in .json or .pir, or a folder");
}

static pdm_status legacy_form(const char *path, pdm_diag_sink *sink)
{
    pdm_loc loc = PDM_NOWHERE;

    loc.file = *path ? path : NULL;
    return pdm_diag(sink, PDM_D_USAGE, &loc, "use NAME.pdmodel or FOLDER/",
                    "a legacy program has to be converted first");
}

static pdm_status resolve(const char *path, pdm_model_kind kind, pdm_diag_sink *sink, target *out)
{
    const bool legacy = kind == PDM_MODEL_LEGACY;
    const size_t length = strlen(path);
    target t = {0};

    if (length == 0)
        return bad_form(path, sink);
    if (path[length - 1] == '/' || pdm_file_stat(path, NULL) == PDM_FILE_FOLDER) {
        t.folder = strdup(path);
        t.program = pdm_api_join(path, legacy ? "inference.pdmodel" : "inference.json");
    } else if (legacy ? pdm_api_has_suffix(path, ".pdmodel")
                      : pdm_api_has_suffix(path, ".json") || pdm_api_has_suffix(path, ".pir")) {
        t.program = strdup(path);
    } else {
        return legacy ? legacy_form(path, sink) : bad_form(path, sink);
    }
    t.params = t.program ? pdm_api_params_beside(t.program) : NULL;
    if (!t.program || !t.params || (path[length - 1] == '/' && !t.folder)) {
        target_deinit(&t);
        return PDM_NOMEM;
    }
    *out = t;
    return PDM_OK;
}

pdm_status pdm_output_check(pdm_context *context, const char *path,
                            const pdm_write_options *options, char **out_program, char **out_params)
{
    pdm_write_options given = {0};
    target t = {0};
    pdm_status status = PDM_OK;

    if (!context || !path)
        return PDM_INVALID_ARG;
    PDM_API_OPTIONS(given, options);
    pdm_diag_sink sink = pdm_api_sink(context);
    PDM_TRY(resolve(path, PDM_MODEL_PIR, &sink, &t));
    if (!given.overwrite && pdm_file_stat(t.program, NULL) != PDM_FILE_NONE)
        status = pdm_out_exists(t.program, &sink);
    if (status == PDM_OK && out_program) {
        *out_program = t.program;
        t.program = NULL;
    }
    if (status == PDM_OK && out_params) {
        *out_params = t.params;
        t.params = NULL;
    }
    target_deinit(&t);
    return status;
}

/* ---- what is there already ------------------------------------------------------------------- */

/* What is to be written, and the outputs on their way. */
typedef struct writer {
    const pdm_model *model;
    const pdm_write_options *options;
    pdm_diag_sink *sink;
    target to;
    bool with_params; /* there are parameters to write */
    bool in_place;    /* they lie where they should already */
    bool stale;       /* a parameter file lies there that must go */
    bool made_folder;
    pdm_out program, params;
} writer;

static bool same_file(const char *a, const char *b)
{
    struct stat x, y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static pdm_status is_input(const char *path, const char *what, pdm_diag_sink *sink)
{
    pdm_loc loc = PDM_NOWHERE;

    loc.file = path;
    return pdm_diag(sink, PDM_D_USAGE, &loc, "choose another output",
                    "the output would replace %s that is read", what);
}

/* Whether the parameters are one whole file, byte for byte: *out_path is its path then. */
static bool is_whole_file(const pdm_params *params, const char **out_path)
{
    uint64_t end = 0, size = 0;

    if (params->count == 0 || !params->items[0].path)
        return false;
    for (size_t i = 0; i < params->count; i++) {
        if (params->items[i].path != params->items[0].path || params->items[i].offset != end)
            return false;
        end += params->items[i].size;
    }
    *out_path = params->items[0].path;
    return pdm_file_stat(*out_path, &size) == PDM_FILE_REGULAR && size == end;
}

/* The parameter file that is to be written must not be one that is read, unless nothing changes. */
static pdm_status check_sources(writer *w)
{
    const pdm_params *params = &w->model->params;
    const char *whole = NULL;

    if (is_whole_file(params, &whole) && same_file(whole, w->to.params)) {
        w->in_place = true;
        return PDM_OK;
    }
    for (size_t i = 0; i < params->count; i++) {
        if (!params->items[i].path ||
            (i > 0 && params->items[i].path == params->items[i - 1].path))
            continue;
        if (same_file(params->items[i].path, w->to.params))
            return is_input(w->to.params, "the parameter file", w->sink);
    }
    return PDM_OK;
}

static pdm_status check_stale(writer *w)
{
    pdm_loc loc = PDM_NOWHERE;

    if (w->model->params_path && same_file(w->model->params_path, w->to.params))
        return PDM_OK;
    if (!w->options->overwrite) {
        loc.file = w->to.params;
        return pdm_diag(w->sink, PDM_D_USAGE, &loc, "use --force to remove it",
                        "a parameter file lies there, and the program has no parameters");
    }
    w->stale = true;
    return PDM_OK;
}

static pdm_status check_target(writer *w)
{
    const pdm_model *model = w->model;
    const bool param_file = pdm_file_stat(w->to.params, NULL) != PDM_FILE_NONE;

    w->with_params = !w->options->no_params && model->has_params && model->params.count > 0;
    if (same_file(model->path, w->to.program))
        return is_input(w->to.program, "the model", w->sink);
    if (same_file(model->path, w->to.params))
        return is_input(w->to.params, "the model", w->sink);
    if (!w->options->overwrite && pdm_file_stat(w->to.program, NULL) != PDM_FILE_NONE)
        return pdm_out_exists(w->to.program, w->sink);
    if (!param_file)
        return PDM_OK;
    if (w->with_params) {
        PDM_TRY(check_sources(w));
        return w->in_place || w->options->overwrite ? PDM_OK : pdm_out_exists(w->to.params, w->sink);
    }
    /* Parameters that were left out on purpose may well be that file. */
    if (model->param_infos.count > 0)
        return PDM_OK;
    return check_stale(w);
}

/* ---- the two files --------------------------------------------------------------------------- */

static pdm_status make_folder(writer *w)
{
    const char *folder = w->to.folder;
    char text[128];
    pdm_loc loc = PDM_NOWHERE;

    if (!folder || pdm_file_stat(folder, NULL) == PDM_FILE_FOLDER)
        return PDM_OK;
    if (mkdir(folder, 0777) == 0) {
        w->made_folder = true;
        return PDM_OK;
    }
    if (errno == EEXIST && pdm_file_stat(folder, NULL) == PDM_FILE_FOLDER)
        return PDM_OK;
    loc.file = folder;
    return pdm_diag(w->sink, PDM_D_FILE_WRITE, &loc, NULL, "the folder cannot be created: %s",
                    pdm_errno_text(errno, text, sizeof text));
}

static pdm_status write_legacy(writer *w)
{
    pdm_buf bytes;

    pdm_buf_init(&bytes);
    const pdm_status status = pdm_lg_write(w->model->legacy, &bytes);
    if (status == PDM_OK)
        pdm_out_put(&w->program, bytes.data, bytes.size);
    pdm_buf_deinit(&bytes);
    return status;
}

static pdm_status write_program(writer *w)
{
    pdm_ir_json_layout layout = w->model->layout;

    if (w->options->indent)
        layout.indent = INDENT;
    PDM_TRY(pdm_out_begin(&w->program, w->to.program, w->sink));
    if (w->model->kind == PDM_MODEL_LEGACY)
        PDM_TRY(write_legacy(w));
    else
        PDM_TRY(pdm_ir_json_write(w->model->pir, &layout, &w->program, w->sink));
    return pdm_out_finish(&w->program, w->sink);
}

/* Bytes [offset, offset + size) of a file, which holds several records in a row. */
static pdm_status copy_range(writer *w, const char *path, uint64_t offset, uint64_t size)
{
    pdm_status status = PDM_OK;
    uint64_t file_size;
    int fd;

    PDM_TRY(pdm_file_open(path, w->sink, &fd, &file_size));
    while (size > 0 && status == PDM_OK && !w->params.error) {
        const uint64_t piece = size < COPY_PIECE ? size : COPY_PIECE;
        pdm_out_copy(&w->params, fd, offset, piece);
        offset += piece;
        size -= piece;
        status = pdm_api_check_cancel(w->model->context);
    }
    close(fd);
    return status;
}

static pdm_status write_params(writer *w)
{
    const pdm_params *params = &w->model->params;

    PDM_TRY(pdm_out_begin(&w->params, w->to.params, w->sink));
    for (size_t i = 0; i < params->count;) {
        const pdm_param *first = &params->items[i];
        if (first->record) {
            pdm_out_put(&w->params, first->record, (size_t)first->size);
            i++;
            continue;
        }
        uint64_t end = first->offset + first->size;
        for (i++; i < params->count && params->items[i].path == first->path &&
                  params->items[i].offset == end;
             i++)
            end += params->items[i].size;
        PDM_TRY(copy_range(w, first->path, first->offset, end - first->offset));
    }
    return pdm_out_finish(&w->params, w->sink);
}

/* A second name for the old parameter file, from which it can be put back: malloc'ed, or NULL where
 * that is not possible. */
static char *keep_old(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    char *kept = NULL;

    if (asprintf(&kept, "%.*s.%.200s.old-%ld", (int)(name - path), path, name, (long)getpid()) < 0)
        return NULL;
    if (link(path, kept) == 0)
        return kept;
    free(kept);
    return NULL;
}

static pdm_status publish_both(writer *w)
{
    const bool replace = w->options->overwrite;
    /* Where it really goes: symbolic links are followed. */
    const char *path = w->params.path;
    const bool was_there = pdm_file_stat(path, NULL) != PDM_FILE_NONE;
    char *kept = was_there && replace ? keep_old(path) : NULL;
    pdm_status status = pdm_out_publish(&w->params, replace, w->sink);

    if (status == PDM_OK) {
        status = pdm_out_publish(&w->program, replace, w->sink);
        if (status != PDM_OK) {
            if (kept && rename(kept, path) == 0) {
                free(kept);
                kept = NULL;
            } else if (!was_there) {
                unlink(path);
            }
        }
    }
    if (kept)
        unlink(kept);
    free(kept);
    return status;
}

static pdm_status remove_stale(const writer *w)
{
    char text[128];
    pdm_loc loc = PDM_NOWHERE;

    if (!w->stale || unlink(w->to.params) == 0 || errno == ENOENT)
        return PDM_OK;
    loc.file = w->to.params;
    return pdm_diag(w->sink, PDM_D_FILE_WRITE, &loc, NULL,
                    "the old parameter file cannot be removed: %s",
                    pdm_errno_text(errno, text, sizeof text));
}

static pdm_status write_all(writer *w)
{
    PDM_TRY(check_target(w));
    PDM_TRY(make_folder(w));
    PDM_TRY(write_program(w));
    PDM_TRY(pdm_api_check_cancel(w->model->context));
    if (w->with_params && !w->in_place) {
        PDM_TRY(write_params(w));
        return publish_both(w);
    }
    PDM_TRY(pdm_out_publish(&w->program, w->options->overwrite, w->sink));
    return remove_stale(w);
}

static void tell(const writer *w)
{
    if (w->in_place)
        pdm_api_note(w->sink, PDM_D_FILE_NOTE, w->to.params, NULL,
                     "the parameters are there already, unchanged");
    if (pdm_api_has_suffix(w->to.program, ".pir"))
        pdm_api_note(w->sink, PDM_D_FILE_NOTE, w->to.program, "use a name ending in .json",
                     "Paddle opens a program only under a name that ends in .json");
}

pdm_status pdm_model_write(const pdm_model *model, const char *path,
                           const pdm_write_options *options)
{
    pdm_write_options given = {0};
    pdm_status status;

    if (!model || !path)
        return PDM_INVALID_ARG;
    PDM_API_OPTIONS(given, options);
    pdm_diag_sink sink = pdm_api_sink(model->context);
    writer w = {.model = model, .options = &given, .sink = &sink};
    PDM_TRY_GOTO(resolve(path, model->kind, &sink, &w.to));
    PDM_TRY_GOTO(write_all(&w));
done:
    pdm_out_deinit(&w.program);
    pdm_out_deinit(&w.params);
    if (status == PDM_OK)
        tell(&w);
    else if (w.made_folder)
        rmdir(w.to.folder);
    target_deinit(&w.to);
    return status;
}

/* ---- texts ----------------------------------------------------------------------------------- */

pdm_status pdm_text_check(pdm_context *context, const char *path, bool overwrite)
{
    if (!context || !path)
        return PDM_INVALID_ARG;
    pdm_diag_sink sink = pdm_api_sink(context);
    if (overwrite || pdm_file_stat(path, NULL) == PDM_FILE_NONE)
        return PDM_OK;
    return pdm_out_exists(path, &sink);
}

pdm_status pdm_text_write(pdm_context *context, const char *path, const char *text, bool overwrite)
{
    pdm_out out = {0};

    if (!context || !path || !text)
        return PDM_INVALID_ARG;
    pdm_diag_sink sink = pdm_api_sink(context);
    pdm_status status = pdm_out_begin(&out, path, &sink);
    if (status == PDM_OK)
        pdm_out_put(&out, text, strlen(text));
    if (status == PDM_OK)
        status = pdm_out_finish(&out, &sink);
    if (status == PDM_OK)
        status = pdm_out_publish(&out, overwrite, &sink);
    pdm_out_deinit(&out);
    return status;
}
