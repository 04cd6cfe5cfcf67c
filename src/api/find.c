/* Which files a model's name stands for. */
#include "api/api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"

/* What a folder may hold as its model. */
static const char *const model_names[] = {"inference.json", "inference.pdmodel", "model.json",
                                          "model.pdmodel",  "__model__",         "__model__.json"};
#define NUM_MODEL_NAMES (sizeof model_names / sizeof model_names[0])

static bool is_file(const char *path)
{
    const pdm_file_kind kind = pdm_file_stat(path, NULL);

    return kind == PDM_FILE_REGULAR || kind == PDM_FILE_OTHER;
}

char *pdm_api_join(const char *folder, const char *name)
{
    const size_t length = strlen(folder);
    const size_t size = length + strlen(name) + 2;
    char *path = malloc(size);

    if (path)
        snprintf(path, size, "%s%s%s", folder, length > 0 && folder[length - 1] != '/' ? "/" : "",
                 name);
    return path;
}

/* malloc'ed: the first `length` bytes of path and then tail. */
static char *with_tail(const char *path, size_t length, const char *tail)
{
    const size_t size = length + strlen(tail) + 1;
    char *out = malloc(size);

    if (out) {
        memcpy(out, path, length);
        memcpy(out + length, tail, size - length);
    }
    return out;
}

bool pdm_api_has_suffix(const char *path, const char *suffix)
{
    const size_t length = strlen(path), tail = strlen(suffix);

    /* A name that is nothing but the suffix has no stem. */
    return length > tail && !strcmp(path + length - tail, suffix) && path[length - tail - 1] != '/';
}

/* Length of path without a suffix that programs have. */
static size_t stem_length(const char *path)
{
    static const char *const suffixes[] = {".pdmodel", ".json", ".pir"};

    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        if (pdm_api_has_suffix(path, suffixes[i]))
            return strlen(path) - strlen(suffixes[i]);
    }
    return strlen(path);
}

char *pdm_api_params_beside(const char *model_path)
{
    return with_tail(model_path, stem_length(model_path), ".pdiparams");
}

static pdm_status ambiguous(const char *folder, const bool *there, pdm_diag_sink *sink)
{
    pdm_buf names;
    pdm_loc loc = PDM_NOWHERE;
    pdm_status status;

    pdm_buf_init(&names);
    for (size_t i = 0; i < NUM_MODEL_NAMES; i++) {
        if (there[i])
            pdm_buf_printf(&names, "%s%s", names.size ? ", " : "", model_names[i]);
    }
    loc.file = folder;
    if (pdm_buf_ok(&names))
        status = pdm_diag(sink, PDM_D_FILE_AMBIGUOUS, &loc, "name one of the files",
                          "the folder holds several models: %s", names.data);
    else
        status = PDM_NOMEM;
    pdm_buf_deinit(&names);
    return status;
}

/* PDM_OK with *out_path NULL: no model there. */
static pdm_status find_in_folder(const char *folder, pdm_diag_sink *sink, char **out_path)
{
    bool there[NUM_MODEL_NAMES] = {false};
    size_t count = 0, which = 0;

    for (size_t i = 0; i < NUM_MODEL_NAMES; i++) {
        char *path = pdm_api_join(folder, model_names[i]);
        if (!path)
            return PDM_NOMEM;
        there[i] = is_file(path);
        free(path);
        if (there[i]) {
            which = i;
            count++;
        }
    }
    *out_path = NULL;
    if (count == 0)
        return PDM_OK;
    if (count > 1)
        return ambiguous(folder, there, sink);
    *out_path = pdm_api_join(folder, model_names[which]);
    return *out_path ? PDM_OK : PDM_NOMEM;
}

