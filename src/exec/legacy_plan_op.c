/* Binding a legacy op to its kernel: operands, results, attributes, LoD. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "exec/legacy_impl.h"
#include "exec/no_kernel.h"

typedef PDM_VEC(uint32_t) places;

/* ---- arguments ------------------------------------------------------------------------------- */

static bool is_empty(const char *name)
{
    return !strcmp(name, "@EMPTY@");
}

/* How many arguments a slot really has; a lone "@EMPTY@" is none. */
static size_t num_args(const pdm_lg_slot *slot)
{
    if (!slot)
        return 0;
    return slot->num_args == 1 && is_empty(slot->args[0]) ? 0 : slot->num_args;
}

static uint32_t arg_place(const pdm_legacy_builder *b, const pdm_legacy_op *op,
                          const pdm_lg_slot *slot, size_t i)
{
    return is_empty(slot->args[i]) ? PDM_LEGACY_NO_PLACE
                                   : pdm_legacy_slot_of(b->plan, op->block, slot->args[i]);
}

pdm_status pdm_legacy_arg_slots(pdm_legacy_builder *b, const pdm_legacy_op *op,
                                const pdm_lg_slot *slot, const uint32_t **out_slots,
                                uint32_t *out_count)
{
    const size_t n = num_args(slot);
    uint32_t *slots = pdm_arena_calloc(&b->plan->arena, n + 1, sizeof *slots);

    if (!slots || n > UINT32_MAX / 2)
        return PDM_NOMEM;
    for (size_t i = 0; i < n; i++)
        slots[i] = arg_place(b, op, slot, i);
    *out_slots = slots;
    *out_count = (uint32_t)n;
    return PDM_OK;
}

static pdm_status add_extra(pdm_legacy_builder *b, const pdm_legacy_extra *extra,
                            uint32_t *out_place)
{
    const size_t place = b->plan->slots.n + b->plan->extras.n;

    if (place >= PDM_LEGACY_NO_PLACE || !PDM_VEC_PUSH(&b->plan->extras, *extra))
        return PDM_NOMEM;
    *out_place = (uint32_t)place;
    return PDM_OK;
}

/* ---- old values ------------------------------------------------------------------------------ */

static bool has_arg(const pdm_lg_slot *slots, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < slots[i].num_args; k++) {
            if (slots[i].args[k] == name)
                return true;
        }
    }
    return false;
}

/* A place for the old value of each variable that the op reads and writes. */
static pdm_status find_aliases(pdm_legacy_builder *b, pdm_legacy_op *op)
{
    const pdm_lg_op *lg = op->op;
    PDM_VEC(pdm_legacy_alias) found = {0};
    pdm_status status = PDM_OK;

    for (size_t i = 0; i < lg->num_outputs && status == PDM_OK; i++) {
        for (size_t k = 0; k < lg->outputs[i].num_args && status == PDM_OK; k++) {
            const char *name = lg->outputs[i].args[k];
            pdm_legacy_alias alias;
            if (is_empty(name) || !has_arg(lg->inputs, lg->num_inputs, name))
                continue;
            alias.slot = pdm_legacy_slot_of(b->plan, op->block, name);
            bool known = alias.slot == PDM_LEGACY_NO_PLACE;
            for (size_t n = 0; n < found.n; n++)
                known |= found.v[n].slot == alias.slot;
            if (known)
                continue;
            status = add_extra(b, &(pdm_legacy_extra){0}, &alias.old);
            if (status == PDM_OK && !PDM_VEC_PUSH(&found, alias))
                status = PDM_NOMEM;
        }
    }
    if (status == PDM_OK && found.n) {
        op->aliases = pdm_arena_memdup(&b->plan->arena, found.v, found.n * sizeof *found.v);
        op->num_aliases = (uint32_t)found.n;
        if (!op->aliases)
            status = PDM_NOMEM;
    }
    PDM_VEC_FREE(&found);
    return status;
}

