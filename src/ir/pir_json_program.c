/* The outer structure of a PIR JSON file: the program, its regions and blocks (see
 * pir_json_read.h). */
#include "ir/pir_json.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/pir_json_read.h"

enum { MAX_LAYOUT_INDENT = 16 };

typedef pdm_ir_json_reader reader;
#define NO_NODE PDM_IR_JSON_NO_NODE

/* ---- diagnostics and small parts ------------------------------------------------------------- */

static pdm_loc here(reader *r, size_t offset)
{
    pdm_loc loc = PDM_NOWHERE;

    loc.file = r->path;
    loc.offset = (int64_t)offset;
    pdm_ir_json_place(&r->index, offset, &loc.line, &loc.column);
    loc.block = r->block_no;
    loc.op_index = r->op_index;
    loc.op_type = r->op_name;
    loc.var = r->attr_name;
    return loc;
}

pdm_status pdm_ir_json_fail(reader *r, uint32_t node, pdm_diag_code code, const char *format, ...)
{
    char text[1024], place[64] = "";
    const pdm_loc loc = here(r, node < r->index.count ? r->index.nodes[node].offset : 0);
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    /* An attribute's name is in the location. */
    if (r->part && !r->attr_name)
        snprintf(place, sizeof place, "%s %zu: ", r->part, r->part_index);
    const pdm_status status = pdm_diag(r->sink, code, &loc, NULL, "%s%s", place, text);
    if (status != PDM_OK && r->worst != PDM_INVALID_MODEL)
        r->worst = status;
    return status;
}

pdm_status pdm_ir_json_missing(reader *r, uint32_t node, const char *key)
{
    return pdm_ir_json_fail(r, node, PDM_D_JSON_FORM, "key \"%s\" is missing", key);
}

bool pdm_ir_json_node_int(const reader *r, uint32_t node, int64_t *out)
{
    const pdm_ir_json_node *n = &r->index.nodes[node];
    const char *p = r->index.text + n->offset, *end = r->index.text + n->end;
    int64_t value = 0; /* negative while it is built: there is one more negative number */

    if (n->kind != PDM_IR_JSON_NUMBER)
        return false;
    const bool negative = *p == '-';
    for (p += negative; p < end; p++) {
        if (*p < '0' || *p > '9' || __builtin_mul_overflow(value, (int64_t)10, &value) ||
            __builtin_sub_overflow(value, (int64_t)(*p - '0'), &value))
            return false;
    }
    if (!negative && value == INT64_MIN)
        return false;
    *out = negative ? value : -value;
    return true;
}

static bool is_kind(const reader *r, uint32_t node, pdm_ir_json_kind kind)
{
    return r->index.nodes[node].kind == kind;
}

/* *out_which: the position of the key in names, or count. */
static pdm_status match_key(reader *r, uint32_t key, const char *const *names, size_t count,
                            size_t *out_which)
{
    const pdm_ir_json_node *n = &r->index.nodes[key];
    const char *text = r->index.text + n->offset + 1;
    size_t size = n->end - n->offset - 2, i = 0;

    if (memchr(text, '\\', size)) {
        PDM_TRY(pdm_ir_json_node_string(r, key, &text));
        size = strlen(text);
    }
    while (i < count && (strlen(names[i]) != size || memcmp(names[i], text, size) != 0))
        i++;
    *out_which = i;
    return PDM_OK;
}

/* The value nodes of an object's members by name; NO_NODE where absent. Unknown keys are ignored.
 */
pdm_status pdm_ir_json_find_members(reader *r, uint32_t object, const char *const *names,
                                    size_t count, uint32_t *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = NO_NODE;
    if (!is_kind(r, object, PDM_IR_JSON_OBJECT))
        return pdm_ir_json_fail(r, object, PDM_D_JSON_FORM, "an object is expected here");
    for (uint32_t key = object + 1; key < pdm_ir_json_next(r, object);
         key = pdm_ir_json_next(r, key + 1)) {
        size_t which;
        PDM_TRY(match_key(r, key, names, count, &which));
        if (which == count)
            continue;
        if (out[which] != NO_NODE)
            return pdm_ir_json_fail(r, key, PDM_D_JSON_FORM, "key \"%s\" occurs twice",
                                    names[which]);
        out[which] = key + 1;
    }
    return PDM_OK;
}

