/* What is told about the place where two runs part. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/bisect.h"
#include "base/buf.h"
#include "ir/op_info.h"
#include "ir/text.h"

#define MAX_TEXT 120 /* of an attribute */

typedef struct report {
    pdm_bisection public; /* first: it is what the caller has */
    pdm_arena arena;
    const pdm_bisect_case *c;
    bool failed;
} report;

static const char *take(report *r, pdm_buf *buf)
{
    const char *text = pdm_buf_ok(buf)
                           ? pdm_arena_strndup(&r->arena, buf->data ? buf->data : "", buf->size)
                           : NULL;

    r->failed |= !text;
    pdm_buf_deinit(buf);
    return text;
}

static const char *copy(report *r, const char *text)
{
    const char *copied = text ? pdm_arena_strndup(&r->arena, text, strlen(text)) : NULL;

    r->failed |= text && !copied;
    return copied;
}

/* ---- values ---------------------------------------------------------------------------------- */

static const char *port(const pdm_ir_op *op)
{
    const pdm_ir_attr attr =
        pdm_ir_op_attr(op, pdm_ir_op_is(op, "builtin.parameter") ? "parameter_name" : "name");

    return attr && attr->kind == PDM_IR_ATTR_STR ? attr->u.s.text : "";
}

static const pdm_tr_link *variable(const report *r, const pdm_ir_value *value)
{
    return value ? pdm_bisect_variable(r->c->reference, value) : NULL;
}

static void put_source(pdm_buf *buf, const pdm_ir_value *value)
{
    const pdm_ir_op *op = value ? pdm_ir_value_op(value) : NULL;

    if (!value) {
        pdm_buf_puts(buf, "nothing");
    } else if (!op) {
        const pdm_ir_op *loop = pdm_ir_block_parent_op(pdm_ir_value_arg_block(value));
        pdm_buf_printf(buf, "argument %u of %s", (unsigned)pdm_ir_value_index(value),
                       loop ? pdm_ir_op_name(loop) : "the program");
    } else if (pdm_bisect_is_leaf(op)) {
        pdm_buf_printf(buf, "%s '%s'",
                       pdm_ir_op_is(op, "builtin.parameter") ? "parameter" : "input", port(op));
    } else if (op->num_results > 1) {
        pdm_buf_printf(buf, "result %u of %s", (unsigned)pdm_ir_value_index(value),
                       pdm_ir_op_name(op));
    } else {
        pdm_buf_puts(buf, pdm_ir_op_name(op));
    }
}

/* A value of the reference's module, with the variable that it is. */
static void put_value(const report *r, pdm_buf *buf, const pdm_ir_value *value)
{
    const pdm_tr_link *link = variable(r, value);

    put_source(buf, value);
    if (link)
        pdm_buf_printf(buf, " (variable '%s')", link->var);
}

static const char *operand_role(const pdm_ir_op *op, uint32_t index)
{
    const pdm_ir_op_desc *desc = op->info->desc;

    if (desc && desc->num_operands > 0) {
        const uint32_t last = desc->num_operands - 1U;
        return desc->operands[index < last ? index : last].name;
    }
    return "operand";
}

static const char *result_role(const pdm_ir_op *op, uint32_t index)
{
    const pdm_ir_op_desc *desc = op->info->desc;

    return desc && index < desc->num_results ? desc->results[index].name : "result";
}

static pdm_bisect_tensor tensor_of(report *r, const char *role, const pdm_bisect_stats *s)
{
    pdm_bisect_tensor t = {.role = role};

    if (!s->known)
        return t;
    t.dtype = pdm_dtype_name(s->dtype);
    t.rank = (size_t)s->rank;
    t.dims = pdm_arena_memdup(&r->arena, s->dims, sizeof s->dims);
    r->failed |= !t.dims;
    t.count = s->count;
    t.nans = s->nans;
    t.infs = s->infs;
    t.min = s->min;
    t.max = s->max;
    t.mean = s->mean;
    return t;
}

