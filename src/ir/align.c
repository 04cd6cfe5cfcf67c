/* Aligning two modules. */
#include "ir/align.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/vec.h"

/* Cells of the table of one pair of blocks; beyond that, only what agrees at both ends is aligned.
 */
#define MAX_CELLS ((uint64_t)1 << 26)

/* What a pair of ops is worth. A pair of different names is worth less than one of the same name
 * beside a gap. */
enum {
    SAME_NAME = 8,
    OTHER_NAME = 1,
    SAME_OPERAND = 2,
    SAME_TYPES = 3,
    SAME_ATTRS = 3,
    NO_PAIR = -1
};

typedef PDM_VEC(const pdm_ir_op *) ops;

typedef struct aligner {
    pdm_ir_alignment *out;
    pdm_status status;
} aligner;

const pdm_ir_op *pdm_ir_aligned_op(const pdm_ir_alignment *alignment, const pdm_ir_op *op)
{
    const pdm_map_entry *entry = op ? pdm_map_find(&alignment->ops, op) : NULL;

    return entry ? entry->value.ptr : NULL;
}

const pdm_ir_value *pdm_ir_aligned_value(const pdm_ir_alignment *alignment,
                                         const pdm_ir_value *value)
{
    const pdm_map_entry *entry = value ? pdm_map_find(&alignment->values, value) : NULL;

    return entry ? entry->value.ptr : NULL;
}

void pdm_ir_alignment_deinit(pdm_ir_alignment *alignment)
{
    pdm_map_deinit(&alignment->ops);
    pdm_map_deinit(&alignment->values);
}

static void put(aligner *al, pdm_map *map, const void *key, const void *to)
{
    pdm_map_entry *entry = pdm_map_put(map, key);

    if (entry)
        entry->value.ptr = (void *)(uintptr_t)to;
    else
        al->status = PDM_NOMEM;
}

/* ---- pairs of ops ---------------------------------------------------------------------------- */

static bool same_name(const pdm_ir_op *a, const pdm_ir_op *b)
{
    const char *x = pdm_ir_op_name(a), *y = pdm_ir_op_name(b);
    size_t n = strlen(x), m = strlen(y);

    if (a->info == b->info)
        return true;
    n -= n > 0 && x[n - 1] == '_';
    m -= m > 0 && y[m - 1] == '_';
    return n == m && memcmp(x, y, n) == 0;
}

bool pdm_ir_attr_matters(const char *name)
{
    static const char *const notes[] = {"stop_gradient", "persistable", "is_persistable",
                                        "op_callstack",  "struct_name", "is_distributed",
                                        "op_role",       "op_role_var", "op_namescope",
                                        "op_device",     "need_clip",   "is_parameter"};

    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        if (!strcmp(notes[i], name))
            return false;
    return true;
}

static bool is_integer(pdm_ir_attr attr)
{
    return attr->kind == PDM_IR_ATTR_I32 || attr->kind == PDM_IR_ATTR_I64 ||
           attr->kind == PDM_IR_ATTR_INDEX ||
           (attr->kind == PDM_IR_ATTR_SCALAR && !pdm_dtype_is_float(attr->dtype) &&
            !pdm_dtype_is_complex(attr->dtype));
}

static bool is_real(pdm_ir_attr attr)
{
    return attr->kind == PDM_IR_ATTR_F32 || attr->kind == PDM_IR_ATTR_F64 ||
           (attr->kind == PDM_IR_ATTR_SCALAR && pdm_dtype_is_float(attr->dtype));
}

static uint32_t length(pdm_ir_attr attr)
{
    return attr->kind == PDM_IR_ATTR_ARRAY || attr->kind == PDM_IR_ATTR_INT_ARRAY ? attr->count
                                                                                  : UINT32_MAX;
}

static bool same_item(pdm_ir_attr a, pdm_ir_attr b, uint32_t i)
{
    if (a->kind == PDM_IR_ATTR_INT_ARRAY)
        return is_integer(b->u.items[i]) && b->u.items[i]->u.i == a->u.ints[i];
    if (b->kind == PDM_IR_ATTR_INT_ARRAY)
        return is_integer(a->u.items[i]) && a->u.items[i]->u.i == b->u.ints[i];
    return pdm_ir_attr_means_same(a->u.items[i], b->u.items[i]);
}

bool pdm_ir_attr_means_same(pdm_ir_attr a, pdm_ir_attr b)
{
    if (a == b || !a || !b)
        return a == b;
    if (is_integer(a) && is_integer(b))
        return a->u.i == b->u.i;
    if (is_real(a) && is_real(b))
        return (float)a->u.f == (float)b->u.f;
    if (length(a) == UINT32_MAX || length(a) != length(b) ||
        (a->kind == PDM_IR_ATTR_INT_ARRAY && b->kind == PDM_IR_ATTR_INT_ARRAY))
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (!same_item(a, b, i))
            return false;
    return true;
}

