#include "translator/io.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "translator/flow.h"

/* An op that is not in the legacy program, for the emission vocabulary. */
static pdm_tr_op nowhere(pdm_tr *tr)
{
    return (pdm_tr_op){.tr = tr, .block = 0, .index = -1};
}

static const pdm_lg_block *main_block(const pdm_tr *tr)
{
    return &tr->program->blocks[0];
}

static pdm_tr_scope *outermost(pdm_tr *tr)
{
    pdm_tr_scope *s = tr->scope;
    while (s->parent)
        s = s->parent;
    return s;
}

static void bind_outermost(pdm_tr *tr, const char *name, pdm_ir_value *value)
{
    pdm_tr_scope *inner = tr->scope;
    tr->scope = outermost(tr);
    pdm_tr_bind(tr, name, value);
    tr->scope = inner;
}

/* Put a detached op at the end of the front section of the program. */
static void append_to_front(pdm_tr *tr, pdm_ir_op *op)
{
    if (tr->front)
        pdm_ir_op_insert_after(op, tr->front);
    else
        pdm_ir_block_prepend(tr->module->block, op);
    tr->front = op;
}

/* Move an op just emitted at the end of the current block there. */
static void move_to_front(pdm_tr *tr, pdm_ir_op *op)
{
    pdm_ir_op_detach(op);
    append_to_front(tr, op);
}

/* Attributes that the framework gives ops without declaring them: interned names. */
static const char *flag_name(pdm_tr *tr, const char *text)
{
    const char *name = pdm_ir_str(tr->context, text);
    if (!name)
        pdm_tr_nomem(tr);
    return name;
}

static pdm_ir_attr flags(pdm_tr *tr, const bool *values, size_t n)
{
    pdm_tr_op t = nowhere(tr);
    pdm_ir_attr attr =
        n == 1 ? pdm_tr_a_flag(&t, values[0]) : pdm_ir_attr_bools(tr->context, values, n);
    if (!attr)
        pdm_tr_nomem(tr);
    return attr;
}

static void add_flags(pdm_tr *tr, pdm_ir_op *op, const pdm_ir_named_attr *attrs, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!attrs[i].name || !attrs[i].attr)
            return;
    if (!pdm_ir_op_add_attrs(op, attrs, n))
        pdm_tr_nomem(tr);
}

/* ---- parameters ------------------------------------------------------------------------------ */

static bool is_candidate(const pdm_lg_var *var)
{
    return var && pdm_lg_var_is_param(var) && strcmp(var->name, "feed") != 0 &&
           strcmp(var->name, "fetch") != 0;
}

/* The parameter file is right where it differs from the declaration in an accepted way. */
static pdm_ir_type parameter_type(pdm_tr *tr, const pdm_lg_var *var)
{
    const pdm_param *p =
        tr->options->params ? pdm_params_find(tr->options->params, var->name) : NULL;
    if (!p || p->kind != PDM_PARAM_DENSE || var->kind != PDM_LG_DENSE_TENSOR)
        return pdm_tr_declared_type(tr, var);
    pdm_ir_type type = pdm_ir_type_tensor(tr->context, p->dtype, p->dims, p->rank);
    if (!type)
        pdm_tr_nomem(tr);
    return type;
}

/* All attributes are given, in name order. After the first op, names and places are those of that.
 */
static pdm_ir_op *create_parameter(pdm_tr *tr, const pdm_lg_var *var, pdm_ir_type type)
{
    pdm_tr_op t = nowhere(tr);
    const pdm_ir_attr yes = pdm_tr_a_flag(&t, true), no = pdm_tr_a_flag(&t, false);
    pdm_ir_named_attr attrs[] = {
        {"is_distributed", no, 0}, {"is_parameter", yes, 0},
        {"need_clip", no, 0},      {"parameter_name", pdm_tr_a_str(&t, var->name), 0},
        {"persistable", yes, 0},   {"stop_gradient", var->stop_gradient ? yes : no, 0},
        {"trainable", yes, 0}};
    pdm_ir_op_state state = {.info =
                                 pdm_ir_op_info_by_code(tr->context, PDM_IR_OP_builtin_parameter),
                             .attrs = attrs,
                             .num_attrs = sizeof attrs / sizeof *attrs,
                             .attrs_form = PDM_IR_ATTRS_ROW_FIRST,
                             .result_types = &type,
                             .num_results = 1};
    pdm_ir_op *op = NULL;
    for (size_t i = 0; tr->parameter && i < state.num_attrs; i++) {
        attrs[i].name = tr->parameter->attrs[i].name;
        attrs[i].position = tr->parameter->attrs[i].position;
        state.attrs_form = PDM_IR_ATTRS_DICTIONARY;
    }
    if (state.info && tr->status == PDM_OK)
        op = pdm_ir_op_create(tr->context, &state);
    if (!op) {
        pdm_tr_nomem(tr);
        return NULL;
    }
    op->lg_block = t.block;
    if (!tr->parameter)
        tr->parameter = op;
    return op;
}