pdm_status pdm_ir_json_need_array(reader *r, uint32_t object, uint32_t node, const char *key)
{
    if (node == NO_NODE)
        return pdm_ir_json_missing(r, object, key);
    if (!is_kind(r, node, PDM_IR_JSON_ARRAY))
        return pdm_ir_json_fail(r, node, PDM_D_JSON_FORM, "\"%s\" must be an array", key);
    return PDM_OK;
}

/* ---- value ids ------------------------------------------------------------------------------- */

/* Enter a value under its id in the file; value NULL marks one whose op could not be made. */
pdm_status pdm_ir_json_define(reader *r, const pdm_ir_json_value *decl, pdm_ir_value *value)
{
    const void *key = (const void *)(uintptr_t)decl->id;

    if (decl->id == 0) {
        if (decl->type)
            return pdm_ir_json_fail(r, decl->node, PDM_D_JSON_FORM,
                                    "value id 0 means an absent value");
        return PDM_OK;
    }
    if ((int64_t)(intptr_t)decl->id != decl->id)
        return pdm_ir_json_fail(r, decl->node, PDM_D_LIMIT, "value id %lld is too large",
                                (long long)decl->id);
    if (pdm_map_find(&r->ids, key))
        return pdm_ir_json_fail(r, decl->node, PDM_D_JSON_FORM, "value %%%lld is defined twice",
                                (long long)decl->id);
    pdm_map_entry *entry = pdm_map_put(&r->ids, key);
    if (!entry)
        return PDM_NOMEM;
    entry->value.num = r->entries.n;
    const pdm_ir_json_entry made = {value, (uint32_t)r->block_no};
    return PDM_VEC_PUSH(&r->entries, made) ? PDM_OK : PDM_NOMEM;
}

/* ---- blocks, regions, the program ------------------------------------------------------------ */

static pdm_status read_block_args(reader *r, uint32_t node, pdm_ir_block *block)
{
    const size_t base = r->results.n;
    pdm_status status = pdm_ir_json_read_args(r, node);

    if (status != PDM_OK)
        r->ids_lost = true;
    for (size_t i = base; i < r->results.n && !pdm_ir_json_is_hard(status); i++) {
        pdm_ir_value *arg = pdm_ir_block_add_arg(block, r->results.v[i].type);
        r->part = "argument";
        r->part_index = i - base;
        status = arg ? pdm_ir_json_define(r, &r->results.v[i], arg) : PDM_NOMEM;
    }
    r->part = NULL;
    r->results.n = base;
    return pdm_ir_json_is_hard(status) ? status : PDM_OK;
}

static pdm_status read_ops(reader *r, uint32_t array, pdm_ir_block *block)
{
    int32_t index = 0;

    for (uint32_t node = array + 1; node < pdm_ir_json_next(r, array);
         node = pdm_ir_json_next(r, node)) {
        r->op_index = index++;
        PDM_TRY(pdm_ir_json_read_op(r, node, block));
    }
    r->op_index = -1;
    return PDM_OK;
}

static pdm_status read_block(reader *r, uint32_t node, pdm_ir_block *block)
{
    enum { ARGS, OPS, KWARGS, NUM_KEYS };
    static const char *const names[] = {"args", "ops", "kwargs"};
    uint32_t members[NUM_KEYS];

    const size_t number = r->scope_closed.n;
    if (number >= INT32_MAX || !PDM_VEC_PUSH(&r->scope_closed, false))
        return PDM_NOMEM;
    r->block_no = (int32_t)number;
    r->op_index = -1;
    r->op_name = NULL;
    PDM_TRY(pdm_ir_json_find_members(r, node, names, NUM_KEYS, members));
    for (int i = 0; i < KWARGS; i++)
        PDM_TRY(pdm_ir_json_need_array(r, node, members[i], names[i]));
    if (members[KWARGS] != NO_NODE && r->index.nodes[members[KWARGS]].height > 0)
        pdm_ir_json_fail(r, members[KWARGS], PDM_D_JSON_TAG, "a block with keyword arguments");
    PDM_TRY(read_block_args(r, members[ARGS], block));
    PDM_TRY(read_ops(r, members[OPS], block));
    r->scope_closed.v[number] = true;
    return PDM_OK;
}

