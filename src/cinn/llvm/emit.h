/* Inside of the module for LLVM: from loop IR to LLVM IR. */
#ifndef PDM_CINN_LLVM_EMIT_H
#define PDM_CINN_LLVM_EMIT_H

#include <llvm-c/Core.h>

#include "cinn/loop_ir.h"

/*
 * A module with a function for each nest of fn: NAME(ptr buffers, ptr symbols, i64 begin, i64 end),
 * named by pdm_llvm_nest_name. NULL: out of memory, or fn has what cannot be emitted.
 */
LLVMModuleRef pdm_llvm_emit(LLVMContextRef context, const pdm_loop_fn *fn, uint64_t number);

enum { PDM_LLVM_NAME = 48 };
/* number: of the image; no two have the same. */
void pdm_llvm_nest_name(char out[PDM_LLVM_NAME], uint64_t number, uint32_t nest);

/* Functions that emitted code calls; PDM_LLVM_CALL(name). */
#define PDM_LLVM_FLOAT_CALLS(X)                                                                    \
    X(exp) X(expm1) X(log) X(log1p) X(log2) X(log10) X(tanh) X(erf) X(sin) X(cos) X(tan) X(asin)   \
    X(acos) X(atan) X(sinh) X(cosh) X(asinh) X(acosh) X(atanh)                                     \
    X(floor) X(ceil) X(trunc) X(rint)
#define PDM_LLVM_FLOAT2_CALLS(X) X(pow) X(atan2) X(fmod)

#endif
