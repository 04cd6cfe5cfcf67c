/*
 * Groups as text. For people:
 *
 *     group 1 add_relu: 2 ops, broadcast
 *         in   x0: f32[-1, 8] from pd_op.conv2d
 *         v0 = add(x0, x1): f32[-1, 8]
 *         v1 = relu(v0): f32[-1, 8]
 *         out  v1
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "cinn/backend.h"
#include "cinn/cuda/print.h"
#include "cinn/group.h"
#include "cinn/loop_rewrite.h"
#include "cinn/lower.h"

typedef struct printer {
    pdm_buf *out;
    pdm_cinn_form form;
    const pdm_cinn_backend *llvm; /* of PDM_CINN_AS_LLVM */
    size_t groups;
    pdm_map names; /* value -> number: inputs even, results odd */
    pdm_status status;
} printer;

static void type_text(printer *p, bool further, pdm_ir_type type)
{
    pdm_buf_puts(p->out, further ? ", " : ": ");
    if (!pdm_ir_type_is_tensor(type)) {
        pdm_buf_puts(p->out, "vector");
        return;
    }
    pdm_buf_printf(p->out, "%s[", pdm_dtype_text(type->dtype));
    for (uint32_t d = 0; d < type->rank; d++) {
        pdm_buf_puts(p->out, d ? ", " : "");
        pdm_buf_i64(p->out, type->dims[d]);
    }
    pdm_buf_putc(p->out, ']');
}

static void name_it(printer *p, const pdm_ir_value *value, uint64_t number)
{
    pdm_map_entry *entry = pdm_map_put(&p->names, value);

    if (entry)
        entry->value.num = number;
    else
        p->status = PDM_NOMEM;
}

static void value_text(printer *p, const pdm_ir_value *value)
{
    const pdm_map_entry *entry = pdm_map_find(&p->names, value);
    double number;

    if (entry)
        pdm_buf_printf(p->out, "%c%u", entry->value.num % 2 ? 'v' : 'x',
                       (unsigned)(entry->value.num / 2));
    else if (pdm_cinn_constant(value, &number))
        pdm_buf_double(p->out, number);
    else
        pdm_buf_puts(p->out, value ? pdm_ir_op_name(pdm_ir_value_op(value)) : "-");
}

static void inputs_text(printer *p, const pdm_ir_op *group)
{
    const pdm_ir_value *inputs[PDM_CINN_MAX_INPUTS];
    const size_t count = pdm_cinn_group_inputs(group, inputs);

    for (size_t i = 0; i < count && count != SIZE_MAX; i++) {
        const pdm_ir_op *maker = pdm_ir_value_op(inputs[i]);
        name_it(p, inputs[i], 2 * i);
        pdm_buf_printf(p->out, "    in   x%zu", i);
        type_text(p, false, inputs[i]->type);
        pdm_buf_printf(p->out, " from %s\n", maker ? pdm_ir_op_name(maker) : "an argument");
    }
}

/* How many names it took. */
static size_t op_text(printer *p, const pdm_ir_op *op, size_t number)
{
    const uint32_t results = pdm_ir_op_is(op, "builtin.split") ? op->num_results : 1;

    pdm_buf_puts(p->out, "    ");
    for (uint32_t i = 0; i < results; i++) {
        name_it(p, pdm_ir_op_result(op, i), 2 * (number + i) + 1);
        pdm_buf_printf(p->out, "%sv%zu", i ? ", " : "", number + i);
    }
    pdm_buf_printf(p->out, " = %s(", pdm_ir_op_name(op));
    for (uint32_t i = 0; i < op->num_operands; i++) {
        pdm_buf_puts(p->out, i ? ", " : "");
        value_text(p, pdm_ir_op_operand_value(op, i));
    }
    pdm_buf_putc(p->out, ')');
    for (uint32_t i = 0; i < results; i++)
        type_text(p, i > 0, pdm_ir_op_result(op, i)->type);
    pdm_buf_putc(p->out, '\n');
    return results;
}

static void group_text(printer *p, const pdm_ir_op *group)
{
    const pdm_ir_block *body = pdm_ir_op_region(group, 0)->first;
    pdm_cinn_kind kind = PDM_CINN_VIEW;
    size_t ops = 0, number = 0;
    pdm_ir_attr name = pdm_ir_op_attr(group, "name");

    for (const pdm_ir_op *op = body->first; op != body->last; op = op->next) {
        const pdm_cinn_rule *rule = pdm_cinn_rule_of(op);
        ops += !pdm_ir_op_is(op, "builtin.combine") && !pdm_ir_op_is(op, "builtin.split") &&
               !pdm_ir_op_is(op, "builtin.slice");
        kind = rule && rule->kind > kind ? rule->kind : kind;
    }
    pdm_buf_printf(p->out, "%sgroup %zu %s: %zu ops, %s\n", p->groups > 1 ? "\n" : "", p->groups,
                   name && name->kind == PDM_IR_ATTR_STR ? name->u.s.text : "", ops,
                   pdm_cinn_kind_name(kind));
    pdm_map_clear(&p->names);
    inputs_text(p, group);
    for (const pdm_ir_op *op = body->first; op != body->last; op = op->next)
        number += op_text(p, op, number);
    for (uint32_t i = 0; i < body->last->num_operands; i++) {
        pdm_buf_puts(p->out, i ? ", " : "    out  ");
        value_text(p, pdm_ir_op_operand_value(body->last, i));
    }
    pdm_buf_puts(p->out, body->last->num_operands ? "\n" : "");
}