/* Where an operand is read: the old value of a variable that is written too. */
static uint32_t read_place(const pdm_legacy_op *op, uint32_t slot)
{
    for (uint32_t i = 0; i < op->num_aliases; i++) {
        if (op->aliases[i].slot == slot)
            return op->aliases[i].old;
    }
    return slot;
}

/* ---- constants ------------------------------------------------------------------------------- */

static pdm_status number_tensor(pdm_ir_attr attr, pdm_dtype dtype, pdm_tensor *out)
{
    const bool is_array = attr->kind == PDM_IR_ATTR_ARRAY;
    const int64_t n = is_array ? (int64_t)attr->count : 1;

    PDM_TRY(pdm_tensor_alloc(out, dtype, 1, &n));
    for (int64_t i = 0; i < n; i++) {
        pdm_ir_attr one = is_array ? attr->u.items[i] : attr;
        const bool real = one->kind == PDM_IR_ATTR_F32 || one->kind == PDM_IR_ATTR_F64 ||
                          (one->kind == PDM_IR_ATTR_SCALAR && one->dtype == PDM_F64);
        const bool flag = one->kind == PDM_IR_ATTR_BOOL ||
                          (one->kind == PDM_IR_ATTR_SCALAR && one->dtype == PDM_BOOL);
        if (one->kind == PDM_IR_ATTR_SCALAR && one->dtype == PDM_C128) {
            ((double *)out->data)[2 * i] = one->u.c.re;
            ((double *)out->data)[2 * i + 1] = one->u.c.im;
        } else if (real) {
            pdm_set_double(out, i, one->u.f);
        } else {
            pdm_set_int(out, i, flag ? one->u.b : one->u.i);
        }
    }
    return PDM_OK;
}

/* Tolerances are texts in old programs. */
static bool number_of_text(const char *text, double *out)
{
    const char *end;

    *out = pdm_decimal_read(text, &end);
    return end != text && !*end;
}

/* The element type of a constant; integer arrays are 64 bits wide as in PIR. */
static pdm_dtype number_dtype(pdm_ir_attr attr)
{
    if (attr->kind == PDM_IR_ATTR_ARRAY) {
        const pdm_dtype first = attr->count ? number_dtype(attr->u.items[0]) : PDM_I64;
        return first == PDM_I32 ? PDM_I64 : first;
    }
    switch (attr->kind) {
    case PDM_IR_ATTR_BOOL:
        return PDM_BOOL;
    case PDM_IR_ATTR_I32:
        return PDM_I32;
    case PDM_IR_ATTR_I64:
        return PDM_I64;
    case PDM_IR_ATTR_F32:
        return PDM_F32;
    case PDM_IR_ATTR_F64:
        return PDM_F64;
    case PDM_IR_ATTR_SCALAR:
        return attr->dtype;
    default:
        return PDM_UNDEFINED;
    }
}

/* The attribute of the op, or its legacy default. */
static const pdm_lg_attr *find_attr(const pdm_lg_schema *schema, const pdm_lg_op *op,
                                    const char *name)
{
    const pdm_lg_attr *attr = pdm_lg_find_attr(op, name);

    if (attr)
        return attr;
    const pdm_lg_attr_desc *desc = schema ? pdm_lg_schema_attr(schema, name) : NULL;
    return desc ? desc->fallback : NULL;
}

/* Variables that stand in for an attribute. */
static pdm_status attr_vars(pdm_legacy_builder *b, const pdm_legacy_op *op, const pdm_lg_attr *attr,
                            uint32_t *out_place)
{
    pdm_legacy_extra extra = {0};
    uint32_t *items;

    if (attr->type == PDM_LG_VAR) {
        *out_place = read_place(op, pdm_legacy_slot_of(b->plan, op->block, attr->u.s));
        return PDM_OK;
    }
    items = pdm_arena_calloc(&b->plan->arena, attr->count + 1, sizeof *items);
    if (!items)
        return PDM_NOMEM;
    for (size_t i = 0; i < attr->count; i++)
        items[i] = read_place(op, pdm_legacy_slot_of(b->plan, op->block, attr->u.strings[i]));
    extra.items = items;
    extra.count = (uint32_t)attr->count;
    return add_extra(b, &extra, out_place);
}

