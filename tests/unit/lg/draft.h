/*
 * Legacy graphs put together node by node, for the tests of the detector and the pass. One graph at
 * a time; failures end the test.
 */
#ifndef PDM_TESTS_LG_DRAFT_H
#define PDM_TESTS_LG_DRAFT_H

#include <check.h>

#include "legacy_graph/cinn_pass.h"
#include "legacy_graph/graph.h"
#include "legacy_graph/names.h"

/* Assertions of Check that cost nothing when they hold: each of its own is a write to a pipe. */
#define DRAFT_HOLDS(condition)                                                                     \
    do {                                                                                           \
        if (!(condition))                                                                          \
            ck_abort_msg("does not hold: %s", #condition);                                         \
    } while (0)

extern pdm_lg_graph *draft; /* the graph at hand */

void draft_begin(void);
void draft_end(void);

/* Variables: with a float description; persistable; by name only; a control dependency. */
pdm_lg_node *draft_var(const char *name);
pdm_lg_node *draft_param(const char *name);
pdm_lg_node *draft_empty(const char *name);
pdm_lg_node *draft_control(void);

/* An op with slots from texts like "X=a,b;Y=c" (NULL: none), an op_role unless role is negative, and
 * attrs (may be NULL). It is linked to nothing. */
pdm_lg_node *draft_op_with(const char *type, const char *inputs, const char *outputs, int role,
                           const pdm_lg_attr *attrs, size_t num_attrs);
pdm_lg_node *draft_op(const char *type, const char *inputs, const char *outputs);
/* Links; lists end with NULL. */
void draft_in(pdm_lg_node *op, ...);
void draft_out(pdm_lg_node *op, ...);

void draft_skip_gc(const char *names); /* separated by ';' */

/* The only node of that name; NULL: none. */
pdm_lg_node *draft_find(const pdm_lg_graph *graph, const char *name);
size_t draft_count(const pdm_lg_graph *graph, const char *name);
/* Names of nodes, in their order, separated by spaces; in a static buffer. */
const char *draft_names(const pdm_lg_nodes *nodes);
const char *draft_list(const pdm_lg_graph *graph, const char *attr); /* NULL: not there */
const char *draft_args(const pdm_lg_slot *slot);
void draft_expect_independent(const pdm_lg_graph *graph);

#endif
