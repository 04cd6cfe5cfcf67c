#include "exec/precompile.h"

#include <stdlib.h>

#include "exec/sizes.h"

typedef struct job {
    const pdm_exec_plan *plan;
    const pdm_value *values;
    const pdm_exec_options *options;
    const int64_t *symbols;
    const pdm_exec_instr **instrs; /* groups */
    size_t count;
} job;

/* An input of a group: one that is there, or one that will be made. dims: room for those of the latter. */
static bool foresee_input(const job *j, const pdm_exec_instr *instr, size_t i, const pdm_ir_value *ir, int64_t *dims,
                          pdm_cinn_actual *out)
{
    const pdm_value *value = instr->in[i] == PDM_EXEC_NONE ? NULL : &j->values[instr->in[i]];

    if (value && value->kind == PDM_VALUE_TENSOR && value->tensor.dtype != PDM_UNDEFINED)
        return pdm_exec_group_actual(value, out);
    if (!pdm_ir_type_is_tensor(ir->type) || !pdm_exec_sizes_dims(j->plan->sizes, j->symbols, ir, dims))
        return false;
    *out = (pdm_cinn_actual){ir->type->dtype, (int)ir->type->rank, dims, NULL};
    return !pdm_exec_group_asks_data(out);
}

static void compile(void *arg, int64_t begin, int64_t end)
{
    const job *j = arg;
    const pdm_exec_options *options = j->options;
    int64_t dims[PDM_CINN_MAX_INPUTS][PDM_MAX_RANK];
    pdm_cinn_actual actual[PDM_CINN_MAX_INPUTS];

    for (int64_t g = begin; g < end; g++) {
        const pdm_exec_instr *instr = j->instrs[g];
        size_t count, i = 0;
        const pdm_ir_value *const *inputs = pdm_exec_group_inputs(instr->group, &count);
        if (options->cancelled && options->cancelled(options->user))
            return;
        while (i < count && foresee_input(j, instr, i, inputs[i], dims[i], &actual[i]))
            i++;
        if (i == count)
            pdm_exec_group_prepare(instr->group, actual);
    }
}

void pdm_exec_precompile(const pdm_exec_plan *plan, const pdm_value *values, const pdm_tensor *inputs,
                         const pdm_exec_options *options)
{
    job j = {.plan = plan, .values = values, .options = options};

    if (plan->groups.n < 2 || plan->device || !plan->sizes || pdm_pool_threads(options->pool) < 2)
        return;
    for (size_t i = 0; i < plan->num_inputs; i++) {
        if (pdm_tensor_num_lod(&inputs[i]) > 0) /* groups do not hand it on */
            return;
    }
    j.instrs = calloc(plan->groups.n, sizeof *j.instrs);
    for (size_t i = 0; j.instrs && i < plan->top->num_instrs; i++) {
        const pdm_exec_instr *instr = &plan->top->instrs[i];
        if (instr->kind == PDM_EXEC_GROUP && j.count < plan->groups.n && pdm_exec_group_is_new(instr->group))
            j.instrs[j.count++] = instr;
    }
    int64_t *symbols = j.count > 1 ? pdm_exec_sizes_symbols(plan->sizes, inputs) : NULL;
    if (symbols) {
        j.symbols = symbols;
        pdm_pool_for(options->pool, (int64_t)j.count, 1, compile, &j);
    }
    free(symbols);
    free(j.instrs);
}
