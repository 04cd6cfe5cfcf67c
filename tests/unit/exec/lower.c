/*
 * Lowered programs against the programs as they are, with reference kernels: convolutions of random
 * sizes and forms, with all that can follow them, several readers and fetched values between; the
 * same bits for any number of threads, on each kind of machine.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "exec/plan.h"
#include "exec/sizes.h"
#include "ir/text.h"

Suite *pdm_suite_lower(void);

enum { PROGRAMS = 40, MAX_OUTPUTS = 8 };

/* ---- random programs ------------------------------------------------------------------------- */

typedef struct writer {
    pdm_buf text;
    uint64_t random;
    int values; /* named %v0, %v1, ... */
    int outputs;
    bool last;  /* layout of convolutions */
    bool known; /* all images have the same number of channels, and their types say so */
} writer;

static int pick(writer *w, int low, int high)
{
    w->random = w->random * 6364136223846793005u + 1442695040888963407u;
    return low + (int)((w->random >> 33) % (uint64_t)(high - low + 1));
}

#define IMAGE "tensor<-1x-1x-1x-1xf32>"
#define PLACE "place:Place(cpu)"

static int full(writer *w, const char *dtype, double number)
{
    pdm_buf_printf(&w->text,
                   "(%%v%d) = \"pd_op.full\" () {shape:ints[1],value:f64(%.9g),dtype:%s,%s} : () -> "
                   "tensor<1x%s>\n",
                   w->values, number, dtype, PLACE, !strcmp(dtype, "int64") ? "i64" : "f32");
    return w->values++;
}

/* A constant of up to four dims, of which no two elements are alike; its type is written too. */
static int tensor(writer *w, int rank, const int *d, double step, double size, char type[64])
{
    char dims[48] = "", shape[48] = "";
    int count = 1;

    for (int i = 0; i < rank; i++) {
        snprintf(dims + strlen(dims), sizeof dims - strlen(dims), i ? "x%d" : "%d", d[i]);
        snprintf(shape + strlen(shape), sizeof shape - strlen(shape), i ? ",%d" : "%d", d[i]);
        count *= d[i];
    }
    snprintf(type, 64, "tensor<%sxf32>", dims);
    const int zero = full(w, "float32", 0.3), end = full(w, "float32", count),
              one = full(w, "float32", 1), by = full(w, "float32", step),
              most = full(w, "float32", size);
    const int v = w->values;
    pdm_buf_printf(&w->text,
                   "(%%v%d) = \"pd_op.arange\" (%%v%d, %%v%d, %%v%d) {dtype:float32,%s} : "
                   "(tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<%dxf32>\n",
                   v, zero, end, one, PLACE, count);
    pdm_buf_printf(&w->text,
                   "(%%v%d) = \"pd_op.scale\" (%%v%d, %%v%d) {bias:f64(0.0),bias_after_scale:true} : "
                   "(tensor<%dxf32>, tensor<1xf32>) -> tensor<%dxf32>\n",
                   v + 1, v, by, count, count);
    pdm_buf_printf(&w->text,
                   "(%%v%d) = \"pd_op.sin\" (%%v%d) {} : (tensor<%dxf32>) -> tensor<%dxf32>\n", v + 2,
                   v + 1, count, count);
    pdm_buf_printf(&w->text,
                   "(%%v%d) = \"pd_op.full_int_array\" () {value:i64[%s],dtype:int64,%s} : () -> "
                   "tensor<%dxi64>\n",
                   v + 3, shape, PLACE, rank);
    pdm_buf_printf(&w->text,
                   "(%%v%d) = \"pd_op.multiply\" (%%v%d, %%v%d) {} : (tensor<%dxf32>, tensor<1xf32>) "
                   "-> tensor<%dxf32>\n",
                   v + 5, v + 2, most, count, count);
    pdm_buf_printf(&w->text,
                   "(%%v%d) = \"pd_op.reshape\" (%%v%d, %%v%d) {} : (tensor<%dxf32>, tensor<%dxi64>) "
                   "-> %s\n",
                   v + 4, v + 5, v + 3, count, rank, type);
    w->values += 6;
    return v + 4;
}

