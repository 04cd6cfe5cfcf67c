/*
 * The graph of a legacy program: nodes are operations and *definitions* of variables, linked in
 * both directions.
 *
 * - An op node is named by its type and has a description (pdm_lg_op). A variable node is one
 *   definition of a name: a name that is written three times has three nodes (and one more when it
 *   is read before). Only op-variable and variable-op links exist.
 * - A variable node without a description is a control dependency (named PDM_LG_CONTROL_VAR: it
 *   orders two ops) or an empty variable (made by name only, such as "@EMPTY@").
 * - Lists of inputs and outputs are in the order in which links were made; a link exists once.
 * - Ids are unique in the graph, ascend as nodes are made, and stay when others are removed.
 * - Attributes are named values of any type, owned by the graph or not.
 *
 * Ownership: a graph owns its nodes and copies of all descriptions, in its arena; nothing in it
 * points into a program or another graph. Threads: one at a time.
 */
#ifndef PDM_LG_GRAPH_H
#define PDM_LG_GRAPH_H

#include "base/diag.h"
#include "legacy_graph/program.h"

#define PDM_LG_CONTROL_VAR "__control_var"
#define PDM_LG_EMPTY_VAR   "@EMPTY@"

typedef struct pdm_lg_graph pdm_lg_graph;
typedef struct pdm_lg_node pdm_lg_node;

typedef struct pdm_lg_nodes {
    pdm_lg_node **v;
    size_t n, cap;
} pdm_lg_nodes;

typedef enum pdm_lg_node_kind { PDM_LG_NODE_OP, PDM_LG_NODE_VAR } pdm_lg_node_kind;

struct pdm_lg_node {
    pdm_lg_graph *graph;
    uint32_t id;
    pdm_lg_node_kind kind;
    bool outer;            /* a variable of an enclosing block */
    const char *name;      /* interned in the graph */
    const pdm_lg_op *op;   /* OP; NULL: none */
    const pdm_lg_var *var; /* VAR; NULL: none */
    pdm_lg_nodes inputs, outputs;
};

/* How the graph handles values of an attribute that it owns. copy NULL: clones go without. */
typedef struct pdm_lg_value_type {
    void (*destroy)(void *value);
    pdm_status (*copy)(const void *value, void **out_copy);
} pdm_lg_value_type;

typedef struct pdm_lg_graph_attr {
    const char *name; /* interned */
    void *value;
    const pdm_lg_value_type *type; /* NULL: not owned */
} pdm_lg_graph_attr;

/* A variable that the block declares, whether or not a node stands for it. */
typedef struct pdm_lg_declared {
    const pdm_lg_var *var;
    bool linked; /* nodes were made of it: it goes when they are gone */
} pdm_lg_declared;

struct pdm_lg_graph {
    pdm_arena arena;
    pdm_intern strings;
    const char *path;   /* for diagnostics */
    pdm_lg_nodes nodes; /* by id; NULL: removed */
    size_t num_nodes;   /* those that are there */
    struct {
        pdm_lg_graph_attr *v;
        size_t n, cap;
    } attrs;
    /* The block that the graph stands for, and what else belongs to the program. */
    int32_t block, parent, forward_idx;
    const pdm_lg_declared *declared;
    size_t num_declared;
    const pdm_lg_op_version *op_versions;
    size_t num_op_versions;
    int64_t version;
    bool has_version, has_op_versions;
    pdm_lg_graph **subs; /* graphs of blocks 1, 2, ...; only in the graph of block 0 */
    size_t num_subs;
};

/* ---- making ---------------------------------------------------------------------------------- */

/* An empty graph of a block 0; path is copied, and may be NULL. */
PDM_MUST_USE pdm_status pdm_lg_graph_create(const char *path, pdm_lg_graph **out_graph);
void pdm_lg_graph_destroy(pdm_lg_graph *graph); /* NULL is allowed */
/* The same nodes with the same ids; attributes that cannot be copied are left out. */
PDM_MUST_USE pdm_status pdm_lg_graph_clone(const pdm_lg_graph *graph, pdm_lg_graph **out_graph);

/* The program's version and those of its ops. */
PDM_MUST_USE pdm_status pdm_lg_graph_copy_versions(const pdm_lg_graph *from, pdm_lg_graph *to);

