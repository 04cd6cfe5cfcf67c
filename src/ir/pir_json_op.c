/* The ops of a PIR JSON file: their parts, the checks against the rows, and making them (see
 * pir_json_read.h). */
#include "ir/pir_json_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/op_info.h"
#include "ir/pir_json.h"
#include "ir/pir_json_tags.h"

enum { FEW_ATTRS = 32 };

typedef pdm_ir_json_reader reader;
#define NO_NODE PDM_IR_JSON_NO_NODE

/* An op while it is read. The sizes are those of the scratch stacks below it. */
typedef struct draft {
    uint32_t node;
    const pdm_ir_op_info *info;
    bool failed, is_param;
    size_t operands, results, attrs, regions;
} draft;

enum { OP_NAME, OP_A, OP_I, OP_O, OP_OA, OP_DA, OP_QA, OP_REGIONS, OP_NUM_KEYS };
static const char *const op_keys[] = {"#", "A", "I", "O", "OA", "DA", "QA", "regions"};

/* The value of an operand; NULL with PDM_OK for an absent one, or where an earlier problem is the
 * reason. */
static pdm_status look_up(reader *r, const pdm_ir_json_id *operand, pdm_ir_value **out)
{
    const pdm_map_entry *found = pdm_map_find(&r->ids, (const void *)(uintptr_t)operand->id);

    *out = NULL;
    if (operand->id == 0)
        return PDM_OK;
    if (!found) {
        return r->ids_lost ? PDM_OK
                           : pdm_ir_json_fail(r, operand->node, PDM_D_JSON_FORM,
                                              "value %%%lld is not defined before its use",
                                              (long long)operand->id);
    }
    const pdm_ir_json_entry *entry = &r->entries.v[found->value.num];
    if (r->scope_closed.v[entry->scope])
        return pdm_ir_json_fail(r, operand->node, PDM_D_JSON_FORM,
                                "value %%%lld is defined in a region that does not enclose its use",
                                (long long)operand->id);
    *out = entry->value;
    return PDM_OK;
}

/* ---- ops: their parts ------------------------------------------------------------------------ */

static pdm_status read_name(reader *r, uint32_t node, draft *d)
{
    char full[512];
    const char *text = NULL, *name;
    pdm_status status = PDM_OK;

    PDM_TRY(pdm_ir_json_node_string(r, node, &text));
    const char *dot = strchr(text, '.');
    d->is_param = strcmp(text, "p") == 0;
    r->op_name = name = d->is_param ? "builtin.parameter" : text;
    for (size_t i = 0; dot && i < PDM_IR_JSON_NUM_DIALECTS; i++) {
        const char *number = pdm_ir_json_dialects[i].number;
        if (strlen(number) == (size_t)(dot - text) && !memcmp(number, text, (size_t)(dot - text)) &&
            snprintf(full, sizeof full, "%s%s", pdm_ir_json_dialects[i].dialect, dot) <
                (int)sizeof full)
            name = full;
    }
    /* Only a dialect number makes a name: long forms such as "pd_op.relu" are none in a file. */
    if (name != text)
        d->info = pdm_ir_op_info_get(r->context, name, &status);
    if (d->info) {
        r->op_name = d->info->name;
        return PDM_OK;
    }
    if (status == PDM_NOMEM)
        return status;
    r->op_name = pdm_ir_str(r->context, name);
    if (!r->op_name)
        return PDM_NOMEM;
    return pdm_ir_json_fail(r, node, PDM_D_IR_OP_UNKNOWN, "op \"%.200s\" is not known", r->op_name);
}

typedef pdm_status (*part_fn)(reader *r, uint32_t node);

