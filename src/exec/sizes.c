#include "exec/sizes.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/map.h"
#include "ir/shapes.h"

/* A result's dims: numbers of expressions, from `first` on. */
typedef struct extent {
    uint32_t first;
    int rank; /* -1: not known */
    size_t element;
} extent;

/* What an input's dim is a symbol of. */
typedef struct source {
    int64_t symbol;
    uint32_t input, axis;
} source;

struct pdm_exec_sizes {
    const pdm_exec_plan *plan;
    pthread_mutex_t lock; /* around finding the expressions, which do not change afterwards */
    enum { NEW, KNOWN, UNKNOWN } state;
    pdm_ir_shapes *shapes; /* owns the expressions */
    extent *extents;       /* by result */
    PDM_VEC(pdm_dim) dims; /* each once */
    PDM_VEC(uint32_t) numbers;
    PDM_VEC(source) sources;
    pdm_map seen; /* expression -> its number + 1 */
    bool *bound;  /* by symbol: it is a dim of an input */
    pdm_status status;
};

/* ---- finding --------------------------------------------------------------------------------- */

static bool is_bound(const pdm_exec_sizes *s, pdm_dim e)
{
    if (e->kind == PDM_DIM_SYMBOL)
        return s->bound[e->number];
    for (uint32_t i = 0; i < e->num_args; i++) {
        if (!is_bound(s, e->args[i]))
            return false;
    }
    return true;
}

static void add_dim(pdm_exec_sizes *s, pdm_dim e)
{
    pdm_map_entry *entry = pdm_map_put(&s->seen, e);

    if (entry && !entry->value.num) {
        entry->value.num = s->dims.n + 1;
        if (!PDM_VEC_PUSH(&s->dims, e))
            s->status = PDM_NOMEM;
    }
    if (!entry || !PDM_VEC_PUSH(&s->numbers, (uint32_t)(entry->value.num - 1)))
        s->status = PDM_NOMEM;
}

static void add_result(pdm_exec_sizes *s, uint32_t result, pdm_ir_type type, const pdm_ir_shape *shape)
{
    extent *x = &s->extents[result];

    *x = (extent){.first = (uint32_t)s->numbers.n, .rank = -1};
    if (!shape || shape->rank < 0 || !pdm_ir_type_is_tensor(type))
        return;
    for (int i = 0; i < shape->rank; i++) {
        if (!shape->dims[i] || !is_bound(s, shape->dims[i]))
            return;
    }
    for (int i = 0; i < shape->rank; i++)
        add_dim(s, shape->dims[i]);
    x->element = pdm_dtype_size(type->dtype);
    x->rank = x->element ? shape->rank : -1;
}

/* In the order in which results are numbered: those of an instruction, then elements of its vectors. */
static void add_block(pdm_exec_sizes *s, const pdm_exec_block *block)
{
    for (size_t i = 0; i < block->num_instrs && s->status == PDM_OK; i++) {
        const pdm_exec_instr *instr = &block->instrs[i];
        uint32_t number = instr->first_result + instr->num_out;
        for (uint32_t k = 0; k < instr->num_out && k < instr->op->num_results; k++) {
            const pdm_ir_value *value = pdm_ir_op_result(instr->op, k);
            const pdm_ir_shape *shape = pdm_ir_shapes_of(s->shapes, value);
            const uint32_t slot = instr->out[k];
            const uint32_t list = slot == PDM_EXEC_NONE ? PDM_EXEC_NONE : s->plan->list_of[slot];
            add_result(s, instr->first_result + k, value->type, shape);
            const uint32_t count = list == PDM_EXEC_NONE ? 0 : s->plan->lists[list].count;
            for (uint32_t e = 0; e < count; e++, number++) {
                if (value->type && value->type->kind == PDM_IR_VECTOR && e < value->type->num_elements)
                    add_result(s, number, value->type->elements[e],
                               shape && e < shape->num_elements ? &shape->elements[e] : NULL);
            }
        }
        for (int b = 0; b < 2 && instr->blocks[b]; b++)
            add_block(s, instr->blocks[b]);
    }
}

/* Which symbols are dims of inputs. */
static void bind_inputs(pdm_exec_sizes *s)
{
    for (size_t i = 0; i < s->shapes->symbols.n; i++) {
        const pdm_ir_symbol *symbol = &s->shapes->symbols.v[i];
        const pdm_ir_op *op = pdm_ir_value_op(symbol->value);
        const pdm_ir_attr name = op ? pdm_ir_op_attr(op, "name") : NULL;
        if (symbol->origin != PDM_IR_SYMBOL_INPUT || !name || name->kind != PDM_IR_ATTR_STR)
            continue;
        for (uint32_t k = 0; k < s->plan->num_inputs; k++) {
            const source from = {(int64_t)i, k, symbol->axis};
            if (strcmp(s->plan->inputs[k].name, name->u.s.text) != 0)
                continue;
            s->bound[i] = true;
            if (!PDM_VEC_PUSH(&s->sources, from))
                s->status = PDM_NOMEM;
            break;
        }
    }
}