/* The blocks array of a region object. */
static pdm_status find_blocks(reader *r, uint32_t node, uint32_t *out)
{
    static const char *const names[] = {"blocks"};

    PDM_TRY(pdm_ir_json_find_members(r, node, names, 1, out));
    return pdm_ir_json_need_array(r, node, *out, "blocks");
}

pdm_status pdm_ir_json_read_region(reader *r, uint32_t node, pdm_ir_region *region)
{
    pdm_status worst = PDM_OK;
    uint32_t array;

    PDM_TRY(find_blocks(r, node, &array));
    for (uint32_t at = array + 1; at < pdm_ir_json_next(r, array); at = pdm_ir_json_next(r, at)) {
        pdm_ir_block *block = pdm_ir_block_create();
        if (!block)
            return PDM_NOMEM;
        pdm_ir_region_append(region, block);
        const pdm_status status = read_block(r, at, block);
        if (pdm_ir_json_is_hard(status))
            return status;
        if (status != PDM_OK)
            worst = status;
    }
    return worst;
}

/* The only item of an array. */
static pdm_status only_item(reader *r, uint32_t array, const char *what, uint32_t *out)
{
    const uint32_t end = pdm_ir_json_next(r, array);
    size_t count = 0;

    for (uint32_t at = array + 1; at < end; at = pdm_ir_json_next(r, at))
        count++;
    if (count != 1)
        return pdm_ir_json_fail(r, array, PDM_D_JSON_FORM,
                                "a program has exactly one %s, %zu found", what, count);
    *out = array + 1;
    return PDM_OK;
}

static pdm_status read_program(reader *r, uint32_t node, pdm_ir_module *module)
{
    static const char *const names[] = {"regions"};
    uint32_t array, region, block;

    PDM_TRY(pdm_ir_json_find_members(r, node, names, 1, &array));
    PDM_TRY(pdm_ir_json_need_array(r, node, array, "regions"));
    PDM_TRY(only_item(r, array, "region", &region));
    PDM_TRY(find_blocks(r, region, &array));
    PDM_TRY(only_item(r, array, "block", &block));
    return read_block(r, block, module->block);
}

static pdm_status read_magic(reader *r, uint32_t object, uint32_t node)
{
    const char *magic;

    if (node == NO_NODE)
        return pdm_ir_json_missing(r, object, "magic");
    PDM_TRY(pdm_ir_json_node_string(r, node, &magic));
    if (strcmp(magic, "pir") != 0)
        return pdm_ir_json_fail(r, node, PDM_D_JSON_FORM,
                                "this is not a PIR program: its magic is \"%.100s\", not \"pir\"",
                                magic);
    return PDM_OK;
}

static pdm_status read_version(reader *r, uint32_t object, uint32_t node)
{
    if (node == NO_NODE)
        return pdm_ir_json_missing(r, object, "version");
    if (!pdm_ir_json_node_int(r, node, &r->version) || r->version < 0)
        return pdm_ir_json_fail(r, node, PDM_D_JSON_FORM, "the version must be a whole number");
    if (r->version > PDM_IR_NEWEST_VERSION)
        (void)pdm_ir_json_fail(r, node, PDM_D_JSON_VERSION,
                               "the file has PIR version %lld, the newest one known is %d",
                               (long long)r->version, PDM_IR_NEWEST_VERSION);
    return PDM_OK;
}

