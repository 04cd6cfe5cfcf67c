/*
 * Passes over a module, and the manager that runs lists of them.
 *
 * A pass is one file in ir/passes with one descriptor, and one row of passes.def. A module pass
 * runs once; a block pass runs on every block of the module, those of inner regions first. Passes
 * see the attributes of the newest PIR version. Each keeps the meaning of the program at every step, so that
 * a run that ends early leaves a good module.
 *
 * Analyses are made when first asked for and kept until a pass says that it changed something, but
 * for those that the pass keeps true itself.
 */
#ifndef PDM_IR_PASS_H
#define PDM_IR_PASS_H

#include "base/buf.h"
#include "ir/constants.h"
#include "ir/effects.h"

typedef struct pdm_ir_pass_run pdm_ir_pass_run;

enum { PDM_IR_KEEPS_WRITES = 1 }; /* analyses, as bits */

typedef struct pdm_ir_pass {
    const char *name, *summary;
    pdm_status (*module)(pdm_ir_pass_run *run);                     /* one of these two */
    pdm_status (*block)(pdm_ir_pass_run *run, pdm_ir_block *block); /* may erase ops of its block */
    unsigned keeps;
} pdm_ir_pass;

#define PDM_PASS(id) extern const pdm_ir_pass pdm_ir_pass_##id;
#include "ir/passes/passes.def"
#undef PDM_PASS

/* By index 0, 1, ...; NULL at the end. */
const pdm_ir_pass *pdm_ir_pass_at(size_t index);
const pdm_ir_pass *pdm_ir_pass_find(const char *name, size_t len); /* NULL: there is none */
/* The list of passes (names with commas) of a level; NULL: there is no such level. */
const char *pdm_ir_pass_list(int level);

/* Whether all names of a list, with commas, are passes; else told. */
PDM_MUST_USE pdm_status pdm_ir_pass_check_list(const char *list, pdm_diag_sink *sink);

/* How often something was done, under a name. */
typedef struct pdm_ir_hit {
    const char *name; /* constant text */
    size_t count;
} pdm_ir_hit;

/* What a pass did. */
typedef struct pdm_ir_pass_stats {
    const pdm_ir_pass *pass;
    size_t ops_before, ops_after; /* nested ones too */
    uint64_t nanoseconds;
    uint64_t bytes; /* that it took and are kept: types, attributes and names, parameters that it made */
    PDM_VEC(pdm_ir_hit) hits; /* in the order in which they came first */
} pdm_ir_pass_stats;

/* What a pass works with. */
struct pdm_ir_pass_run {
    pdm_ir_module *module;
    pdm_ir_context *context;
    pdm_diag_sink *sink;
    pdm_ir_constants *constants;
    pdm_ir_pass_stats *stats;
    bool changed;
    /* analyses */
    bool has_writes;
    pdm_ir_writes writes;
};

/* Count something that was done: the module is changed. False: out of memory. */
bool pdm_ir_pass_hit(pdm_ir_pass_run *run, const char *name);
PDM_MUST_USE pdm_status pdm_ir_pass_writes(pdm_ir_pass_run *run, pdm_ir_writes **out_writes);
/* Analyses do not hold any more: they are made anew when they are asked for. */
void pdm_ir_pass_forget(pdm_ir_pass_run *run);

typedef struct pdm_ir_pass_options {
    const pdm_ir_constant_source *source; /* data of parameters, and who computes; NULL: neither */
    bool verify;                          /* the module after each pass */
    /* Called before and after each pass; either may be NULL. A status other than PDM_OK ends it. */
    pdm_status (*before)(void *user, const pdm_ir_pass *pass, const pdm_ir_module *module);
    pdm_status (*after)(void *user, const pdm_ir_pass_stats *stats, const pdm_ir_module *module);
    void *user;
} pdm_ir_pass_options;

/*
 * Run the passes of a checked list, names with commas, on a module of the newest version. Parameters that
 * they made are entered in constants, which the caller initialised and deinits in any case. Errors:
 * PDM_INVALID_ARG (a name that is no pass; told), PDM_INTERNAL (a pass broke a rule; told), PDM_NOMEM.
 */
PDM_MUST_USE pdm_status pdm_ir_pass_run_list(pdm_ir_module *module, const char *list,
                                             const pdm_ir_pass_options *options,
                                             pdm_ir_constants *constants, pdm_diag_sink *sink);

#endif