static void emit_parameter(pdm_tr *tr, const pdm_lg_var *var)
{
    pdm_ir_type type = parameter_type(tr, var);
    if (!type) {
        if (tr->status == PDM_OK) {
            pdm_loc loc = {tr->program->path, -1, -1, -1, 0, -1, NULL, var->name};
            pdm_diag(tr->sink, PDM_D_LG_FEATURE, &loc, NULL,
                     "parameter '%s' is a %s, for which PIR has no type", var->name,
                     pdm_lg_var_kind_name(var->kind));
        }
        return;
    }
    pdm_ir_op *op = create_parameter(tr, var, type);
    if (!op)
        return;
    append_to_front(tr, op);
    pdm_map_entry *e = pdm_map_put(&tr->parameters, var->name);
    if (!e) {
        pdm_tr_nomem(tr);
        return;
    }
    e->value.ptr = pdm_ir_op_result(op, 0);
    pdm_tr_bind(tr, var->name, pdm_ir_op_result(op, 0));
}

typedef struct scan {
    pdm_tr *tr;
    pdm_map written; /* names written so far */
} scan;

static void scan_block(scan *s, int32_t lg_block);

/* The candidate that a name means, unless it has a value by now. */
static const pdm_lg_var *unwritten(const scan *s, int32_t lg_block, const char *name)
{
    const pdm_lg_var *var = pdm_tr_lookup(s->tr->program, lg_block, name);
    return is_candidate(var) && !pdm_map_find(&s->written, name) && !pdm_tr_has_value(s->tr, name)
               ? var
               : NULL;
}

static void scan_slot(scan *s, int32_t lg_block, const pdm_lg_slot *slot)
{
    for (size_t k = 0; k < slot->num_args; k++) {
        const pdm_lg_var *var = unwritten(s, lg_block, slot->args[k]);
        if (var)
            emit_parameter(s->tr, var);
    }
}

static void scan_reads(scan *s, int32_t lg_block, const pdm_lg_op *op)
{
    for (size_t i = 0; i < op->num_inputs; i++)
        scan_slot(s, lg_block, &op->inputs[i]);
    if (strcmp(op->type, "fake_channel_wise_quantize_abs_max") != 0)
        return;
    /* In a test run this op reads the scales that it lists as an output. */
    const pdm_lg_attr *test = pdm_lg_find_attr(op, "is_test");
    const pdm_lg_slot *scales = pdm_lg_find_output(op, "OutScale");
    if (scales && test && test->type == PDM_LG_BOOLEAN && test->u.b)
        scan_slot(s, lg_block, scales);
}

static void scan_writes(scan *s, int32_t lg_block, const pdm_lg_op *op)
{
    for (size_t o = 0; o < op->num_outputs; o++) {
        for (size_t k = 0; k < op->outputs[o].num_args; k++) {
            const pdm_lg_var *var = unwritten(s, lg_block, op->outputs[o].args[k]);
            /* A body may not run: then the parameter keeps what it has. */
            if (var && lg_block)
                emit_parameter(s->tr, var);
            if (var && !pdm_map_put(&s->written, op->outputs[o].args[k]))
                pdm_tr_nomem(s->tr);
        }
    }
}