enum { UNARIES = 10, UNARIES_TAKEN = 9 }; /* taken: by products before them */

static int unary_of(writer *w, int x, int which)
{
    static const char *const ops[] = {"relu\" (%v%d) {}",
                                      "hardswish\" (%v%d) {}",
                                      "sigmoid\" (%v%d) {}",
                                      "silu\" (%v%d) {}",
                                      "tanh\" (%v%d) {}",
                                      "relu6\" (%v%d) {}",
                                      "gelu\" (%v%d) {approximate:false}",
                                      "leaky_relu\" (%v%d) {negative_slope:f64(0.1)}",
                                      "hardsigmoid\" (%v%d) {slope:0.2,offset:0.5}",
                                      "abs\" (%v%d) {}"};
    const char *op = ops[which];
    const char *at = strstr(op, "%v%d");

    pdm_buf_printf(&w->text, "(%%v%d) = \"pd_op.%.*s%%v%d%s : (" IMAGE ") -> " IMAGE "\n", w->values,
                   (int)(at - op), op, x, at + 4);
    return w->values++;
}

static int unary(writer *w, int x)
{
    return unary_of(w, x, pick(w, 0, UNARIES - 1));
}

static int binary(writer *w, const char *op, int x, const char *x_type, int y, const char *y_type)
{
    pdm_buf_printf(&w->text, "(%%v%d) = \"pd_op.%s\" (%%v%d, %%v%d) {} : (%s, %s) -> " IMAGE "\n",
                   w->values, op, x, y, x_type, y_type);
    return w->values++;
}

static void fetch(writer *w, int x)
{
    pdm_buf_printf(&w->text,
                   "(%%f%d) = \"pd_op.fetch\" (%%v%d) {name:\"f%d\",col:%d} : (" IMAGE ") -> " IMAGE
                   "\n",
                   w->outputs, x, w->outputs, w->outputs);
    w->outputs++;
}

/* A number for each channel, in one of the forms in which programs have it. */
static int per_channel(writer *w, int channels, char type[64])
{
    const int forms[][4] = {{1, channels, 1, 1}, {channels, 1, 1, 0}, {1, 1, 1, channels}, {channels}};

    if (w->last)
        return pick(w, 0, 1) ? tensor(w, 4, forms[2], 1.3, 1, type) : tensor(w, 1, forms[3], 1.3, 1, type);
    return pick(w, 0, 1) ? tensor(w, 4, forms[0], 1.3, 1, type) : tensor(w, 3, forms[1], 1.3, 1, type);
}

static int with_numbers(writer *w, int x, int channels)
{
    char type[64];
    const int y = pick(w, 0, 1) ? per_channel(w, channels, type)
                                : tensor(w, 1, (const int[]){1}, 2.1, 1, type);

    return binary(w, pick(w, 0, 1) ? "add" : "multiply", x, IMAGE, y, type);
}

static int conv(writer *w, int x, int in, int out, int groups, int kernel, const char *window)
{
    char type[64];
    const int filter =
        tensor(w, 4, (const int[]){out, in / groups, kernel, kernel}, 0.7 + 0.1 * out,
               1.5 / sqrt(in / groups * kernel * kernel), type);

    pdm_buf_printf(&w->text,
                   "(%%v%d) = \"pd_op.%s\" (%%v%d, %%v%d) {%s,groups:%d,padding_algorithm:\"EXPLICIT\""
                   ",data_format:\"%s\"} : (" IMAGE ", %s) -> " IMAGE "\n",
                   w->values, groups == in && groups > 1 ? "depthwise_conv2d" : "conv2d", x, filter,
                   window, groups, w->last ? "NHWC" : "NCHW", type);
    return w->values++;
}

