#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "ir/op_info.h"
#include "ir/pir_json.h"
#include "ir/text.h"
#include "ir/text_lex.h"
#include "ir/text_names.h"

typedef struct value_entry {
    pdm_ir_value *value; /* NULL: its op is unknown, which was reported */
    uint32_t scope;      /* block number */
} value_entry;

typedef struct result_name {
    const char *name; /* interned in parser.names */
    size_t offset;
} result_name;

typedef struct attr_spot {
    const char *name; /* interned in the context */
    size_t offset;
} attr_spot;

typedef struct parser {
    pdm_ir_text_lex lex;
    pdm_arena arena;
    pdm_intern names; /* of values */
    pdm_map values;   /* interned name -> position in entries */
    PDM_VEC(value_entry) entries;
    PDM_VEC(bool) scope_closed; /* by block number */
    unsigned depth;
    int32_t block_no, op_index;
    pdm_status worst; /* of what was reported without giving up */
    /* Scratch stacks: an op takes its part from the top and gives it back. */
    PDM_VEC(result_name) results;
    PDM_VEC(pdm_ir_value *) operands;
    PDM_VEC(bool) unknown; /* beside operands: made by an unknown op, so without a type */
    PDM_VEC(pdm_ir_named_attr) attrs;
    PDM_VEC(attr_spot) spots;   /* where the attributes of the op at hand stand */
    PDM_VEC(pdm_ir_type) types; /* of results */
    PDM_VEC(pdm_ir_region *) regions;
} parser;

/* An op while it is parsed. The sizes are those of the scratch stacks below it. */
typedef struct draft {
    const pdm_ir_op_info *info; /* NULL: unknown */
    size_t results, operands, attrs, types, regions;
} draft;

#define want(p, token) pdm_ir_text_want(&(p)->lex, (token))
#define take(p, token) pdm_ir_text_take(&(p)->lex, (token))

/* ---- values ---------------------------------------------------------------------------------- */

/* %name: interned name and the place of the '%'. */
static pdm_status value_name(parser *p, const char **out, size_t *out_offset)
{
    pdm_ir_text_lex *lex = &p->lex;

    pdm_ir_text_skip(lex);
    *out_offset = lex->at;
    PDM_TRY(want(p, "%"));
    const size_t start = lex->at;
    while (lex->at < lex->size && pdm_ir_text_word_char(lex->text[lex->at]))
        lex->at++;
    if (lex->at == start)
        return pdm_ir_text_fail(lex, "a value name is expected after '%%'");
    *out = pdm_intern_get(&p->names, lex->text + start, lex->at - start);
    return *out ? PDM_OK : PDM_NOMEM;
}

static pdm_status define(parser *p, const result_name *name, pdm_ir_value *value)
{
    if (pdm_map_find(&p->values, name->name))
        return pdm_ir_text_fail_at(&p->lex, name->offset, PDM_D_TEXT_SYNTAX,
                                   "%%%.100s is defined twice", name->name);
    pdm_map_entry *entry = pdm_map_put(&p->values, name->name);
    if (!entry)
        return PDM_NOMEM;
    entry->value.num = p->entries.n;
    const value_entry made = {value, (uint32_t)p->block_no};
    return PDM_VEC_PUSH(&p->entries, made) ? PDM_OK : PDM_NOMEM;
}

static pdm_status parse_operand(parser *p, pdm_ir_value **out, bool *out_unknown)
{
    const char *name;
    size_t offset;

    *out = NULL;
    *out_unknown = false;
    if (take(p, "<<NULL VALUE>>"))
        return PDM_OK;
    PDM_TRY(value_name(p, &name, &offset));
    const pdm_map_entry *found = pdm_map_find(&p->values, name);
    if (!found)
        return pdm_ir_text_fail_at(&p->lex, offset, PDM_D_TEXT_SYNTAX,
                                   "%%%.100s is not defined before its use", name);
    const value_entry *entry = &p->entries.v[found->value.num];
    if (p->scope_closed.v[entry->scope])
        return pdm_ir_text_fail_at(&p->lex, offset, PDM_D_TEXT_SYNTAX,
                                   "%%%.100s is defined in a region that does not enclose its use",
                                   name);
    *out = entry->value;
    *out_unknown = !entry->value;
    return PDM_OK;
}