static void scan_block(scan *s, int32_t lg_block)
{
    const pdm_lg_block *b = &s->tr->program->blocks[lg_block];
    for (size_t i = 0; i < b->num_ops && s->tr->status == PDM_OK; i++) {
        const pdm_lg_op *op = &b->ops[i];
        scan_reads(s, lg_block, op);
        int32_t sub = pdm_lg_sub_block(op);
        if (sub >= 0)
            scan_block(s, sub); /* depth is bounded by the checker */
        else
            scan_writes(s, lg_block, op); /* an owner writes what its body writes */
    }
}

/* ---- inputs ---------------------------------------------------------------------------------- */

bool pdm_tr_io_refused(const pdm_tr *tr, const pdm_lg_var *var)
{
    const pdm_map_entry *e = var ? pdm_map_find(&tr->feeds, var) : NULL;
    return e && !e->value.ptr;
}

static pdm_ir_op *emit_data(pdm_tr *tr, const pdm_lg_var *var)
{
    pdm_tr_op t = nowhere(tr);
    pdm_ir_type type = pdm_tr_declared_type(tr, var);
    if (!type || type->kind != PDM_IR_DENSE_TENSOR) {
        if (tr->status == PDM_OK && !pdm_tr_io_refused(tr, var)) {
            if (!pdm_map_put(&tr->feeds, var))
                pdm_tr_nomem(tr);
            pdm_loc loc = {tr->program->path, -1, -1, -1, 0, -1, "feed", var->name};
            pdm_diag(tr->sink, PDM_D_LG_FEATURE, &loc, NULL,
                     "input '%s' is of kind %s (%d); only dense tensors can be inputs", var->name,
                     pdm_lg_var_kind_name(var->kind), (int)var->kind);
        }
        return NULL;
    }
    pdm_ir_op *op =
        pdm_tr_emit_typed(&t, "pd_op.data", PDM_TR_NO_OPS,
                          PDM_TR_ATTRS({"name", pdm_tr_a_str(&t, var->name), 0},
                                       {"shape", pdm_tr_a_int_array(&t, type->dims, type->rank), 0},
                                       {"dtype", pdm_tr_a_dtype(&t, var->dtype), 0},
                                       {"place", pdm_tr_a_place(&t, 0), 0}),
                          &type, 1);
    if (!op)
        return NULL;
    add_flags(tr, op,
              PDM_TR_ATTRS({flag_name(tr, "persistable"), flags(tr, (bool[]){false}, 1), 0},
                           {flag_name(tr, "stop_gradient"), flags(tr, (bool[]){true}, 1), 0}));
    move_to_front(tr, op);
    return op;
}

pdm_ir_value *pdm_tr_io_undefined(pdm_tr *tr, const char *name)
{
    const pdm_lg_var *var = pdm_lg_block_var(main_block(tr), name);
    pdm_ir_op *op = NULL;
    if (!var || tr->status != PDM_OK)
        return NULL;
    if (var->kind == PDM_LG_TENSOR_ARRAY) {
        pdm_tr_op t = nowhere(tr);
        pdm_ir_type type = pdm_tr_declared_type(tr, var);
        if (!type)
            return NULL;
        op =
            pdm_tr_emit_typed(&t, "pd_op.create_array", PDM_TR_NO_OPS,
                              PDM_TR_ATTRS({"dtype", pdm_tr_a_dtype(&t, var->dtype), 0}), &type, 1);
        if (op)
            move_to_front(tr, op);
    } else if (var->need_check_feed) {
        op = emit_data(tr, var);
    }
    if (!op)
        return NULL;
    bind_outermost(tr, name, pdm_ir_op_result(op, 0));
    return pdm_ir_op_result(op, 0);
}

/* Feed or fetch ops of block 0 with their columns. */
typedef struct column {
    const pdm_lg_op *op;
    const char *name;
    int64_t col;
    int32_t index;
} column;

static int by_column(const void *a, const void *b)
{
    const column *x = a, *y = b;
    return x->col != y->col ? (x->col > y->col) - (x->col < y->col)
                            : (x->index > y->index) - (x->index < y->index);
}

static bool is_fetch(const char *type)
{
    return strcmp(type, "fetch") == 0 || strcmp(type, "fetch_v2") == 0;
}

static const char *only_argument(const pdm_lg_slot *slot)
{
    return slot && slot->num_args ? slot->args[0] : NULL;
}

