/*
 * The text form of PIR, for people and tests: printed from and parsed back into modules,
 * print(parse(print(m))) == print(m); and dot graphs.
 *
 *     pir version 4 trainable {
 *         (%0) = "pd_op.data" () {dtype:float32,name:"x",shape:ints[-1,4]} : () -> tensor<-1x4xf32>
 *         (%1) = "pd_op.while" (%c, %0) {} : (tensor<b>, tensor<4xf32>) -> tensor<4xf32> {
 *         ^(%arg_0: tensor<4xf32>)
 *             ...
 *             () = "cf.yield" (%4, %5) {} : (tensor<b>, tensor<4xf32>) -> ()
 *         }
 *     }
 *
 * Head: `pir version N`, then `trainable` if result attributes are written; a bare `{` means
 * version 4, trainable.
 *
 * Ops: results, "name", operands (`<<NULL VALUE>>`: absent), attributes in name order, operand
 * types, `->` result types, regions `{ ... } else { ... }`. Results are numbered %0, %1, ..., block
 * arguments %arg_0, ...; the parser takes any %names.
 *
 * Blocks: `^(arguments)` begins one; left out for a first block without arguments that has ops.
 * `//` comments run to the end of the line.
 *
 * Types: f32, tensor<2x-1xf32>, vec[T,T], pd_op.tensor_array<f32>, pd_op.selected_rows<...>,
 * pd_op.sparse_coo<...>, pd_op.sparse_csr<...>, cf.stack, cf.inlet, cf.outlet, <<NULL TYPE>>. After
 * the element type: a layout other than NCHW, lod=[[..]], offset=N, nnz=[..], elements=[T,T].
 *
 * Attributes: null, true, 7 (i32), i64(7), index(7), 0.5 (f32: always with '.', 'e', inf or nan),
 * f64(0.5), c64(re,im), c128(re,im), "text", tensor_name("x"), [a,b] (any kinds), i64[1,2] and
 * f64[0.5] (arrays of one kind), ints[1,2] (an integer array attribute), type(T), float32 (an
 * element type; Undefined), layout(NHWC), Place(cpu:0), scalar<f32>(0.5).
 */
#ifndef PDM_IR_TEXT_H
#define PDM_IR_TEXT_H

#include "base/buf.h"
#include "ir/ir.h"

/* Failure is sticky in buf. */
void pdm_ir_print(const pdm_ir_module *module, pdm_buf *buf);
void pdm_ir_print_type(pdm_ir_type type, pdm_buf *buf);
void pdm_ir_print_attr(pdm_ir_attr attr, pdm_buf *buf);
/* A graph for dot: a node an op, a cluster a region, an edge a use. */
void pdm_ir_print_dot(const pdm_ir_module *module, pdm_buf *buf);

/*
 * Errors with line and column; PDM_INVALID_MODEL, PDM_UNSUPPORTED (unknown ops, all told),
 * PDM_NOMEM. The result is not verified.
 */
PDM_MUST_USE pdm_status pdm_ir_parse(pdm_ir_context *context, const char *text, size_t size,
                                     const char *path, pdm_diag_sink *sink,
                                     pdm_ir_module **out_module);

#endif