/* What may follow: one op more. */
static int follow(writer *w, int x, int other, int channels)
{
    char type[64];
    int y;

    switch (pick(w, 0, 6)) {
    case 0:
        y = per_channel(w, channels, type);
        return binary(w, "add", x, IMAGE, y, type);
    case 1:
        y = per_channel(w, channels, type);
        return binary(w, "multiply", y, type, x, IMAGE);
    case 2:
        y = tensor(w, 1, (const int[]){1}, 2.1, 1, type);
        return pick(w, 0, 1) ? binary(w, "multiply", y, type, x, IMAGE)
                             : binary(w, "subtract", x, IMAGE, y, type);
    case 3:
        return binary(w, pick(w, 0, 1) ? "add" : "multiply", x, IMAGE, other, IMAGE);
    case 4:
        return binary(w, "subtract", other, IMAGE, x, IMAGE);
    default:
        return unary(w, x);
    }
}

static void window_of(writer *w, int kernel, bool keep, char window[128])
{
    const int stride = keep ? 1 : pick(w, 1, 2), dilation = keep ? 1 : pick(w, 1, 2);

    if (keep)
        snprintf(window, 128, "strides:[1,1],dilations:[1,1],paddings:[%d,%d]", kernel / 2,
                 kernel / 2);
    else if (pick(w, 0, 2) == 0)
        snprintf(window, 128, "strides:[%d,%d],dilations:[%d,1],paddings:[%d,%d,%d,%d]", stride,
                 pick(w, 1, 3), dilation, pick(w, 0, 2), pick(w, 0, 2), pick(w, 0, 2), pick(w, 0, 2));
    else
        snprintf(window, 128, "strides:[%d,%d],dilations:[%d,%d],paddings:[%d,%d]", stride, stride,
                 dilation, dilation, pick(w, 0, 2), pick(w, 0, 2));
}

/* %v0: images of any size. */
static void image_input(writer *w)
{
    pdm_buf_printf(&w->text,
                   "(%%v0) = \"pd_op.data\" () {name:\"x\",shape:ints[-1,-1,-1,-1],dtype:float32,%s} : "
                   "() -> " IMAGE "\n",
                   PLACE);
    w->values = 1;
}

static void write_program(writer *w, int channels)
{
    static const int kernels[] = {1, 3, 5};
    char window[128];
    const int kernel = kernels[pick(w, 0, 2)], out = pick(w, 1, 70);
    const bool depthwise = pick(w, 0, 2) == 0;

    image_input(w);
    window_of(w, kernel, pick(w, 0, 1), window);
    int x = depthwise ? conv(w, 0, channels, channels, channels, kernel, window)
                      : conv(w, 0, channels, out, channels % 3 == 0 && out % 3 == 0 ? 3 : 1, kernel,
                             window);
    const int n = depthwise ? channels : out;
    window_of(w, 3, true, window);
    const int other = conv(w, x, n, n, 1, 3, window);
    x = other;
    for (int i = pick(w, 0, 5); i > 0; i--) {
        x = follow(w, x, other, n);
        if (pick(w, 0, 5) == 0 && w->outputs < MAX_OUTPUTS - 2)
            fetch(w, x);
    }
    window_of(w, 1, true, window);
    x = conv(w, x, n, pick(w, 1, 2) * 8, 1, 1, window);
    fetch(w, unary(w, x));
}

/* A depthwise convolution and one with kernel 1: all kernels, strides, paddings and dilations that there may be. */
static void write_separable(writer *w, int channels)
{
    static const int kernels[] = {3, 5, 3, 5, 1, 2, 4};
    const int kernel = kernels[pick(w, 0, 6)], stride = pick(w, 1, 2), out = pick(w, 1, 70);
    const int most = kernel < 4 ? 2 : 1; /* the smallest image has 9 places */
    char window[128];

    image_input(w);
    snprintf(window, sizeof window, "strides:[%d,%d],dilations:[%d,%d],paddings:[%d,%d,%d,%d]",
             pick(w, 1, 3), pick(w, 0, 4) ? stride : 3, pick(w, 1, most), pick(w, 0, 3) ? 1 : most,
             pick(w, 0, 3), pick(w, 0, 3), pick(w, 0, 3), pick(w, 0, 3));
    int x = conv(w, 0, channels, channels, channels, kernel, window);
    for (int i = pick(w, 0, 2); i > 0; i--)
        x = pick(w, 0, 1) ? unary_of(w, x, pick(w, 0, UNARIES_TAKEN - 1)) : with_numbers(w, x, channels);
    window_of(w, 1, true, window);
    x = conv(w, x, channels, out, 1, 1, window);
    const int other = x;
    for (int i = pick(w, 0, 2); i > 0; i--)
        x = pick(w, 0, 1) ? unary(w, x) : with_numbers(w, x, out);
    if (pick(w, 0, 3) == 0)
        x = binary(w, "add", x, IMAGE, other, IMAGE);
    fetch(w, x);
}