/* path as a prefix: PATH.json, else PATH.pdmodel. PDM_OK with *out_path NULL: neither is there. */
static pdm_status find_by_prefix(const char *path, pdm_diag_sink *sink, char **out_path)
{
    const size_t length = strlen(path);
    char *json = with_tail(path, length, ".json");
    char *pdmodel = with_tail(path, length, ".pdmodel");
    pdm_status status = json && pdmodel ? PDM_OK : PDM_NOMEM;

    *out_path = NULL;
    if (status == PDM_OK && length > 0 && path[length - 1] != '/') {
        const bool has_json = is_file(json), has_pdmodel = is_file(pdmodel);
        if (has_json && has_pdmodel)
            pdm_api_note(sink, PDM_D_FILE_NOTE, json, "name the file to read the other one",
                         "'%s' exists too and is not read", pdmodel);
        if (has_json || has_pdmodel) {
            *out_path = has_json ? json : pdmodel;
            *(has_json ? &json : &pdmodel) = NULL;
        }
    }
    free(json);
    free(pdmodel);
    return status;
}

static pdm_status nothing_there(const char *path, bool folder, pdm_diag_sink *sink)
{
    pdm_loc loc = PDM_NOWHERE;

    loc.file = path;
    if (folder)
        return pdm_diag(sink, PDM_D_FILE_MISSING, &loc,
                        "name the program file itself if it is called otherwise",
                        "the folder holds no model (inference.json, inference.pdmodel, model.json, "
                        "model.pdmodel, __model__, __model__.json)");
    return pdm_diag(sink, PDM_D_FILE_MISSING, &loc, NULL,
                    "there is no such file, nor one with .json or .pdmodel after it");
}

pdm_status pdm_api_find_model(const char *path, pdm_diag_sink *sink, char **out_path)
{
    const pdm_file_kind kind = pdm_file_stat(path, NULL);
    char *found = NULL;

    if (kind == PDM_FILE_REGULAR || kind == PDM_FILE_OTHER) {
        found = with_tail(path, strlen(path), "");
        if (!found)
            return PDM_NOMEM;
    }
    if (kind == PDM_FILE_FOLDER)
        PDM_TRY(find_in_folder(path, sink, &found));
    if (!found)
        PDM_TRY(find_by_prefix(path, sink, &found));
    if (!found)
        return nothing_there(path, kind == PDM_FILE_FOLDER, sink);
    *out_path = found;
    return PDM_OK;
}

/* malloc'ed folder of a file; "." when its path has none. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return with_tail(".", 1, "");
    return with_tail(path, slash == path ? 1 : (size_t)(slash - path), "");
}

/* PDM_OK with *out_path NULL: none of the parameters has a file of its own. */
static pdm_status find_separate(char *folder, const char *const *names, size_t count,
                                char **out_path)
{
    for (size_t i = 0; i < count && !*out_path; i++) {
        char *path = pdm_api_join(folder, names[i]);
        if (!path)
            return PDM_NOMEM;
        if (pdm_file_stat(path, NULL) == PDM_FILE_REGULAR) {
            *out_path = with_tail(folder, strlen(folder), "");
            if (!*out_path) {
                free(path);
                return PDM_NOMEM;
            }
        }
        free(path);
    }
    return PDM_OK;
}

pdm_status pdm_api_find_params(const char *model_path, const char *const *names, size_t count,
                               char **out_path)
{
    char *folder = folder_of(model_path);
    char *found = NULL;
    char *tries[3] = {pdm_api_params_beside(model_path), NULL, NULL};
    pdm_status status = PDM_NOMEM;

    if (!folder)
        goto done;
    tries[1] = pdm_api_join(folder, "__params__");
    tries[2] = pdm_api_join(folder, "params");
    for (size_t i = 0; i < 3 && !found; i++) {
        if (!tries[i])
            goto done;
        /* The model may itself be called "params". */
        if (is_file(tries[i]) && strcmp(tries[i], model_path) != 0) {
            found = tries[i];
            tries[i] = NULL;
        }
    }
    status = found ? PDM_OK : find_separate(folder, names, count, &found);
done:
    for (size_t i = 0; i < 3; i++)
        free(tries[i]);
    free(folder);
    if (status == PDM_OK)
        *out_path = found;
    else
        free(found);
    return status;
}