static pdm_status read_base_code(reader *r, uint32_t node, pdm_ir_module *module)
{
    enum { AT_MAGIC, AT_VERSION, AT_TRAINABLE, NUM_KEYS };
    static const char *const names[] = {"magic", "version", "trainable"};
    uint32_t members[NUM_KEYS];

    PDM_TRY(pdm_ir_json_find_members(r, node, names, NUM_KEYS, members));
    PDM_TRY(read_magic(r, node, members[AT_MAGIC]));
    PDM_TRY(read_version(r, node, members[AT_VERSION]));
    module->version = r->version;
    module->trainable = false;
    if (members[AT_TRAINABLE] == NO_NODE)
        return PDM_OK;
    module->trainable = is_kind(r, members[AT_TRAINABLE], PDM_IR_JSON_TRUE);
    if (!module->trainable && !is_kind(r, members[AT_TRAINABLE], PDM_IR_JSON_FALSE))
        return pdm_ir_json_fail(r, members[AT_TRAINABLE], PDM_D_JSON_FORM,
                                "\"trainable\" must be true or false");
    return PDM_OK;
}

static pdm_status read_document(reader *r, pdm_ir_module *module)
{
    enum { BASE_CODE, PROGRAM, NUM_KEYS };
    static const char *const names[] = {"base_code", "program"};
    uint32_t members[NUM_KEYS];

    PDM_TRY(pdm_ir_json_find_members(r, 0, names, NUM_KEYS, members));
    for (int i = 0; i < NUM_KEYS; i++) {
        if (members[i] == NO_NODE)
            return pdm_ir_json_missing(r, 0, names[i]);
        if (i == BASE_CODE)
            PDM_TRY(read_base_code(r, members[i], module));
    }
    PDM_TRY(read_program(r, members[PROGRAM], module));
    return r->worst;
}

/* ---- entry points ---------------------------------------------------------------------------- */

static size_t skip_blanks(const char *text, size_t size, size_t at)
{
    while (at < size && memchr(" \t\n\r", text[at], 4))
        at++;
    return at;
}

bool pdm_ir_json_looks_like(const void *data, size_t size)
{
    const char *text = data;
    const size_t mark = size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    const size_t at = skip_blanks(text, size, mark);

    if (at == size || (text[at] != '{' && text[at] != '['))
        return false;
    /* A ProgramDesc may begin like "\n{" or "\n[": tag and length of its first block. Then a tag
     * comes. */
    const size_t next = skip_blanks(text, size, at + 1);
    return next == size || memchr(text[at] == '{' ? "\"}" : "[{\"]-0123456789tfn", text[next],
                                  text[at] == '{' ? 2 : 18);
}

/* Blanks before the first key, if it stands on a line of its own. */
static void find_layout(const pdm_ir_json_index *index, pdm_ir_json_layout *out)
{
    const uint32_t key = index->count > 1 ? index->nodes[1].offset : 0;
    uint32_t at = key;

    while (at > 0 && index->text[at - 1] == ' ')
        at--;
    out->indent = 0;
    if (at > 0 && index->text[at - 1] == '\n')
        out->indent = key - at > MAX_LAYOUT_INDENT ? MAX_LAYOUT_INDENT : (int)(key - at);
}

static void reader_deinit(reader *r)
{
    pdm_ir_json_index_deinit(&r->index);
    pdm_map_deinit(&r->ids);
    PDM_VEC_FREE(&r->entries);
    PDM_VEC_FREE(&r->scope_closed);
    PDM_VEC_FREE(&r->operands);
    PDM_VEC_FREE(&r->results);
    PDM_VEC_FREE(&r->attrs);
    PDM_VEC_FREE(&r->regions);
    PDM_VEC_FREE(&r->values);
    PDM_VEC_FREE(&r->types);
    PDM_VEC_FREE(&r->names);
}

pdm_status pdm_ir_json_read(pdm_ir_context *context, const char *data, size_t size,
                            const char *path, pdm_diag_sink *sink, pdm_ir_module **out_module,
                            pdm_ir_json_layout *out_layout)
{
    reader r = {.context = context, .path = path, .sink = sink, .block_no = -1, .op_index = -1};
    pdm_ir_module *module = NULL;
    pdm_status status;

    PDM_TRY_GOTO(pdm_ir_json_scan(data, size, path, sink, &r.index));
    PDM_TRY_GOTO(pdm_ir_module_create(context, &module));
    PDM_TRY_GOTO(read_document(&r, module));
    if (out_layout)
        find_layout(&r.index, out_layout);
    *out_module = module;
    module = NULL;
done:
    if (module)
        pdm_ir_module_destroy(module);
    reader_deinit(&r);
    return status;
}