static void find_expressions(pdm_exec_sizes *s)
{
    const pdm_ir_module *module = s->plan->lowered ? s->plan->lowered : s->plan->module;

    s->state = UNKNOWN;
    s->status = pdm_ir_shapes_find(module, &s->shapes);
    if (s->status != PDM_OK) {
        s->state = s->status == PDM_NOMEM ? NEW : UNKNOWN; /* another time there may be memory */
        return;
    }
    s->bound = calloc(s->shapes->symbols.n + 1, sizeof *s->bound);
    s->extents = calloc((size_t)s->plan->num_results + 1, sizeof *s->extents);
    if (!s->bound || !s->extents)
        return;
    for (uint32_t i = 0; i < s->plan->num_results; i++)
        s->extents[i].rank = -1;
    bind_inputs(s);
    add_block(s, s->plan->top);
    if (s->status == PDM_OK)
        s->state = KNOWN;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

int64_t *pdm_exec_sizes_symbols(pdm_exec_sizes *s, const pdm_tensor *inputs)
{
    pthread_mutex_lock(&s->lock);
    if (s->state == NEW)
        find_expressions(s);
    const bool known = s->state == KNOWN;
    pthread_mutex_unlock(&s->lock);
    int64_t *symbols = known ? calloc(s->shapes->symbols.n + 1, sizeof *symbols) : NULL;
    for (size_t i = 0; symbols && i < s->sources.n; i++) {
        const source *from = &s->sources.v[i];
        const pdm_tensor *t = &inputs[from->input];
        if (from->axis >= (uint32_t)t->rank) {
            free(symbols);
            return NULL;
        }
        symbols[from->symbol] = t->dims[from->axis];
    }
    return symbols;
}

bool pdm_exec_sizes_dims(const pdm_exec_sizes *s, const int64_t *symbols, const pdm_ir_value *value, int64_t *dims)
{
    const pdm_ir_shape *shape = pdm_ir_shapes_of(s->shapes, value);

    if (!shape || !pdm_ir_type_is_tensor(value->type) || shape->rank != (int)value->type->rank)
        return false;
    for (int i = 0; i < shape->rank; i++) {
        if (!shape->dims[i] || !is_bound(s, shape->dims[i]) || !pdm_dim_eval(shape->dims[i], symbols, &dims[i]) ||
            dims[i] < 0)
            return false;
    }
    return true;
}

static size_t bytes_of(const pdm_exec_sizes *s, const extent *x, const int64_t *dims)
{
    uint64_t bytes = x->element;

    if (x->rank < 0)
        return PDM_EXEC_NO_SIZE;
    for (int i = 0; i < x->rank; i++) {
        const int64_t dim = dims[s->numbers.v[x->first + (uint32_t)i]];
        if (dim < 0 || !pdm_mul_u64(bytes, (uint64_t)dim, &bytes) || bytes > SIZE_MAX / 4)
            return PDM_EXEC_NO_SIZE;
    }
    return (size_t)bytes;
}

bool pdm_exec_sizes_find(pdm_exec_sizes *s, const pdm_tensor *inputs, size_t *bytes)
{
    int64_t *symbols = pdm_exec_sizes_symbols(s, inputs);
    int64_t *dims = symbols && s->sources.n > 0 ? calloc(s->dims.n + 1, sizeof *dims) : NULL;

    for (size_t i = 0; dims && i < s->dims.n; i++) {
        if (!pdm_dim_eval(s->dims.v[i], symbols, &dims[i]))
            dims[i] = -1;
    }
    for (uint32_t i = 0; dims && i < s->plan->num_results; i++)
        bytes[i] = bytes_of(s, &s->extents[i], dims);
    const bool done = dims != NULL;
    free(symbols);
    free(dims);
    return done;
}

pdm_exec_sizes *pdm_exec_sizes_create(const pdm_exec_plan *plan)
{
    pdm_exec_sizes *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->plan = plan;
    pthread_mutex_init(&s->lock, NULL);
    pdm_map_init(&s->seen);
    return s;
}

void pdm_exec_sizes_destroy(pdm_exec_sizes *s)
{
    if (!s)
        return;
    pdm_ir_shapes_destroy(s->shapes);
    pdm_map_deinit(&s->seen);
    PDM_VEC_FREE(&s->dims);
    PDM_VEC_FREE(&s->numbers);
    PDM_VEC_FREE(&s->sources);
    free(s->extents);
    free(s->bound);
    pthread_mutex_destroy(&s->lock);
    free(s);
}