/* Read a member with fn; an absent one is an error when it is required. */
static pdm_status read_member(reader *r, draft *d, const uint32_t *members, int which,
                              bool required, part_fn fn)
{
    pdm_status status = PDM_OK;

    if (members[which] != NO_NODE)
        status = fn(r, members[which]);
    else if (required)
        status = pdm_ir_json_missing(r, d->node, op_keys[which]);
    if (status != PDM_OK) {
        d->failed = true;
        if (which == OP_O)
            r->ids_lost = true;
    }
    return pdm_ir_json_is_hard(status) ? status : PDM_OK;
}

/* Items 0..2 of an array of num_items: 0, 1, false or true each; kept as arrays of one bool. */
static pdm_status read_flags(reader *r, uint32_t array, size_t num_items,
                             const char *const names[3])
{
    size_t found = 0;

    PDM_TRY(pdm_ir_json_need_array(r, array, array, "A"));
    for (uint32_t at = array + 1; at < pdm_ir_json_next(r, array); at = pdm_ir_json_next(r, at))
        found++;
    if (found != num_items)
        return pdm_ir_json_fail(r, array, PDM_D_JSON_FORM, "%zu items where %zu are expected",
                                found, num_items);
    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t at = array + 1 + i; /* scalars: one node each */
        const uint16_t kind = r->index.nodes[at].kind;
        int64_t number = kind == PDM_IR_JSON_TRUE;
        if (kind != PDM_IR_JSON_TRUE && kind != PDM_IR_JSON_FALSE &&
            (!pdm_ir_json_node_int(r, at, &number) || number < 0 || number > 1))
            return pdm_ir_json_fail(r, at, PDM_D_JSON_FORM, "0 or 1 is expected");
        const bool value = number != 0;
        PDM_TRY(pdm_ir_json_push_attr(r, names[i], pdm_ir_attr_bools(r->context, &value, 1)));
    }
    return PDM_OK;
}

static pdm_status read_param_attrs(reader *r, uint32_t node)
{
    const char *name = NULL;

    PDM_TRY(read_flags(r, node, 4, pdm_ir_json_param_flags));
    PDM_TRY(pdm_ir_json_node_string(r, node + 4, &name));
    return pdm_ir_json_push_attr(r, "parameter_name", pdm_ir_attr_str(r->context, name));
}

static pdm_status read_param_flags(reader *r, uint32_t node)
{
    return read_flags(r, node, 3, pdm_ir_json_param_result_flags);
}

static pdm_status read_param_parts(reader *r, draft *d, const uint32_t *members)
{
    PDM_TRY(read_member(r, d, members, OP_A, true, read_param_attrs));
    PDM_TRY(read_member(r, d, members, OP_O, true, pdm_ir_json_read_param_result));
    PDM_TRY(read_member(r, d, members, OP_OA, false, read_param_flags));
    PDM_TRY(read_member(r, d, members, OP_DA, false, pdm_ir_json_read_attrs));
    return read_member(r, d, members, OP_QA, false, pdm_ir_json_read_attrs);
}

static pdm_status read_plain_parts(reader *r, draft *d, const uint32_t *members)
{
    PDM_TRY(read_member(r, d, members, OP_A, true, pdm_ir_json_read_attrs));
    PDM_TRY(read_member(r, d, members, OP_I, true, pdm_ir_json_read_operands));
    PDM_TRY(read_member(r, d, members, OP_O, true, pdm_ir_json_read_results));
    return read_member(r, d, members, OP_OA, false, pdm_ir_json_read_attrs);
}

static pdm_ir_named_attr *draft_attr(reader *r, const draft *d, const char *interned)
{
    for (size_t i = d->attrs; i < r->attrs.n; i++) {
        if (r->attrs.v[i].name == interned)
            return &r->attrs.v[i];
    }
    return NULL;
}

/* The long form of a parameter: plain bools become arrays, flags left out get their usual values.
 */