static pdm_status constant(pdm_legacy_builder *b, const pdm_legacy_op *op,
                           const pdm_lg_attr *legacy, uint32_t *out_place)
{
    pdm_legacy_extra extra = {0};

    if (legacy->type == PDM_LG_VAR || legacy->type == PDM_LG_VARS)
        return attr_vars(b, op, legacy, out_place);
    pdm_ir_attr attr = pdm_legacy_attr(legacy, &b->plan->arena);
    if (!attr)
        return PDM_NOMEM;
    struct pdm_ir_attr_s parsed = {.kind = PDM_IR_ATTR_F64};
    if (attr->kind == PDM_IR_ATTR_STR && number_of_text(attr->u.s.text, &parsed.u.f))
        attr = &parsed;
    const pdm_dtype dtype = number_dtype(attr);
    if (dtype == PDM_UNDEFINED) {
        *out_place = PDM_LEGACY_NO_PLACE;
        return pdm_legacy_refuse(b, PDM_D_LG_ATTR_KIND, op, legacy->name,
                                 "attribute '%s' is of kind %s, numbers are needed", legacy->name,
                                 pdm_lg_attr_type_name((int)legacy->type));
    }
    PDM_TRY(number_tensor(attr, dtype, &extra.tensor));
    const pdm_status status = add_extra(b, &extra, out_place);
    if (status != PDM_OK)
        pdm_tensor_deinit(&extra.tensor);
    return status;
}

/* ---- operands -------------------------------------------------------------------------------- */

static pdm_status list_place(pdm_legacy_builder *b, const pdm_legacy_op *op,
                             const pdm_lg_slot *slot, bool result, uint32_t *out_place)
{
    pdm_legacy_extra extra = {0};
    const size_t n = num_args(slot);
    uint32_t *items = pdm_arena_calloc(&b->plan->arena, n + 1, sizeof *items);

    if (!items)
        return PDM_NOMEM;
    for (size_t i = 0; i < n; i++) {
        items[i] = arg_place(b, op, slot, i);
        if (!result)
            items[i] = read_place(op, items[i]);
    }
    extra.items = items;
    extra.count = (uint32_t)n;
    return add_extra(b, &extra, out_place);
}

/* Whether an op has what an alternative names. */
static bool is_there(const pdm_legacy_op *op, const pdm_lg_schema *schema,
                     const pdm_legacy_source *source)
{
    switch (source->kind) {
    case PDM_LEGACY_VAR:
    case PDM_LEGACY_LIST:
    case PDM_LEGACY_SPREAD:
        return num_args(pdm_lg_find_input(op->op, source->name)) > 0;
    case PDM_LEGACY_OUT:
        return num_args(pdm_lg_find_output(op->op, source->name)) > 0;
    case PDM_LEGACY_CONST:
        return find_attr(schema, op->op, source->name) != NULL;
    case PDM_LEGACY_NONE:
        break;
    }
    return true;
}

static pdm_status add_operand(pdm_legacy_builder *b, const pdm_legacy_op *op,
                              const pdm_lg_schema *schema, const pdm_legacy_source *source,
                              places *in)
{
    const pdm_lg_slot *slot = NULL;
    uint32_t place = PDM_LEGACY_NO_PLACE;

    if (source->kind != PDM_LEGACY_NONE && source->kind != PDM_LEGACY_CONST)
        slot = source->kind == PDM_LEGACY_OUT ? pdm_lg_find_output(op->op, source->name)
                                              : pdm_lg_find_input(op->op, source->name);
    switch (source->kind) {
    case PDM_LEGACY_VAR:
        place = read_place(op, arg_place(b, op, slot, 0));
        break;
    case PDM_LEGACY_OUT:
        place = arg_place(b, op, slot, 0);
        break;
    case PDM_LEGACY_LIST:
        PDM_TRY(list_place(b, op, slot, false, &place));
        break;
    case PDM_LEGACY_CONST:
        PDM_TRY(constant(b, op, find_attr(schema, op->op, source->name), &place));
        break;
    case PDM_LEGACY_SPREAD:
        for (size_t i = 0; i + 1 < num_args(slot); i++) {
            place = read_place(op, arg_place(b, op, slot, i));
            if (!PDM_VEC_PUSH(in, place))
                return PDM_NOMEM;
        }
        place = read_place(op, arg_place(b, op, slot, num_args(slot) - 1));
        break;
    case PDM_LEGACY_NONE:
        break;
    }
    return PDM_VEC_PUSH(in, place) ? PDM_OK : PDM_NOMEM;
}

