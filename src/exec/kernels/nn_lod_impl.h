/* Recurrences over the sequences of a LoD: what lstm, gru and their fused forms share. */
#ifndef PDM_EXEC_KERNELS_NN_LOD_IMPL_H
#define PDM_EXEC_KERNELS_NN_LOD_IMPL_H

#include "exec/kernels/nn_impl.h"

/* Sequences of x by its last LoD level, and where each row is in "batch order": step by step, in
 * each step the sequences by length, longest first. */
typedef struct pdm_sequences {
    const int64_t *offsets;
    int64_t count, rows;
    int64_t *order;    /* of the sequences */
    int64_t *in_batch; /* of the rows */
} pdm_sequences;

bool pdm_sequences_init(pdm_k *k, pdm_sequences *s, const pdm_tensor *x, bool reverse);
void pdm_sequences_deinit(pdm_sequences *s);

/*
 * A recurrence to run: projected inputs [rows][gates * hidden], states [sequences][hidden] or NULL
 * for zeros. Results are per row.
 */
typedef struct pdm_recurrence {
    pdm_sequences seqs;
    int64_t hidden;
    bool reverse, origin, peepholes;
    pdm_nn_act gate, cell, candidate;
    double *x;      /* heap; becomes the gates */
    double *weight; /* [hidden][gates * hidden]; gru: [hidden][2 * hidden], then [hidden][hidden] */
    double *peephole; /* three rows of hidden: input, forget, output */
    double *h0, *c0;
    double *h, *c, *extra; /* results [rows][hidden]; extra: reset hidden state or c before act */
} pdm_recurrence;

bool pdm_recurrence_lstm(pdm_k *k, pdm_recurrence *r);
bool pdm_recurrence_gru(pdm_k *k, pdm_recurrence *r);
void pdm_recurrence_deinit(pdm_recurrence *r);
/* Optional initial state [sequences][hidden]. */
double *pdm_recurrence_state(pdm_k *k, const pdm_recurrence *r, const pdm_tensor *t);
/* Result [rows][cols] with the LoD of x, if wanted; in_batch: in batch order. */
void pdm_recurrence_store(pdm_k *k, const pdm_recurrence *r, size_t index, const pdm_tensor *x,
                          const double *values, int64_t cols, bool in_batch);

#endif