static bool same_attrs(const pdm_ir_op *a, const pdm_ir_op *b)
{
    for (uint32_t i = 0; i < a->num_attrs; i++) {
        const pdm_ir_attr other = pdm_ir_op_attr(b, a->attrs[i].name);
        if (other && pdm_ir_attr_matters(a->attrs[i].name) &&
            !pdm_ir_attr_means_same(other, a->attrs[i].attr))
            return false;
    }
    return true;
}

static bool same_types(const pdm_ir_op *a, const pdm_ir_op *b)
{
    if (a->num_results != b->num_results)
        return false;
    for (uint32_t i = 0; i < a->num_results; i++)
        if (pdm_ir_op_result(a, i)->type != pdm_ir_op_result(b, i)->type)
            return false;
    return true;
}

static int same_operands(const aligner *al, const pdm_ir_op *a, const pdm_ir_op *b)
{
    int count = 0;

    for (uint32_t i = 0; i < a->num_operands && i < b->num_operands; i++) {
        const pdm_ir_value *x = pdm_ir_op_operand_value(a, i), *y = pdm_ir_op_operand_value(b, i);
        count += x && y ? pdm_ir_aligned_value(al->out, y) == x : !x && !y;
    }
    return count;
}

static int worth(const aligner *al, const pdm_ir_op *a, const pdm_ir_op *b)
{
    const bool named = same_name(a, b);

    if (!named && (a->num_regions || b->num_regions || a->num_results != b->num_results ||
                   a->num_results == 0))
        return NO_PAIR;
    int sum = named ? SAME_NAME : OTHER_NAME;
    const int operands = same_operands(al, a, b);
    sum += (operands < 8 ? operands : 8) * SAME_OPERAND;
    if (named && same_attrs(a, b))
        sum += SAME_ATTRS;
    if (same_types(a, b))
        sum += SAME_TYPES;
    return sum;
}

static void pair(aligner *al, const pdm_ir_op *a, const pdm_ir_op *b)
{
    put(al, &al->out->ops, b, a);
    for (uint32_t i = 0; i < a->num_results && i < b->num_results; i++)
        put(al, &al->out->values, pdm_ir_op_result(b, i), pdm_ir_op_result(a, i));
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static const char *port_name(const pdm_ir_op *op)
{
    static const struct {
        const char *op, *attr;
    } ports[] = {
        {"builtin.parameter", "parameter_name"}, {"pd_op.data", "name"}, {"pd_op.feed", "name"}};

    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        if (!pdm_ir_op_is(op, ports[i].op))
            continue;
        const pdm_ir_attr attr = pdm_ir_op_attr(op, ports[i].attr);
        /* Texts of a context are interned, attributes too. */
        return attr && attr->kind == PDM_IR_ATTR_STR ? attr->u.s.text : NULL;
    }
    return NULL;
}

static void collect(aligner *al, const pdm_ir_block *block, ops *out, pdm_map *ports)
{
    for (const pdm_ir_op *op = block->first; op; op = op->next) {
        const char *name = port_name(op);
        pdm_map_entry *entry = name && ports ? pdm_map_put(ports, name) : NULL;
        if (name && ports && !entry)
            al->status = PDM_NOMEM;
        else if (entry)
            entry->value.ptr = entry->value.ptr ? entry->value.ptr : (void *)(uintptr_t)op;
        else if (!PDM_VEC_PUSH(out, op))
            al->status = PDM_NOMEM;
    }
}

/* The best order-keeping choice of pairs. moves, if not NULL, gets n*m cells: 0 a pair, 1 a is left
 * out, 2 b is. */
static int64_t best(aligner *al, const pdm_ir_op *const *a, size_t n, const pdm_ir_op *const *b,
                    size_t m, uint8_t *moves)
{
    int64_t *row = calloc(m + 1, sizeof *row);

    if (!row) {
        al->status = PDM_NOMEM;
        return 0;
    }
    /* row[j]: of the tails of a from i and of b from j. */
    for (size_t i = n; i-- > 0;) {
        int64_t diagonal = row[m];
        for (size_t j = m; j-- > 0;) {
            const int64_t skip_a = row[j], skip_b = row[j + 1];
            const int value = worth(al, a[i], b[j]);
            int64_t most = skip_a > skip_b ? skip_a : skip_b;
            uint8_t move = skip_a > skip_b ? 1 : 2;
            if (value != NO_PAIR && diagonal + value >= most) {
                most = diagonal + value;
                move = 0;
            }
            diagonal = row[j];
            row[j] = most;
            if (moves)
                moves[i * m + j] = move;
        }
    }
    const int64_t result = row[0];
    free(row);
    return result;
}

static void pair_middle(aligner *al, const pdm_ir_op *const *a, size_t n, const pdm_ir_op *const *b,
                        size_t m)
{
    uint64_t cells;

    if (n == 0 || m == 0 || !pdm_mul_u64(n, m, &cells) || cells > MAX_CELLS)
        return;
    uint8_t *moves = malloc((size_t)cells);
    if (!moves) {
        al->status = PDM_NOMEM;
        return;
    }
    best(al, a, n, b, m, moves);
    for (size_t i = 0, j = 0; al->status == PDM_OK && i < n && j < m;) {
        const uint8_t move = moves[i * m + j];
        if (move == 0)
            pair(al, a[i], b[j]);
        i += move != 2;
        j += move != 1;
    }
    free(moves);
}