/* New nodes; descriptions are copied. The nodes belong to the graph. */
PDM_MUST_USE pdm_status pdm_lg_graph_add_op(pdm_lg_graph *graph, const pdm_lg_op *op,
                                            pdm_lg_node **out_node);
PDM_MUST_USE pdm_status pdm_lg_graph_add_var(pdm_lg_graph *graph, const pdm_lg_var *var,
                                             pdm_lg_node **out_node);
/* Without a description. */
PDM_MUST_USE pdm_status pdm_lg_graph_add_named(pdm_lg_graph *graph, pdm_lg_node_kind kind,
                                               const char *name, pdm_lg_node **out_node);
bool pdm_lg_is_control_var(const pdm_lg_node *node);

/* Link two nodes of different kind in the same graph; again: nothing happens. */
PDM_MUST_USE pdm_status pdm_lg_link(pdm_lg_node *from, pdm_lg_node *to);
bool pdm_lg_nodes_has(const pdm_lg_nodes *nodes, const pdm_lg_node *node);

/* Remove nodes (of this graph, each once) from it and from the lists of all that stay. */
PDM_MUST_USE pdm_status pdm_lg_graph_remove(pdm_lg_graph *graph, pdm_lg_node *const *nodes,
                                            size_t count);

/* ---- attributes ------------------------------------------------------------------------------ */

/* Set or replace; type NULL: the graph does not own the value. An owned value is the graph's from
 * here on, also when the call fails. */
PDM_MUST_USE pdm_status pdm_lg_graph_set(pdm_lg_graph *graph, const char *name, void *value,
                                         const pdm_lg_value_type *type);
bool pdm_lg_graph_has(const pdm_lg_graph *graph, const char *name);
void *pdm_lg_graph_get(const pdm_lg_graph *graph, const char *name); /* NULL: none */
/* The value, after setting what make gives when there is none. */
PDM_MUST_USE pdm_status pdm_lg_graph_get_or_init(pdm_lg_graph *graph, const char *name,
                                                 pdm_status (*make)(void **out_value),
                                                 const pdm_lg_value_type *type, void **out_value);
void pdm_lg_graph_unset(pdm_lg_graph *graph, const char *name);
/* Values that are pdm_lg_names. */
extern const pdm_lg_value_type pdm_lg_names_value;

/* ---- asking ---------------------------------------------------------------------------------- */

/*
 * The op nodes such that each comes after those it depends on, through any kind of variable; among
 * those that could come next, the one with the least rank comes (rank: by id; NULL: the id itself).
 * So a graph made from a program gives the program's own order. out_ops is the caller's to free
 * with PDM_VEC_FREE in any case. A cycle is PDM_D_LG_CYCLE, told with ops on it.
 */
PDM_MUST_USE pdm_status pdm_lg_graph_order(const pdm_lg_graph *graph, const uint32_t *rank,
                                           pdm_diag_sink *sink, pdm_lg_nodes *out_ops);

/*
 * Whether the graph stands for itself: each neighbour of a node is of the other kind, is in the
 * graph, and has the node among its neighbours. False, and what is wrong in *out_why, if not.
 */
PDM_MUST_USE pdm_status pdm_lg_graph_is_independent(const pdm_lg_graph *graph, bool *out_is,
                                                    const char **out_why);

/* ---- programs -------------------------------------------------------------------------------- */

/*
 * The graph of a checked program. Each write of a name makes a node; reads link to the last one. An
 * op that overwrites what another reads (or wrote, if nothing reads it) comes after it by a control
 * dependency. Ops with sub-blocks are linked to what their blocks use of this one. Sub-blocks have
 * graphs of their own.
 */
PDM_MUST_USE pdm_status pdm_lg_graph_from_program(const pdm_lg_program *program,
                                                  pdm_diag_sink *sink, pdm_lg_graph **out_graph);
/*
 * A program with the ops of the graph in their order. Variables are those that were declared, less
 * those whose nodes are all gone, and those of nodes that were added.
 */
PDM_MUST_USE pdm_status pdm_lg_graph_to_program(const pdm_lg_graph *graph, pdm_diag_sink *sink,
                                                pdm_lg_program **out_program);

#endif