static void add_inputs(report *r)
{
    const pdm_bisect_origin *o = r->c->origin;
    const uint32_t n = o->inputs ? o->op->num_operands : 0;
    pdm_bisect_tensor *inputs = pdm_arena_calloc(&r->arena, n, sizeof *inputs);

    if (!inputs) {
        r->failed = true;
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        const pdm_ir_value *value = pdm_ir_op_operand_value(o->op, i);
        const pdm_tr_link *link = value ? variable(r, pdm_bisect_counterpart(r->c, value)) : NULL;
        pdm_buf buf;
        pdm_buf_init(&buf);
        put_source(&buf, value);
        inputs[i] = tensor_of(r, copy(r, operand_role(o->op, i)), &o->inputs[i]);
        inputs[i].op = take(r, &buf);
        inputs[i].variable = link ? copy(r, link->var) : NULL;
    }
    r->public.inputs = inputs;
    r->public.num_inputs = n;
}

static void add_outputs(report *r)
{
    const pdm_bisect_origin *o = r->c->origin;
    pdm_bisect_stats expected = {0}, actual = {0};

    if (!o->compared)
        return;
    pdm_bisect_measure(&o->expected, &expected);
    pdm_bisect_measure(&o->actual, &actual);
    r->public.compared = true;
    r->public.comparison = o->comparison;
    r->public.expected = tensor_of(r, r->public.result, &expected);
    r->public.actual = tensor_of(r, r->public.result, &actual);
}

/* ---- how the two ops differ ------------------------------------------------------------------ */

static void begin_item(pdm_buf *list)
{
    if (list->size > 0)
        pdm_buf_puts(list, "; ");
}

static void put_attr(pdm_buf *out, pdm_ir_attr attr)
{
    pdm_buf text;

    pdm_buf_init(&text);
    if (attr)
        pdm_ir_print_attr(attr, &text);
    else
        pdm_buf_puts(&text, "absent");
    if (!pdm_buf_ok(&text))
        out->failed = true;
    else if (text.size > MAX_TEXT)
        pdm_buf_printf(out, "%.*s...", MAX_TEXT, text.data);
    else
        pdm_buf_puts(out, text.data);
    pdm_buf_deinit(&text);
}

static void attr_differs(const report *r, pdm_buf *out, const char *name, pdm_ir_attr mine,
                         pdm_ir_attr other)
{
    begin_item(out);
    pdm_buf_printf(out, "attribute '%s' is ", name);
    put_attr(out, mine);
    pdm_buf_printf(out, ", in %s ", r->c->reference->name);
    put_attr(out, other);
}

static void compare_attrs(const report *r, pdm_buf *out, const pdm_ir_op *mine,
                          const pdm_ir_op *other)
{
    for (uint32_t i = 0; i < mine->num_attrs; i++) {
        const char *name = mine->attrs[i].name;
        const pdm_ir_attr attr = pdm_ir_op_attr(other, name);
        if (pdm_ir_attr_matters(name) && !pdm_ir_attr_means_same(attr, mine->attrs[i].attr))
            attr_differs(r, out, name, mine->attrs[i].attr, attr);
    }
    for (uint32_t i = 0; i < other->num_attrs; i++) {
        const char *name = other->attrs[i].name;
        if (!pdm_ir_op_attr(mine, name) && pdm_ir_attr_matters(name))
            attr_differs(r, out, name, NULL, other->attrs[i].attr);
    }
}

static void operand_differs(const report *r, pdm_buf *out, const char *what, const char *role,
                            const pdm_ir_value *mine, const pdm_ir_value *counterpart,
                            const pdm_ir_value *other)
{
    begin_item(out);
    pdm_buf_printf(out, "%s %s is ", what, role);
    if (counterpart)
        put_value(r, out, counterpart);
    else
        put_source(out, mine);
    pdm_buf_printf(out, ", in %s ", r->c->reference->name);
    put_value(r, out, other);
}

static void compare_operands(const report *r, pdm_buf *out, const char *what, const pdm_ir_op *mine,
                             const pdm_ir_op *other)
{
    const uint32_t n =
        mine->num_operands > other->num_operands ? mine->num_operands : other->num_operands;

    for (uint32_t i = 0; i < n; i++) {
        const pdm_ir_value *a = i < mine->num_operands ? pdm_ir_op_operand_value(mine, i) : NULL,
                           *b = i < other->num_operands ? pdm_ir_op_operand_value(other, i) : NULL,
                           *c = a ? pdm_bisect_counterpart(r->c, a) : NULL;
        if (c != b || (a && !c))
            operand_differs(r, out, what, operand_role(mine, i), a, c, b);
    }
}