static pdm_status bind_operands(pdm_legacy_builder *b, const pdm_legacy_op *op,
                                const pdm_lg_schema *schema, const pdm_legacy_row *row, places *in)
{
    for (size_t i = 0; i < row->num_operands; i++) {
        const pdm_legacy_operand *operand = &row->operands[i];
        size_t k = 0;
        while (k < operand->count && !is_there(op, schema, &operand->alternatives[k]))
            k++;
        if (k < operand->count) {
            PDM_TRY(add_operand(b, op, schema, &operand->alternatives[k], in));
            continue;
        }
        /* A vector may be empty; what else is missing, the kernel tells when it runs. */
        uint32_t place = PDM_LEGACY_NO_PLACE;
        if (operand->count && operand->alternatives[0].kind == PDM_LEGACY_LIST)
            PDM_TRY(list_place(b, op, NULL, false, &place));
        if (operand->count && operand->alternatives[0].kind == PDM_LEGACY_SPREAD)
            continue;
        if (!PDM_VEC_PUSH(in, place))
            return PDM_NOMEM;
    }
    return PDM_OK;
}

static pdm_status add_result(pdm_legacy_builder *b, const pdm_legacy_op *op,
                             const pdm_legacy_result *result, places *out)
{
    const pdm_lg_slot *slot = result->slot ? pdm_lg_find_output(op->op, result->slot) : NULL;
    const size_t n = result->spread ? num_args(slot) : 1;
    uint32_t place = PDM_LEGACY_NO_PLACE;

    if (num_args(slot) && result->vector)
        PDM_TRY(list_place(b, op, slot, true, &place));
    for (size_t i = 0; i < n; i++) {
        if (num_args(slot) && !result->vector)
            place = arg_place(b, op, slot, i);
        if (!PDM_VEC_PUSH(out, place))
            return PDM_NOMEM;
    }
    return PDM_OK;
}

static pdm_status bind_results(pdm_legacy_builder *b, pdm_legacy_op *op, const pdm_legacy_row *row,
                               places *out)
{
    for (size_t i = 0; i < row->num_results; i++)
        PDM_TRY(add_result(b, op, &row->results[i], out));
    size_t *counts = pdm_arena_calloc(&b->plan->arena, out->n + 1, sizeof *counts);
    if (!counts)
        return PDM_NOMEM;
    for (size_t i = 0; i < out->n; i++) {
        const size_t place = out->v[i];
        counts[i] = place != PDM_LEGACY_NO_PLACE && place >= b->plan->slots.n
                        ? b->plan->extras.v[place - b->plan->slots.n].count
                        : 1;
    }
    op->out_counts = counts;
    return PDM_OK;
}

