/* What draws programs (generate.c): values that may be read, and ops put on them. Only the files of the generator share it. */
#ifndef PDM_TESTS_PROGRAMS_DRAW_H
#define PDM_TESTS_PROGRAMS_DRAW_H

#include "ir/make.h"
#include "program.h"

enum { MAX_ITEMS = 512, MAX_RANK = 5, MAX_OPERANDS = 5, MAX_RESULTS = 4, SIZES = 3, MAX_ELEMENTS = 4096, MAX_LARGE = 200000 };

/* A value that may be read, and the same value with the sizes of each set of inputs. */
typedef struct item {
    pdm_ir_value *value;
    pdm_ir_value *shadow[PROGRAM_MAX_SETS];
} item;

typedef struct gen {
    program *p;
    pdm_ir_context *c;
    uint64_t random;
    const program_form *form;
    item items[MAX_ITEMS];
    int n;
    pdm_ir_op *at;     /* ops are put before it */
    pdm_ir_op *top;    /* inputs and parameters are */
    pdm_ir_op *shadow; /* shadows are */
    int depth, ops, wanted;
    int64_t sizes[SIZES][PROGRAM_MAX_SETS]; /* of dims that are left open */
    bool open;                              /* some are */
    bool special;                           /* NaN and the like are among the inputs */
    bool failed;
} gen;

int pick(gen *g, int low, int high);
bool chance(gen *g, int percent);
#define ONE_OF(g, array) ((array)[pick(g, 0, (int)(sizeof(array) / sizeof *(array)) - 1)])

#define BIT(dtype)  (1U << (dtype))
#define REALS       (BIT(PDM_F32) | BIT(PDM_F64))
#define FLOATS      (REALS | BIT(PDM_F16) | BIT(PDM_BF16))
#define INTS        (BIT(PDM_I8) | BIT(PDM_U8) | BIT(PDM_I16) | BIT(PDM_I32) | BIT(PDM_I64))
#define WIDE        (BIT(PDM_I32) | BIT(PDM_I64)) /* what all kernels of the framework take */
#define NUMBERS     (FLOATS | INTS)
#define LOGICAL     BIT(PDM_BOOL)
#define ALL         (NUMBERS | LOGICAL)

/* mask: BITs of types. */
pdm_dtype draw_dtype(gen *g, unsigned mask);
pdm_dtype dtype_of(const item *x);
int rank_of(const item *x);
/* In a set of inputs; as declared (-1: open); whether it is that size in all sets; the least of all sets. */
int64_t size_of(const item *x, int set, int dim);
int64_t dim_of(const item *x, int dim);
bool is_size(const gen *g, const item *x, int dim, int64_t size);
int64_t least_size(const gen *g, const item *x, int dim);
/* In all sets: the same; broadcast to something; y broadcasts to x. */
bool same_sizes(const gen *g, const item *a, const item *b);
bool fit_together(const gen *g, const item *a, const item *b);
bool widens_to(const gen *g, const item *y, const item *x);

#define ATTRS(...) (const pdm_ir_make_attr[]){__VA_ARGS__, {NULL, NULL}}
#define NO_ATTRS   (const pdm_ir_make_attr[]){{NULL, NULL}}
#define I32(n)     pdm_ir_attr_i32(g->c, (int32_t)(n))
#define F32(n)     pdm_ir_attr_f32(g->c, (float)(n))
#define BOOL(b)    pdm_ir_attr_bool(g->c, b)
#define STR(text)  pdm_ir_attr_str(g->c, text)
#define DTYPE(d)   pdm_ir_attr_dtype(g->c, d)

pdm_ir_op *make(gen *g, pdm_ir_op *before, const char *name, pdm_ir_value *const *in, size_t num_in,
                const pdm_ir_make_attr *attrs, const pdm_ir_type *types, size_t num_types);
void keep(gen *g, const item *x);
/*
 * An op, and its shadows; out: as many results as wanted, not kept. NULL operands are absent. False: its types are not known, or
 * results would be too large; nothing is left of it then.
 */
bool put(gen *g, const char *name, const item *const *in, size_t num_in, const pdm_ir_make_attr *attrs, item *out,
         size_t num_out);
/* With one result. */
bool put1(gen *g, const char *name, const item *x, const pdm_ir_make_attr *attrs, item *out);
bool put2(gen *g, const char *name, const item *x, const item *y, const pdm_ir_make_attr *attrs, item *out);
/* The result may be read from now on. */
bool keep1(gen *g, const char *name, const item *x, const pdm_ir_make_attr *attrs);
bool keep2(gen *g, const char *name, const item *x, const item *y, const pdm_ir_make_attr *attrs);

item alike(gen *g, pdm_ir_value *value);
pdm_ir_attr scalar(gen *g, pdm_dtype dtype, double number);
bool full(gen *g, pdm_dtype dtype, const int64_t *dims, size_t rank, double number, item *out);
bool number(gen *g, pdm_dtype dtype, double value, item *out);
bool ints(gen *g, const int64_t *list, size_t count, item *out);

/* New inputs and parameters, and values that were there (any) or may be new (beside: that broadcasts with x). */
bool input(gen *g, pdm_ir_type declared, const pdm_ir_type *types, int64_t below, item *out);
bool parameter(gen *g, pdm_ir_type type, item *out);
bool any_of(gen *g, unsigned mask, int least, int most, item *out);
bool any(gen *g, unsigned mask, item *out);
bool beside(gen *g, const item *x, pdm_dtype dtype, item *out);

/* Ops that calculate (draw_math.c). */
void unary(gen *g);
void integers(gen *g);
void binary(gen *g);
void compare(gen *g);
void tests(gen *g);
void where(gen *g);
void cast(gen *g);
void scale(gen *g);
void clip(gen *g);
void power(gen *g);
size_t draw_axes(gen *g, int rank, int64_t *axes);
void reduce(gen *g);
void reduce_bool(gen *g);
void arg(gen *g);
void cumsum(gen *g);
void softmax(gen *g);
bool affine(gen *g, pdm_dtype dtype, int64_t count, item *out);
bool known(const gen *g, const item *x, int from, int64_t *count);
void layer_norm(gen *g);
void batch_norm(gen *g);
void group_norm(gen *g);
void rms_norm(gen *g);
bool swapped(gen *g, const item *x, item *out);
void chain(gen *g);
void weights(gen *g);
void flat_rows(gen *g);
void matmul(gen *g);
void conv(gen *g);
void pool(gen *g);
void quantize(gen *g);

/* Ops that move elements (draw_move.c). */
void transpose(gen *g);
void reshape(gen *g);
void ranks(gen *g);
void slice(gen *g);
bool combine(gen *g, const item *list, size_t count, item *out);
void join(gen *g);
void split(gen *g);
void gather(gen *g);
void widen(gen *g);
void turn(gen *g);
void pad_image(gen *g);
void one_hot(gen *g);
void shapes(gen *g);
void series(gen *g);
void own_shape(gen *g);
void others(gen *g);
void picking(gen *g);
void channels(gen *g);
void set_part(gen *g);
void embedding(gen *g);

#endif
