/* Results of ops, a row each: operands, attributes, what must come out. Sizes are those that the
 * framework computes. */
#include "unit/ir/build.h"

#include <stdarg.h>
#include <stdlib.h>

#include "ir/infer.h"
#include "ir/text.h"

Suite *pdm_suite_infer_ops(void);

/*
 * in: operands, separated by ';': a type, `-` (absent), `ints[1,2]` or `int[3]` (constants),
 * `vec[T,T]` (a combine). out: types, separated by ';'. Types are written 2x3xf32, and -1 is `?`.
 */
typedef struct row {
    const char *op, *in, *attrs, *out;
} row;

#define CONV                                                                                       \
    "strides:[2,2],paddings:[0,0],padding_algorithm:\"EXPLICIT\",dilations:[1,1],groups:1,data_"   \
    "format:\"NCHW\""
#define SAME                                                                                       \
    "strides:[2,2],paddings:[0,0],padding_algorithm:\"SAME\",dilations:[2,2],groups:1,data_"       \
    "format:\"NCHW\""
#define NHWC                                                                                       \
    "strides:[1,1],paddings:[1,0,2,1],padding_algorithm:\"EXPLICIT\",dilations:[2,2],groups:1,"    \
    "data_format:\"NHWC\""
#define POOL                                                                                       \
    "strides:i64[2,2],paddings:i64[1,1],data_format:\"NCHW\",padding_algorithm:\"EXPLICIT\""
#define INTERP "data_format:\"NCHW\",interp_method:\"nearest\""