static const pdm_ir_block *block_of(const pdm_ir_op *op, uint32_t region)
{
    return region < op->num_regions ? pdm_ir_op_region(op, region)->first : NULL;
}

static void compare_regions(const report *r, pdm_buf *out, const pdm_ir_op *mine,
                            const pdm_ir_op *other)
{
    for (uint32_t i = 0; i < mine->num_regions && i < other->num_regions; i++) {
        const pdm_ir_block *a = block_of(mine, i), *b = block_of(other, i);
        const pdm_ir_op *last = a ? a->last : NULL,
                        *aligned = last ? pdm_ir_aligned_op(r->c->alignment, last) : NULL;
        if (aligned && aligned->block != b) {
            begin_item(out);
            pdm_buf_puts(out, "its branches are swapped");
            return;
        }
        if (aligned)
            compare_operands(r, out, "what is yielded as", last, aligned);
    }
}

/* The ops that a legacy op became. */
typedef struct namesakes {
    const pdm_ir_op *op;
    pdm_buf names;
} namesakes;

static pdm_status list_op(void *user, pdm_ir_op *op)
{
    namesakes *n = user;

    if (op->lg_block == n->op->lg_block && op->lg_op == n->op->lg_op)
        pdm_buf_printf(&n->names, "%s%s", n->names.size ? ", " : "", pdm_ir_op_name(op));
    return PDM_OK;
}

static void list_ops(report *r, pdm_buf *out)
{
    namesakes n = {.op = r->c->origin->op};

    if (n.op->lg_op < 0)
        return;
    pdm_buf_init(&n.names);
    const pdm_status status =
        pdm_ir_walk(pdm_api_plan_module(r->c->subject->plan)->op, PDM_IR_PRE_ORDER, list_op, &n);
    r->failed |= status != PDM_OK || !pdm_buf_ok(&n.names);
    if (n.names.size > 0) {
        begin_item(out);
        pdm_buf_printf(out, "the legacy op became %.*s",
                       (int)(n.names.size > 400 ? 400 : n.names.size), n.names.data);
    }
    pdm_buf_deinit(&n.names);
}

static const char *reasons(report *r, const pdm_ir_op *other)
{
    const pdm_bisect_origin *o = r->c->origin;
    pdm_buf buf;

    pdm_buf_init(&buf);
    if (o->missing) {
        begin_item(&buf);
        pdm_buf_puts(&buf, pdm_ir_op_is(o->op, "pd_op.if") ? "it takes the other branch"
                                                           : "it does a turn more, or another");
    }
    if (!r->c->alignment) {
        list_ops(r, &buf);
    } else if (!other) {
        begin_item(&buf);
        pdm_buf_printf(&buf, "there is no such op in %s", r->c->reference->name);
    } else {
        if (other->info != o->op->info) {
            begin_item(&buf);
            pdm_buf_printf(&buf, "it is %s in %s", pdm_ir_op_name(other), r->c->reference->name);
        }
        compare_attrs(r, &buf, o->op, other);
        compare_operands(r, &buf, "operand", o->op, other);
        compare_regions(r, &buf, o->op, other);
    }
    if (!r->c->beyond) {
        begin_item(&buf);
        pdm_buf_puts(&buf, "no single op is beyond the tolerance: small differences add up, and "
                           "the largest begins here");
    }
    return take(r, &buf);
}

/* ---- where ----------------------------------------------------------------------------------- */

static unsigned number_of(const pdm_ir_op *op)
{
    unsigned n = 0;

    for (const pdm_ir_op *p = op->prev; p; p = p->prev)
        n++;
    return n;
}

static const char *place(report *r)
{
    const pdm_bisect_origin *o = r->c->origin;
    const pdm_ir_op *op = o->op, *parent;
    const bool is_arg = o->value && !pdm_ir_value_op(o->value);
    size_t loop = 0;
    pdm_buf buf;

    pdm_buf_init(&buf);
    if (is_arg)
        pdm_buf_printf(&buf, "turn %" PRIu64 " of ", o->turns[loop++]);
    for (; (parent = pdm_ir_op_parent(op)) && parent->num_regions; op = parent) {
        pdm_buf_printf(&buf, "op %u of ", number_of(op));
        if (pdm_ir_op_is(parent, "pd_op.while")) {
            pdm_buf_puts(&buf, "the body of pd_op.while");
            if (loop < PDM_BISECT_DEPTH && o->turns[loop])
                pdm_buf_printf(&buf, ", turn %" PRIu64, o->turns[loop]);
            loop++;
            pdm_buf_puts(&buf, ", ");
        } else if (pdm_ir_op_is(parent, "pd_op.if")) {
            pdm_buf_printf(&buf, "the %s branch of pd_op.if, ",
                           op->block->region->index ? "false" : "true");
        } else {
            pdm_buf_puts(&buf, "the program");
        }
    }
    return take(r, &buf);
}