/* ---- parts of an op -------------------------------------------------------------------------- */

static pdm_status parse_results(parser *p)
{
    PDM_TRY(want(p, "("));
    if (!take(p, ")")) {
        do {
            result_name result;
            PDM_TRY(value_name(p, &result.name, &result.offset));
            if (!PDM_VEC_PUSH(&p->results, result))
                return PDM_NOMEM;
        } while (take(p, ","));
        PDM_TRY(want(p, ")"));
    }
    return want(p, "=");
}

static pdm_status parse_op_name(parser *p, draft *d)
{
    pdm_ir_text_lex *lex = &p->lex;
    pdm_status status = PDM_OK;
    pdm_loc loc = PDM_NOWHERE;

    pdm_ir_text_skip(lex);
    loc.file = lex->path;
    loc.offset = (int64_t)lex->at;
    pdm_ir_text_place(lex, lex->at, &loc.line, &loc.column);
    PDM_TRY(pdm_ir_text_string(lex));
    if (!lex->string.data)
        return pdm_ir_text_fail(lex, "an op name is expected");
    d->info = pdm_ir_op_info_get(lex->context, lex->string.data, &status);
    if (d->info)
        return PDM_OK;
    if (status == PDM_NOMEM)
        return PDM_NOMEM;
    loc.block = p->block_no;
    loc.op_index = p->op_index;
    loc.op_type = lex->string.data;
    status = pdm_diag(lex->sink, PDM_D_IR_OP_UNKNOWN, &loc, NULL, "op \"%.200s\" is not known",
                      lex->string.data);
    p->worst = status;
    return PDM_OK;
}

static pdm_status parse_operands(parser *p)
{
    PDM_TRY(want(p, "("));
    if (take(p, ")"))
        return PDM_OK;
    do {
        pdm_ir_value *value;
        bool unknown;
        PDM_TRY(parse_operand(p, &value, &unknown));
        if (!PDM_VEC_PUSH(&p->operands, value) || !PDM_VEC_PUSH(&p->unknown, unknown))
            return PDM_NOMEM;
    } while (take(p, ","));
    return want(p, ")");
}