static int repeated(writer *w, int x, int high, int wide)
{
    pdm_buf_printf(&w->text,
                   "(%%v%d) = \"pd_op.nearest_interp\" (%%v%d, <<NULL VALUE>>, <<NULL VALUE>>, <<NULL VALUE>>) "
                   "{data_format:\"%s\",out_d:-1,out_h:-1,out_w:-1,scale:f64[%d.0,%d.0],interp_method:"
                   "\"nearest\",align_corners:false,align_mode:1} : (" IMAGE ", <<NULL TYPE>>, <<NULL TYPE>>, "
                   "<<NULL TYPE>>) -> " IMAGE "\n",
                   w->values, x, w->last ? "NHWC" : "NCHW", high, wide);
    return w->values++;
}

/* Images that are repeated (nearest interpolation) and added to others: the step reads them before that. */
static void write_repeated(writer *w, int channels)
{
    static const int times[] = {2, 2, 2, 1, 4, 3};
    const int high = times[pick(w, 0, 5)], wide = times[pick(w, 0, 5)], out = channels;
    char window[128], type[64];

    image_input(w);
    window_of(w, 3, true, window);
    const int small = conv(w, 0, channels, out, 1, 3, window);
    const int large = conv(w, repeated(w, 0, high, wide), channels, out, 1, 3, window);
    const int again = repeated(w, pick(w, 0, 1) ? small : unary(w, small), high, wide);
    int x = large;
    if (pick(w, 0, 1))
        x = binary(w, "multiply", x, IMAGE, per_channel(w, out, type), type);
    if (pick(w, 0, 3) == 0)
        fetch(w, x);
    for (int i = pick(w, 0, 1); i > 0; i--)
        x = follow(w, x, large, out);
    x = pick(w, 0, 1) ? binary(w, "add", x, IMAGE, again, IMAGE)
                      : binary(w, pick(w, 0, 1) ? "subtract" : "multiply", again, IMAGE, x, IMAGE);
    if (pick(w, 0, 4) == 0)
        fetch(w, again);
    for (int i = pick(w, 0, 2); i > 0; i--)
        x = follow(w, x, large, out);
    window_of(w, 1, true, window);
    fetch(w, conv(w, x, out, out, 1, 1, window));
    w->known = !w->last;
}

