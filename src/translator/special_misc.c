/* Special handlers: checks, branches, outputs. */
#include <string.h>

#include "translator/special.h"

void pdm_tr_h_assert(pdm_tr_op *t)
{
    size_t n = pdm_tr_num_in(t, "Data");
    pdm_ir_value *cond = pdm_tr_in(t, "Cond");
    pdm_ir_value *data = n ? pdm_tr_in_combined(t, "Data") : pdm_tr_combine(t, NULL, 0);
    int64_t summarize = pdm_tr_int(t, "summarize");
    pdm_tr_emit_typed(t, "pd_op.assert", PDM_TR_OPS(cond, data),
                      PDM_TR_ATTRS({"summarize", pdm_tr_a_i64(t, summarize), 0}), NULL, 0);
}

/* The value goes to the output that the mask numbers, the other one is left alone. */
void pdm_tr_h_select_output(pdm_tr_op *t)
{
    pdm_ir_value *mask = pdm_tr_in(t, "Mask"), *x = pdm_tr_in(t, "X");
    size_t n = pdm_tr_num_out(t, "Out");
    if (!x || !mask)
        return;
    if (n != 2) {
        pdm_tr_unsupported(t, NULL, "'select_output' with %zu outputs", n);
        return;
    }
    const pdm_ir_type types[2] = {x->type, x->type};
    pdm_ir_op *op =
        pdm_tr_emit_typed(t, "pd_op.select_output", PDM_TR_OPS(mask, x), PDM_TR_NO_ATTRS, types, 2);
    for (size_t i = 0; op && i < 2; i++)
        pdm_tr_out_at(t, "Out", i, pdm_tr_result(op, i));
}

/* A name under which a value is visible outside; one that nothing defines is passed over. */
void pdm_tr_h_shadow_output(pdm_tr_op *t)
{
    const pdm_lg_slot *slot = pdm_lg_find_input(t->op, "x");
    const char *name = pdm_tr_string(t, "name");
    if (!name || !slot || !slot->num_args || !pdm_tr_has_value(t->tr, slot->args[0]))
        return;
    pdm_tr_emit_typed(t, "builtin.shadow_output", PDM_TR_OPS(pdm_tr_in(t, "x")),
                      PDM_TR_ATTRS({"output_name", pdm_tr_a_str(t, name), 0}), NULL, 0);
}

/* The legacy op reads tensor arrays with LoD; pd_op.beam_search_decode takes tensors only. */
void pdm_tr_h_beam_search_decode(pdm_tr_op *t)
{
    pdm_ir_value *ids = pdm_tr_in(t, "Ids"), *scores = pdm_tr_in(t, "Scores");
    if (pdm_tr_is_array(ids) || pdm_tr_is_array(scores))
        pdm_tr_unsupported(t, NULL, "'beam_search_decode' on tensor arrays");
    else
        pdm_tr_generic(t);
}

/* ---- einsum ---------------------------------------------------------------------------------- */

#define ELLIPSIS "..."

typedef struct einsum {
    size_t num_terms;
    size_t missing[PDM_MAX_RANK]; /* by operand: leading dims that its ellipsis lacks */
    size_t at[PDM_MAX_RANK];      /* by operand: where the ellipsis stands */
    size_t width;                 /* dims of the widest ellipsis */
    char letters[27];             /* for these dims */
} einsum;

/* What the ellipsis of each term stands for. false: there is none, or ranks are not known. */
static bool read_ellipses(pdm_tr_op *t, const char *equation, einsum *e)
{
    size_t dims[PDM_MAX_RANK] = {0}, n = pdm_tr_num_in(t, "Operands");
    bool dotted[PDM_MAX_RANK] = {false}, any = false;
    const char *end = strstr(equation, "->"), *term = equation;
    for (size_t i = 0; end && i < n && i < PDM_MAX_RANK && term < end; i++) {
        const char *comma = memchr(term, ',', (size_t)(end - term)), *stop = comma ? comma : end,
                   *dots = strstr(term, ELLIPSIS);
        int rank = pdm_tr_rank(pdm_tr_in_at(t, "Operands", i));
        size_t labels = (size_t)(stop - term);
        if (dots && dots < stop) {
            labels -= strlen(ELLIPSIS);
            if (rank < 0 || (size_t)rank < labels)
                return false;
            any = dotted[i] = true;
            e->at[i] = (size_t)(dots - term);
            dims[i] = (size_t)rank - labels;
            e->width = dims[i] > e->width ? dims[i] : e->width;
        }
        e->num_terms = i + 1;
        term = comma ? comma + 1 : end;
    }
    for (size_t i = 0; i < e->num_terms; i++)
        e->missing[i] = dotted[i] ? e->width - dims[i] : 0;
    return any && e->num_terms == n && e->width < sizeof e->letters;
}