static void cuda_text(printer *p, const pdm_loop_fn *fn)
{
    char prefix[160];

    snprintf(prefix, sizeof prefix, "group%zu_%s", p->groups, fn->name);
    const pdm_status status =
        pdm_cinn_cuda_print(fn, prefix, pdm_cinn_cuda_widths(fn), p->out);
    if (status != PDM_OK)
        p->status = status;
}

static void llvm_text(printer *p, pdm_loop_fn *fn)
{
    char *text = NULL;
    pdm_status status;

    pdm_cinn_schedule_cpu(fn, true);
    pdm_loop_expand_math(fn);
    status = fn->status;
    if (status == PDM_OK)
        status = p->llvm->print(fn, p->groups, &text);
    pdm_buf_printf(p->out, "\n; group %zu: %s%s\n", p->groups, fn->name,
                   status == PDM_UNSUPPORTED ? " is run as single ops" : "");
    pdm_buf_puts(p->out, text ? text : "");
    if (status != PDM_OK && status != PDM_UNSUPPORTED)
        p->status = status;
    free(text);
}

/* Whether nothing but code is printed. */
static bool is_code(const printer *p)
{
    return p->form == PDM_CINN_AS_CUDA || p->form == PDM_CINN_AS_LLVM;
}

static void loop_text(printer *p, const pdm_ir_op *group)
{
    pdm_loop_fn *fn = NULL;
    const pdm_status status = pdm_cinn_lower_group(group, NULL, &fn);

    if (status == PDM_UNSUPPORTED && is_code(p))
        pdm_buf_printf(p->out, p->llvm ? "\n; group %zu is run as single ops\n" : "\n/* group %zu is run as single ops */\n",
                       p->groups);
    else if (status == PDM_UNSUPPORTED)
        pdm_buf_puts(p->out, "    (not lowered: run as single ops)\n");
    else if (status != PDM_OK)
        p->status = status;
    if (fn && p->form == PDM_CINN_AS_CUDA) {
        pdm_cinn_schedule_gpu(fn);
        cuda_text(p, fn);
    } else if (fn && p->llvm) {
        llvm_text(p, fn);
    } else if (fn) {
        if (p->form == PDM_CINN_AS_GPU_LOOPS)
            pdm_cinn_schedule_gpu(fn);
        else
            pdm_cinn_schedule_cpu(fn, true);
        pdm_loop_print(fn, p->out);
        const char *fault = pdm_loop_verify(fn);
        if (fault)
            pdm_buf_printf(p->out, "    FAULT: %s\n", fault);
    }
    pdm_loop_fn_destroy(fn);
}

static pdm_status visit(void *user, pdm_ir_op *op)
{
    printer *p = user;

    if (!pdm_cinn_is_group(op))
        return PDM_OK;
    p->groups++;
    if (!is_code(p))
        group_text(p, op);
    if (p->form != PDM_CINN_AS_OPS)
        loop_text(p, op);
    return p->status;
}

pdm_status pdm_cinn_group_print(const pdm_ir_module *module, pdm_cinn_form form, pdm_buf *out)
{
    printer p = {.out = out, .form = form};

    if (form == PDM_CINN_AS_SUMMARY)
        return pdm_cinn_group_summary(module, out);
    if (form == PDM_CINN_AS_CUDA)
        pdm_cinn_cuda_prologue(out);
    if (form == PDM_CINN_AS_LLVM) {
        const char *reason;
        p.llvm = pdm_cinn_backend_module(&reason);
        if (!p.llvm)
            return PDM_UNSUPPORTED;
    }
    const pdm_status status = pdm_ir_walk(module->op, PDM_IR_PRE_ORDER, visit, &p);
    pdm_cinn_group_stats stats;

    pdm_map_deinit(&p.names);
    PDM_TRY(status);
    if (is_code(&p))
        return pdm_buf_ok(out) ? PDM_OK : PDM_NOMEM;
    PDM_TRY(pdm_cinn_group_count(module, &stats));
    pdm_buf_printf(out, "%s%zu of %zu ops in %zu groups\n", p.groups ? "\n" : "", stats.grouped,
                   stats.ops, stats.groups);
    return pdm_buf_ok(out) ? PDM_OK : PDM_NOMEM;
}