static pdm_status normalize_param(reader *r, const draft *d)
{
    for (size_t i = 0; i < 3; i++) {
        const char *name = pdm_ir_str(r->context, pdm_ir_json_param_flags[i]);
        pdm_ir_named_attr *found = name ? draft_attr(r, d, name) : NULL;
        bool value = i == 1;

        if (found && found->attr->kind != PDM_IR_ATTR_BOOL)
            continue;
        if (found)
            value = found->attr->u.b;
        const pdm_ir_named_attr made = {name, pdm_ir_attr_bools(r->context, &value, 1),
                                        found ? found->position : (uint32_t)r->attrs.n};
        if (!name || !made.attr || (!found && !PDM_VEC_PUSH(&r->attrs, made)))
            return PDM_NOMEM;
        if (found)
            *found = made;
    }
    return PDM_OK;
}

/* ---- ops: checks against the row ------------------------------------------------------------- */

static void check_count(reader *r, draft *d, const char *what, const char *const *names,
                        size_t wanted, bool open, size_t found)
{
    char list[256] = "";

    if (found == wanted || (open && found > wanted))
        return;
    for (size_t i = 0; i < wanted && strlen(list) < sizeof list - 64; i++) {
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%.40s", i ? ", " : "", names[i]);
    }
    d->failed = true;
    pdm_ir_json_fail(r, d->node, PDM_D_JSON_FORM, "%s%zu %s%s wanted%s%s%s, %zu found",
                     open ? "at least " : "", wanted, what, wanted == 1 ? "" : "s",
                     list[0] ? " (" : "", list, list[0] ? ")" : "", found);
}

static void check_counts(reader *r, draft *d)
{
    const pdm_ir_op_desc *desc = d->info->desc;
    const char *names[UINT8_MAX];
    size_t wanted = 0;
    bool open = false;

    for (size_t i = 0; i < desc->num_operands && wanted < UINT8_MAX; i++) {
        if (desc->operands[i].kind == PDM_IR_OPERAND_MANY)
            open = true;
        else
            names[wanted++] = desc->operands[i].name;
    }
    check_count(r, d, "operand", names, wanted, open, r->operands.n - d->operands);
    wanted = 0;
    open = false;
    for (size_t i = 0; i < desc->num_results && wanted < UINT8_MAX; i++) {
        if (desc->results[i].kind == PDM_IR_OPERAND_MANY)
            open = true;
        else
            names[wanted++] = desc->results[i].name;
    }
    check_count(r, d, "result", names, wanted, open, r->results.n - d->results);
    if (r->regions.n > d->regions && !(desc->flags & PDM_IR_REGION)) {
        d->failed = true;
        pdm_ir_json_fail(r, d->node, PDM_D_JSON_FORM, "this op has no regions");
    }
}

/* Every attribute of the row must be there, as the framework defaults nothing. */
static void check_attrs(reader *r, draft *d)
{
    const pdm_ir_op_desc *desc = d->info->desc;
    size_t at = d->attrs; /* files have them in row order: the next one is the first to try */

    for (size_t i = 0; i < desc->num_attrs; i++) {
        const pdm_ir_attr_desc *attr = &desc->attrs[i];
        size_t tried = d->attrs;
        if (at < r->attrs.n && strcmp(r->attrs.v[at].name, attr->name) == 0) {
            at++;
            continue;
        }
        while (tried < r->attrs.n && strcmp(r->attrs.v[tried].name, attr->name) != 0)
            tried++;
        if (tried < r->attrs.n || attr->added_in > r->version)
            continue;
        d->failed = true;
        pdm_ir_json_fail(r, d->node, PDM_D_JSON_FORM, "attribute \"%s\" is missing", attr->name);
    }
}

static int by_address(const void *a, const void *b)
{
    const uintptr_t x = (uintptr_t) * (const char *const *)a,
                    y = (uintptr_t) * (const char *const *)b;

    return x < y ? -1 : x > y;
}

