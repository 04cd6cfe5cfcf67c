#include "unit/api/support.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static void hear(void *user, const pdm_diagnostic *d)
{
    heard *h = user;

    if (d->severity == PDM_ERROR)
        h->errors++;
    else if (d->severity == PDM_WARNING)
        h->warnings++;
    else
        h->notes++;
    if (h->errors && d->severity != PDM_ERROR)
        return;
    snprintf(h->last_id, sizeof h->last_id, "%s", d->id);
    snprintf(h->last_message, sizeof h->last_message, "%s", d->message);
}

static bool asked_to_stop(void *user)
{
    heard *h = user;

    h->asked++;
    return h->stop;
}

pdm_context *api_context(heard *h)
{
    const pdm_context_options options = {
        .size = sizeof options, .on_diagnostic = hear, .user = h, .cancelled = asked_to_stop};
    pdm_context *context = NULL;

    *h = (heard){0};
    ck_assert_int_eq(pdm_context_create(&options, &context), PDM_OK);
    ck_assert_ptr_nonnull(context);
    return context;
}

static const char *joined(const char *front, const char *name)
{
    static char buffers[4][1024];
    static size_t next;
    char *out = buffers[next++ % 4];

    snprintf(out, sizeof buffers[0], "%s/%s", front, name);
    return out;
}

const char *api_fixture(const char *name)
{
    static char front[512];
    const char *srcdir = getenv("srcdir");

    snprintf(front, sizeof front, "%s/fixtures", srcdir ? srcdir : ".");
    return joined(front, name);
}

void api_folder_setup(void)
{
    strcpy(folder, "/tmp/pdm-api-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_tree(const char *path)
{
    DIR *dir = opendir(path);

    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        char inner[1024];
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        snprintf(inner, sizeof inner, "%s/%s", path, e->d_name);
        if (unlink(inner) != 0)
            remove_tree(inner);
    }
    if (dir)
        closedir(dir);
    rmdir(path);
}

void api_folder_teardown(void)
{
    remove_tree(folder);
}

const char *api_out(const char *name)
{
    return joined(folder, name);
}

bool api_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

bool api_same_content(const char *a, const char *b)
{
    FILE *x = fopen(a, "rb"), *y = fopen(b, "rb");
    int c = EOF, d = EOF;

    if (x && y) {
        do {
            c = getc(x);
            d = getc(y);
        } while (c == d && c != EOF);
    }
    const bool same = x && y && c == d;
    if (x)
        fclose(x);
    if (y)
        fclose(y);
    return same;
}
