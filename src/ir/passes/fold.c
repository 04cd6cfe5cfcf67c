/*
 * Constants: pure ops all of whose operands are known before a run are computed now, by whoever the
 * layers above lend for it. What is written later, or given to a loop, is no constant. A file must not
 * grow by it: results that are larger than what they are made of are left to those who run the
 * program.
 */
#include <stdlib.h>

#include "base/checked.h"
#include "ir/pass.h"

enum { MAX_RESULTS = 16, SMALL = 1 << 16 };

typedef struct folder {
    pdm_ir_pass_run *run;
    pdm_ir_writes *writes;
    PDM_VEC(pdm_tensor) in;
    PDM_VEC(const pdm_tensor *) refs;
    PDM_VEC(size_t) counts;
} folder;

/* Elements of a vector operand; NULL: the operand is no vector made here. */
static const pdm_ir_op *combine_of(const pdm_ir_value *value)
{
    const pdm_ir_op *op = value ? pdm_ir_value_op(value) : NULL;

    return op && PDM_IR_IS(op, builtin, combine) ? op : NULL;
}

static bool is_known(const folder *f, const pdm_ir_value *value)
{
    const pdm_ir_op *combine = combine_of(value);

    if (!value)
        return true;
    if (pdm_ir_is_written(f->writes, value))
        return false;
    for (uint32_t i = 0; combine && i < combine->num_operands; i++) {
        const pdm_ir_value *element = pdm_ir_op_operand_value(combine, i);
        if (!element || combine_of(element) || !is_known(f, element))
            return false;
    }
    return combine || pdm_ir_is_constant(f->run->constants, value);
}

static uint64_t bytes_of_type(pdm_ir_type type)
{
    uint64_t count, bytes;

    for (uint32_t i = 0; i < type->rank; i++) {
        if (type->dims[i] < 0)
            return UINT64_MAX;
    }
    return pdm_count_elements(type->dims, type->rank, &count) &&
                   pdm_mul_u64(count, pdm_dtype_size(type->dtype), &bytes)
               ? bytes
               : UINT64_MAX;
}

/* Bytes of the parameters that go into an op. */
static uint64_t bytes_in(const folder *f, const pdm_ir_op *op)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < op->num_operands; i++) {
        const pdm_ir_value *value = pdm_ir_op_operand_value(op, i);
        const pdm_ir_op *combine = combine_of(value);
        if (combine)
            bytes += bytes_in(f, combine);
        else if (value)
            bytes += pdm_ir_constant_bytes(f->run->constants, value);
    }
    return bytes;
}

static bool is_candidate(const folder *f, const pdm_ir_op *op)
{
    uint64_t made = 0;

    if (!pdm_ir_is_pure(op) || op->num_operands == 0 || PDM_IR_IS(op, builtin, combine) ||
        op->num_operands != op->info->desc->num_operands || op->num_results > MAX_RESULTS ||
        pdm_ir_is_unused(op))
        return false;
    for (uint32_t i = 0; i < op->num_operands; i++) {
        if (!is_known(f, pdm_ir_op_operand_value(op, i)))
            return false;
    }
    for (uint32_t i = 0; i < op->num_results; i++) {
        const pdm_ir_value *value = pdm_ir_op_result(op, i);
        if (!pdm_ir_value_has_uses(value))
            continue;
        if (!pdm_ir_type_is_tensor(value->type) || pdm_ir_is_written(f->writes, value))
            return false;
        const uint64_t bytes = bytes_of_type(value->type);
        made = bytes == UINT64_MAX || made > UINT64_MAX - bytes ? UINT64_MAX : made + bytes;
    }
    return made <= SMALL || made <= bytes_in(f, op);
}

/* ---- computing ------------------------------------------------------------------------------- */

static pdm_status get(folder *f, const pdm_ir_value *value, bool *out_known)
{
    if (!PDM_VEC_PUSH(&f->in, (pdm_tensor){0}))
        return PDM_NOMEM;
    pdm_tensor *tensor = &f->in.v[f->in.n - 1];
    PDM_TRY(pdm_ir_constant_get(f->run->constants, value, tensor));
    *out_known = *out_known && tensor->dtype != PDM_UNDEFINED;
    return PDM_OK;
}

static pdm_status gather(folder *f, const pdm_ir_op *op, bool *out_known)
{
    *out_known = true;
    for (uint32_t i = 0; i < op->num_operands; i++) {
        const pdm_ir_value *value = pdm_ir_op_operand_value(op, i);
        const pdm_ir_op *combine = combine_of(value);
        const size_t begin = f->in.n;
        for (uint32_t k = 0; combine && k < combine->num_operands; k++)
            PDM_TRY(get(f, pdm_ir_op_operand_value(combine, k), out_known));
        if (value && !combine)
            PDM_TRY(get(f, value, out_known));
        if (!PDM_VEC_PUSH(&f->counts, f->in.n - begin))
            return PDM_NOMEM;
    }
    for (size_t i = 0; i < f->in.n; i++) {
        if (!PDM_VEC_PUSH(&f->refs, &f->in.v[i]))
            return PDM_NOMEM;
    }
    return PDM_OK;
}