static bool has_doubles(reader *r, const draft *d, const char **out_name)
{
    const size_t count = r->names.n;

    if (r->attrs.n - d->attrs > FEW_ATTRS) {
        qsort(r->names.v, count, sizeof *r->names.v, by_address);
        for (size_t i = 1; i < count; i++) {
            if (r->names.v[i] == r->names.v[i - 1])
                return *out_name = r->names.v[i], true;
        }
        return false;
    }
    for (size_t i = 1; i < count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (r->names.v[i] == r->names.v[k])
                return *out_name = r->names.v[i], true;
        }
    }
    return false;
}

static pdm_status check_doubles(reader *r, draft *d)
{
    const char *name = NULL;

    r->names.n = 0;
    for (size_t i = d->attrs; i < r->attrs.n; i++) {
        if (!PDM_VEC_PUSH(&r->names, r->attrs.v[i].name))
            return PDM_NOMEM;
    }
    if (has_doubles(r, d, &name)) {
        d->failed = true;
        pdm_ir_json_fail(r, d->node, PDM_D_JSON_FORM, "attribute \"%s\" occurs twice", name);
    }
    return PDM_OK;
}

/* ---- ops: making them ------------------------------------------------------------------------ */

static pdm_status read_regions(reader *r, uint32_t array, draft *d)
{
    const int32_t block_no = r->block_no, op_index = r->op_index;
    const char *op_name = r->op_name;
    pdm_status status = pdm_ir_json_need_array(r, d->node, array, "regions");

    if (status == PDM_OK && r->depth == PDM_IR_MAX_REGION_DEPTH)
        status = pdm_ir_json_fail(r, array, PDM_D_LIMIT, "regions are nested more than %d deep",
                                  PDM_IR_MAX_REGION_DEPTH);
    if (status != PDM_OK) {
        d->failed = true;
        return PDM_OK;
    }
    r->depth++;
    for (uint32_t node = array + 1;
         node < pdm_ir_json_next(r, array) && !pdm_ir_json_is_hard(status);
         node = pdm_ir_json_next(r, node)) {
        pdm_ir_region *region = pdm_ir_region_create();
        if (!region || !PDM_VEC_PUSH(&r->regions, region)) {
            if (region)
                pdm_ir_region_destroy(region);
            status = PDM_NOMEM;
            break;
        }
        status = pdm_ir_json_read_region(r, node, region);
        d->failed = d->failed || status != PDM_OK;
    }
    r->depth--;
    r->block_no = block_no;
    r->op_index = op_index;
    r->op_name = op_name;
    return pdm_ir_json_is_hard(status) ? status : PDM_OK;
}

static pdm_status resolve_operands(reader *r, draft *d)
{
    r->values.n = 0;
    r->part = "operand";
    for (size_t i = d->operands; i < r->operands.n; i++) {
        pdm_ir_value *value = NULL;
        r->part_index = i - d->operands;
        d->failed = look_up(r, &r->operands.v[i], &value) != PDM_OK || d->failed;
        if (!PDM_VEC_PUSH(&r->values, value))
            return PDM_NOMEM;
    }
    r->part = NULL;
    return PDM_OK;
}

static pdm_status define_results(reader *r, const draft *d, const pdm_ir_op *op)
{
    pdm_status status = PDM_OK;

    r->part = "result";
    for (size_t i = d->results; i < r->results.n && !pdm_ir_json_is_hard(status); i++) {
        r->part_index = i - d->results;
        status = pdm_ir_json_define(r, &r->results.v[i],
                                    op ? pdm_ir_op_result(op, r->part_index) : NULL);
    }
    r->part = NULL;
    return pdm_ir_json_is_hard(status) ? status : PDM_OK;
}

static int named_before(const void *a, const void *b)
{
    return strcmp(a, ((const pdm_ir_named_attr *)b)->name);
}

