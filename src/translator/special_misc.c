/* Special handlers: checks, branches, outputs. */
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
