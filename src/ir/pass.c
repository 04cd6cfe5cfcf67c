/* The manager of passes. */
#include "ir/pass.h"

#include <string.h>
#include <time.h>

static const pdm_ir_pass *const passes[] = {
#define PDM_PASS(id) &pdm_ir_pass_##id,
#include "ir/passes/passes.def"
#undef PDM_PASS
};

/*
 * Level 1: what any program gains from, whoever runs it, with the same bits almost everywhere. Level 2: what rounds
 * otherwise, too. What is known is computed after all that makes more known, and folding shows more
 * that is the same.
 */
static const char *const levels[] = {
    "",
    "in-place,dce,identity,carried,unroll,dims,fold,branch,cse,sink,shape,matmul,hoist,broadcast,fold,cse,dce",
    "in-place,dce,identity,carried,unroll,dims,fold,branch,cse,sink,shape,activation,conv-bn,matmul,linear,hoist,broadcast,fold,cse,fc,dce",
};

const pdm_ir_pass *pdm_ir_pass_at(size_t index)
{
    return index < sizeof passes / sizeof *passes ? passes[index] : NULL;
}

const pdm_ir_pass *pdm_ir_pass_find(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
        if (strlen(passes[i]->name) == len && memcmp(passes[i]->name, name, len) == 0)
            return passes[i];
    }
    return NULL;
}

const char *pdm_ir_pass_list(int level)
{
    return level >= 0 && (size_t)level < sizeof levels / sizeof *levels ? levels[level] : NULL;
}

bool pdm_ir_pass_hit(pdm_ir_pass_run *run, const char *name)
{
    run->changed = true;
    for (size_t i = 0; i < run->stats->hits.n; i++) {
        if (strcmp(run->stats->hits.v[i].name, name) == 0) {
            run->stats->hits.v[i].count++;
            return true;
        }
    }
    return PDM_VEC_PUSH(&run->stats->hits, ((pdm_ir_hit){name, 1}));
}

/* ---- analyses -------------------------------------------------------------------------------- */

void pdm_ir_pass_forget(pdm_ir_pass_run *run)
{
    if (run->has_writes)
        pdm_ir_writes_deinit(&run->writes);
    run->has_writes = false;
}

pdm_status pdm_ir_pass_writes(pdm_ir_pass_run *run, pdm_ir_writes **out_writes)
{
    if (!run->has_writes) {
        const pdm_status status = pdm_ir_writes_find(&run->writes, run->module);
        if (status != PDM_OK) {
            pdm_ir_writes_deinit(&run->writes);
            return status;
        }
        run->has_writes = true;
    }
    *out_writes = &run->writes;
    return PDM_OK;
}

/* ---- one pass -------------------------------------------------------------------------------- */

/* Inner regions first; depth is bounded by the readers and the verifier. */
static pdm_status run_on_blocks(pdm_ir_pass_run *run, const pdm_ir_pass *pass, pdm_ir_block *block)
{
    for (pdm_ir_op *op = block->first; op; op = op->next) {
        for (uint32_t i = 0; i < op->num_regions; i++) {
            for (pdm_ir_block *b = pdm_ir_op_region(op, i)->first; b; b = b->next)
                PDM_TRY(run_on_blocks(run, pass, b));
        }
    }
    return pass->block(run, block);
}

static pdm_status count_op(void *user, pdm_ir_op *op)
{
    *(size_t *)user += op->block != NULL;
    return PDM_OK;
}

static size_t num_ops(const pdm_ir_module *module)
{
    size_t count = 0;

    (void)!pdm_ir_walk(module->op, PDM_IR_PRE_ORDER, count_op, &count);
    return count;
}