static int by_name(const void *a, const void *b)
{
    const attr_spot *x = a, *y = b;

    if (x->name != y->name)
        return (uintptr_t)x->name < (uintptr_t)y->name ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static pdm_status check_doubles(parser *p)
{
    if (p->spots.n < 2)
        return PDM_OK;
    qsort(p->spots.v, p->spots.n, sizeof *p->spots.v, by_name);
    for (size_t i = 1; i < p->spots.n; i++) {
        if (p->spots.v[i].name == p->spots.v[i - 1].name)
            return pdm_ir_text_fail_at(&p->lex, p->spots.v[i].offset, PDM_D_TEXT_SYNTAX,
                                       "attribute \"%.100s\" occurs twice", p->spots.v[i].name);
    }
    return PDM_OK;
}

static pdm_status parse_named_attr(parser *p, const draft *d)
{
    pdm_ir_named_attr named = {.position = (uint32_t)(p->attrs.n - d->attrs)};

    pdm_ir_text_skip(&p->lex);
    attr_spot spot = {.offset = p->lex.at};
    PDM_TRY(pdm_ir_text_name(&p->lex, &named.name));
    PDM_TRY(want(p, ":"));
    PDM_TRY(pdm_ir_text_attr(&p->lex, &named.attr));
    spot.name = named.name;
    return PDM_VEC_PUSH(&p->attrs, named) && PDM_VEC_PUSH(&p->spots, spot) ? PDM_OK : PDM_NOMEM;
}

static pdm_status parse_attrs(parser *p, const draft *d)
{
    bool sorted = true; /* as printed: then there are no doubles */

    p->spots.n = 0;
    PDM_TRY(want(p, "{"));
    if (take(p, "}"))
        return PDM_OK;
    do {
        PDM_TRY(parse_named_attr(p, d));
        const size_t n = p->spots.n;
        sorted = sorted && (n < 2 || strcmp(p->spots.v[n - 2].name, p->spots.v[n - 1].name) < 0);
    } while (take(p, ","));
    if (!sorted)
        PDM_TRY(check_doubles(p));
    return want(p, "}");
}

static pdm_status check_operand_type(parser *p, const draft *d, size_t index, pdm_ir_type type,
                                     size_t offset)
{
    const size_t at = d->operands + index;

    if (at >= p->operands.n)
        return pdm_ir_text_fail_at(&p->lex, offset, PDM_D_TEXT_SYNTAX,
                                   "more operand types than operands");
    if (p->unknown.v[at])
        return PDM_OK;
    if (type != (p->operands.v[at] ? p->operands.v[at]->type : NULL))
        return pdm_ir_text_fail_at(&p->lex, offset, PDM_D_TEXT_SYNTAX,
                                   "operand %zu is of another type", index);
    return PDM_OK;
}

static pdm_status parse_operand_types(parser *p, const draft *d)
{
    size_t count = 0;

    PDM_TRY(want(p, ":"));
    PDM_TRY(want(p, "("));
    if (!take(p, ")")) {
        do {
            pdm_ir_type type = NULL;
            pdm_ir_text_skip(&p->lex);
            const size_t offset = p->lex.at;
            PDM_TRY(pdm_ir_text_type(&p->lex, &type));
            PDM_TRY(check_operand_type(p, d, count++, type, offset));
        } while (take(p, ","));
        PDM_TRY(want(p, ")"));
    }
    if (count != p->operands.n - d->operands)
        return pdm_ir_text_fail(&p->lex, "%zu operands, but %zu operand types",
                                p->operands.n - d->operands, count);
    return PDM_OK;
}

static pdm_status parse_result_types(parser *p, const draft *d)
{
    const size_t wanted = p->results.n - d->results;

    PDM_TRY(want(p, "->"));
    if (take(p, "(")) {
        PDM_TRY(want(p, ")"));
    } else {
        do {
            pdm_ir_type type = NULL;
            PDM_TRY(pdm_ir_text_type(&p->lex, &type));
            if (!PDM_VEC_PUSH(&p->types, type))
                return PDM_NOMEM;
        } while (take(p, ","));
    }
    if (p->types.n - d->types != wanted)
        return pdm_ir_text_fail(&p->lex, "%zu results, but %zu result types", wanted,
                                p->types.n - d->types);
    return PDM_OK;
}

/* ---- blocks and regions ---------------------------------------------------------------------- */

static pdm_status parse_op(parser *p, pdm_ir_block *block);

static pdm_status parse_block_args(parser *p, pdm_ir_block *block)
{
    PDM_TRY(want(p, "("));
    if (take(p, ")"))
        return PDM_OK;
    do {
        result_name name;
        pdm_ir_type type = NULL;
        PDM_TRY(value_name(p, &name.name, &name.offset));
        PDM_TRY(want(p, ":"));
        PDM_TRY(pdm_ir_text_type(&p->lex, &type));
        pdm_ir_value *arg = pdm_ir_block_add_arg(block, type);
        if (!arg)
            return PDM_NOMEM;
        PDM_TRY(define(p, &name, arg));
    } while (take(p, ","));
    return want(p, ")");
}

static pdm_status parse_block(parser *p, bool has_header, pdm_ir_block *block)
{
    const size_t number = p->scope_closed.n;

    if (number >= INT32_MAX || !PDM_VEC_PUSH(&p->scope_closed, false))
        return PDM_NOMEM;
    p->block_no = (int32_t)number;
    p->op_index = 0;
    if (has_header)
        PDM_TRY(parse_block_args(p, block));
    for (;;) {
        pdm_ir_text_skip(&p->lex);
        if (p->lex.at == p->lex.size || p->lex.text[p->lex.at] != '(')
            break;
        PDM_TRY(parse_op(p, block));
        p->op_index++;
    }
    p->scope_closed.v[number] = true;
    return PDM_OK;
}

/* After the opening brace, up to and with the closing one. block is the first, or NULL to make it.
 */
static pdm_status parse_blocks(parser *p, pdm_ir_region *region, pdm_ir_block *block)
{
    bool first = true;

    while (!take(p, "}")) {
        const bool has_header = take(p, "^");
        if (!has_header && (!first || p->lex.at == p->lex.size || p->lex.text[p->lex.at] != '('))
            return pdm_ir_text_fail(&p->lex, "an op, a block or '}' is expected");
        if (!first && !region)
            return pdm_ir_text_fail(&p->lex, "a program has one block");
        if (!block) {
            block = pdm_ir_block_create();
            if (!block)
                return PDM_NOMEM;
            pdm_ir_region_append(region, block);
        }
        PDM_TRY(parse_block(p, has_header, block));
        first = false;
        block = NULL;
    }
    return PDM_OK;
}

static pdm_status parse_region(parser *p)
{
    const int32_t block_no = p->block_no, op_index = p->op_index;
    pdm_ir_region *region;

    if (++p->depth > PDM_IR_MAX_REGION_DEPTH)
        return pdm_ir_text_fail_at(&p->lex, p->lex.at, PDM_D_LIMIT,
                                   "regions are nested more than %d deep", PDM_IR_MAX_REGION_DEPTH);
    region = pdm_ir_region_create();
    if (!region)
        return PDM_NOMEM;
    if (!PDM_VEC_PUSH(&p->regions, region)) {
        pdm_ir_region_destroy(region);
        return PDM_NOMEM;
    }
    PDM_TRY(parse_blocks(p, region, NULL));
    p->depth--;
    p->block_no = block_no;
    p->op_index = op_index;
    return PDM_OK;
}

/* ---- ops ------------------------------------------------------------------------------------- */

static pdm_status parse_parts(parser *p, draft *d)
{
    PDM_TRY(parse_results(p));
    PDM_TRY(parse_op_name(p, d));
    PDM_TRY(parse_operands(p));
    PDM_TRY(parse_attrs(p, d));
    PDM_TRY(parse_operand_types(p, d));
    PDM_TRY(parse_result_types(p, d));
    if (!take(p, "{"))
        return PDM_OK;
    do {
        PDM_TRY(parse_region(p));
        if (!take(p, "else"))
            return PDM_OK;
    } while (take(p, "{"));
    return pdm_ir_text_fail(&p->lex, "'{' is expected");
}

static pdm_status make_op(parser *p, const draft *d, pdm_ir_block *block, pdm_ir_op **out)
{
    const pdm_ir_op_state state = {
        .info = d->info,
        .operands = PDM_IR_FROM(p->operands, d->operands),
        .num_operands = p->operands.n - d->operands,
        .result_types = PDM_IR_FROM(p->types, d->types),
        .num_results = p->types.n - d->types,
        .attrs = PDM_IR_FROM(p->attrs, d->attrs),
        .num_attrs = p->attrs.n - d->attrs,
        .regions = PDM_IR_FROM(p->regions, d->regions),
        .num_regions = p->regions.n - d->regions,
    };

    *out = NULL;
    if (!d->info)
        return PDM_OK;
    *out = pdm_ir_op_create(p->lex.context, &state);
    if (!*out)
        return PDM_NOMEM;
    p->regions.n = d->regions; /* adopted */
    pdm_ir_block_append(block, *out);
    return PDM_OK;
}

static pdm_status parse_op(parser *p, pdm_ir_block *block)
{
    draft d = {
        .results = p->results.n,
        .operands = p->operands.n,
        .attrs = p->attrs.n,
        .types = p->types.n,
        .regions = p->regions.n,
    };
    pdm_ir_op *op;

    PDM_TRY(parse_parts(p, &d));
    PDM_TRY(make_op(p, &d, block, &op));
    for (size_t i = d.results; i < p->results.n; i++)
        PDM_TRY(define(p, &p->results.v[i], op ? pdm_ir_op_result(op, i - d.results) : NULL));
    while (p->regions.n > d.regions)
        pdm_ir_region_destroy(p->regions.v[--p->regions.n]);
    p->results.n = d.results;
    p->operands.n = p->unknown.n = d.operands;
    p->attrs.n = d.attrs;
    p->types.n = d.types;
    return PDM_OK;
}

/* ---- the program ----------------------------------------------------------------------------- */

static pdm_status parse_head(parser *p, pdm_ir_module *module)
{
    module->version = PDM_IR_NEWEST_VERSION;
    module->trainable = true;
    if (take(p, "pir")) {
        PDM_TRY(want(p, "version"));
        PDM_TRY(pdm_ir_text_int(&p->lex, 0, INT64_MAX, &module->version));
        module->trainable = take(p, "trainable");
    }
    return want(p, "{");
}

static pdm_status parse_module(parser *p, pdm_ir_module *module)
{
    PDM_TRY(parse_head(p, module));
    PDM_TRY(parse_blocks(p, NULL, module->block));
    pdm_ir_text_skip(&p->lex);
    if (p->lex.at != p->lex.size)
        return pdm_ir_text_fail(&p->lex, "there is text after the end of the program");
    return p->worst;
}

static void parser_init(parser *p)
{
    pdm_arena_init(&p->arena);
    pdm_intern_init(&p->names, &p->arena);
    pdm_map_init(&p->values);
    pdm_buf_init(&p->lex.string);
}

static void parser_deinit(parser *p)
{
    while (p->regions.n)
        pdm_ir_region_destroy(p->regions.v[--p->regions.n]);
    pdm_intern_deinit(&p->names);
    pdm_arena_deinit(&p->arena);
    pdm_map_deinit(&p->values);
    pdm_buf_deinit(&p->lex.string);
    PDM_VEC_FREE(&p->lex.attrs);
    PDM_VEC_FREE(&p->lex.types);
    PDM_VEC_FREE(&p->lex.ints);
    PDM_VEC_FREE(&p->entries);
    PDM_VEC_FREE(&p->scope_closed);
    PDM_VEC_FREE(&p->results);
    PDM_VEC_FREE(&p->operands);
    PDM_VEC_FREE(&p->unknown);
    PDM_VEC_FREE(&p->attrs);
    PDM_VEC_FREE(&p->spots);
    PDM_VEC_FREE(&p->types);
    PDM_VEC_FREE(&p->regions);
}

pdm_status pdm_ir_parse(pdm_ir_context *context, const char *text, size_t size, const char *path,
                        pdm_diag_sink *sink, pdm_ir_module **out_module)
{
    parser p = {.lex = {.context = context, .text = text, .size = size, .path = path, .sink = sink},
                .block_no = -1,
                .op_index = -1};
    pdm_ir_module *module = NULL;

    parser_init(&p);
    pdm_status status = pdm_ir_module_create(context, &module);
    if (status == PDM_OK)
        status = parse_module(&p, module);
    if (status == PDM_OK) {
        *out_module = module;
        module = NULL;
    }
    parser_deinit(&p);
    if (module)
        pdm_ir_module_destroy(module);
    return status;
}