static const char *result(report *r)
{
    const pdm_bisect_origin *o = r->c->origin;
    pdm_buf buf;

    pdm_buf_init(&buf);
    if (o->missing)
        pdm_buf_puts(&buf, "the way that it takes");
    else if (!o->value)
        pdm_buf_puts(&buf, "output");
    else if (!pdm_ir_value_op(o->value))
        pdm_buf_printf(&buf, "argument %u", (unsigned)pdm_ir_value_index(o->value));
    else
        pdm_buf_puts(&buf, result_role(o->op, pdm_ir_value_index(o->value)));
    if (o->element >= 0)
        pdm_buf_printf(&buf, "[%d]", (int)o->element);
    return take(r, &buf);
}

/* The legacy op, and the variable: for a value in between, what the op writes in the end. */
static void add_legacy(report *r, const pdm_ir_op *op)
{
    const pdm_lg_program *program = r->c->reference->model->legacy;
    const pdm_bisect_origin *o = r->c->origin;
    const pdm_tr_link *link = o->value ? variable(r, pdm_bisect_counterpart(r->c, o->value)) : NULL;
    int32_t block = op ? op->lg_block : -1, index = op ? op->lg_op : -1;

    if (!program)
        return;
    if (index < 0 && link)
        block = link->block, index = link->op;
    if (link)
        r->public.variable = copy(r, link->var);
    if (block < 0 || index < 0)
        return;
    const pdm_lg_op *legacy = &program->blocks[block].ops[index];
    r->public.block = block;
    r->public.op_index = index;
    r->public.op_type = copy(r, legacy->type);
    for (size_t i = 0; i < legacy->num_outputs && !r->public.variable; i++)
        if (legacy->outputs[i].num_args > 0)
            r->public.variable = copy(r, legacy->outputs[i].args[0]);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static report *create(const pdm_bisect_case *c)
{
    report *r = calloc(1, sizeof *r);

    if (!r)
        return NULL;
    pdm_arena_init(&r->arena);
    r->c = c;
    r->public.block = r->public.op_index = -1;
    r->public.reference = copy(r, c->reference->name);
    r->public.subject = copy(r, c->subject->name);
    return r;
}

pdm_bisection *pdm_bisect_nothing(const pdm_bisect_case *c)
{
    report *r = create(c);

    if (r && r->failed) {
        pdm_bisection_destroy(&r->public);
        return NULL;
    }
    return r ? &r->public : NULL;
}

pdm_status pdm_bisect_report(const pdm_bisect_case *c, pdm_bisection **out)
{
    const pdm_bisect_origin *o = c->origin;
    const pdm_ir_op *other = c->alignment ? pdm_ir_aligned_op(c->alignment, o->op) : o->op;
    report *r = create(c);

    if (!r)
        return PDM_NOMEM;
    r->public.found = r->public.differs = true;
    r->public.op = copy(r, pdm_ir_op_name(o->op));
    r->public.counterpart = c->alignment && other ? copy(r, pdm_ir_op_name(other)) : NULL;
    r->public.place = place(r);
    r->public.result = result(r);
    r->public.why = reasons(r, other);
    r->public.instance = o->before;
    r->public.num_origins = c->num_origins;
    add_legacy(r, other);
    add_inputs(r);
    add_outputs(r);
    if (r->failed) {
        pdm_bisection_destroy(&r->public);
        return PDM_NOMEM;
    }
    *out = &r->public;
    return PDM_OK;
}

void pdm_bisection_destroy(pdm_bisection *bisection)
{
    report *r = (report *)bisection;

    if (!r)
        return;
    pdm_arena_deinit(&r->arena);
    free(r);
}
