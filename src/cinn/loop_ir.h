/*
 * Loop IR: what a group of ops computes, as loops over elements. Expressions and statements are two
 * types. A function owns all of its parts; they live in its arena until it is destroyed.
 *
 * Expressions are immutable and interned in their function: equal ones are the same pointer, so
 * that what several statements share is seen to be shared. They have an element type; indices,
 * extents and dims are of type index. Making one simplifies those, never the values of tensors:
 * they give the same bits whatever was fused.
 *
 * Loads and stores name a buffer and one index an axis; elements lie in C order without gaps. A
 * function is made flat before a backend gets it (loop_rewrite.h): then the one index is the place
 * in memory. Dims that are not known are symbols, which the kernel takes as arguments.
 *
 * Failure is sticky: after an out-of-memory constructors give NULL, take NULL, and fn->status tells.
 */
#ifndef PDM_CINN_LOOP_IR_H
#define PDM_CINN_LOOP_IR_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/dtype.h"
#include "base/status.h"
#include "base/vec.h"

static inline bool pdm_loop_is_half(pdm_dtype dtype)
{
    return dtype == PDM_F16 || dtype == PDM_BF16;
}

/* ---- expressions ----------------------------------------------------------------------------- */

typedef enum pdm_loop_expr_kind {
    PDM_LOOP_CONST,  /* u.i, or u.f of a float type */
    PDM_LOOP_VAR,    /* u.index: variable of a loop around it */
    PDM_LOOP_SYMBOL, /* u.index: argument of the kernel */
    PDM_LOOP_LOAD,   /* u.index: buffer; args: one index an axis */
    PDM_LOOP_UNARY,
    PDM_LOOP_BINARY,
    PDM_LOOP_SELECT, /* args: condition, then, else; all are evaluated */
    PDM_LOOP_FMA,    /* args: a, b, c of a float type; a * b + c, rounded once */
    PDM_LOOP_CAST    /* as the op cast: floats towards zero, the smallest integer for NaN */
} pdm_loop_expr_kind;

typedef enum pdm_loop_op {
#define PDM_LOOP_UNARY(code, text)         PDM_LOOP_##code,
#define PDM_LOOP_BINARY(code, text, infix) PDM_LOOP_##code,
#include "cinn/loop_ops.def"
#undef PDM_LOOP_UNARY
#undef PDM_LOOP_BINARY
    PDM_LOOP_OP_COUNT
} pdm_loop_op;

typedef struct pdm_loop_expr pdm_loop_expr;
struct pdm_loop_expr {
    pdm_loop_expr_kind kind;
    pdm_loop_op op; /* UNARY, BINARY */
    pdm_dtype dtype;
    uint32_t id; /* in the order of making: arguments have smaller ones */
    union {
        int64_t i;
        double f;
        uint32_t index;
    } u;
    uint32_t num_args;
    const pdm_loop_expr *args[];
};

/* ---- statements ------------------------------------------------------------------------------ */

typedef enum pdm_loop_stmt_kind { PDM_LOOP_FOR, PDM_LOOP_IF, PDM_LOOP_STORE } pdm_loop_stmt_kind;

/*
 * How the turns of a loop are done. Whatever it says, the result is that of turns one after the
 * other: who sets a mark has to know that (schedule.h).
 *
 * BLOCK and THREAD: a turn is done by the block or thread of that number, counted in strides of as many
 * as there are. What stands side by side in a list is done one after the other by all threads of a
 * block: between two statements they wait for each other. A loop over threads whose turns take terms
 * into one place is a reduction, done in another order (cinn/gpu.h).
 */
typedef enum pdm_loop_mark {
    PDM_LOOP_SERIAL,
    PDM_LOOP_PARALLEL, /* outermost only: threads share its turns */
    PDM_LOOP_VECTOR,   /* turns in step, an operation at a time */
    PDM_LOOP_UNROLL,   /* turns as text, one after the other */
    PDM_LOOP_BLOCK_X,
    PDM_LOOP_BLOCK_Y,
    PDM_LOOP_BLOCK_Z,
    PDM_LOOP_THREAD_X,
    PDM_LOOP_THREAD_Y,
    PDM_LOOP_THREAD_Z,
    PDM_LOOP_MARK_COUNT
} pdm_loop_mark;

enum {
    PDM_LOOP_MAX_LANES = 64,    /* of a vector loop that is done in lanes: its extent is a number */
    PDM_LOOP_MAX_UNROLL = 64    /* turns of an unrolled loop, whose extent is a number */
};

/* What is told to whoever reads the loop; results do not depend on it. */
typedef struct pdm_loop_note {
    const char *key;
    int64_t value;
    const struct pdm_loop_note *next;
} pdm_loop_note;

