/* Inside of the text parser: a cursor over the text, literals, errors with line and column. */
#ifndef PDM_IR_TEXT_LEX_H
#define PDM_IR_TEXT_LEX_H

#include "base/buf.h"
#include "base/vec.h"
#include "ir/ir.h"
#include "ir/scratch.h"

typedef struct pdm_ir_text_lex {
    pdm_ir_context *context;
    const char *text;
    size_t size, at;
    const char *path;
    pdm_diag_sink *sink;
    unsigned nesting; /* attributes or types inside of each other */
    size_t place_at;  /* last place told, so that places in order cost one pass */
    int64_t line, column;
    pdm_buf string;             /* the last quoted text */
    PDM_VEC(pdm_ir_attr) attrs; /* scratch stacks of nested lists */
    PDM_VEC(pdm_ir_type) types;
    PDM_VEC(int64_t) ints;
} pdm_ir_text_lex;

/* A number as it was written: an integer if it has no point or exponent. */
typedef struct pdm_ir_text_number {
    bool is_int;
    int64_t i;
    double f; /* of integers too */
} pdm_ir_text_number;

/* Line and column (1-based, in characters) of a byte. */
void pdm_ir_text_place(pdm_ir_text_lex *lex, size_t offset, int64_t *out_line, int64_t *out_column);
/* Tell the sink: what is wrong at byte offset. */
pdm_status pdm_ir_text_fail_at(pdm_ir_text_lex *lex, size_t offset, pdm_diag_code code,
                               const char *format, ...) __attribute__((format(printf, 4, 5)));
#define pdm_ir_text_fail(lex, ...)                                                                 \
    pdm_ir_text_fail_at((lex), (lex)->at, PDM_D_TEXT_SYNTAX, __VA_ARGS__)

void pdm_ir_text_skip(pdm_ir_text_lex *lex); /* blanks and comments */
/* Is token next (after blanks)? It is taken if so. */
bool pdm_ir_text_take(pdm_ir_text_lex *lex, const char *token);
PDM_MUST_USE pdm_status pdm_ir_text_want(pdm_ir_text_lex *lex, const char *token);
/* A word [A-Za-z_][A-Za-z0-9_.@]* after blanks; *out_size 0 if there is none. */
void pdm_ir_text_word(pdm_ir_text_lex *lex, const char **out, size_t *out_size);
PDM_MUST_USE pdm_status
pdm_ir_text_string(pdm_ir_text_lex *lex); /* a quoted text, into lex->string */
PDM_MUST_USE pdm_status pdm_ir_text_number_of(pdm_ir_text_lex *lex, pdm_ir_text_number *out);
PDM_MUST_USE pdm_status pdm_ir_text_int(pdm_ir_text_lex *lex, int64_t min, int64_t max,
                                        int64_t *out);
/* A word or a quoted text, interned in the context. */
PDM_MUST_USE pdm_status pdm_ir_text_name(pdm_ir_text_lex *lex, const char **out);

/* Types and attributes (parse_attr.c). */
PDM_MUST_USE pdm_status pdm_ir_text_type(pdm_ir_text_lex *lex, pdm_ir_type *out);
PDM_MUST_USE pdm_status pdm_ir_text_attr(pdm_ir_text_lex *lex, pdm_ir_attr *out);

#endif
