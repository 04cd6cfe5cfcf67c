/* Fused ops, taken apart. */
#include "translator/expressed.h"

#include <string.h>

/* ---- with sequences -------------------------------------------------------------------------- */

void pdm_tr_h_fused_embedding_seq_pool(pdm_tr_op *t)
{
    pdm_ir_value *w = pdm_tr_in(t, "W"), *ids = pdm_tr_in(t, "Ids");
    int64_t padding = pdm_tr_int_or(t, "padding_idx", -1);
    const char *combiner = pdm_tr_string_or(t, "combiner", "sum");
    if (t->failed || !w || !ids)
        return;
    if (strcmp(combiner, "sum") != 0) {
        pdm_tr_unsupported(t, "combiner", "'fused_embedding_seq_pool' that combines by '%s'", combiner);
        return;
    }
    int64_t columns = pdm_tr_known_product(ids, 1, pdm_tr_need_rank(t, ids)),
            width = pdm_tr_known_dim(w, 1);
    pdm_ir_value *rows = pdm_tr_emit1(t, "pd_op.embedding", PDM_TR_OPS(ids, w),
                                      PDM_TR_ATTRS({"padding_idx", pdm_tr_a_i64(t, padding), 0},
                                                   {"sparse", pdm_tr_a_bool(t, false), 0}));
    if (columns < 0 || width < 0) {
        pdm_tr_unsupported(t, NULL, "'fused_embedding_seq_pool' with unknown dims");
        return;
    }
    rows = pdm_tr_reshape(t, rows, (int64_t[]){-1, columns * width}, 2);
    pdm_ir_op *op = pdm_tr_emit(t, "pd_op.sequence_pool", PDM_TR_OPS(rows),
                                PDM_TR_ATTRS({"is_test", pdm_tr_a_bool(t, true), 0},
                                             {"pooltype", pdm_tr_a_str(t, "SUM"), 0},
                                             {"pad_value", pdm_tr_a_f32(t, 0), 0}));
    pdm_tr_out(t, "Out", pdm_tr_result(op, 0));
}

/* The first input is sequences; a row of the others goes to every row of its sequence. */
void pdm_tr_h_fusion_seqexpand_concat_fc(pdm_tr_op *t)
{
    size_t n = pdm_tr_num_in(t, "X");
    pdm_ir_value **x = pdm_arena_calloc(&t->tr->scratch, n + 1, sizeof *x);
    if (!x) {
        pdm_tr_nomem(t->tr);
        return;
    }
    x[0] = pdm_tr_in(t, "X");
    pdm_ir_value *lengths = pdm_tr_lengths(t, x[0]);
    for (size_t i = 1; i < n; i++)
        x[i] = pdm_tr_repeat(t, pdm_tr_in_at(t, "X", i), lengths);
    pdm_ir_value *w = pdm_tr_in(t, "FCWeight"), *bias = pdm_tr_in_opt(t, "FCBias");
    pdm_ir_value *out = pdm_tr_matmul(t, pdm_tr_concat(t, x, n, 1), w, false, false);
    if (bias)
        out = pdm_tr_binary(t, "pd_op.add", out, bias);
    pdm_tr_out(t, "Out", pdm_tr_activation(t, out, pdm_tr_string(t, "fc_activation"), 0, 0));
}