/* A convolution of images side by side of which some are repeated: small ones are convolved as they are. */
static void write_pyramid(writer *w, int channels)
{
    enum { LARGE = 4 };
    const int kernel = pick(w, 0, 3) ? 3 : 1, large = pick(w, 0, 2) ? 2 : LARGE, parts = pick(w, 2, 4);
    int values[4], n = 0;
    char type[64];

    w->last = false;
    w->known = true;
    image_input(w);
    const int plain = pick(w, 0, parts - 1);
    for (; n < parts; n++) {
        /* As large as the result, or a half or a quarter of it that is repeated. */
        const int times = n == plain || pick(w, 0, 5) == 0 ? 1 : large == LARGE && pick(w, 0, 1) ? LARGE : 2;
        const int first = unary(w, large == times ? 0 : repeated(w, 0, large / times, large / times));
        values[n] = times == 1 ? first : repeated(w, first, times, times);
    }
    const int axis = full(w, "int64", pick(w, 0, 1) ? 1 : -3);
    const int filter = tensor(w, 4, (const int[]){channels, parts * channels, kernel, kernel}, 0.7,
                              1.5 / sqrt(parts * channels * kernel * kernel), type);
    pdm_buf_printf(&w->text, "(%%v%d) = \"builtin.combine\" (", w->values);
    for (int i = 0; i < parts; i++)
        pdm_buf_printf(&w->text, i ? ", %%v%d" : "%%v%d", values[i]);
    for (int i = 0; i < 2 * parts; i++)
        pdm_buf_printf(&w->text, "%s" IMAGE, i == 0 ? ") {} : (" : i == parts ? ") -> vec[" : i > parts ? "," : ", ");
    pdm_buf_printf(&w->text, "]\n(%%v%d) = \"pd_op.concat\" (%%v%d, %%v%d) {} : (vec[", w->values + 1, w->values, axis);
    for (int i = 0; i < parts; i++)
        pdm_buf_printf(&w->text, i ? "," IMAGE : IMAGE);
    pdm_buf_printf(&w->text,
                   "], tensor<1xi64>) -> tensor<-1x%dx-1x-1xf32>\n"
                   "(%%v%d) = \"pd_op.conv2d\" (%%v%d, %%v%d) {strides:[1,1],dilations:[1,1],paddings:[%d,%d],groups:1,"
                   "padding_algorithm:\"EXPLICIT\",data_format:\"NCHW\"} : (tensor<-1x%dx-1x-1xf32>, %s) -> " IMAGE "\n",
                   parts * channels, w->values + 2, w->values + 1, filter, kernel / 2, kernel / 2, parts * channels, type);
    int x = w->values + 2;
    w->values += 3;
    for (int i = pick(w, 0, 3); i > 0; i--)
        x = pick(w, 0, 2) ? with_numbers(w, x, channels) : unary(w, x);
    if (pick(w, 0, 3) == 0)
        x = binary(w, "add", x, IMAGE, values[plain], IMAGE);
    fetch(w, x);
}

/* Chains between convolutions, the second of which has kernel 1; the result may have more images than the operand. */
static void write_stepped(writer *w, int channels)
{
    char window[128], type[64];

    w->last = false;
    w->known = true;
    image_input(w);
    window_of(w, 3, true, window);
    const int a = conv(w, 0, channels, channels, 1, 3, window), b = unary(w, a);
    fetch(w, b); /* else the chain is taken by the first convolution */
    const int factor = tensor(w, 4, (const int[]){pick(w, 0, 3) ? 1 : 2, channels, 1, 1}, 1.7, 1, type);
    int x = binary(w, pick(w, 0, 1) ? "multiply" : "add", a, IMAGE, factor, type);
    for (int i = pick(w, 0, 2); i > 0; i--)
        x = pick(w, 0, 1) ? unary_of(w, x, pick(w, 0, UNARIES_TAKEN - 1)) : binary(w, "add", x, IMAGE, b, IMAGE);
    window_of(w, 1, true, window);
    x = conv(w, x, channels, channels, 1, 1, window);
    if (pick(w, 0, 1))
        x = binary(w, "add", x, IMAGE, b, IMAGE);
    fetch(w, unary(w, x));
}