/* The columns in ascending order; duplicates are reported. NULL: out of memory, or none. */
static column *collect_columns(pdm_tr *tr, bool fetches, size_t *out_n)
{
    const pdm_lg_block *b = main_block(tr);
    column *all = pdm_arena_calloc(&tr->scratch, b->num_ops + 1, sizeof *all);
    size_t n = 0;
    if (!all) {
        pdm_tr_nomem(tr);
        return NULL;
    }
    for (size_t i = 0; i < b->num_ops; i++) {
        const pdm_lg_op *op = &b->ops[i];
        if (fetches ? !is_fetch(op->type) : strcmp(op->type, "feed") != 0)
            continue;
        pdm_tr_op t = {.tr = tr, .op = op, .block = 0, .index = (int32_t)i};
        const char *name = fetches ? only_argument(pdm_lg_find_input(op, "X"))
                                   : only_argument(pdm_lg_find_output(op, "Out"));
        if (!name)
            pdm_tr_error(&t, PDM_D_LG_MISSING_INPUT, fetches ? "X" : "Out", NULL,
                         "op '%s' names no variable", op->type);
        else
            all[n++] = (column){op, name, pdm_tr_int_or(&t, "col", 0), (int32_t)i};
    }
    qsort(all, n, sizeof *all, by_column);
    for (size_t i = 0; i < n; i++) {
        pdm_tr_op t = {.tr = tr, .op = all[i].op, .block = 0, .index = all[i].index};
        if (all[i].col < 0)
            pdm_tr_error(&t, PDM_D_LG_COLUMN, all[i].name, NULL,
                         "op '%s' of '%s' has the negative col %lld", all[i].op->type, all[i].name,
                         (long long)all[i].col);
        if (i && all[i].col == all[i - 1].col)
            pdm_tr_error(&t, PDM_D_LG_COLUMN, all[i].name, NULL,
                         "duplicate col: '%s' and '%s' are both in col %lld of %s", all[i - 1].name,
                         all[i].name, (long long)all[i].col, all[i].op->type);
    }
    *out_n = n;
    return all;
}

/* Outputs are found by name: a name that is fetched twice gets a second one that is new to the
 * program. */
static const char *unique_name(pdm_tr *tr, pdm_map *taken, const char *name)
{
    const char *candidate = name;
    /* The next number to try, so that a name fetched often takes no longer each time. */
    pdm_map_entry *first = pdm_map_find(taken, name);
    uint64_t next = first ? first->value.num : 0;
    while (pdm_map_find(taken, candidate)) {
        size_t room = strlen(name) + 24;
        char *text = pdm_arena_alloc(&tr->scratch, room);
        if (!text) {
            pdm_tr_nomem(tr);
            return NULL;
        }
        snprintf(text, room, "%s_%llu", name, (unsigned long long)++next);
        candidate = pdm_ir_str(tr->context, text);
        if (!candidate) {
            pdm_tr_nomem(tr);
            return NULL;
        }
        /* Interned legacy names live in another table: compare by content. */
        const char *known = pdm_intern_find(&tr->program->strings, text, strlen(text));
        if (known && pdm_map_find(taken, known))
            candidate = known;
    }
    if (first)
        first->value.num = next;
    if (!pdm_map_put(taken, candidate))
        pdm_tr_nomem(tr);
    return candidate;
}

static void prepare_fetches(pdm_tr *tr)
{
    size_t n = 0;
    if (tr->options->num_fetch)
        return;
    column *all = collect_columns(tr, true, &n);
    if (!all)
        return;
    pdm_map taken = {0};
    for (size_t i = 0; i < n; i++) {
        pdm_tr_fetch *f = pdm_arena_calloc(&tr->scratch, 1, sizeof *f);
        pdm_map_entry *e = f ? pdm_map_put(&tr->fetches, all[i].op) : NULL;
        if (!e) {
            pdm_tr_nomem(tr);
            break;
        }
        f->col = (int32_t)i;
        f->name = unique_name(tr, &taken, all[i].name);
        e->value.ptr = f;
    }
    pdm_map_deinit(&taken);
}