static const row rows[] = {
    /* elementwise */
    {"pd_op.relu", "2x?xf16", "", "2x?xf16"},
    {"pd_op.exp", "2xi64", "", "2xf32"},
    {"pd_op.abs", "2xc64", "", "2xf32"},
    {"pd_op.isnan", "2xf64", "", "2xb"},
    {"pd_op.add", "2x1x4xf32;3x1xf32", "", "2x3x4xf32"},
    {"pd_op.add", "?x1xf32;5x?xf32", "", "5x?xf32"},
    {"pd_op.add", "f32;2x3xf32", "", "2x3xf32"},
    {"pd_op.divide", "2xi32;2xi32", "", "2xi32"},
    {"pd_op.atan2", "2xi64;2xi64", "", "2xf64"},
    {"pd_op.less_than", "2x1xf32;3xf32", "", "2x3xb"},
    {"pd_op.logical_not", "2xf32", "", "2xb"},
    {"pd_op.cast", "?x3xf32", "dtype:bool", "?x3xb"},
    {"pd_op.where", "2x1xb;1x3xf32;f32", "", "2x3xf32"},
    {"pd_op.complex", "2xf64;3x1xf64", "", "3x2xc128"},
    {"pd_op.broadcast_tensors", "vec[2x1xf32,3xi32]", "", "vec[2x3xf32,2x3xi32]"},
    {"pd_op.scale", "?xi64;int[2]", "", "?xi64"},
    /* products */
    {"pd_op.matmul", "5x2x3xf32;3x4xf32", "", "5x2x4xf32"},
    {"pd_op.matmul", "2x3xf32;4x3xf32", "transpose_y:true", "2x4xf32"},
    {"pd_op.matmul", "3xf32;3xf32", "", "f32"},
    {"pd_op.matmul", "3xf32;3x4xf32", "", "4xf32"},
    {"pd_op.matmul", "2x3xi8;3x4xi8", "", "2x4xi32"},
    {"pd_op.matmul_with_flatten", "?x2x3x4xf32;12x5xf32", "x_num_col_dims:2,y_num_col_dims:1",
     "?x2x5xf32"},
    {"pd_op.fc", "?x2x12xf32;12x5xf32;5xf32", "in_num_col_dims:2", "?x2x5xf32"},
    {"pd_op.bmm", "2x3x4xf32;2x4x5xf32", "", "2x3x5xf32"},
    {"pd_op.mv", "2x3xf32;3xf32", "", "2xf32"},
    {"pd_op.multi_dot", "vec[3xf32,3x4xf32,4xf32]", "", "f32"},
    {"pd_op.kron", "3xf32;2x4xf32", "", "2x12xf32"},
    {"pd_op.einsum", "vec[?x4xf32,?x5xf32]", "equation:\"bi,bj->bij\"", "?x4x5xf32;vec[];vec[]"},
    /* reductions */
    {"pd_op.sum", "2x3xi32;ints[1]", "keepdim:false,dtype:Undefined", "2xi64"},
    {"pd_op.sum", "2x3xb;ints[]", "keepdim:true,dtype:Undefined", "1x1xi64"},
    {"pd_op.sum", "2x3xi32;ints[-1]", "keepdim:false,dtype:float16", "2xf16"},
    {"pd_op.mean", "2x3xf32;1xi64", "keepdim:false", "?xf32"},
    {"pd_op.max", "2x3x4xi32;ints[0,2]", "keepdim:true", "1x3x1xi32"},
    {"pd_op.all", "2x3xb", "axis:i64[0],keepdim:false", "3xb"},
    {"pd_op.argmax", "2x3xf32;int[1]", "keepdims:false,flatten:false,dtype:int32", "2xi32"},
    {"pd_op.argmax", "2x3xf32;int[0]", "keepdims:false,flatten:true,dtype:int64", "i64"},
    {"pd_op.topk", "2x9xf32;int[3]", "axis:-1", "2x3xf32;2x3xi64"},
    {"pd_op.argsort", "2x9xf32", "axis:-1", "2x9xf32;2x9xi64"},
    {"pd_op.kthvalue", "2x9xf32", "k:i64(2),axis:0,keepdim:true", "1x9xf32;1x9xi64"},
    {"pd_op.median", "2x3x4xi32", "axis:ints[1],keepdim:false,mode:\"avg\"", "2x4xi32;2x4x2xi64"},
    {"pd_op.p_norm", "2x3xf32", "axis:1,asvector:true,keepdim:true", "1x1xf32"},
    {"pd_op.cumsum", "2x3xf32;int[0]", "flatten:true", "6xf32"},
    {"pd_op.trace", "2x3x4xf32", "axis1:0,axis2:2", "3xf32"},
    {"pd_op.diagonal", "3x4xf32", "offset:1,axis1:0,axis2:1", "3xf32"},
    {"pd_op.accuracy", "4x2xf32;4x2xi64;4x1xi64", "", "f32;i32;i32"},
    /* shapes */
    {"pd_op.reshape", "?x4x6xf32;ints[0,-1,3]", "", "?x?x3xf32"},
    {"pd_op.reshape", "2x4x6xf32;ints[0,-1,3]", "", "2x8x3xf32"},
    {"pd_op.reshape", "2x4xf32;3xi32", "", "?x?x?xf32"},
    {"pd_op.flatten", "2x3x4x5xf32", "start_axis:1,stop_axis:2", "2x12x5xf32"},
    {"pd_op.flatten", "f32", "start_axis:0,stop_axis:-1", "1xf32"},
    {"pd_op.squeeze", "1x3x1xf32;ints[]", "", "3xf32"},
    {"pd_op.squeeze", "1x3x?xf32;ints[1,0,-1]", "", "3xf32"},
    {"pd_op.unsqueeze", "3x4xf32;ints[2,0]", "", "1x3x4x1xf32"},
    {"pd_op.transpose", "2x?x4xf32", "perm:[2,0,1]", "4x2x?xf32"},
    {"pd_op.expand", "1x4xf32;ints[2,3,-1]", "", "2x3x4xf32"},
    {"pd_op.expand_as", "1x4xf32;2x3x?xf32", "target_shape:i64[2,3,4]", "2x3x4xf32"},
    {"pd_op.tile", "2x4xf32;ints[3,1,2]", "", "3x2x8xf32"},
    {"pd_op.concat", "vec[?x2xf32,3x4xf32];int[1]", "", "3x6xf32"},
    {"pd_op.concat", "vec[?x2xf32,3x2xf32];int[0]", "", "?x2xf32"},
    {"pd_op.stack", "vec[?x2xf32,3x2xf32]", "axis:-1", "3x2x2xf32"},
    {"pd_op.split", "2x7xf32;ints[2,-1,3];int[1]", "", "vec[2x2xf32,2x2xf32,2x3xf32]"},
    {"pd_op.split_with_num", "2x6xf32;int[1]", "num:2", "vec[2x3xf32,2x3xf32]"},
    {"pd_op.unbind", "2x6xf32", "axis:1", "vec[2xf32,2xf32]"},
    {"pd_op.meshgrid", "vec[3xf32,4xf32]", "", "vec[3x4xf32,3x4xf32]"},
    {"pd_op.slice", "3x4xf32;ints[-2];ints[2147483647]", "axes:i64[1],decrease_axis:i64[]",
     "3x2xf32"},
    {"pd_op.slice", "?x4xf32;ints[1];ints[2]", "axes:i64[1],decrease_axis:i64[1]", "?xf32"},
    {"pd_op.slice", "?x4xf32;ints[0];ints[2147483647]", "axes:i64[0],decrease_axis:i64[]",
     "?x4xf32"},
    {"pd_op.strided_slice", "3x4xf32;ints[-1];ints[-100];ints[-2]", "axes:[1]", "3x2xf32"},
    {"pd_op.gather", "3x4x5xf32;2x1xi64;int[1]", "", "3x2x5xf32"},
    {"pd_op.gather", "3x4x5xf32;i64;int[1]", "", "3x5xf32"},
    {"pd_op.gather_nd", "3x4x5xf32;?x6x2xi64", "", "?x6x5xf32"},
    {"pd_op.index_select", "3x4x5xf32;2xi64", "axis:-1", "3x4x2xf32"},
    {"pd_op.crop", "3x5xf32;ints[2,-1];ints[1,1]", "", "2x4xf32"},
    {"pd_op.pad", "2x?xf32;int[0]", "paddings:[1,2,0,3]", "5x?xf32"},
    {"pd_op.pad3d", "1x2x3x4x5xf32;ints[1,2,3,4,5,6]", "data_format:\"NCDHW\"", "1x2x14x11x8xf32"},
    {"pd_op.pixel_shuffle", "1x8x2x3xf32", "upscale_factor:2,data_format:\"NCHW\"", "1x2x4x6xf32"},
    {"pd_op.frame", "2x10xf32", "frame_length:4,hop_length:2,axis:-1", "2x4x4xf32"},
    {"pd_op.overlap_add", "4x4x2xf32", "hop_length:2,axis:0", "10x2xf32"},
    {"pd_op.diag_embed", "2x3xf32", "offset:1,dim1:0,dim2:2", "4x2x4xf32"},
    /* networks */
    {"pd_op.conv2d", "?x3x9x8xf32;4x3x3x3xf32", CONV, "?x4x4x3xf32"},
    {"pd_op.conv2d", "1x3x9x8xf32;4x3x3x3xf32", SAME, "1x4x5x4xf32"},
    {"pd_op.conv2d", "1x9x8x3xf32;4x3x3x3xf32", NHWC, "1x6x7x4xf32"},
    {"pd_op.conv2d_transpose", "1x3x8x8xf32;3x4x3x3xf32;ints[]", CONV, "1x4x17x17xf32"},
    {"pd_op.conv2d_transpose", "1x3x8x8xf32;3x4x3x3xf32;ints[18,18]", CONV, "1x4x18x18xf32"},
    {"pd_op.conv2d_transpose", "1x3x8x8xf32;3x4x3x3xf32;ints[]", SAME, "1x4x16x16xf32"},
    {"pd_op.pool2d", "1x3x8x8xf32;ints[3,3]", POOL ",ceil_mode:false", "1x3x4x4xf32"},
    {"pd_op.pool2d", "1x3x8x8xf32;ints[3,3]", POOL ",ceil_mode:true", "1x3x5x5xf32"},
    {"pd_op.pool2d", "1x3x8x8xf32;ints[3,3]", POOL ",global_pooling:true", "1x3x1x1xf32"},
    {"pd_op.pool2d", "1x3x?x8xf32;ints[2,3]", POOL ",adaptive:true", "1x3x2x3xf32"},
    {"pd_op.max_pool2d_with_index", "1x2x7x7xf32", "kernel_size:[3,3],strides:[2,2],paddings:[1,1]",
     "1x2x4x4xf32;1x2x4x4xi32"},
    {"pd_op.nearest_interp", "1x3x5x7xf32;-;-;-", INTERP ",scale:f64[1.5,2.0]", "1x3x7x14xf32"},
    {"pd_op.nearest_interp", "1x3x5x7xf32;-;-;-", INTERP ",out_h:4,out_w:3,scale:f64[]",
     "1x3x4x3xf32"},
    {"pd_op.nearest_interp", "1x3x5x7xf32;ints[9,11];-;-", INTERP ",out_h:4,out_w:3,scale:f64[]",
     "1x3x9x11xf32"},
    {"pd_op.batch_norm", "?x4x3x3xf16;4xf32;4xf32;4xf32;4xf32", "data_format:\"NCHW\"",
     "?x4x3x3xf16;4xf32;4xf32;4xf32;4xf32;-"},
    {"pd_op.layer_norm", "2x3x4xf16;12xf16;-", "begin_norm_axis:2", "2x3x4xf16;2x3xf32;2x3xf32"},
    {"pd_op.group_norm", "2x4x3x3xf32;-;-", "groups:2", "2x4x3x3xf32;2x2xf32;2x2xf32"},
    {"pd_op.instance_norm", "2x4x3x3xf32;-;-", "", "2x4x3x3xf32;8xf32;8xf32"},
    {"pd_op.dropout", "2x?xf32;-;int[0]", "", "2x?xf32;2x?xu8"},
    {"pd_op.cross_entropy_with_softmax", "2x5xf32;2x1xi64", "axis:-1", "2x5xf32;2x1xf32"},
    {"pd_op.embedding", "?x7xi64;9x4xf16", "", "?x7x4xf16"},
    {"pd_op.lookup_table", "9x4xf32;?x1xi64", "", "?x4xf32"},
    {"pd_op.gru", "?x12xf32;-;4x12xf32;-", "", "?x12xf32;?x4xf32;?x4xf32;?x4xf32"},
    {"pd_op.lstm", "?x12xf32;-;-;3x12xf32;1x12xf32", "", "?x3xf32;?x3xf32;?x12xf32;?x3xf32"},
    {"pd_op.rnn", "5x2x3xf32;vec[2x2x4xf32,2x2x4xf32];vec[16x3xf32];-;1xu8",
     "is_bidirec:true,hidden_size:4", "5x2x8xf32;1xu8;vec[2x2x4xf32,2x2x4xf32];-"},
    {"pd_op.grid_sample", "2x6x3x3xf32;2x4x5x2xf32", "", "2x6x4x5xf32"},
    {"pd_op.affine_grid", "2x2x3xf32;ints[2,3,4,5]", "", "2x4x5x2xf32"},
    {"pd_op.unfold", "1x2x6x6xf32",
     "kernel_sizes:[2,2],strides:[1,2],paddings:[0,0,0,0],dilations:[1,1]", "1x8x15xf32"},
    /* creation */
    {"pd_op.full", "", "shape:ints[2,3],dtype:int32,value:f64(1.0)", "2x3xi32"},
    {"pd_op.full_int_array", "", "value:i64[1,2,3],dtype:int64", "3xi64"},
    {"pd_op.full_with_tensor", "1xf32;ints[2,3]", "dtype:float64", "2x3xf64"},
    {"pd_op.full_like", "2x?xf32;int[1]", "dtype:Undefined", "2x?xf32"},
    {"pd_op.full_batch_size_like", "?x3xf32",
     "shape:[1,5],input_dim_idx:0,output_dim_idx:0,dtype:int64", "?x5xi64"},
    {"pd_op.arange", "int[1];int[8];int[3]", "dtype:int64", "3xi64"},
    {"pd_op.linspace", "f32;f32;int[4]", "dtype:float32", "4xf32"},
    {"pd_op.eye", "int[3];int[-1]", "dtype:int32", "3x3xi32"},
    {"pd_op.one_hot", "2x1xi64;int[5]", "", "2x1x5xf32"},
    {"pd_op.shape", "2x?x4xf32", "", "3xi32"},
    {"pd_op.shape64", "f32", "", "0xi64"},
    {"pd_op.numel", "2x3xf32", "", "i64"},
    {"pd_op.nonzero", "2x3xb", "", "?x2xi64"},
    {"pd_op.multinomial", "2x9xf32;int[4]", "", "2x4xi64"},
    {"pd_op.tril_indices", "", "rows:3,cols:4,offset:1,dtype:int64", "2x9xi64"},
    {"pd_op.triu_indices", "", "row:3,col:4,offset:1,dtype:int64", "2x6xi64"},
    /* detection, sequences */
    {"pd_op.prior_box", "1x4x2x3xf32;1x3x8x8xf32",
     "min_sizes:[1.0,2.0],max_sizes:[3.0,4.0],aspect_ratios:[1.0,2.0],flip:true",
     "2x3x8x4xf32;2x3x8x4xf32"},
    {"pd_op.box_coder", "4x4xf32;-;3x4xf32", "code_type:\"encode_center_size\"", "3x4x4xf32"},
    {"pd_op.box_coder", "4x4xf32;-;3x4x4xf32", "code_type:\"decode_center_size\"", "3x4x4xf32"},
    {"pd_op.yolo_box", "?x24x3x2xf32;?x2xi32", "anchors:[1,2,3,4,5,6],class_num:3",
     "?x18x4xf32;?x18x3xf32"},
    {"pd_op.multiclass_nms3", "?x9x4xf32;?x3x9xf32;-", "", "?x6xf32;?x1xi32;?xi32"},
    {"pd_op.roi_align", "1x3x8x8xf32;5x4xf32;1xi32", "pooled_height:2,pooled_width:3",
     "5x3x2x3xf32"},
    {"pd_op.distribute_fpn_proposals", "?x4xf32;-", "",
     "vec[?x4xf32,?x4xf32];vec[?xi32,?xi32];?x1xi32"},
    {"pd_op.crf_decoding", "?x4xf32;6x4xf32;-;-", "", "?x1xi64"},
    {"pd_op.crf_decoding", "2x5x4xf32;6x4xf32;-;2xi64", "", "2x5xi64"},
    {"pd_op.sequence_pool", "?x4xf32", "", "?x4xf32;?x4xi32"},
    {"pd_op.sequence_conv", "7x3xf32;-;9x4xf32", "", "7x4xf32"},
    {"pd_op.sequence_mask", "3xi64;int[4]", "out_dtype:float32", "3x4xf32"},
    {"pd_op.im2sequence", "1x3x4x5xf32;-", "kernels:[4,1]", "?x12xf32"},
    /* matrices, transforms */
    {"pd_op.svd", "2x4x3xf32", "full_matrices:true", "2x4x4xf32;2x3xf32;2x3x3xf32"},
    {"pd_op.eig", "3x3xf32", "", "3xc64;3x3xc64"},
    {"pd_op.eigh", "3x3xc64", "", "3xf32;3x3xc64"},
    {"pd_op.solve", "2x3x3xf32;3x2xf32", "", "2x3x2xf32"},
    {"pd_op.slogdet", "5x3x3xf32", "", "2x5xf32"},
    {"pd_op.lu", "2x4x3xf32", "", "2x4x3xf32;2x3xi32;2xi32"},
    {"pd_op.fft_r2c", "2x8xf32", "axes:i64[1],onesided:true", "2x5xc64"},
    {"pd_op.fft_c2r", "2x5xc64", "axes:i64[1],last_dim_size:i64(0)", "2x8xf32"},
    {"pd_op.stft", "2x32xf32;16xf32", "n_fft:16,hop_length:4,onesided:true", "2x9x5xc64"},
    /* counting, quantization */
    {"pd_op.unique", "3x2xf32", "axis:[0],dtype:int32", "?x2xf32;?xi32;3xi32;?xi32"},
    {"pd_op.bincount", "3xi32;3xi64;int[0]", "", "?xf64"},
    {"pd_op.histogram", "3xf32;-", "bins:i64(4),density:false", "4xi64"},
    {"pd_op.searchsorted", "5xf32;2x2xf32", "out_int32:true", "2x2xi32"},
    {"pd_op.quantize_linear", "3x4xf32;4xf32;4xf32;-;-", "quant_axis:1", "3x4xf32;-;-;-"},
    {"pd_op.dequantize_linear", "3x4xi8;4xf32;4xf32;-;-", "quant_axis:1", "3x4xf32;-;-;-"},
    {"pd_op.fake_channel_wise_quantize_abs_max", "3x4xf32", "quant_axis:1", "3x4xf32;4xf32"},
    {"builtin.slice", "vec[2xf32,3xi64]", "index:1", "3xi64"},
};