static void forget(folder *f)
{
    for (size_t i = 0; i < f->in.n; i++)
        pdm_tensor_deinit(&f->in.v[i]);
    f->in.n = f->refs.n = f->counts.n = 0;
}

static bool fits(const pdm_tensor *tensor, pdm_ir_type type)
{
    if (tensor->dtype != type->dtype || (uint32_t)tensor->rank != type->rank || tensor->lod)
        return false;
    for (uint32_t i = 0; i < type->rank; i++) {
        if (tensor->dims[i] != type->dims[i])
            return false;
    }
    return true;
}

/* The parameter that an op is made of first; NULL: none. */
static const char *name_of(const pdm_ir_op *op)
{
    const char *name = NULL;

    for (uint32_t i = 0; !name && i < op->num_operands; i++) {
        const pdm_ir_value *value = pdm_ir_op_operand_value(op, i);
        const pdm_ir_op *combine = combine_of(value);
        if (value)
            name = combine ? name_of(combine) : pdm_ir_parameter_name(pdm_ir_value_op(value));
    }
    return name;
}

static pdm_status put(folder *f, pdm_ir_op *op, const pdm_tensor *out)
{
    for (uint32_t i = 0; i < op->num_results; i++) {
        pdm_ir_value *value = pdm_ir_op_result(op, i);
        if (pdm_ir_value_has_uses(value) && !fits(&out[i], value->type))
            return PDM_OK;
    }
    for (uint32_t i = 0; i < op->num_results; i++) {
        pdm_ir_value *value = pdm_ir_op_result(op, i);
        if (!pdm_ir_value_has_uses(value))
            continue;
        pdm_ir_value *made =
            pdm_ir_constant_make(f->run->constants, &out[i], value->type, op, name_of(op));
        if (!made)
            return PDM_NOMEM;
        pdm_ir_value_replace_all_uses(value, made);
    }
    if (!pdm_ir_pass_hit(f->run, pdm_ir_op_name(op)))
        return PDM_NOMEM;
    pdm_ir_writes_forget(f->writes, op);
    pdm_ir_op_erase(op);
    return PDM_OK;
}

static pdm_status fold(folder *f, pdm_ir_op *op)
{
    const pdm_ir_constant_source *source = f->run->constants->source;
    pdm_tensor out[MAX_RESULTS] = {0};
    pdm_tensor *wanted[MAX_RESULTS];
    bool known;
    pdm_status status = gather(f, op, &known);

    for (uint32_t i = 0; i < op->num_results; i++)
        wanted[i] = pdm_ir_value_has_uses(pdm_ir_op_result(op, i)) ? &out[i] : NULL;
    if (status == PDM_OK && known)
        status = source->compute(source->user, op, f->refs.v, f->counts.v, wanted);
    const uint32_t num_results = op->num_results;
    if (status == PDM_OK && known)
        status = put(f, op, out);
    for (uint32_t i = 0; i < num_results; i++)
        pdm_tensor_deinit(&out[i]);
    forget(f);
    return status;
}

static pdm_status fold_block(folder *f, pdm_ir_block *block)
{
    for (pdm_ir_op *op = block->first, *next; op; op = next) {
        next = op->next;
        for (uint32_t i = 0; i < op->num_regions; i++) {
            for (pdm_ir_block *b = pdm_ir_op_region(op, i)->first; b; b = b->next)
                PDM_TRY(fold_block(f, b));
        }
        if (is_candidate(f, op))
            PDM_TRY(fold(f, op));
    }
    return PDM_OK;
}

static pdm_status run(pdm_ir_pass_run *run)
{
    folder f = {.run = run};
    pdm_status status = PDM_OK;

    if (!run->constants->source)
        return PDM_OK;
    PDM_TRY(pdm_ir_pass_writes(run, &f.writes));
    status = fold_block(&f, run->module->block);
    forget(&f);
    PDM_VEC_FREE(&f.in);
    PDM_VEC_FREE(&f.refs);
    PDM_VEC_FREE(&f.counts);
    return status;
}

const pdm_ir_pass pdm_ir_pass_fold = {
    .name = "fold",
    .summary = "Compute what depends on constants and parameters alone, unless the file would grow.",
    .module = run,
    .keeps = PDM_IR_KEEPS_WRITES,
};