/* All arguments in the order of the slots, as kernels "legacy.*" take them. */
static pdm_status bind_by_name(pdm_legacy_builder *b, const pdm_legacy_op *op,
                               const pdm_lg_slot *slots, size_t n, bool results, places *list,
                               const char *const **out_names)
{
    size_t total = 0, k = 0;

    for (size_t i = 0; i < n; i++)
        total += slots[i].num_args;
    const char **names = pdm_arena_calloc(&b->plan->arena, total + 1, sizeof *names);
    if (!names)
        return PDM_NOMEM;
    for (size_t i = 0; i < n; i++) {
        for (size_t a = 0; a < slots[i].num_args; a++) {
            uint32_t place = arg_place(b, op, &slots[i], a);
            if (!results)
                place = read_place(op, place);
            names[k++] = slots[i].name;
            if (!PDM_VEC_PUSH(list, place))
                return PDM_NOMEM;
        }
    }
    *out_names = names;
    return PDM_OK;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static pdm_status add_attr(pdm_legacy_builder *b, const char *name, const pdm_lg_attr *attr,
                           pdm_legacy_attr_entry *entries, size_t *n)
{
    if (!attr)
        return PDM_OK;
    entries[*n] = (pdm_legacy_attr_entry){name, pdm_legacy_attr(attr, &b->plan->arena)};
    return entries[(*n)++].attr ? PDM_OK : PDM_NOMEM;
}

static const pdm_legacy_rename *renamed(const pdm_legacy_row *row, const char *name)
{
    for (size_t i = 0; i < row->num_renames; i++) {
        if (!strcmp(row->renames[i].name, name))
            return &row->renames[i];
    }
    return NULL;
}

/* The attributes that the kernel's row knows. */
static pdm_status bind_attrs(pdm_legacy_builder *b, pdm_legacy_op *op, const pdm_lg_schema *schema,
                             const pdm_legacy_row *row)
{
    const size_t most = (op->desc ? op->desc->num_attrs : 0U) + row->num_renames + 1;
    pdm_legacy_attr_entry *entries = pdm_arena_calloc(&b->plan->arena, most, sizeof *entries);
    size_t n = 0;

    if (!entries)
        return PDM_NOMEM;
    for (size_t i = 0; i < row->num_renames; i++) {
        const pdm_legacy_rename *r = &row->renames[i];
        if (r->literal)
            entries[n++] = (pdm_legacy_attr_entry){r->name, r->literal};
        else
            PDM_TRY(add_attr(b, r->name, find_attr(schema, op->op, r->legacy), entries, &n));
    }
    for (size_t i = 0; op->desc && i < op->desc->num_attrs; i++) {
        const char *name = op->desc->attrs[i].name;
        if (!renamed(row, name))
            PDM_TRY(add_attr(b, name, find_attr(schema, op->op, name), entries, &n));
    }
    op->attrs = entries;
    op->num_attrs = n;
    return PDM_OK;
}

/* A number about the program as an attribute. */
static pdm_status add_number(pdm_legacy_builder *b, const char *name, int64_t value,
                             pdm_legacy_attr_entry *entries, size_t *n)
{
    struct pdm_ir_attr_s *attr = pdm_arena_calloc(&b->plan->arena, 1, sizeof *attr);

    if (!attr)
        return PDM_NOMEM;
    attr->kind = PDM_IR_ATTR_I64;
    attr->u.i = value;
    entries[(*n)++] = (pdm_legacy_attr_entry){name, attr};
    return PDM_OK;
}

/* All attributes of the op, and the defaults of those that it lacks. */
static pdm_status bind_all_attrs(pdm_legacy_builder *b, pdm_legacy_op *op,
                                 const pdm_lg_schema *schema)
{
    const size_t most = op->op->num_attrs + (schema ? schema->num_attrs : 0) + 3;
    pdm_legacy_attr_entry *entries = pdm_arena_calloc(&b->plan->arena, most, sizeof *entries);
    size_t n = 0;

    if (!entries)
        return PDM_NOMEM;
    for (size_t i = 0; i < op->op->num_attrs; i++)
        PDM_TRY(add_attr(b, op->op->attrs[i].name, &op->op->attrs[i], entries, &n));
    for (size_t i = 0; schema && i < schema->num_attrs; i++) {
        if (!pdm_lg_find_attr(op->op, schema->attrs[i].name))
            PDM_TRY(add_attr(b, schema->attrs[i].name, schema->attrs[i].fallback, entries, &n));
    }
    PDM_TRY(add_number(b, "@op_version", pdm_lg_op_version_of(b->plan->program, op->op->type),
                       entries, &n));
    PDM_TRY(add_number(b, "@program_version", b->plan->program->version, entries, &n));
    op->attrs = entries;
    op->num_attrs = n;
    return PDM_OK;
}

static int64_t seed_of(const pdm_legacy_op *op)
{
    for (size_t i = 0; i < op->num_attrs; i++) {
        pdm_ir_attr attr = op->attrs[i].attr;
        if (!strcmp(op->attrs[i].name, "seed") &&
            (attr->kind == PDM_IR_ATTR_I32 || attr->kind == PDM_IR_ATTR_I64))
            return attr->u.i;
    }
    return 0;
}

/* ---- LoD ------------------------------------------------------------------------------------- */

/* One word of the rules, see legacy_lod.def. */
typedef struct lod_word {
    const char *from; /* NULL: the kernel sets it */
    size_t from_len;
    bool if_same_rows;
    const char *if_slot; /* NULL: always */
    size_t if_slot_len;
} lod_word;

static lod_word parse_word(const char *word, size_t len)
{
    lod_word w = {.from = word};
    const char *at = memchr(word, '@', len);

    if (at) {
        w.if_slot = at + 1;
        w.if_slot_len = len - (size_t)(at + 1 - word);
        len = (size_t)(at - word);
    }
    w.if_same_rows = len && word[len - 1] == '?';
    w.from_len = len - w.if_same_rows;
    return w;
}

/* The rule for an output slot. */
static bool find_rule(const char *rules, const char *slot, lod_word *out)
{
    const size_t n = strlen(slot);

    while (*rules) {
        const size_t word = strcspn(rules, " ");
        if (word >= n && !strncmp(rules, slot, n) && (word == n || rules[n] == '=')) {
            *out = word == n ? (lod_word){0} : parse_word(rules + n + 1, word - n - 1);
            return true;
        }
        rules += word;
        rules += strspn(rules, " ");
    }
    return false;
}

static const pdm_lg_slot *slot_named(const pdm_lg_op *op, const char *name, size_t len)
{
    for (size_t i = 0; i < op->num_inputs; i++) {
        if (strlen(op->inputs[i].name) == len && !memcmp(op->inputs[i].name, name, len))
            return &op->inputs[i];
    }
    return NULL;
}

static void lod_of_slot(const pdm_legacy_builder *b, pdm_legacy_op *op, const char *rules,
                        const pdm_lg_slot *slot, pdm_legacy_lod_rule *out)
{
    const pdm_lg_slot *from = NULL;
    lod_word word = {.from = ""};

    if (find_rule(rules, slot->name, &word)) {
        if (!word.from)
            return;
        if (!word.if_slot || num_args(slot_named(op->op, word.if_slot, word.if_slot_len)))
            from = slot_named(op->op, word.from, word.from_len);
    }
    for (size_t k = 0; k < slot->num_args; k++) {
        const size_t n = num_args(from);
        pdm_legacy_lod_rule *r = &out[op->num_lods];
        r->to = arg_place(b, op, slot, k);
        r->from = n ? read_place(op, arg_place(b, op, from, k < n ? k : 0)) : PDM_LEGACY_NO_PLACE;
        r->if_same_rows = word.if_same_rows;
        op->num_lods += r->to != PDM_LEGACY_NO_PLACE;
    }
}

static pdm_status bind_lod(pdm_legacy_builder *b, pdm_legacy_op *op)
{
    const pdm_legacy_lod lod = pdm_legacy_lod_get(op->op->type);
    const pdm_lg_op *lg = op->op;
    size_t total = 0;

    for (size_t i = 0; i < lg->num_outputs; i++)
        total += lg->outputs[i].num_args;
    pdm_legacy_lod_rule *rules = pdm_arena_calloc(&b->plan->arena, total + 1, sizeof *rules);
    if (!rules)
        return PDM_NOMEM;
    op->lods = rules;
    for (size_t i = 0; lod.known && i < lg->num_outputs; i++)
        lod_of_slot(b, op, lod.rule, &lg->outputs[i], rules);
    return PDM_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static pdm_status keep(pdm_legacy_builder *b, const places *list, const uint32_t **out,
                       uint32_t *out_count)
{
    uint32_t *copy = pdm_arena_calloc(&b->plan->arena, list->n + 1, sizeof *copy);

    if (!copy)
        return PDM_NOMEM;
    for (size_t i = 0; i < list->n; i++)
        copy[i] = list->v[i];
    *out = copy;
    *out_count = (uint32_t)list->n;
    return PDM_OK;
}

static pdm_status find_kernel(pdm_legacy_builder *b, pdm_legacy_op *op, const pdm_legacy_row *row)
{
    if (row) {
        op->kernel = row->kernel;
    } else {
        const size_t len = strlen(op->op->type) + sizeof "legacy.";
        char *name = pdm_arena_alloc(&b->plan->arena, len);
        if (!name)
            return PDM_NOMEM;
        snprintf(name, len, "legacy.%s", op->op->type);
        op->kernel = name;
    }
    op->fn = pdm_kernel_find(op->kernel);
    op->desc = pdm_ir_op_desc_find(op->kernel);
    const char *reason = op->fn ? NULL : pdm_no_kernel_reason(op->kernel);
    if (!op->fn)
        return pdm_legacy_refuse(b, PDM_D_EXEC_KERNEL, op, NULL,
                                 "op '%s' cannot be run: there is no kernel '%s'%s%s", op->op->type,
                                 op->kernel, reason ? ", since " : "", reason ? reason : "");
    return PDM_OK;
}

static bool by_name(const pdm_legacy_op *op, const pdm_legacy_row *row)
{
    return !row || !strncmp(op->kernel, "legacy.", 7);
}

static pdm_status bind_parts(pdm_legacy_builder *b, pdm_legacy_op *op, const pdm_legacy_row *row,
                             places *in, places *out)
{
    const pdm_lg_schema *schema;

    PDM_TRY(pdm_lg_schema_get(b->schemas, op->op->type, &schema));
    if (by_name(op, row)) {
        PDM_TRY(bind_by_name(b, op, op->op->inputs, op->op->num_inputs, false, in, &op->in_slots));
        PDM_TRY(
            bind_by_name(b, op, op->op->outputs, op->op->num_outputs, true, out, &op->out_slots));
        PDM_TRY(bind_all_attrs(b, op, schema));
        op->random = !strcmp(op->op->type, "sampling_id") || !strcmp(op->op->type, "dropout_nd");
    } else {
        PDM_TRY(bind_operands(b, op, schema, row, in));
        PDM_TRY(bind_results(b, op, row, out));
        PDM_TRY(bind_attrs(b, op, schema, row));
        op->random = op->desc && (op->desc->flags & PDM_IR_RANDOM);
    }
    op->seed = seed_of(op);
    PDM_TRY(keep(b, in, &op->in, &op->num_in));
    PDM_TRY(keep(b, out, &op->out, &op->num_out));
    op->first_in = b->plan->total_in;
    op->first_out = b->plan->total_out;
    b->plan->total_in += op->num_in;
    b->plan->total_out += op->num_out;
    return bind_lod(b, op);
}

pdm_status pdm_legacy_bind_kernel(pdm_legacy_builder *b, pdm_legacy_op *op)
{
    const pdm_legacy_row *row;
    places in = {0}, out = {0};

    PDM_TRY(pdm_legacy_row_get(op->op->type, &b->plan->arena, &row));
    PDM_TRY(find_kernel(b, op, row));
    if (!op->fn)
        return PDM_OK;
    PDM_TRY(find_aliases(b, op));
    const pdm_status status = bind_parts(b, op, row, &in, &out);
    PDM_VEC_FREE(&in);
    PDM_VEC_FREE(&out);
    return status;
}