static void prepare_feeds(pdm_tr *tr)
{
    size_t n = 0;
    column *all = collect_columns(tr, false, &n);
    for (size_t i = 0; all && i < n && tr->status == PDM_OK; i++) {
        const pdm_lg_var *var = pdm_lg_block_var(main_block(tr), all[i].name);
        if (!var)
            continue; /* the checker reported it */
        if (pdm_map_find(&tr->feeds, var)) {
            pdm_tr_op t = {.tr = tr, .op = all[i].op, .block = 0, .index = all[i].index};
            pdm_tr_error(&t, PDM_D_LG_DUPLICATE, var->name, NULL, "'%s' is fed twice", var->name);
            continue;
        }
        pdm_ir_op *op = emit_data(tr, var);
        if (!op)
            continue; /* told */
        pdm_map_entry *e = pdm_map_put(&tr->feeds, var);
        if (e)
            e->value.ptr = pdm_ir_op_result(op, 0);
        else
            pdm_tr_nomem(tr);
    }
}

void pdm_tr_io_prepare(pdm_tr *tr)
{
    scan s = {tr, {0}};
    scan_block(&s, 0);
    pdm_map_deinit(&s.written);
    prepare_feeds(tr);
    prepare_fetches(tr);
}

/* ---- handlers -------------------------------------------------------------------------------- */

void pdm_tr_h_feed(pdm_tr_op *t)
{
    const char *name = pdm_tr_out_name(t, "Out");
    const pdm_lg_var *var = name ? pdm_lg_block_var(main_block(t->tr), name) : NULL;
    pdm_map_entry *e = var ? pdm_map_find(&t->tr->feeds, var) : NULL;
    if (e && e->value.ptr)
        pdm_tr_bind(t->tr, name, e->value.ptr);
}

static void emit_fetch(pdm_tr_op *t, pdm_ir_value *value, const char *name, int32_t col)
{
    if (!value)
        return;
    if (!pdm_ir_type_is_tensor(value->type) &&
        !(value->type && value->type->kind == PDM_IR_TENSOR_ARRAY)) {
        pdm_tr_unsupported(t, name, "output '%s' is no dense tensor", name);
        return;
    }
    pdm_ir_type type = value->type;
    pdm_ir_op *op = pdm_tr_emit_typed(
        t, "pd_op.fetch", PDM_TR_OPS(value),
        PDM_TR_ATTRS({"name", pdm_tr_a_str(t, name), 0}, {"col", pdm_tr_a_i32(t, col), 0}), &type,
        1);
    if (op)
        add_flags(
            t->tr, op,
            PDM_TR_ATTRS({flag_name(t->tr, "persistable"), flags(t->tr, (bool[]){true}, 1), 0}));
}

void pdm_tr_h_fetch(pdm_tr_op *t)
{
    pdm_map_entry *e = pdm_map_find(&t->tr->fetches, t->op);
    const pdm_tr_fetch *f = e ? e->value.ptr : NULL;
    if (f)
        emit_fetch(t, pdm_tr_in(t, "X"), f->name, f->col);
}

/* pd_op.data as a legacy op: an input declared by an op of its own. */
void pdm_tr_h_data(pdm_tr_op *t)
{
    const char *name = pdm_tr_out_name(t, "out");
    const pdm_lg_var *var = name ? pdm_tr_var(t->tr, name) : NULL;
    pdm_ir_op *op = var ? emit_data(t->tr, var) : NULL;
    if (op)
        bind_outermost(t->tr, name, pdm_ir_op_result(op, 0));
}

/* ---- the end --------------------------------------------------------------------------------- */

static void emit_requested_fetches(pdm_tr *tr)
{
    pdm_map taken = {0};
    for (size_t i = 0; i < tr->options->num_fetch && tr->status == PDM_OK; i++) {
        const char *wanted = tr->options->fetch[i];
        const char *name = pdm_intern_find(&tr->program->strings, wanted, strlen(wanted));
        pdm_tr_op t = nowhere(tr);
        pdm_ir_value *value = name ? pdm_tr_value(tr, name) : NULL;
        if (!value) {
            pdm_loc loc = {tr->program->path, -1, -1, -1, 0, -1, NULL, wanted};
            pdm_diag(tr->sink, PDM_D_USAGE, &loc, NULL, "there is no value '%s' to fetch", wanted);
            continue;
        }
        emit_fetch(&t, value, unique_name(tr, &taken, name), (int32_t)i);
    }
    pdm_map_deinit(&taken);
}