/* Two branches joined, kernels side by side, a product with a matrix; all that was turned is fetched. */
static void write_joined(writer *w, int channels)
{
    char window[128], type[64];
    const int n = pick(w, 1, 20), out = pick(w, 1, 20), cols = pick(w, 1, 70);

    image_input(w);
    window_of(w, 3, true, window);
    const int a = conv(w, 0, channels, n, 1, 3, window), b = unary(w, conv(w, 0, channels, n, 1, 3, window));
    const int axis = full(w, "int64", w->last ? 3 : pick(w, 0, 1) ? 1 : -3);
    pdm_buf_printf(&w->text,
                   "(%%v%d) = \"builtin.combine\" (%%v%d, %%v%d) {} : (" IMAGE ", " IMAGE
                   ") -> vec[" IMAGE "," IMAGE "]\n"
                   "(%%v%d) = \"pd_op.concat\" (%%v%d, %%v%d) {} : (vec[" IMAGE "," IMAGE
                   "], tensor<1xi64>) -> " IMAGE "\n",
                   w->values, a, b, w->values + 1, w->values, axis);
    const int joined = w->values + 1;
    w->values += 2;
    if (pick(w, 0, 1))
        fetch(w, joined);
    const int kernel = pick(w, 1, 3);
    const int filter = tensor(w, 4, (const int[]){2 * n, out, kernel, kernel}, 1.9, 0.3, type);
    pdm_buf_printf(&w->text,
                   "(%%v%d) = \"pd_op.full_int_array\" () {value:i64[],dtype:int64,%s} : () -> "
                   "tensor<0xi64>\n"
                   "(%%v%d) = \"pd_op.conv2d_transpose\" (%%v%d, %%v%d, %%v%d) {strides:[%d,%d],"
                   "paddings:[0,0],output_padding:[],padding_algorithm:\"EXPLICIT\",groups:1,"
                   "dilations:[1,1],data_format:\"%s\"} : (" IMAGE ", %s, tensor<0xi64>) -> " IMAGE "\n",
                   w->values, PLACE, w->values + 1, joined, filter, w->values, kernel, kernel,
                   w->last ? "NHWC" : "NCHW", type);
    int x = w->values + 1;
    w->values += 2;
    for (int i = pick(w, 0, 4); i > 0; i--)
        x = follow(w, x, x, out);
    fetch(w, x);
    if (!w->last) {
        pdm_buf_printf(&w->text,
                       "(%%v%d) = \"pd_op.transpose\" (%%v%d) {perm:[0,2,3,1]} : (" IMAGE ") -> " IMAGE
                       "\n",
                       w->values, x);
        x = w->values++;
        fetch(w, x);
    }
    const bool turned = pick(w, 0, 1);
    const int matrix =
        tensor(w, 2, (const int[]){turned ? cols : out, turned ? out : cols}, 0.9, 0.5, type);
    pdm_buf_printf(&w->text,
                   "(%%v%d) = \"pd_op.matmul\" (%%v%d, %%v%d) {transpose_x:false,transpose_y:%s} : "
                   "(" IMAGE ", %s) -> " IMAGE "\n",
                   w->values, x, matrix, turned ? "true" : "false", type);
    x = w->values++;
    const int bias = tensor(w, 1, (const int[]){cols}, 1.1, 1, type);
    x = binary(w, "add", x, IMAGE, bias, type);
    fetch(w, unary(w, x));
}

/* ---- running them ---------------------------------------------------------------------------- */

typedef struct result {
    pdm_tensor outputs[MAX_OUTPUTS];
    pdm_status status;
} result;

static void hear(void *user, const pdm_diagnostic *d)
{
    snprintf(user, 512, "%s", d->message);
}

/* What was foreseen of the results of a run. */
typedef struct foreseen {
    const pdm_exec_plan *plan;
    size_t *bytes; /* NULL: nothing was asked */
} foreseen;

static void check_size(void *user, const pdm_ir_op *op, const pdm_value *const *in, const pdm_value *const *out)
{
    const foreseen *f = user;
    const char *name = pdm_ir_op_name(op);
    const pdm_exec_block *top = f->plan->top;

    (void)in;
    for (size_t i = 0; i < top->num_instrs; i++) {
        const pdm_exec_instr *instr = &top->instrs[i];
        if (instr->op != op || strncmp(name, "fast.", 5) != 0 || !out[0])
            continue;
        const size_t bytes = f->bytes[instr->first_result], made = pdm_tensor_bytes(&out[0]->tensor);
        ck_assert_msg(bytes == made, "%s: %zu bytes were foreseen, not %zu", name, bytes, made);
    }
}

static void foresee(const pdm_exec_plan *plan, const pdm_tensor *input, foreseen *f)
{
    f->plan = plan;
    f->bytes = calloc((size_t)plan->num_results + 1, sizeof *f->bytes);
    ck_assert_ptr_nonnull(f->bytes);
    ck_assert(plan->sizes && pdm_exec_sizes_find(plan->sizes, input, f->bytes));
}

