#include "unit/lg/support.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "legacy_graph/read.h"

void put_varint(pdm_buf *to, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        pdm_buf_putc(to, (char)(value | 0x80));
    pdm_buf_putc(to, (char)value);
}

static void put_tag(pdm_buf *to, unsigned field, unsigned wire_type)
{
    put_varint(to, (uint64_t)field << 3 | wire_type);
}

void put_int(pdm_buf *to, unsigned field, int64_t value)
{
    put_tag(to, field, 0);
    put_varint(to, (uint64_t)value);
}

void put_float(pdm_buf *to, unsigned field, float value)
{
    put_tag(to, field, 5);
    pdm_buf_put(to, &value, sizeof value);
}

void put_double(pdm_buf *to, unsigned field, double value)
{
    put_tag(to, field, 1);
    pdm_buf_put(to, &value, sizeof value);
}

void put_bytes(pdm_buf *to, unsigned field, const void *data, size_t size)
{
    put_tag(to, field, 2);
    put_varint(to, size);
    pdm_buf_put(to, data, size);
}

void put_text(pdm_buf *to, unsigned field, const char *text)
{
    put_bytes(to, field, text, strlen(text));
}

void put_message(pdm_buf *to, unsigned field, pdm_buf *sub)
{
    put_bytes(to, field, sub->size ? sub->data : "", sub->size);
    pdm_buf_deinit(sub);
    pdm_buf_init(sub);
}

void put_var(pdm_buf *block, const char *name, const int64_t *dims, size_t rank, bool persistable)
{
    pdm_buf tensor = {0}, dense = {0}, type = {0}, var = {0};

    put_int(&tensor, 1, 5);
    for (size_t i = 0; i < rank; i++)
        put_int(&tensor, 2, dims[i]);
    put_message(&dense, 1, &tensor);
    put_int(&type, 1, PDM_LG_DENSE_TENSOR);
    put_message(&type, 3, &dense);
    put_text(&var, 1, name);
    put_message(&var, 2, &type);
    if (persistable)
        put_int(&var, 3, 1);
    put_message(block, 3, &var);
}

static void put_slot(pdm_buf *op, unsigned field, const char *name, const char *arg)
{
    pdm_buf slot = {0};

    put_text(&slot, 1, name);
    put_text(&slot, 2, arg);
    put_message(op, field, &slot);
}

void put_op(pdm_buf *block, const char *type, const char *in, const char *out, pdm_buf *attrs)
{
    pdm_buf op = {0};

    if (in)
        put_slot(&op, 1, "X", in);
    if (out)
        put_slot(&op, 2, "Out", out);
    put_text(&op, 3, type);
    if (attrs) {
        pdm_buf_put(&op, attrs->data, attrs->size);
        pdm_buf_deinit(attrs);
        pdm_buf_init(attrs);
    }
    put_message(block, 4, &op);
}

void put_int_attr(pdm_buf *attrs, const char *name, int32_t value)
{
    pdm_buf attr = {0};

    put_text(&attr, 1, name);
    put_int(&attr, 2, PDM_LG_INT);
    put_int(&attr, 3, value);
    put_message(attrs, 4, &attr);
}

void put_block_attr(pdm_buf *attrs, const char *name, int32_t block)
{
    pdm_buf attr = {0};

    put_text(&attr, 1, name);
    put_int(&attr, 2, PDM_LG_BLOCK);
    put_int(&attr, 12, block);
    put_message(attrs, 4, &attr);
}

void put_indices(pdm_buf *block, int32_t idx, int32_t parent)
{
    put_int(block, 1, idx);
    put_int(block, 2, parent);
}

static void note(void *user, const pdm_diagnostic *d)
{
    pdm_buf_printf(user, "%s %" PRId32 " %" PRId32 " %s %s @%" PRId64 ": %s\n", d->id, d->block,
                   d->op_index, d->op_type ? d->op_type : "-", d->var ? d->var : "-", d->offset,
                   d->message);
}

void lg_log_init(lg_log *log)
{
    *log = (lg_log){.sink = {.fn = note, .verbose = true}};
    log->sink.user = &log->text;
    pdm_buf_init(&log->text);
}

void lg_log_deinit(lg_log *log)
{
    pdm_buf_deinit(&log->text);
}

void lg_expect(const lg_log *log, const char *part)
{
    const char *text = log->text.size ? log->text.data : "";

    ck_assert_msg(strstr(text, part) != NULL, "\"%s\" is not in the diagnostics:\n%s", part, text);
}

pdm_status lg_read(const pdm_buf *bytes, lg_log *log, pdm_lg_program **program)
{
    lg_log_deinit(log);
    lg_log_init(log);
    ck_assert(pdm_buf_ok(bytes));
    *program = NULL;
    return pdm_lg_read(bytes->size ? bytes->data : "", bytes->size, "model", &log->sink, program);
}

void lg_fixture(const char *path, pdm_buf *bytes)
{
    const char *srcdir = getenv("srcdir");
    char full[1024];
    char *data;
    size_t size;

    ck_assert_ptr_nonnull(srcdir);
    snprintf(full, sizeof full, "%s/fixtures/%s", srcdir, path);
    ck_assert_int_eq(pdm_file_read(full, (uint64_t)1 << 30, NULL, &data, &size), PDM_OK);
    pdm_buf_init(bytes);
    pdm_buf_put(bytes, data, size);
    free(data);
}