static bool is_perfect(const aligner *al, const pdm_ir_op *a, const pdm_ir_op *b)
{
    return same_name(a, b) && a->num_operands == b->num_operands && same_attrs(a, b) &&
           same_types(a, b) && same_operands(al, a, b) == (int)a->num_operands;
}

static void pair_lists(aligner *al, const ops *a, const ops *b)
{
    size_t first = 0, n = a->n, m = b->n;

    while (first < n && first < m && al->status == PDM_OK &&
           is_perfect(al, a->v[first], b->v[first])) {
        pair(al, a->v[first], b->v[first]);
        first++;
    }
    while (n > first && m > first && al->status == PDM_OK && same_name(a->v[n - 1], b->v[m - 1]) &&
           same_attrs(a->v[n - 1], b->v[m - 1]) && same_types(a->v[n - 1], b->v[m - 1])) {
        n--, m--;
        pair(al, a->v[n], b->v[m]);
    }
    if (al->status == PDM_OK)
        pair_middle(al, a->v + first, n - first, b->v + first, m - first);
}

static void align_block(aligner *al, const pdm_ir_block *a, const pdm_ir_block *b);

static const pdm_ir_block *block_of(const pdm_ir_op *op, uint32_t region)
{
    return region < op->num_regions ? pdm_ir_op_region(op, region)->first : NULL;
}

static int64_t block_worth(aligner *al, const pdm_ir_block *a, const pdm_ir_block *b)
{
    ops x = {0}, y = {0};
    uint64_t cells;
    int64_t sum = 0;

    collect(al, a, &x, NULL);
    collect(al, b, &y, NULL);
    if (al->status == PDM_OK && pdm_mul_u64(x.n, y.n, &cells) && cells <= MAX_CELLS)
        sum = best(al, x.v, x.n, y.v, y.n, NULL);
    PDM_VEC_FREE(&x);
    PDM_VEC_FREE(&y);
    return sum;
}

static void align_regions(aligner *al, const pdm_ir_op *a, const pdm_ir_op *b)
{
    const pdm_ir_block *x[2] = {block_of(a, 0), block_of(a, 1)},
                       *y[2] = {block_of(b, 0), block_of(b, 1)};

    if (x[0] && x[1] && y[0] && y[1]) {
        const int64_t straight = block_worth(al, x[0], y[0]) + block_worth(al, x[1], y[1]),
                      crosswise = block_worth(al, x[0], y[1]) + block_worth(al, x[1], y[0]);
        if (crosswise > straight) {
            const pdm_ir_block *first = y[0];
            y[0] = y[1];
            y[1] = first;
        }
    }
    for (int i = 0; i < 2; i++)
        if (x[i] && y[i] && al->status == PDM_OK)
            align_block(al, x[i], y[i]);
}

static void pair_ports(aligner *al, const pdm_ir_block *block, const pdm_map *ports)
{
    for (const pdm_ir_op *op = block->first; op && al->status == PDM_OK; op = op->next) {
        const char *name = port_name(op);
        const pdm_map_entry *entry = name ? pdm_map_find(ports, name) : NULL;
        const pdm_ir_op *other = entry ? entry->value.ptr : NULL;
        if (other && other->info == op->info)
            pair(al, other, op);
    }
}

static void align_block(aligner *al, const pdm_ir_block *a, const pdm_ir_block *b)
{
    ops x = {0}, y = {0};
    pdm_map ports = {0}, others = {0};

    for (uint32_t i = 0; i < a->num_args && i < b->num_args; i++)
        put(al, &al->out->values, pdm_ir_block_arg(b, i), pdm_ir_block_arg(a, i));
    collect(al, a, &x, &ports);
    collect(al, b, &y, &others);
    if (al->status == PDM_OK)
        pair_ports(al, b, &ports);
    if (al->status == PDM_OK)
        pair_lists(al, &x, &y);
    for (size_t i = 0; i < y.n && al->status == PDM_OK; i++) {
        const pdm_ir_op *other = pdm_ir_aligned_op(al->out, y.v[i]);
        if (other && other->num_regions && y.v[i]->num_regions)
            align_regions(al, other, y.v[i]);
    }
    pdm_map_deinit(&ports);
    pdm_map_deinit(&others);
    PDM_VEC_FREE(&x);
    PDM_VEC_FREE(&y);
}

pdm_status pdm_ir_align(const pdm_ir_module *a, const pdm_ir_module *b, pdm_ir_alignment *out)
{
    aligner al = {.out = out, .status = PDM_OK};

    *out = (pdm_ir_alignment){{0}, {0}};
    align_block(&al, a->block, b->block);
    return al.status;
}