/* Counts the instructions whose ops' names begin so. */
static void run_plan(const pdm_ir_module *module, bool fast, unsigned threads, const char *names,
                     const pdm_tensor *input, result *out, size_t *out_kernels)
{
    const pdm_exec_plan_options how = {.fast = fast};
    char heard[512] = "";
    pdm_diag_sink sink = {.fn = hear, .user = heard};
    pdm_exec_plan *plan;
    pdm_exec_session *session;
    pdm_pool *pool;

    *out = (result){0};
    ck_assert_msg(pdm_exec_plan_create(module, NULL, &how, &sink, &plan) == PDM_OK, "%s", heard);
    ck_assert_int_eq(pdm_pool_create(threads, &pool), PDM_OK);
    foreseen f = {0};
    if (fast && threads == 1)
        foresee(plan, input, &f);
    const pdm_exec_options options = {.pool = pool, .observe = f.bytes ? check_size : NULL, .user = &f};
    ck_assert_int_eq(pdm_exec_session_create(plan, &options, &session), PDM_OK);
    for (int i = 0; i < 2; i++) { /* the second time in planned memory */
        pdm_exec_set_input(session, 0, input);
        out->status = pdm_exec_run(session, &sink);
    }
    for (size_t i = 0; out->status == PDM_OK && i < pdm_exec_num_outputs(plan); i++)
        ck_assert_int_eq(
            pdm_tensor_copy(&out->outputs[i], &pdm_exec_output(session, i)->tensor), PDM_OK);
    for (size_t i = 0; i < plan->top->num_instrs; i++)
        *out_kernels += !strncmp(pdm_ir_op_name(plan->top->instrs[i].op), names, strlen(names));
    pdm_exec_session_destroy(session);
    pdm_exec_plan_destroy(plan);
    pdm_pool_destroy(pool);
    free(f.bytes);
}

static void drop(result *r)
{
    for (int i = 0; i < MAX_OUTPUTS; i++)
        pdm_tensor_deinit(&r->outputs[i]);
}

static void compare(const result *got, const result *want, double tolerance, const char *text)
{
    ck_assert_msg((got->status == PDM_OK) == (want->status == PDM_OK), "status of %.3000s", text);
    for (int i = 0; i < MAX_OUTPUTS; i++) {
        const pdm_tensor *g = &got->outputs[i], *v = &want->outputs[i];
        ck_assert_msg(g->rank == v->rank &&
                          !memcmp(g->dims, v->dims, (size_t)v->rank * sizeof *v->dims),
                      "shape of output %d of %.3000s", i, text);
        for (int64_t k = 0; k < pdm_tensor_count(v); k++) {
            const double a = pdm_get_double(g, k), b = pdm_get_double(v, k);
            if (a != b && !(fabs(a - b) <= tolerance * (1 + fabs(b)))) /* see unit/must.h */
                ck_abort_msg("output %d element %d is %.9g, not %.9g, of %.3000s", i, (int)k, a, b, text);
        }
    }
}

static void check_program(const char *text, const int64_t dims[4], const char *names, size_t least)
{
    pdm_ir_context *context;
    pdm_ir_module *module;
    char heard[512] = "";
    pdm_diag_sink sink = {.fn = hear, .user = heard};
    pdm_tensor x = {0};
    pdm_rng rng;
    result want, alone, shared;
    size_t none = 0, kernels = 0;

    ck_assert_int_eq(pdm_ir_context_create(&context), PDM_OK);
    ck_assert_msg(pdm_ir_parse(context, text, strlen(text), "test", &sink, &module) == PDM_OK,
                  "%s in %.3000s", heard, text);
    ck_assert_msg(pdm_ir_verify(module, &sink) == PDM_OK, "%s in %.3000s", heard, text);
    ck_assert_int_eq(pdm_tensor_alloc(&x, PDM_F32, 4, dims), PDM_OK);
    pdm_rng_seed(&rng, 7);
    for (int64_t i = 0; i < pdm_tensor_count(&x); i++)
        ((float *)x.data)[i] = (float)(2 * pdm_rng_uniform(&rng) - 1);
    run_plan(module, false, 1, names, &x, &want, &none);
    run_plan(module, true, 1, names, &x, &alone, &kernels);
    run_plan(module, true, 3, names, &x, &shared, &kernels);
    ck_assert_uint_eq(none, 0);
    ck_assert_msg(kernels >= 2 * least, "%zu ops are %s in %.3000s", kernels / 2, names, text);
    compare(&alone, &want, 1e-5, text);
    compare(&shared, &alone, 0, text);
    drop(&want);
    drop(&alone);
    drop(&shared);
    pdm_tensor_deinit(&x);
    pdm_ir_module_destroy(module);
    pdm_ir_context_destroy(context);
}