typedef struct pdm_loop_stmt pdm_loop_stmt;
struct pdm_loop_stmt {
    pdm_loop_stmt_kind kind;
    pdm_loop_stmt *next; /* the one that is done after it */
    pdm_loop_stmt *body; /* FOR, IF */
    /* FOR: var, which is no other loop's, runs from 0 to extent - 1 */
    uint32_t var;
    pdm_loop_mark mark;
    const pdm_loop_expr *extent;
    const pdm_loop_note *notes;
    /* STORE */
    uint32_t buffer;
    const pdm_loop_expr *const *indices;
    const pdm_loop_expr *value; /* IF: the condition */
};

/* ---- functions ------------------------------------------------------------------------------- */

typedef enum pdm_loop_role { PDM_LOOP_INPUT, PDM_LOOP_OUTPUT, PDM_LOOP_TEMP } pdm_loop_role;

/*
 * Where a temporary lives. GLOBAL: in memory that the caller gives. The others are there for one turn
 * of the loop over `home`, whose body alone uses them; their elements are undefined when a turn
 * begins, and their dims are numbers. SHARED: the threads of a block share them; LOCAL: a thread has
 * its own, on the stack or in registers. Who runs a function gives no memory for those.
 */
typedef enum pdm_loop_scope { PDM_LOOP_GLOBAL, PDM_LOOP_SHARED, PDM_LOOP_LOCAL } pdm_loop_scope;

enum { PDM_LOOP_MAX_LOCAL = 1 << 16, PDM_LOOP_MAX_SHARED = 48 << 10 }; /* bytes, all together */

typedef struct pdm_loop_buffer {
    const char *name;
    pdm_loop_role role;
    pdm_loop_scope scope;
    uint32_t home;   /* SHARED, LOCAL: the variable of a loop */
    bool repeatable; /* a temporary that may as well be computed wherever it is read */
    pdm_dtype dtype;
    uint32_t rank;
    const pdm_loop_expr *const *dims;
} pdm_loop_buffer;

/* Where the value of a symbol comes from: a dim of an input, or an element of an integer one. It is no
 * less than that. */
enum { PDM_LOOP_LEAST_SYMBOL = 2 };
typedef struct pdm_loop_symbol {
    uint32_t input, axis; /* axis: the element, if it is one */
    bool element;
} pdm_loop_symbol;

/* An element of an integer input that has been taken to be something: other code is for what is not. */
typedef struct pdm_loop_pin {
    uint32_t input, element;
    const pdm_loop_expr *value;
} pdm_loop_pin;

/* Values of an integer input must be in [-dim, dim), or in [0, dim): to be checked before a run. Of each
 * `every` that stand side by side, number `number` is meant. */
typedef struct pdm_loop_guard {
    uint32_t input, every, number;
    bool negative;
    const pdm_loop_expr *dim;
} pdm_loop_guard;

typedef struct pdm_loop_fn {
    pdm_arena arena;
    const char *name;
    PDM_VEC(pdm_loop_buffer) buffers; /* inputs, then outputs, then temporaries */
    PDM_VEC(pdm_loop_symbol) symbols;
    PDM_VEC(pdm_loop_guard) guards;
    PDM_VEC(pdm_loop_pin) pins;
    uint32_t num_vars;
    bool flat;           /* loads and stores have one index: the element's place in its buffer */
    pdm_loop_stmt *body; /* nests, one after the other */
    const pdm_loop_expr **table;
    size_t num_exprs, table_size;
    pdm_status status;
} pdm_loop_fn;

enum { PDM_LOOP_MAX_EXPRS = 1 << 16 }; /* of one function; beyond that nothing is compiled */

PDM_MUST_USE pdm_status pdm_loop_fn_create(const char *name, pdm_loop_fn **out_fn);
void pdm_loop_fn_destroy(pdm_loop_fn *fn); /* NULL is allowed */

/* The index of a new buffer; dims are copied. */
uint32_t pdm_loop_add_buffer(pdm_loop_fn *fn, const char *name, pdm_loop_role role, pdm_dtype dtype,
                             uint32_t rank, const pdm_loop_expr *const *dims);
const pdm_loop_expr *pdm_loop_add_symbol(pdm_loop_fn *fn, uint32_t input, uint32_t axis);
const pdm_loop_expr *pdm_loop_symbol_at(pdm_loop_fn *fn, uint32_t number); /* one that is there */

const pdm_loop_expr *pdm_loop_int(pdm_loop_fn *fn, pdm_dtype dtype, int64_t value);
const pdm_loop_expr *pdm_loop_float(pdm_loop_fn *fn, pdm_dtype dtype, double value);
const pdm_loop_expr *pdm_loop_index(pdm_loop_fn *fn, int64_t value);
/* A number of any type: rounded or cut as the type needs it. */
const pdm_loop_expr *pdm_loop_number(pdm_loop_fn *fn, pdm_dtype dtype, double value);
const pdm_loop_expr *pdm_loop_var(pdm_loop_fn *fn, uint32_t var);
const pdm_loop_expr *pdm_loop_load(pdm_loop_fn *fn, uint32_t buffer,
                                   const pdm_loop_expr *const *indices);