/* The equation with letters in place of the ellipses; NULL: none are free, or out of memory. */
static const char *spell_out(pdm_tr_op *t, const char *equation, einsum *e)
{
    size_t n = 0, room = strlen(equation) * (e->width + 1) + 1, used = 0;
    for (char c = 'z'; c >= 'a' && n < e->width; c--)
        if (!strchr(equation, c))
            e->letters[n++] = c;
    char *text = n == e->width ? pdm_arena_alloc(&t->tr->scratch, room) : NULL;
    if (!text) {
        if (n == e->width)
            pdm_tr_nomem(t->tr);
        return NULL;
    }
    for (const char *at = equation; *at;) {
        if (strncmp(at, ELLIPSIS, strlen(ELLIPSIS)) == 0) {
            memcpy(text + used, e->letters, n);
            used += n;
            at += strlen(ELLIPSIS);
        } else {
            text[used++] = *at++;
        }
    }
    text[used] = '\0';
    return text;
}

/* An operand with all dims that the widest ellipsis has, under a name of its own. */
static const char *aligned_operand(pdm_tr_op *t, const einsum *e, size_t i)
{
    pdm_ir_value *x = pdm_tr_in_at(t, "Operands", i);
    int64_t axes[PDM_MAX_RANK];
    char *name = pdm_arena_alloc(&t->tr->scratch, 1); /* names are told apart by address */
    if (!name || !x) {
        if (!name)
            pdm_tr_nomem(t->tr);
        return NULL;
    }
    *name = '\0';
    for (size_t k = 0; k < e->missing[i]; k++)
        axes[k] = (int64_t)(e->at[i] + k);
    pdm_tr_bind(t->tr, name, pdm_tr_unsqueeze(t, x, axes, e->missing[i]));
    return name;
}

/* The kernel of 3.x has no ellipsis: its front end spells it out, and so must we. */
void pdm_tr_h_einsum(pdm_tr_op *t)
{
    einsum e = {0};
    const char *given = pdm_tr_string(t, "equation");
    pdm_lg_op op = *t->op;
    if (!given || !strstr(given, ELLIPSIS)) {
        pdm_tr_generic(t);
        return;
    }
    char *equation = pdm_arena_strndup(&t->tr->scratch, given, strlen(given));
    size_t n = 0;
    for (const char *c = given; equation && *c; c++)
        if (*c != ' ')
            equation[n++] = *c;
    if (equation)
        equation[n] = '\0';
    const char *text =
        equation && read_ellipses(t, equation, &e) ? spell_out(t, equation, &e) : NULL;
    if (!text) {
        pdm_tr_generic(t);
        return;
    }
    pdm_arena *scratch = &t->tr->scratch;
    pdm_lg_attr *attrs = pdm_arena_memdup(scratch, op.attrs, op.num_attrs * sizeof *attrs);
    pdm_lg_slot *inputs = pdm_arena_memdup(scratch, op.inputs, op.num_inputs * sizeof *inputs);
    const char **args = pdm_arena_calloc(scratch, e.num_terms, sizeof *args);
    if (!attrs || !inputs || !args) {
        pdm_tr_nomem(t->tr);
        return;
    }
    for (size_t i = 0; i < op.num_attrs; i++)
        if (strcmp(attrs[i].name, "equation") == 0)
            attrs[i].u.s = text;
    const pdm_lg_slot *operands = pdm_lg_find_input(&op, "Operands");
    for (size_t i = 0; i < e.num_terms; i++) {
        args[i] = operands->args[i];
        if (e.missing[i] && !(args[i] = aligned_operand(t, &e, i)))
            return;
    }
    for (size_t i = 0; i < op.num_inputs; i++)
        if (strcmp(inputs[i].name, "Operands") == 0)
            inputs[i].args = args;
    op.attrs = attrs;
    op.inputs = inputs;
    const pdm_lg_op *original = t->op;
    t->op = &op;
    pdm_tr_generic(t);
    t->op = original;
}
