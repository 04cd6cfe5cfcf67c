/*
 * For the tests of legacy_graph: protobuf messages put together byte by byte (so that broken ones
 * can be made too), and a sink that keeps what was reported as text. Failures of the helpers end
 * the test.
 */
#ifndef PDM_TESTS_LG_SUPPORT_H
#define PDM_TESTS_LG_SUPPORT_H

#include "base/buf.h"
#include "base/diag.h"
#include "legacy_graph/program.h"

/* ---- messages: fields are appended to a buffer that the caller initialised ------------------- */

void put_varint(pdm_buf *to, uint64_t value);
void put_int(pdm_buf *to, unsigned field, int64_t value);
void put_float(pdm_buf *to, unsigned field, float value);
void put_double(pdm_buf *to, unsigned field, double value);
void put_bytes(pdm_buf *to, unsigned field, const void *data, size_t size);
void put_text(pdm_buf *to, unsigned field, const char *text);
/* A message field with the content of sub, which is emptied for the next use. */
void put_message(pdm_buf *to, unsigned field, pdm_buf *sub);

/* Whole parts. A dense float variable; dims has rank numbers. */
void put_var(pdm_buf *block, const char *name, const int64_t *dims, size_t rank, bool persistable);
/* An op with one input slot X and one output slot Out; in and out may be NULL. attrs: fields of
 * OpDesc, may be NULL, is emptied. */
void put_op(pdm_buf *block, const char *type, const char *in, const char *out, pdm_buf *attrs);
void put_int_attr(pdm_buf *attrs, const char *name, int32_t value);
void put_block_attr(pdm_buf *attrs, const char *name, int32_t block);
/* The fields idx and parent_idx. */
void put_indices(pdm_buf *block, int32_t idx, int32_t parent);

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct lg_log {
    pdm_diag_sink sink;
    pdm_buf text; /* a line per diagnostic: "id block op type var @offset: message" */
} lg_log;

void lg_log_init(lg_log *log);
void lg_log_deinit(lg_log *log);
/* The log contains part; shown when it does not. */
void lg_expect(const lg_log *log, const char *part);

/* Read bytes; the log is started afresh. *program is NULL on failure. */
pdm_status lg_read(const pdm_buf *bytes, lg_log *log, pdm_lg_program **program);
/* A file below fixtures/. */
void lg_fixture(const char *path, pdm_buf *bytes);

#endif