const pdm_loop_expr *pdm_loop_unary(pdm_loop_fn *fn, pdm_loop_op op, const pdm_loop_expr *a);
const pdm_loop_expr *pdm_loop_binary(pdm_loop_fn *fn, pdm_loop_op op, const pdm_loop_expr *a,
                                     const pdm_loop_expr *b);
const pdm_loop_expr *pdm_loop_select(pdm_loop_fn *fn, const pdm_loop_expr *cond,
                                     const pdm_loop_expr *a, const pdm_loop_expr *b);
const pdm_loop_expr *pdm_loop_fma(pdm_loop_fn *fn, const pdm_loop_expr *a, const pdm_loop_expr *b,
                                  const pdm_loop_expr *c);
const pdm_loop_expr *pdm_loop_cast(pdm_loop_fn *fn, pdm_dtype dtype, const pdm_loop_expr *a);
/* The same expression of other arguments. */
const pdm_loop_expr *pdm_loop_rebuild(pdm_loop_fn *fn, const pdm_loop_expr *e,
                                      const pdm_loop_expr *const *args);
/* How many indices an element of a buffer has. */
static inline uint32_t pdm_loop_num_indices(const pdm_loop_fn *fn, uint32_t buffer)
{
    return fn->flat ? 1 : fn->buffers.v[buffer].rank;
}
/* A product without the factors of another; NULL when it does not have them all. */
const pdm_loop_expr *pdm_loop_quotient(pdm_loop_fn *fn, const pdm_loop_expr *e,
                                       const pdm_loop_expr *by);
/* Where an element stands in its buffer. */
const pdm_loop_expr *pdm_loop_offset(pdm_loop_fn *fn, uint32_t buffer,
                                     const pdm_loop_expr *const *indices);
static inline bool pdm_loop_is_int(const pdm_loop_expr *e, int64_t value)
{
    return e && e->kind == PDM_LOOP_CONST && !pdm_dtype_is_float(e->dtype) && e->u.i == value;
}
/* Products of dims that are above zero for all shapes of a class, as symbols are. */
bool pdm_loop_is_positive(const pdm_loop_expr *e);

pdm_loop_stmt *pdm_loop_for(pdm_loop_fn *fn, uint32_t var, const pdm_loop_expr *extent,
                            pdm_loop_stmt *body);
pdm_loop_stmt *pdm_loop_if(pdm_loop_fn *fn, const pdm_loop_expr *condition, pdm_loop_stmt *body);
pdm_loop_stmt *pdm_loop_store(pdm_loop_fn *fn, uint32_t buffer,
                              const pdm_loop_expr *const *indices, const pdm_loop_expr *value);
void pdm_loop_append(pdm_loop_stmt **list, pdm_loop_stmt *stmt);
/* The note of a key; 0: there is none. */
int64_t pdm_loop_note_of(const pdm_loop_stmt *loop, const char *key);
/* A note of vector loops: inputs are fetched into the caches so many elements ahead. */
#define PDM_LOOP_AHEAD "ahead"
/* The loop over a variable among statements and in them; NULL: there is none. */
pdm_loop_stmt *pdm_loop_find(pdm_loop_stmt *list, uint32_t var);
/* Bytes of a buffer whose dims are numbers; false: they are not, or are too many. */
bool pdm_loop_bytes(const pdm_loop_buffer *buffer, uint64_t *out_bytes);

/* The value of an index expression without variables and loads. */
int64_t pdm_loop_eval(const pdm_loop_expr *e, const int64_t *symbols);

const char *pdm_loop_mark_text(pdm_loop_mark mark);
static inline bool pdm_loop_is_block(const pdm_loop_stmt *stmt)
{
    return stmt->kind == PDM_LOOP_FOR && stmt->mark >= PDM_LOOP_BLOCK_X &&
           stmt->mark <= PDM_LOOP_BLOCK_Z;
}
static inline bool pdm_loop_is_thread(const pdm_loop_stmt *stmt)
{
    return stmt->kind == PDM_LOOP_FOR && stmt->mark >= PDM_LOOP_THREAD_X &&
           stmt->mark <= PDM_LOOP_THREAD_Z;
}

const char *pdm_loop_op_text(pdm_loop_op op);
bool pdm_loop_op_is_unary(pdm_loop_op op);
bool pdm_loop_op_is_infix(pdm_loop_op op);
bool pdm_loop_op_is_bool(pdm_loop_op op); /* its result is, whatever the operands are */

void pdm_loop_print_expr(const pdm_loop_fn *fn, const pdm_loop_expr *e, pdm_buf *out);
void pdm_loop_print(const pdm_loop_fn *fn, pdm_buf *out);
/* What tells apart functions of different code (loop_key.c), for kernels that are kept. */
void pdm_loop_key(const pdm_loop_fn *fn, pdm_buf *out);
/* NULL when the function is sound, else what is wrong (constant text). */
const char *pdm_loop_verify(const pdm_loop_fn *fn);
extern const char pdm_loop_no_memory[]; /* its answer when it could not look */

#endif