/* The operand that a result is written over; NULL: none. */
static pdm_ir_value *written_operand(const pdm_ir_value *value)
{
    const pdm_ir_op *op = pdm_ir_value_op(value);
    for (uint32_t i = 0; op && i < op->num_operands; i++)
        if (pdm_ir_op_info_inplace(op->info, i) == (int)pdm_ir_value_index(value))
            return pdm_ir_op_operand_value(op, i);
    return NULL;
}

/* The parameter whose memory a value shares: itself, or what it is an in-place result of, over any
 * number of ops; NULL: none. */
static pdm_ir_value *storage_of(pdm_tr *tr, pdm_ir_value *value)
{
    pdm_ir_value *root = value, *next;
    const pdm_map_entry *known = NULL;
    while (root && !(known = pdm_map_find(&tr->storage, root)) && (next = written_operand(root)))
        root = next;
    if (known)
        root = known->value.ptr;
    else if (!pdm_ir_value_op(root) || !PDM_IR_IS(pdm_ir_value_op(root), builtin, parameter))
        root = NULL;
    for (; value && value != root && !pdm_map_find(&tr->storage, value);
         value = written_operand(value)) {
        pdm_map_entry *e = pdm_map_put(&tr->storage, value);
        if (!e) {
            pdm_tr_nomem(tr);
            break;
        }
        e->value.ptr = root;
    }
    return root;
}

/* The parameter of that name as it is on entry; NULL: it is not read. */
static pdm_ir_value *parameter_value(const pdm_tr *tr, const char *name)
{
    const pdm_map_entry *e = pdm_map_find(&tr->parameters, name);
    return e ? e->value.ptr : NULL;
}

/* Does the value share its memory with the parameter of that name? */
static bool is_parameter_value(pdm_tr *tr, pdm_ir_value *value, const char *name)
{
    pdm_ir_value *parameter = parameter_value(tr, name);
    return parameter && storage_of(tr, value) == parameter;
}

/* An in-place op that also reads the variable: what it does not overwrite (statistics in a test
 * run) it leaves alone. */
static bool updates_in_place(const pdm_lg_op *op, const char *name, const pdm_ir_op *def)
{
    const char *form = def ? pdm_ir_op_name(def) : "";
    size_t n = strlen(form);
    if (n == 0 || form[n - 1] != '_')
        return false;
    for (size_t i = 0; i < op->num_inputs; i++)
        for (size_t k = 0; k < op->inputs[i].num_args; k++)
            if (op->inputs[i].args[k] == name)
                return true;
    return false;
}

static void write_back(pdm_tr *tr, const pdm_lg_op *writer, const pdm_lg_var *var, pdm_map *seen)
{
    if (!is_candidate(var) || pdm_map_find(seen, var))
        return;
    if (!pdm_map_put(seen, var))
        pdm_tr_nomem(tr);
    pdm_map_entry *bound = pdm_map_find(&tr->scope->names, var->name);
    pdm_tr_op t = nowhere(tr);
    if (!bound)
        return;
    pdm_ir_value *value = pdm_tr_value(tr, var->name);
    if (!value || is_parameter_value(tr, value, var->name))
        return;
    pdm_ir_op *def = pdm_ir_value_op(value);
    if (updates_in_place(writer, var->name, def))
        return;
    /*
     * Written in place, after all readers: the framework's Executor does not run programs with
     * set_parameter, and no engine replaces the variable of a parameter op.
     */
    pdm_ir_value *parameter = parameter_value(tr, var->name);
    if (!parameter && tr->options->params && pdm_params_find(tr->options->params, var->name)) {
        emit_parameter(tr, var);
        parameter = parameter_value(tr, var->name);
    }
    if (parameter) {
        pdm_tr_emit1(&t, "pd_op.assign_out_", PDM_TR_OPS(value, parameter), PDM_TR_NO_ATTRS);
        return;
    }
    pdm_ir_op *op = pdm_tr_emit_typed(
        &t, "builtin.set_parameter", PDM_TR_OPS(value),
        PDM_TR_ATTRS({"parameter_name", pdm_tr_a_str(&t, var->name), 0}), NULL, 0);
    if (op && def && def->block == op->block && def->next != op) {
        pdm_ir_op_detach(op);
        pdm_ir_op_insert_after(op, def);
    }
}