/* Where the file's order of attributes is not the row's, keep the file's. */
static void keep_order(reader *r, const draft *d, pdm_ir_op *op)
{
    int64_t last = -1;

    for (size_t pass = 0; pass < 2; pass++) {
        for (size_t i = d->attrs; i < r->attrs.n; i++) {
            pdm_ir_named_attr *named = bsearch(r->attrs.v[i].name, op->attrs, op->num_attrs,
                                               sizeof *op->attrs, named_before);
            if (!named)
                continue;
            if (pass == 0 && named->position <= last)
                break;
            last = named->position;
            if (pass == 1)
                named->position = (uint32_t)(i - d->attrs);
            else if (i + 1 == r->attrs.n)
                return;
        }
    }
}

static pdm_status make_op(reader *r, draft *d, pdm_ir_op **out)
{
    for (size_t i = d->attrs; i < r->attrs.n; i++)
        r->attrs.v[i].position = (uint32_t)(i - d->attrs);
    r->types.n = 0;
    for (size_t i = d->results; i < r->results.n; i++) {
        if (!PDM_VEC_PUSH(&r->types, r->results.v[i].type))
            return PDM_NOMEM;
    }
    const pdm_ir_op_state state = {
        .info = d->info,
        .operands = r->values.v,
        .num_operands = r->values.n,
        .result_types = r->types.v,
        .num_results = r->types.n,
        .attrs = PDM_IR_FROM(r->attrs, d->attrs),
        .num_attrs = r->attrs.n - d->attrs,
        .regions = PDM_IR_FROM(r->regions, d->regions),
        .num_regions = r->regions.n - d->regions,
    };
    *out = pdm_ir_op_create(r->context, &state);
    if (!*out)
        return PDM_NOMEM;
    r->regions.n = d->regions; /* adopted */
    keep_order(r, d, *out);
    return PDM_OK;
}

static pdm_status build_op(reader *r, draft *d, pdm_ir_block *block)
{
    pdm_ir_op *op = NULL;

    PDM_TRY(resolve_operands(r, d));
    if (d->info) {
        if (!strcmp(d->info->name, "builtin.parameter"))
            PDM_TRY(normalize_param(r, d));
        PDM_TRY(check_doubles(r, d));
        if (d->info->desc && !d->failed) {
            check_counts(r, d);
            check_attrs(r, d);
        }
        if (!d->failed) {
            PDM_TRY(make_op(r, d, &op));
            pdm_ir_block_append(block, op);
        }
    }
    return define_results(r, d, op);
}

static pdm_status gather_op(reader *r, draft *d)
{
    uint32_t members[OP_NUM_KEYS];

    pdm_status status = pdm_ir_json_find_members(r, d->node, op_keys, OP_NUM_KEYS, members);
    if (status != PDM_OK) {
        d->failed = r->ids_lost = true;
        return pdm_ir_json_is_hard(status) ? status : PDM_OK;
    }
    if (members[OP_NAME] == NO_NODE)
        pdm_ir_json_missing(r, d->node, "#");
    else if (pdm_ir_json_is_hard(status = read_name(r, members[OP_NAME], d)))
        return status;
    PDM_TRY(d->is_param ? read_param_parts(r, d, members) : read_plain_parts(r, d, members));
    return members[OP_REGIONS] == NO_NODE ? PDM_OK : read_regions(r, members[OP_REGIONS], d);
}

pdm_status pdm_ir_json_read_op(reader *r, uint32_t node, pdm_ir_block *block)
{
    draft d = {
        .node = node,
        .operands = r->operands.n,
        .results = r->results.n,
        .attrs = r->attrs.n,
        .regions = r->regions.n,
    };

    pdm_status status = gather_op(r, &d);
    if (status == PDM_OK)
        status = build_op(r, &d, block);
    while (r->regions.n > d.regions)
        pdm_ir_region_destroy(r->regions.v[--r->regions.n]);
    r->operands.n = d.operands;
    r->results.n = d.results;
    r->attrs.n = d.attrs;
    r->op_name = r->part = NULL;
    return status;
}