/* The program with the number of channels in the types of images. */
static void put_channels(writer *w, int channels)
{
    pdm_buf text;
    const char *at = (const char *)w->text.data;

    pdm_buf_init(&text);
    for (const char *next; (next = strstr(at, IMAGE)); at = next + strlen(IMAGE)) {
        pdm_buf_put(&text, at, (size_t)(next - at));
        pdm_buf_printf(&text, "tensor<-1x%dx-1x-1xf32>", channels);
    }
    pdm_buf_puts(&text, at);
    pdm_buf_deinit(&w->text);
    w->text = text;
}

static void check_random(int i, uint64_t seed, void (*write)(writer *w, int channels), int channels,
                         const char *names, size_t least)
{
    /* Each test is a process of its own, which finds out about the machine once. */
    setenv("PDM_SIMD", (const char *[]){"portable", "avx2", "avx512"}[i % 3], 1);
    writer w = {.random = (uint64_t)i * 977 + seed};

    channels = pick(&w, channels, 50);
    pick(&w, 0, 1);
    w.last = pick(&w, 0, 3) == 0;
    pdm_buf_init(&w.text);
    pdm_buf_printf(&w.text, "{\n");
    write(&w, channels);
    pdm_buf_printf(&w.text, "}\n");
    if (w.known)
        put_channels(&w, channels);
    const int height = pick(&w, 9, 20), width = pick(&w, 9, 40), batch = i % 10 == 9 ? 0 : pick(&w, 1, 2);
    const int64_t first[4] = {batch, channels, height, width};
    const int64_t last[4] = {batch, height, width, channels};
    check_program((const char *)w.text.data, w.last ? last : first, names, least);
    pdm_buf_deinit(&w.text);
}

START_TEST(convolutions)
{
    check_random(_i, 5, write_program, 1, "fast.", 2);
}
END_TEST

START_TEST(separable)
{
    check_random(_i, 2, write_separable, 2, "fast.separable_conv2d", 1);
}
END_TEST

START_TEST(repeated_images)
{
    check_random(_i, 11, write_repeated, 1, "fast.", 3);
}
END_TEST

START_TEST(stepped)
{
    check_random(_i, 4, write_stepped, 1, "fast.stepped_conv2d", 1);
}
END_TEST

START_TEST(small_images)
{
    check_random(_i, 3, write_pyramid, 1, "fast.", 2);
}
END_TEST

START_TEST(joined)
{
    check_random(_i, 8, write_joined, 1, "fast.", 4);
}
END_TEST

Suite *pdm_suite_lower(void)
{
    Suite *suite = suite_create("lower");
    TCase *tc = tcase_create("lower"), *more = tcase_create("more");

    /* valgrind tries the first programs only. */
    tcase_set_tags(more, "long");
    tcase_set_timeout(tc, 240);
    tcase_set_timeout(more, 240);
    tcase_add_loop_test(tc, convolutions, 0, 2);
    tcase_add_loop_test(tc, joined, 0, 2);
    tcase_add_loop_test(tc, separable, 0, 2);
    tcase_add_loop_test(tc, stepped, 0, 2);
    tcase_add_loop_test(tc, repeated_images, 0, 2);
    tcase_add_loop_test(tc, small_images, 0, 2);
    tcase_add_loop_test(more, convolutions, 2, 3 * PROGRAMS);
    tcase_add_loop_test(more, joined, 2, PROGRAMS);
    tcase_add_loop_test(more, separable, 2, 3 * PROGRAMS);
    tcase_add_loop_test(more, stepped, 2, 2 * PROGRAMS);
    tcase_add_loop_test(more, repeated_images, 2, 2 * PROGRAMS);
    tcase_add_loop_test(more, small_images, 2, 2 * PROGRAMS);
    suite_add_tcase(suite, tc);
    suite_add_tcase(suite, more);
    return suite;
}