/* From the last op to the first, each persistable name once. */
static void write_back_all(pdm_tr *tr)
{
    const pdm_lg_block *b = main_block(tr);
    pdm_map seen = {0};
    for (size_t i = b->num_ops; i-- > 0 && tr->status == PDM_OK;) {
        const pdm_lg_op *op = &b->ops[i];
        if (strcmp(op->type, "feed") == 0 || is_fetch(op->type))
            continue;
        if (pdm_tr_is_branch(op) || pdm_tr_is_loop(op)) {
            /* What the body writes counts, not what the op lists. */
            int32_t sub = pdm_lg_sub_block(op);
            const pdm_tr_vars *writes = sub >= 0 ? &tr->flow->blocks[sub].writes : NULL;
            for (size_t k = 0; writes && k < writes->n; k++)
                write_back(tr, op, writes->v[k], &seen);
            continue;
        }
        for (size_t o = 0; o < op->num_outputs; o++)
            for (size_t k = 0; k < op->outputs[o].num_args; k++)
                write_back(tr, op, pdm_lg_block_var(b, op->outputs[o].args[k]), &seen);
    }
    pdm_map_deinit(&seen);
}

/* A value that is the variable of a parameter: others that have its name for a while live in the
 * scope of a run. */
static bool is_stored(pdm_tr *tr, pdm_ir_value *value, const char *name)
{
    for (const pdm_ir_use *u = pdm_ir_value_first_use(value); u; u = u->next)
        if (PDM_IR_IS(u->owner, builtin, set_parameter))
            return true;
    return is_parameter_value(tr, value, name);
}

static bool has_attr(const pdm_ir_op *op, const char *interned)
{
    for (uint32_t i = 0; i < op->num_attrs; i++)
        if (op->attrs[i].name == interned)
            return true;
    return false;
}

/* stop_gradient and persistable, one entry a result, for the ops whose results have names. */
static void set_result_attributes(pdm_tr *tr)
{
    const char *persistable_name = flag_name(tr, "persistable"),
               *stop_gradient_name = flag_name(tr, "stop_gradient");
    /* Those of the front section have them. */
    pdm_ir_op *first = tr->front ? tr->front->next : tr->module->block->first;
    for (pdm_ir_op *op = first; op && tr->status == PDM_OK; op = op->next) {
        bool persistable[16] = {false}, stop_gradient[16] = {false}, any = false;
        if (op->num_results == 0 || op->num_results > 16 || has_attr(op, stop_gradient_name))
            continue;
        for (uint32_t i = 0; i < op->num_results; i++) {
            pdm_map_entry *e = pdm_map_find(&tr->outputs, pdm_ir_op_result(op, i));
            const pdm_lg_var *var = e ? e->value.ptr : NULL;
            if (!var)
                continue;
            any = true;
            persistable[i] = var->persistable && is_stored(tr, pdm_ir_op_result(op, i), var->name);
            stop_gradient[i] = var->stop_gradient;
        }
        if (!any)
            continue;
        add_flags(tr, op,
                  PDM_TR_ATTRS({persistable_name, flags(tr, persistable, op->num_results), 0},
                               {stop_gradient_name, flags(tr, stop_gradient, op->num_results), 0}));
    }
}

/* ---- outputs that the predictor can tell apart ----------------------------------------------- */

static const char *name_attr(pdm_tr *tr, const pdm_ir_op *op, const char *attr)
{
    pdm_ir_attr a = pdm_ir_op_attr(op, attr);
    const char *name =
        a ? pdm_ir_str(tr->context, a->u.s.text) : NULL; /* keys are compared by pointer */
    if (!name)
        pdm_tr_nomem(tr);
    return name;
}

