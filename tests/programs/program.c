#include "program.h"

#include <stdlib.h>
#include <string.h>

static void free_tensors(program_tensor *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (int s = 0; s < PROGRAM_MAX_SETS; s++)
            pdm_tensor_deinit(&v[i].sets[s]);
    }
    free(v);
}

void program_deinit(program *p)
{
    free_tensors(p->inputs.v, p->inputs.n);
    free_tensors(p->parameters.v, p->parameters.n);
    if (p->module)
        pdm_ir_module_destroy(p->module);
    if (p->context)
        pdm_ir_context_destroy(p->context);
    *p = (program){0};
}

program_tensor *program_add_input(program *p, const char *name)
{
    const program_tensor t = {.name = pdm_ir_str(p->context, name)};

    return t.name && PDM_VEC_PUSH(&p->inputs, t) ? &p->inputs.v[p->inputs.n - 1] : NULL;
}

program_tensor *program_add_parameter(program *p, const char *name)
{
    const program_tensor t = {.name = pdm_ir_str(p->context, name)};

    return t.name && PDM_VEC_PUSH(&p->parameters, t) ? &p->parameters.v[p->parameters.n - 1] : NULL;
}

const pdm_tensor *program_input(const program *p, const char *name, int set)
{
    for (size_t i = 0; i < p->inputs.n; i++) {
        if (!strcmp(p->inputs.v[i].name, name))
            return &p->inputs.v[i].sets[set];
    }
    return NULL;
}

static bool share(program_tensor *to, const program_tensor *from)
{
    if (!to)
        return false;
    for (int s = 0; s < PROGRAM_MAX_SETS; s++) {
        if (from->sets[s].dtype != PDM_UNDEFINED)
            pdm_tensor_ref(&to->sets[s], &from->sets[s]);
    }
    return true;
}

/* By its text: contexts are apart then. */
bool program_clone(const program *p, program *out)
{
    pdm_diag_sink sink = {0};
    pdm_buf text;

    *out = (program){.num_sets = p->num_sets};
    pdm_buf_init(&text);
    pdm_ir_print(p->module, &text);
    bool ok = pdm_buf_ok(&text) && pdm_ir_context_create(&out->context) == PDM_OK &&
              pdm_ir_parse(out->context, text.data, text.size, "clone", &sink, &out->module) == PDM_OK;
    pdm_buf_deinit(&text);
    for (size_t i = 0; ok && i < p->inputs.n; i++)
        ok = share(program_add_input(out, p->inputs.v[i].name), &p->inputs.v[i]);
    for (size_t i = 0; ok && i < p->parameters.n; i++)
        ok = share(program_add_parameter(out, p->parameters.v[i].name), &p->parameters.v[i]);
    if (!ok)
        program_deinit(out);
    return ok;
}

bool program_params(const program *p, pdm_params *params, size_t room)
{
    pdm_params_init(params);
    params->items = pdm_arena_alloc(&params->arena, (p->parameters.n + room + 1) * sizeof *params->items);
    if (!params->items)
        return false;
    for (size_t i = 0; i < p->parameters.n; i++) {
        const program_tensor *t = &p->parameters.v[i];
        if (pdm_param_make(&params->arena, t->name, &t->sets[0], &params->items[params->count]) != PDM_OK)
            return false;
        params->count++;
    }
    return true;
}

static pdm_status count(void *user, pdm_ir_op *op)
{
    static const char *const others[] = {"builtin.module", "builtin.parameter", "pd_op.data", "pd_op.full", "pd_op.full_int_array",
                                         "pd_op.fetch", "cf.yield"};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (pdm_ir_op_is(op, others[i]))
            return PDM_OK;
    }
    ++*(size_t *)user;
    return PDM_OK;
}

size_t program_num_ops(const program *p)
{
    size_t n = 0;

    return pdm_ir_walk(p->module->op, PDM_IR_PRE_ORDER, count, &n) == PDM_OK ? n : 0;
}
