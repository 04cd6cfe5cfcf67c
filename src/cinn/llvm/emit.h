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

#endif