/* A name that no input and no output has yet. */
static void rename_output(pdm_tr *tr, pdm_ir_op *fetch, const char *old, pdm_map *names)
{
    const char *fresh = old;
    size_t room = strlen(old) + 16;
    char *text = pdm_arena_alloc(&tr->scratch, room);
    for (unsigned i = 1; text && fresh && pdm_map_find(names, fresh); i++) {
        snprintf(text, room, "%s_%u", old, i);
        fresh = pdm_ir_str(tr->context, text);
    }
    pdm_ir_attr attr = text && fresh ? pdm_ir_attr_str(tr->context, fresh) : NULL;
    if (!attr || !pdm_ir_op_set_attr(tr->context, fetch, "name", attr) ||
        !pdm_map_put(names, fresh)) {
        pdm_tr_nomem(tr);
        return;
    }
    pdm_loc loc = {tr->program->path, -1, -1, -1, 0, -1, NULL, old};
    pdm_diag(tr->sink, PDM_D_LG_WARN, &loc, NULL,
             "output '%s' has the name of an input or parameter, which Paddle's predictor cannot "
             "run; it is called '%s'",
             old, fresh);
}

static void copy_operand(pdm_tr *tr, pdm_ir_op *fetch)
{
    pdm_tr_op t = nowhere(tr);
    pdm_ir_value *copy = pdm_tr_unary(&t, "pd_op.assign", pdm_ir_op_operand_value(fetch, 0));
    if (!copy)
        return;
    pdm_ir_op_detach(pdm_ir_value_op(copy));
    pdm_ir_op_insert_before(pdm_ir_value_op(copy), fetch);
    pdm_ir_use_set(pdm_ir_op_operand(fetch, 0), copy);
}

/* Is a parameter written in place? Then an output that is what it was before must not share its
 * memory. */
static bool is_written(const pdm_ir_value *parameter)
{
    for (const pdm_ir_use *u = pdm_ir_value_first_use(parameter); u; u = u->next)
        if (pdm_ir_op_info_inplace(u->owner->info, pdm_ir_use_index(u)) >= 0)
            return true;
    return false;
}

/*
 * The predictor finds inputs, outputs and parameters by name, and knows one output name for a
 * value. An output may have the name of the parameter that it is.
 */
static void separate_outputs(pdm_tr *tr)
{
    pdm_map names = {0}, fetched = {0};
    pdm_ir_op *end = tr->front ? tr->front->next : NULL;
    for (pdm_ir_op *op = tr->module->block->first; op != end && tr->status == PDM_OK;
         op = op->next) {
        bool parameter = PDM_IR_IS(op, builtin, parameter);
        if (!parameter && !PDM_IR_IS(op, pd_op, data))
            continue;
        pdm_map_entry *e =
            pdm_map_put(&names, name_attr(tr, op, parameter ? "parameter_name" : "name"));
        if (!e)
            pdm_tr_nomem(tr);
        else
            e->value.ptr =
                parameter && !is_written(pdm_ir_op_result(op, 0)) ? pdm_ir_op_result(op, 0) : NULL;
    }
    for (pdm_ir_op *op = end; op && tr->status == PDM_OK; op = op->next) {
        if (!PDM_IR_IS(op, pd_op, fetch))
            continue;
        const char *name = name_attr(tr, op, "name");
        const pdm_ir_value *value = pdm_ir_op_operand_value(op, 0);
        const pdm_ir_op *def = pdm_ir_value_op(value);
        bool parameter = def && PDM_IR_IS(def, builtin, parameter);
        pdm_map_entry *e = pdm_map_find(&names, name);
        if (e && !(e->value.ptr == value && !pdm_map_find(&fetched, value)))
            rename_output(tr, op, name, &names);
        else if (!e && !pdm_map_put(&names, name))
            pdm_tr_nomem(tr);
        if (pdm_map_find(&fetched, value) || (parameter && is_written(value)))
            copy_operand(tr, op);
        else if (!pdm_map_put(&fetched, value))
            pdm_tr_nomem(tr);
    }
    pdm_map_deinit(&names);
    pdm_map_deinit(&fetched);
}

void pdm_tr_io_finish(pdm_tr *tr)
{
    if (tr->options->num_fetch)
        emit_requested_fetches(tr);
    write_back_all(tr);
    separate_outputs(tr);
    set_result_attributes(tr);
}