static uint64_t now(void)
{
    struct timespec t = {0};

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* What is kept to the end of all passes. */
static uint64_t bytes_kept(const pdm_ir_pass_run *run)
{
    uint64_t bytes = pdm_ir_context_bytes(run->context);

    for (size_t i = 0; i < run->constants->made.n; i++)
        bytes += pdm_tensor_bytes(&run->constants->made.v[i].tensor);
    return bytes;
}

static pdm_status verify(pdm_ir_pass_run *run, const pdm_ir_pass *pass)
{
    const pdm_status status = pdm_ir_verify(run->module, run->sink);

    if (status == PDM_OK || status == PDM_NOMEM)
        return status;
    return pdm_diag(run->sink, PDM_D_INTERNAL, NULL, "please report this with the model",
                    "the program breaks a rule after pass '%s'", pass->name);
}

static pdm_status run_one(pdm_ir_pass_run *run, const pdm_ir_pass *pass,
                          const pdm_ir_pass_options *options)
{
    pdm_ir_pass_stats stats = {.pass = pass, .ops_before = num_ops(run->module)};
    pdm_status status = PDM_OK;

    run->stats = &stats;
    run->changed = false;
    if (options->before)
        PDM_TRY_GOTO(options->before(options->user, pass, run->module));
    const uint64_t begin = now(), kept = bytes_kept(run);
    PDM_TRY_GOTO(pass->module ? pass->module(run) : run_on_blocks(run, pass, run->module->block));
    stats.nanoseconds = now() - begin;
    stats.bytes = bytes_kept(run) - kept;
    if (run->changed && !(pass->keeps & PDM_IR_KEEPS_WRITES))
        pdm_ir_pass_forget(run);
    stats.ops_after = num_ops(run->module);
    if (options->verify)
        PDM_TRY_GOTO(verify(run, pass));
    if (options->after)
        PDM_TRY_GOTO(options->after(options->user, &stats, run->module));
done:
    PDM_VEC_FREE(&stats.hits);
    run->stats = NULL;
    return status;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static pdm_status unknown(const char *name, size_t len, pdm_diag_sink *sink)
{
    pdm_buf known;

    pdm_buf_init(&known);
    for (size_t i = 0; pdm_ir_pass_at(i); i++)
        pdm_buf_printf(&known, "%s%s", i ? ", " : "passes are: ", pdm_ir_pass_at(i)->name);
    const pdm_status status = pdm_diag(sink, PDM_D_USAGE, NULL, pdm_buf_ok(&known) ? known.data : NULL,
                                       "'%.*s' is no pass", (int)(len < 64 ? len : 64), name);
    pdm_buf_deinit(&known);
    return status;
}

/* The next name of a list; NULL at its end. */
static const char *next_name(const char **at, size_t *out_len)
{
    const char *name = *at + strspn(*at, ",");

    *out_len = strcspn(name, ",");
    *at = name + *out_len;
    return *out_len ? name : NULL;
}

pdm_status pdm_ir_pass_check_list(const char *list, pdm_diag_sink *sink)
{
    const char *name;
    size_t len;

    while ((name = next_name(&list, &len))) {
        if (!pdm_ir_pass_find(name, len))
            return unknown(name, len, sink);
    }
    return PDM_OK;
}

pdm_status pdm_ir_pass_run_list(pdm_ir_module *module, const char *list,
                                const pdm_ir_pass_options *options, pdm_ir_constants *constants,
                                pdm_diag_sink *sink)
{
    static const pdm_ir_pass_options none;
    pdm_ir_pass_run run = {
        .module = module, .context = module->context, .sink = sink, .constants = constants};
    pdm_status status = PDM_OK;
    const char *name;
    size_t len;

    options = options ? options : &none;
    PDM_TRY(pdm_ir_pass_check_list(list, sink));
    pdm_ir_constants_begin(constants, module, options->source);
    for (const char *at = list; status == PDM_OK && (name = next_name(&at, &len));)
        status = run_one(&run, pdm_ir_pass_find(name, len), options);
    pdm_ir_pass_forget(&run);
    pdm_ir_constants_end(constants);
    return status;
}
