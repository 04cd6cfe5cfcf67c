#include "base/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

enum diag_class { NOTE, WARNING, INVALID, UNSUPPORTED, IO, USAGE, INTERNAL };

typedef struct catalogue_row {
    const char *id;
    enum diag_class cls;
    const char *text;
} catalogue_row;

static const catalogue_row catalogue[PDM_D_COUNT] = {
#define PDM_DIAG(code, id, severity, text) {id, severity, text},
#include "base/diags.def"
#undef PDM_DIAG
};

enum { RAW_MAX = 2048, TEXT_MAX = RAW_MAX * 4, NAME_MAX_BYTES = 1024 };

const char *pdm_diag_id(pdm_diag_code code)
{
    return (unsigned)code < PDM_D_COUNT ? catalogue[code].id : "unknown";
}

const char *pdm_diag_explanation(pdm_diag_code code)
{
    return (unsigned)code < PDM_D_COUNT ? catalogue[code].text : "";
}

static pdm_status status_of(pdm_diag_code code)
{
    /* One usage error has a status of its own, so that callers can offer to overwrite. */
    if (code == PDM_D_FILE_EXISTS)
        return PDM_EXISTS;
    switch (catalogue[code].cls) {
    case NOTE:
    case WARNING:
        return PDM_OK;
    case INVALID:
        return PDM_INVALID_MODEL;
    case UNSUPPORTED:
        return PDM_UNSUPPORTED;
    case IO:
        return PDM_IO;
    case USAGE:
        return PDM_INVALID_ARG;
    case INTERNAL:
        return PDM_INTERNAL;
    }
    return PDM_INTERNAL;
}

/* What stops the user first wins: there is no point in telling that ops are unsupported when a file
 * is missing. */
static int rank_of(pdm_status status)
{
    switch (status) {
    case PDM_OK:
        return 0;
    case PDM_UNSUPPORTED:
        return 1;
    case PDM_INVALID_MODEL:
        return 2;
    case PDM_EXISTS:
        return 3;
    case PDM_INVALID_ARG:
        return 4;
    case PDM_IO:
        return 5;
    case PDM_STOPPED:
        return 6;
    case PDM_CANCELLED:
        return 7;
    case PDM_NOMEM:
        return 8;
    case PDM_INTERNAL:
        return 9;
    }
    return 9;
}

/* Names come from hostile files: what is not printable UTF-8 becomes \xNN, what does not fit is
 * cut. */
static void sanitize(const char *in, char *out, size_t capacity)
{
    const size_t size = strlen(in);
    size_t n = 0;

    for (size_t i = 0; i < size;) {
        const unsigned char c = (unsigned char)in[i];
        size_t len = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
        const bool good = len <= size - i && pdm_utf8_valid(in + i, len) && c >= 0x20 && c != 0x7f;

        if (n + 5 > capacity)
            break;
        if (good) {
            memcpy(out + n, in + i, len);
            n += len;
        } else {
            static const char hex[] = "0123456789abcdef";
            const char escape[4] = {'\\', 'x', hex[c >> 4], hex[c & 15]};
            memcpy(out + n, escape, 4);
            n += 4;
            len = 1;
        }
        i += len;
    }
    out[n] = '\0';
}

/* name itself where it is clean, else its cleaned copy in storage. */
static const char *clean_name(const char *name, char *storage)
{
    if (!name)
        return NULL;
    sanitize(name, storage, NAME_MAX_BYTES);
    return strcmp(name, storage) == 0 ? name : storage;
}

static void deliver(const pdm_diag_sink *sink, pdm_diag_code code, const pdm_loc *loc,
                    const char *hint, const char *message)
{
    char op_type[NAME_MAX_BYTES], var[NAME_MAX_BYTES];
    const enum diag_class cls = catalogue[code].cls;
    const pdm_loc nowhere = PDM_NOWHERE;

    if (!loc)
        loc = &nowhere;
    const pdm_diagnostic d = {
        .id = catalogue[code].id,
        .severity = cls == NOTE      ? PDM_NOTE
                    : cls == WARNING ? PDM_WARNING
                                     : PDM_ERROR,
        .message = message,
        .hint = hint,
        .file = loc->file,
        .offset = loc->offset,
        .line = loc->line,
        .column = loc->column,
        .block = loc->block,
        .op_index = loc->op_index,
        .op_type = clean_name(loc->op_type, op_type),
        .var = clean_name(loc->var, var),
    };
    sink->fn(sink->user, &d);
}

static void count(pdm_diag_sink *sink, enum diag_class cls, pdm_status status)
{
    if (cls == WARNING)
        sink->num_warnings++;
    if (cls == NOTE || cls == WARNING)
        return;
    sink->num_errors++;
    if (cls == INVALID)
        sink->num_invalid++;
    if (cls == UNSUPPORTED)
        sink->num_unsupported++;
    if (rank_of(status) > rank_of(sink->worst))
        sink->worst = status;
}

pdm_status pdm_diag(pdm_diag_sink *sink, pdm_diag_code code, const pdm_loc *loc, const char *hint,
                    const char *format, ...)
{
    char raw[RAW_MAX], message[TEXT_MAX];
    va_list args;

    if ((unsigned)code >= PDM_D_COUNT)
        return PDM_INTERNAL;
    const pdm_status status = status_of(code);
    if (!sink)
        return status;
    count(sink, catalogue[code].cls, status);
    if (!sink->fn || (catalogue[code].cls == NOTE && !sink->verbose))
        return status;

    va_start(args, format);
    const int length = vsnprintf(raw, sizeof raw, format, args);
    va_end(args);
    if (length < 0)
        raw[0] = '\0';
    else if ((size_t)length >= sizeof raw) {
        /* Cut before a character, not inside it. */
        size_t end = sizeof raw - 4;
        while (end > 0 && ((unsigned char)raw[end] & 0xc0) == 0x80)
            end--;
        memcpy(raw + end, "...", 4);
    }
    sanitize(raw, message, sizeof message);
    deliver(sink, code, loc, hint, message);
    return status;
}