/* ---- writing the module of a row ------------------------------------------------------------- */

typedef struct text {
    char s[8192];
} text;

static void put(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(text *t, const char *format, ...)
{
    const size_t n = strlen(t->s);
    va_list args;
    va_start(args, format);
    ck_assert_int_lt(vsnprintf(t->s + n, sizeof t->s - n, format, args), (int)(sizeof t->s - n));
    va_end(args);
}

/* 2x?xf32 → tensor<2x-1xf32> */
static void put_type(text *t, const char *short_type, size_t len)
{
    put(t, "tensor<");
    for (size_t i = 0; i < len; i++)
        put(t, short_type[i] == '?' ? "-1" : "%c", short_type[i]);
    put(t, ">");
}

/* A type, vec[type,type] or `-`. */
static void put_types(text *t, const char *item, size_t len)
{
    if (len == 1 && *item == '-') {
        put(t, "<<NULL TYPE>>");
        return;
    }
    if (strncmp(item, "vec[", 4) != 0) {
        put_type(t, item, len);
        return;
    }
    put(t, "vec[");
    for (const char *at = item + 4, *end = item + len - 1; at < end;) {
        size_t n = strcspn(at, ",]");
        put_type(t, at, n);
        at += n + 1;
        put(t, "%s", at < end ? "," : "");
    }
    put(t, "]");
}

typedef struct operands {
    text defs, names, types;
    int count; /* of values */
} operands;

static int put_data(operands *o, const char *type, size_t len)
{
    put(&o->defs, "(%%%d) = \"builtin.parameter\" () {parameter_name:\"p%d\"} : () -> ", o->count,
        o->count);
    put_type(&o->defs, type, len);
    put(&o->defs, "\n");
    return o->count++;
}

static void put_operand(operands *o, const char *item, size_t len)
{
    text list = {""};
    put(&o->names, "%s", *o->names.s ? ", " : "");
    put(&o->types, "%s", *o->types.s ? ", " : "");
    if (len == 1 && *item == '-') {
        put(&o->names, "<<NULL VALUE>>");
        put(&o->types, "<<NULL TYPE>>");
        return;
    }
    if (strncmp(item, "vec[", 4) == 0) {
        text types = {""};
        for (const char *at = item + 4, *end = item + len - 1; at < end;) {
            size_t n = strcspn(at, ",]");
            put(&list, "%s%%%d", *list.s ? ", " : "", put_data(o, at, n));
            put(&types, "%s", *types.s ? ", " : "");
            put_type(&types, at, n);
            at += n + 1;
        }
        put_types(&o->types, item, len);
        put(&o->defs, "(%%%d) = \"builtin.combine\" (%s) {} : (%s) -> ", o->count, list.s, types.s);
        put_types(&o->defs, item, len);
        put(&o->defs, "\n");
        put(&o->names, "%%%d", o->count++);
        return;
    }
    if (strncmp(item, "int[", 4) == 0) {
        put(&o->defs,
            "(%%%d) = \"pd_op.full\" () {shape:ints[1],value:f64(%.*s.0),dtype:int64} : () -> "
            "tensor<1xi64>\n",
            o->count, (int)len - 5, item + 4);
        put(&o->types, "tensor<1xi64>");
    } else if (strncmp(item, "ints[", 5) == 0) {
        put(&o->defs,
            "(%%%d) = \"pd_op.full_int_array\" () {value:i64[%.*s],dtype:int64} : () -> "
            "tensor<-1xi64>\n",
            o->count, (int)len - 6, item + 5);
        put(&o->types, "tensor<-1xi64>");
    } else {
        (void)put_data(o, item, len);
        put_type(&o->types, item, len);
        put(&o->names, "%%%d", o->count - 1);
        return;
    }
    put(&o->names, "%%%d", o->count++);
}

static void put_module(const row *r, text *out)
{
    operands *o = calloc(1, sizeof *o);
    int num_results = 0;
    text results = {""}, types = {""};

    ck_assert_ptr_nonnull(o);
    for (const char *at = r->in; *at;) {
        size_t n = strcspn(at, ";");
        put_operand(o, at, n);
        at += n + (at[n] != 0);
    }
    for (const char *at = r->out; *at;) {
        size_t n = strcspn(at, ";");
        put(&results, "%s%%%d", num_results ? ", " : "", o->count + num_results);
        put(&types, "%s", num_results++ ? ", " : "");
        put_types(&types, at, n);
        at += n + (at[n] != 0);
    }
    put(out, "pir version 4 trainable {\n%s(%s) = \"%s\" (%s) {%s} : (%s) -> %s\n}\n", o->defs.s,
        results.s, r->op, o->names.s, r->attrs, o->types.s, types.s);
    free(o);
}

/* ---- running it ------------------------------------------------------------------------------ */

/* Forget what the row says, so that a hook that does nothing is noticed. */
static pdm_ir_type scramble(pdm_ir_context *context, pdm_ir_type type)
{
    pdm_ir_type elements[8];

    if (!type)
        return NULL;
    if (type->kind != PDM_IR_VECTOR)
        return pdm_ir_type_tensor(context, PDM_INDEX, NULL, 0);
    ck_assert_uint_le(type->num_elements, 8);
    for (uint32_t i = 0; i < type->num_elements; i++)
        elements[i] = scramble(context, type->elements[i]);
    return pdm_ir_type_vector(context, elements, type->num_elements);
}

static void check_row(const row *r)
{
    fx f;
    pdm_ir_module *module = NULL;
    text source = {""};

    fx_init(&f);
    put_module(r, &source);
    pdm_status status =
        pdm_ir_parse(f.context, source.s, strlen(source.s), "row", &f.sink, &module);
    ck_assert_msg(status == PDM_OK, "%s%s", source.s, f.said);
    pdm_ir_op *op = module->block->last;
    pdm_ir_type want[8];
    ck_assert_uint_le(op->num_results, 8);
    for (uint32_t i = 0; i < op->num_results; i++) {
        want[i] = pdm_ir_op_result(op, i)->type;
        pdm_ir_op_result(op, i)->type = scramble(f.context, want[i]);
    }
    ck_assert_int_eq(pdm_ir_infer_module(module), PDM_OK);
    for (uint32_t i = 0; i < op->num_results; i++) {
        pdm_buf got;
        pdm_buf_init(&got);
        pdm_ir_print_type(pdm_ir_op_result(op, i)->type, &got);
        ck_assert_msg(pdm_ir_op_result(op, i)->type == want[i], "%sresult %u: %.*s", source.s, i,
                      (int)got.size, got.data);
        pdm_buf_deinit(&got);
    }
    pdm_ir_module_destroy(module);
    fx_deinit(&f);
}

START_TEST(each_row)
{
    check_row(&rows[_i]);
}
END_TEST

/* ---- regions --------------------------------------------------------------------------------- */

static const char loop[] =
    "pir version 4 trainable {\n"
    "(%0) = \"builtin.parameter\" () {parameter_name:\"c\"} : () -> tensor<1xb>\n"
    "(%1) = \"builtin.parameter\" () {parameter_name:\"i\"} : () -> tensor<1xi64>\n"
    "(%2) = \"builtin.parameter\" () {parameter_name:\"x\"} : () -> tensor<2x3xf32>\n"
    "(%3, %4) = \"pd_op.while\" (%0, %1, %2) {} : (tensor<1xb>, tensor<1xi64>, tensor<2x3xf32>) -> "
    "tensor<f64>, tensor<f64> {\n"
    "^(%arg_0: tensor<f64>, %arg_1: tensor<f64>)\n"
    "(%5) = \"pd_op.full\" () {shape:ints[1],value:f64(0.0),dtype:int32} : () -> tensor<f64>\n"
    "(%6) = \"builtin.combine\" (%arg_1, %2) {} : (tensor<f64>, tensor<2x3xf32>) -> "
    "vec[tensor<f64>,tensor<f64>]\n"
    "(%7) = \"pd_op.concat\" (%6, %5) {} : (vec[tensor<f64>,tensor<f64>], tensor<f64>) -> "
    "tensor<f64>\n"
    "() = \"cf.yield\" (%0, %arg_0, %7) {} : (tensor<1xb>, tensor<f64>, tensor<f64>) -> ()\n"
    "}\n}\n";

START_TEST(loop_types_are_merged)
{
    fx f;
    pdm_ir_module *module = NULL;

    fx_init(&f);
    ck_assert_msg(pdm_ir_parse(f.context, loop, strlen(loop), "loop", &f.sink, &module) == PDM_OK,
                  "%s", f.said);
    ck_assert_int_eq(pdm_ir_infer_module(module), PDM_OK);
    pdm_ir_op *op = module->block->last;
    const pdm_ir_type grown = pdm_ir_type_tensor(f.context, PDM_F32, (int64_t[]){-1, 3}, 2);
    ck_assert_ptr_eq(pdm_ir_op_result(op, 0)->type, f.i64);
    ck_assert_ptr_eq(pdm_ir_op_result(op, 1)->type, grown);
    ck_assert_ptr_eq(pdm_ir_block_arg(pdm_ir_op_region(op, 0)->first, 1)->type, grown);
    pdm_ir_module_destroy(module);
    fx_deinit(&f);
}
END_TEST

Suite *pdm_suite_infer_ops(void)
{
    Suite *suite = suite_create("infer_ops");
    TCase *tc = tcase_create("infer_ops");

    tcase_add_loop_test(tc, each_row, 0, (int)(sizeof rows / sizeof *rows));
    tcase_add_test(tc, loop_types_are_merged);
    suite_add_tcase(suite, tc);
    return suite;
}
