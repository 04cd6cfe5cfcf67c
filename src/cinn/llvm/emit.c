/*
 * Each nest becomes an inner function, whose parameters are the buffers (they do not overlap), the
 * symbols and the turns of the outermost loop, and an outer one that takes them from arrays.
 *
 * Nothing is rearranged: floats are calculated as loop IR has them, without contraction. Vector loops
 * with a number of turns are done in lanes: an expression that depends on the loop's variable is a
 * vector of its values in all turns. Other vectors are LLVM's business.
 */
#include "cinn/llvm/emit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct emitter {
    const pdm_loop_fn *fn;
    uint64_t number;
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMValueRef function;
    LLVMTypeRef i1, i8, i32, i64, ptr;
    LLVMValueRef *vars;   /* by variable */
    LLVMValueRef *locals; /* by buffer: what is on the stack; NULL: it is a parameter */
    LLVMValueRef *exprs; /* by expression: its value where it was emitted in a block around */
    const pdm_loop_expr **log; /* expressions that have one, in order */
    size_t num_logged;
    unsigned lanes; /* of the vector loop that is emitted; 0: of none */
    uint32_t lane;  /* its variable */
    bool *stores;   /* by buffer: that loop stores it */
    int64_t ahead;  /* elements by which inputs are fetched ahead; 0: they are not */
    unsigned wide;  /* what is made now has so many lanes; 0: it is a scalar */
    bool failed;
} emitter;

/* ---- types ----------------------------------------------------------------------------------- */

static LLVMTypeRef widened(const emitter *e, LLVMTypeRef type)
{
    return e->wide ? LLVMVectorType(type, e->wide) : type;
}

static LLVMTypeRef scalar_type(emitter *e, pdm_dtype dtype)
{
    switch ((int)dtype) {
    case PDM_BOOL:
        return e->i1;
    case PDM_I8:
    case PDM_U8:
        return e->i8;
    case PDM_I16:
    case PDM_BF16: /* its bits: it is only moved, and cast */
        return LLVMInt16TypeInContext(e->context);
    case PDM_F16:
        return LLVMHalfTypeInContext(e->context);
    case PDM_I32:
        return e->i32;
    case PDM_I64:
    case PDM_INDEX:
        return e->i64;
    case PDM_F32:
        return LLVMFloatTypeInContext(e->context);
    case PDM_F64:
        return LLVMDoubleTypeInContext(e->context);
    default:
        e->failed = true;
        return e->i64;
    }
}

static LLVMTypeRef type_of(emitter *e, pdm_dtype dtype)
{
    return widened(e, scalar_type(e, dtype));
}

static LLVMTypeRef memory_type(emitter *e, pdm_dtype dtype)
{
    return dtype == PDM_BOOL ? e->i8 : scalar_type(e, dtype);
}

static bool is_unsigned(pdm_dtype dtype)
{
    return dtype == PDM_U8 || dtype == PDM_BOOL || dtype == PDM_INDEX;
}

/* A constant in all lanes. */
static LLVMValueRef repeated(const emitter *e, LLVMValueRef scalar)
{
    LLVMValueRef all[PDM_LOOP_MAX_LANES];

    for (unsigned i = 0; i < e->wide; i++)
        all[i] = scalar;
    return e->wide ? LLVMConstVector(all, e->wide) : scalar;
}

static LLVMValueRef int_const(emitter *e, pdm_dtype dtype, int64_t value)
{
    return repeated(e, LLVMConstInt(scalar_type(e, dtype), (unsigned long long)value, true));
}

static LLVMValueRef float_const(emitter *e, pdm_dtype dtype, double value)
{
    return repeated(e, LLVMConstReal(scalar_type(e, dtype), value));
}

static bool is_vector(LLVMValueRef v)
{
    return LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind;
}

/* A value in all lanes, where lanes are wanted. */
static LLVMValueRef spread(emitter *e, LLVMValueRef v)
{
    if (!e->wide || is_vector(v))
        return v;
    if (LLVMIsConstant(v))
        return repeated(e, v);
    LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(v), e->wide);
    LLVMValueRef first = LLVMBuildInsertElement(e->builder, LLVMGetPoison(type), v,
                                                LLVMConstInt(e->i32, 0, false), "");
    LLVMValueRef mask = LLVMConstNull(LLVMVectorType(e->i32, e->wide));
    return LLVMBuildShuffleVector(e->builder, first, LLVMGetPoison(type), mask, "");
}

static LLVMValueRef lane_of(emitter *e, LLVMValueRef v, unsigned lane)
{
    return is_vector(v) ? LLVMBuildExtractElement(e->builder, v, LLVMConstInt(e->i32, lane, false), "")
                        : v;
}

/* v with another value in a lane; NULL: of no values yet. */
static LLVMValueRef with_lane(emitter *e, LLVMValueRef v, unsigned lane, LLVMValueRef value)
{
    LLVMValueRef all = v ? v : LLVMGetPoison(LLVMVectorType(LLVMTypeOf(value), e->lanes));

    return LLVMBuildInsertElement(e->builder, all, value, LLVMConstInt(e->i32, lane, false), "");
}

static void add_text_attribute(emitter *e, LLVMValueRef function, const char *name, const char *text)
{
    LLVMAttributeRef attribute = LLVMCreateStringAttribute(e->context, name, (unsigned)strlen(name),
                                                           text, (unsigned)strlen(text));

    LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, attribute);
}

static void add_attribute(emitter *e, LLVMValueRef function, LLVMAttributeIndex at, const char *name)
{
    const unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));

    LLVMAddAttributeAtIndex(function, at, LLVMCreateEnumAttribute(e->context, kind, 0));
}

/* ---- calls ----------------------------------------------------------------------------------- */

static LLVMValueRef call(emitter *e, const char *name, pdm_dtype dtype, LLVMValueRef *args,
                         unsigned count)
{
    LLVMTypeRef type = type_of(e, dtype), params[2] = {type, type};
    LLVMTypeRef signature = LLVMFunctionType(type, params, count, false);
    LLVMValueRef function = LLVMGetNamedFunction(e->module, name);

    if (!function) {
        function = LLVMAddFunction(e->module, name, signature);
        /* It reads and writes no memory (0: none at all). */
        add_attribute(e, function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, "memory");
        add_attribute(e, function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, "nounwind");
        add_attribute(e, function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, "willreturn");
    }
    return LLVMBuildCall2(e->builder, signature, function, args, count, "");
}

/* Of libm: "exp" for doubles, "expf" for floats. */
static LLVMValueRef libm(emitter *e, const char *base, pdm_dtype dtype, LLVMValueRef a,
                         LLVMValueRef b)
{
    const unsigned lanes = e->wide, count = b ? 2 : 1;
    LLVMValueRef all = NULL;
    char name[32];

    snprintf(name, sizeof name, "%s%s", base, dtype == PDM_F32 ? "f" : "");
    if (!lanes)
        return call(e, name, dtype, (LLVMValueRef[]){a, b}, count);
    e->wide = 0; /* it takes one at a time */
    for (unsigned i = 0; i < lanes; i++) {
        LLVMValueRef args[2] = {lane_of(e, a, i), b ? lane_of(e, b, i) : NULL};
        all = with_lane(e, all, i, call(e, name, dtype, args, count));
    }
    e->wide = lanes;
    return all;
}

static LLVMValueRef intrinsic(emitter *e, const char *base, pdm_dtype dtype, LLVMValueRef a)
{
    char name[32];

    if (e->wide)
        snprintf(name, sizeof name, "llvm.%s.v%u%s", base, e->wide, pdm_dtype_text(dtype));
    else
        snprintf(name, sizeof name, "llvm.%s.%s", base, pdm_dtype_text(dtype));
    return call(e, name, dtype, &a, 1);
}

/* One instruction where there is one, else a call of libm. */
static LLVMValueRef fused(emitter *e, pdm_dtype dtype, const LLVMValueRef *v)
{
    LLVMTypeRef type = type_of(e, dtype), params[3] = {type, type, type};
    LLVMTypeRef signature = LLVMFunctionType(type, params, 3, false);
    LLVMValueRef args[3] = {v[0], v[1], v[2]};
    char name[32];

    if (e->wide)
        snprintf(name, sizeof name, "llvm.fma.v%u%s", e->wide, pdm_dtype_text(dtype));
    else
        snprintf(name, sizeof name, "llvm.fma.%s", pdm_dtype_text(dtype));
    LLVMValueRef function = LLVMGetNamedFunction(e->module, name);
    if (!function)
        function = LLVMAddFunction(e->module, name, signature);
    return LLVMBuildCall2(e->builder, signature, function, args, 3, "");
}

/* ---- operations ------------------------------------------------------------------------------ */

static LLVMValueRef float_unary(emitter *e, pdm_loop_op op, pdm_dtype dtype, LLVMValueRef a)
{
    switch (op) {
    case PDM_LOOP_NEG:
        return LLVMBuildFNeg(e->builder, a, "");
    case PDM_LOOP_ABS:
        return intrinsic(e, "fabs", dtype, a);
    case PDM_LOOP_SQRT:
        return intrinsic(e, "sqrt", dtype, a);
    case PDM_LOOP_FLOOR:
        return intrinsic(e, "floor", dtype, a);
    case PDM_LOOP_CEIL:
        return intrinsic(e, "ceil", dtype, a);
    case PDM_LOOP_TRUNC:
        return intrinsic(e, "trunc", dtype, a);
    case PDM_LOOP_ROUND:
        return intrinsic(e, "rint", dtype, a);
    case PDM_LOOP_SIGMOID: { /* of doubles; others are arithmetic already */
        LLVMValueRef one = float_const(e, dtype, 1);
        LLVMValueRef exp = libm(e, "exp", dtype, LLVMBuildFNeg(e->builder, a, ""), NULL);
        return LLVMBuildFDiv(e->builder, one, LLVMBuildFAdd(e->builder, one, exp, ""), "");
    }
    default:
        return libm(e, pdm_loop_op_text(op), dtype, a, NULL);
    }
}

static LLVMValueRef int_unary(emitter *e, pdm_loop_op op, pdm_dtype dtype, LLVMValueRef a)
{
    LLVMValueRef zero = int_const(e, dtype, 0), negative;

    switch (op) {
    case PDM_LOOP_NOT:
    case PDM_LOOP_INVERT:
        return LLVMBuildNot(e->builder, a, "");
    case PDM_LOOP_NEG:
        return LLVMBuildNeg(e->builder, a, "");
    case PDM_LOOP_ABS:
        if (is_unsigned(dtype))
            return a;
        negative = LLVMBuildICmp(e->builder, LLVMIntSLT, a, zero, "");
        return LLVMBuildSelect(e->builder, negative, LLVMBuildNeg(e->builder, a, ""), a, "");
    default:
        e->failed = true;
        return a;
    }
}

static LLVMValueRef float_binary(emitter *e, pdm_loop_op op, pdm_dtype dtype, LLVMValueRef a,
                                 LLVMValueRef b)
{
    LLVMBuilderRef m = e->builder;

    switch (op) {
    case PDM_LOOP_ADD:
        return LLVMBuildFAdd(m, a, b, "");
    case PDM_LOOP_SUB:
        return LLVMBuildFSub(m, a, b, "");
    case PDM_LOOP_MUL:
        return LLVMBuildFMul(m, a, b, "");
    case PDM_LOOP_DIV:
        return LLVMBuildFDiv(m, a, b, "");
    case PDM_LOOP_MIN:
        return LLVMBuildSelect(m, LLVMBuildFCmp(m, LLVMRealOLT, a, b, ""), a, b, "");
    case PDM_LOOP_MAX:
        return LLVMBuildSelect(m, LLVMBuildFCmp(m, LLVMRealOGT, a, b, ""), a, b, "");
    case PDM_LOOP_EQ:
        return LLVMBuildFCmp(m, LLVMRealOEQ, a, b, "");
    case PDM_LOOP_NE:
        return LLVMBuildFCmp(m, LLVMRealUNE, a, b, "");
    case PDM_LOOP_LT:
        return LLVMBuildFCmp(m, LLVMRealOLT, a, b, "");
    case PDM_LOOP_LE:
        return LLVMBuildFCmp(m, LLVMRealOLE, a, b, "");
    case PDM_LOOP_POW:
    case PDM_LOOP_ATAN2:
        return libm(e, pdm_loop_op_text(op), dtype, a, b);
    case PDM_LOOP_MOD:
        return libm(e, "fmod", dtype, a, b);
    default:
        e->failed = true;
        return a;
    }
}

/* Towards zero; 0 for a divisor of 0, wrapping for the smallest by -1. Indices need no such care. */
static LLVMValueRef division(emitter *e, bool rest, pdm_dtype dtype, LLVMValueRef a, LLVMValueRef b)
{
    LLVMBuilderRef m = e->builder;
    LLVMValueRef zero = int_const(e, dtype, 0), one = int_const(e, dtype, 1);

    if (dtype == PDM_INDEX)
        return rest ? LLVMBuildURem(m, a, b, "") : LLVMBuildUDiv(m, a, b, "");
    LLVMValueRef by_zero = LLVMBuildICmp(m, LLVMIntEQ, b, zero, "");
    if (is_unsigned(dtype)) {
        LLVMValueRef safe = LLVMBuildSelect(m, by_zero, one, b, "");
        LLVMValueRef q = rest ? LLVMBuildURem(m, a, safe, "") : LLVMBuildUDiv(m, a, safe, "");
        return LLVMBuildSelect(m, by_zero, zero, q, "");
    }
    LLVMValueRef by_minus = LLVMBuildICmp(m, LLVMIntEQ, b, int_const(e, dtype, -1), "");
    LLVMValueRef special = LLVMBuildOr(m, by_zero, by_minus, "");
    LLVMValueRef safe = LLVMBuildSelect(m, special, one, b, "");
    LLVMValueRef q = rest ? LLVMBuildSRem(m, a, safe, "") : LLVMBuildSDiv(m, a, safe, "");
    LLVMValueRef minus = rest ? zero : LLVMBuildNeg(m, a, "");
    return LLVMBuildSelect(m, by_zero, zero, LLVMBuildSelect(m, by_minus, minus, q, ""), "");
}

static LLVMValueRef int_binary(emitter *e, pdm_loop_op op, pdm_dtype dtype, LLVMValueRef a,
                               LLVMValueRef b)
{
    const bool plain = is_unsigned(dtype) && dtype != PDM_INDEX;
    const LLVMIntPredicate less = plain ? LLVMIntULT : LLVMIntSLT;
    LLVMBuilderRef m = e->builder;

    switch (op) {
    case PDM_LOOP_ADD:
        return dtype == PDM_INDEX ? LLVMBuildNSWAdd(m, a, b, "") : LLVMBuildAdd(m, a, b, "");
    case PDM_LOOP_SUB:
        return LLVMBuildSub(m, a, b, "");
    case PDM_LOOP_MUL:
        return dtype == PDM_INDEX ? LLVMBuildNSWMul(m, a, b, "") : LLVMBuildMul(m, a, b, "");
    case PDM_LOOP_DIV:
        return division(e, false, dtype, a, b);
    case PDM_LOOP_MOD:
        return division(e, true, dtype, a, b);
    case PDM_LOOP_AND:
        return LLVMBuildAnd(m, a, b, "");
    case PDM_LOOP_OR:
        return LLVMBuildOr(m, a, b, "");
    case PDM_LOOP_XOR:
        return LLVMBuildXor(m, a, b, "");
    case PDM_LOOP_SHL:
        return LLVMBuildShl(m, a, b, "");
    case PDM_LOOP_MIN:
        return LLVMBuildSelect(m, LLVMBuildICmp(m, less, a, b, ""), a, b, "");
    case PDM_LOOP_MAX:
        return LLVMBuildSelect(m, LLVMBuildICmp(m, less, b, a, ""), a, b, "");
    case PDM_LOOP_EQ:
        return LLVMBuildICmp(m, LLVMIntEQ, a, b, "");
    case PDM_LOOP_NE:
        return LLVMBuildICmp(m, LLVMIntNE, a, b, "");
    case PDM_LOOP_LT:
        return LLVMBuildICmp(m, less, a, b, "");
    case PDM_LOOP_LE:
        return LLVMBuildNot(m, LLVMBuildICmp(m, less, b, a, ""), "");
    default:
        e->failed = true;
        return a;
    }
}

/* ---- casts ----------------------------------------------------------------------------------- */

/* The smallest integer for what does not fit; narrow types take the low bits of an int32. */
static LLVMValueRef float_to_int(emitter *e, pdm_dtype to, pdm_dtype from, LLVMValueRef a)
{
    const bool wide = to == PDM_I64 || to == PDM_INDEX;
    const double low = wide ? -0x1p63 : from == PDM_F32 ? -0x1p31 : -0x1p31 - 1;
    LLVMBuilderRef m = e->builder;
    const pdm_dtype whole = wide ? PDM_I64 : PDM_I32;
    LLVMTypeRef type = type_of(e, whole);
    LLVMValueRef above = LLVMBuildFCmp(m, from == PDM_F64 && !wide ? LLVMRealOGT : LLVMRealOGE, a,
                                       float_const(e, from, low), "");
    LLVMValueRef below =
        LLVMBuildFCmp(m, LLVMRealOLT, a, float_const(e, from, wide ? 0x1p63 : 0x1p31), "");
    LLVMValueRef fits = LLVMBuildAnd(m, above, below, "");
    LLVMValueRef safe = LLVMBuildSelect(m, fits, a, float_const(e, from, 0), "");
    LLVMValueRef smallest = int_const(e, whole, wide ? INT64_MIN : INT32_MIN);
    LLVMValueRef v = LLVMBuildSelect(m, fits, LLVMBuildFPToSI(m, safe, type, ""), smallest, "");

    return wide || to == PDM_I32 ? v : LLVMBuildTrunc(m, v, type_of(e, to), "");
}

/* To the nearest, halves to even; NaN stays one. */
static LLVMValueRef to_half(emitter *e, pdm_dtype to, LLVMValueRef a)
{
    LLVMTypeRef i32 = type_of(e, PDM_I32);
    LLVMBuilderRef m = e->builder;

    if (to == PDM_F16)
        return LLVMBuildFPTrunc(m, a, type_of(e, to), "");
    LLVMValueRef sixteen = int_const(e, PDM_I32, 16), one = int_const(e, PDM_I32, 1);
    LLVMValueRef bits = LLVMBuildBitCast(m, a, i32, "");
    LLVMValueRef odd = LLVMBuildAnd(m, LLVMBuildLShr(m, bits, sixteen, ""), one, "");
    LLVMValueRef half = LLVMBuildAdd(m, odd, int_const(e, PDM_I32, 0x7fff), "");
    LLVMValueRef rounded = LLVMBuildAdd(m, bits, half, "");
    LLVMValueRef quiet = LLVMBuildOr(m, bits, int_const(e, PDM_I32, 0x400000), "");
    LLVMValueRef is_nan = LLVMBuildFCmp(m, LLVMRealUNO, a, a, "");
    LLVMValueRef v = LLVMBuildSelect(m, is_nan, quiet, rounded, "");
    return LLVMBuildTrunc(m, LLVMBuildLShr(m, v, sixteen, ""), type_of(e, to), "");
}

static LLVMValueRef from_half(emitter *e, pdm_dtype from, LLVMValueRef a)
{
    LLVMTypeRef f32 = type_of(e, PDM_F32);
    LLVMBuilderRef m = e->builder;

    if (from == PDM_F16)
        return LLVMBuildFPExt(m, a, f32, "");
    LLVMValueRef wide = LLVMBuildZExt(m, a, type_of(e, PDM_I32), "");
    return LLVMBuildBitCast(m, LLVMBuildShl(m, wide, int_const(e, PDM_I32, 16), ""), f32, "");
}

static LLVMValueRef cast(emitter *e, pdm_dtype to, pdm_dtype from, LLVMValueRef a)
{
    LLVMBuilderRef m = e->builder;
    LLVMTypeRef type = type_of(e, to);

    if (pdm_loop_is_half(to))
        return to_half(e, to, a);
    if (pdm_loop_is_half(from))
        return from_half(e, from, a);
    if (to == PDM_BOOL && pdm_dtype_is_float(from))
        return LLVMBuildFCmp(m, LLVMRealUNE, a, float_const(e, from, 0), "");
    if (to == PDM_BOOL)
        return LLVMBuildICmp(m, LLVMIntNE, a, int_const(e, from, 0), "");
    if (pdm_dtype_is_float(to) && pdm_dtype_is_float(from))
        return LLVMBuildFPCast(m, a, type, "");
    if (pdm_dtype_is_float(to))
        return is_unsigned(from) && from != PDM_INDEX ? LLVMBuildUIToFP(m, a, type, "")
                                                      : LLVMBuildSIToFP(m, a, type, "");
    if (pdm_dtype_is_float(from))
        return float_to_int(e, to, from, a);
    return LLVMBuildIntCast2(m, a, type, !is_unsigned(from) || from == PDM_INDEX, "");
}

/* ---- expressions ----------------------------------------------------------------------------- */

static LLVMValueRef emit(emitter *e, const pdm_loop_expr *x);

/*
 * By how much an index grows from lane to lane. False: not by always the same number, as far as is
 * known. Outside of vector loops nothing grows.
 */
static bool lane_step(const emitter *e, const pdm_loop_expr *x, int64_t *step)
{
    int64_t a = 0, b = 0;

    *step = 0;
    if (!e->lanes)
        return true;
    if (x->kind == PDM_LOOP_VAR)
        *step = x->u.index == e->lane;
    if (x->num_args == 0)
        return true;
    if (x->kind == PDM_LOOP_BINARY && (x->op == PDM_LOOP_ADD || x->op == PDM_LOOP_MUL)) {
        if (!lane_step(e, x->args[0], &a) || !lane_step(e, x->args[1], &b))
            return false;
        if (x->op == PDM_LOOP_ADD)
            return !__builtin_add_overflow(a, b, step);
        if (a == 0 && b == 0)
            return true;
        const pdm_loop_expr *factor = x->args[a != 0];
        return (a == 0 || b == 0) && factor->kind == PDM_LOOP_CONST &&
               !__builtin_mul_overflow(a + b, factor->u.i, step);
    }
    for (uint32_t i = 0; i < x->num_args; i++) {
        if (!lane_step(e, x->args[i], &a) || a != 0)
            return false;
    }
    return true;
}

/* An index in the first lane. */
static LLVMValueRef first_lane(emitter *e, const pdm_loop_expr *x)
{
    int64_t step;

    if (lane_step(e, x, &step) && step == 0)
        return emit(e, x);
    if (x->kind == PDM_LOOP_VAR)
        return LLVMConstInt(e->i64, 0, false);
    LLVMValueRef a = first_lane(e, x->args[0]), b = first_lane(e, x->args[1]);
    return x->op == PDM_LOOP_ADD ? LLVMBuildNSWAdd(e->builder, a, b, "")
                                 : LLVMBuildNSWMul(e->builder, a, b, "");
}

/* The address of an element of a buffer. */
static LLVMValueRef address(emitter *e, uint32_t buffer, LLVMValueRef index)
{
    LLVMValueRef base = e->locals[buffer] ? e->locals[buffer] : LLVMGetParam(e->function, buffer);

    return LLVMBuildInBoundsGEP2(e->builder, memory_type(e, e->fn->buffers.v[buffer].dtype), base,
                                 &index, 1, "");
}

/* Side by side in memory: the elements of all lanes. */
static LLVMTypeRef line_type(emitter *e, pdm_dtype dtype)
{
    return LLVMVectorType(memory_type(e, dtype), e->lanes);
}

/* Tell the caches what will be used: it costs next to nothing, also beyond the end. */
static void fetch(emitter *e, pdm_dtype dtype, LLVMValueRef at, int64_t ahead, bool written)
{
    enum { LINE = 64, SECOND_LEVEL = 2, DATA = 1 };
    const int64_t size = (int64_t)pdm_dtype_size(dtype);
    LLVMTypeRef params[] = {e->ptr, e->i32, e->i32, e->i32};
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->context), params, 4, false);
    LLVMValueRef function = LLVMGetNamedFunction(e->module, "llvm.prefetch.p0");

    if (!function)
        function = LLVMAddFunction(e->module, "llvm.prefetch.p0", type);
    for (int64_t byte = 0; byte < (int64_t)e->lanes * size; byte += LINE) {
        LLVMValueRef offset = LLVMConstInt(e->i64, (unsigned long long)(ahead * size + byte), true);
        LLVMValueRef args[] = {LLVMBuildGEP2(e->builder, e->i8, at, &offset, 1, ""),
                               LLVMConstInt(e->i32, written, false), LLVMConstInt(e->i32, SECOND_LEVEL, false),
                               LLVMConstInt(e->i32, DATA, false)};
        LLVMBuildCall2(e->builder, type, function, args, 4, "");
    }
}

/* What is read of an input a while later, and where results of the same shape go: as much later, where
 * this loop stores them; at once, where one behind it does. */
static void fetch_ahead(emitter *e, uint32_t buffer, LLVMValueRef at, LLVMValueRef index)
{
    const pdm_loop_buffer *b = &e->fn->buffers.v[buffer];

    if (b->role != PDM_LOOP_INPUT)
        return;
    fetch(e, b->dtype, at, e->ahead, false);
    for (uint32_t i = 0; i < e->fn->buffers.n; i++) {
        const pdm_loop_buffer *out = &e->fn->buffers.v[i];
        if (out->role == PDM_LOOP_OUTPUT && out->dtype == b->dtype && out->rank == b->rank &&
            memcmp(out->dims, b->dims, b->rank * sizeof *b->dims) == 0)
            fetch(e, b->dtype, address(e, i, index), e->stores[i] ? e->ahead : 0, true);
    }
}

static LLVMValueRef load(emitter *e, const pdm_loop_expr *x)
{
    const bool is_bool = x->dtype == PDM_BOOL;
    LLVMTypeRef type = memory_type(e, x->dtype);
    LLVMValueRef v = NULL;
    int64_t step;

    if (!lane_step(e, x->args[0], &step) || (step != 0 && step != 1)) {
        LLVMValueRef at = emit(e, x->args[0]);
        for (unsigned i = 0; i < e->lanes; i++)
            v = with_lane(e, v, i, LLVMBuildLoad2(e->builder, type, address(e, x->u.index, lane_of(e, at, i)), ""));
    } else if (step == 0) {
        v = LLVMBuildLoad2(e->builder, type, address(e, x->u.index, emit(e, x->args[0])), "");
    } else {
        LLVMValueRef index = first_lane(e, x->args[0]), at = address(e, x->u.index, index);
        v = LLVMBuildLoad2(e->builder, line_type(e, x->dtype), at, "");
        LLVMSetAlignment(v, (unsigned)pdm_dtype_size(x->dtype));
        if (e->ahead > 0)
            fetch_ahead(e, x->u.index, at, index);
    }
    return is_bool ? LLVMBuildICmp(e->builder, LLVMIntNE, v, LLVMConstNull(LLVMTypeOf(v)), "") : v;
}

static LLVMValueRef unary(emitter *e, const pdm_loop_expr *x, LLVMValueRef a)
{
    const pdm_dtype dtype = x->args[0]->dtype;

    if (x->op == PDM_LOOP_BITS)
        return LLVMBuildBitCast(e->builder, a, type_of(e, x->dtype), "");
    return pdm_dtype_is_float(dtype) ? float_unary(e, x->op, dtype, a)
                                     : int_unary(e, x->op, dtype, a);
}

/* The numbers of the lanes. */
static LLVMValueRef lane_numbers(const emitter *e)
{
    LLVMValueRef all[PDM_LOOP_MAX_LANES];

    for (unsigned i = 0; i < e->lanes; i++)
        all[i] = LLVMConstInt(e->i64, i, false);
    return LLVMConstVector(all, e->lanes);
}

/* An operation, of operands that are there. */
static LLVMValueRef operation(emitter *e, const pdm_loop_expr *x, const LLVMValueRef *v)
{
    switch (x->kind) {
    case PDM_LOOP_UNARY:
        return unary(e, x, v[0]);
    case PDM_LOOP_BINARY:
        return pdm_dtype_is_float(x->args[0]->dtype)
                   ? float_binary(e, x->op, x->args[0]->dtype, v[0], v[1])
                   : int_binary(e, x->op, x->args[0]->dtype, v[0], v[1]);
    case PDM_LOOP_SELECT:
        return LLVMBuildSelect(e->builder, v[0], v[1], v[2], "");
    case PDM_LOOP_FMA:
        return fused(e, x->dtype, v);
    case PDM_LOOP_CAST:
        return cast(e, x->dtype, x->args[0]->dtype, v[0]);
    case PDM_LOOP_CONST:
    case PDM_LOOP_VAR:
    case PDM_LOOP_SYMBOL:
    case PDM_LOOP_LOAD:
        break;
    }
    return NULL;
}

static LLVMValueRef make(emitter *e, const pdm_loop_expr *x)
{
    LLVMValueRef v[3] = {NULL};
    bool wide = false;

    switch (x->kind) {
    case PDM_LOOP_CONST:
        return pdm_dtype_is_float(x->dtype) ? float_const(e, x->dtype, x->u.f)
                                            : int_const(e, x->dtype, x->u.i);
    case PDM_LOOP_VAR:
        return e->lanes && x->u.index == e->lane ? lane_numbers(e) : e->vars[x->u.index];
    case PDM_LOOP_SYMBOL:
        return LLVMGetParam(e->function, (unsigned)e->fn->buffers.n + x->u.index);
    case PDM_LOOP_LOAD:
        return load(e, x);
    case PDM_LOOP_UNARY:
    case PDM_LOOP_BINARY:
    case PDM_LOOP_SELECT:
    case PDM_LOOP_FMA:
    case PDM_LOOP_CAST:
        break;
    }
    for (uint32_t i = 0; i < x->num_args; i++) {
        v[i] = emit(e, x->args[i]);
        wide = wide || is_vector(v[i]);
    }
    e->wide = wide ? e->lanes : 0;
    for (uint32_t i = 0; i < x->num_args; i++)
        v[i] = spread(e, v[i]);
    LLVMValueRef made = operation(e, x, v);
    e->wide = 0;
    return made;
}

static LLVMValueRef emit(emitter *e, const pdm_loop_expr *x)
{
    if (!e->exprs[x->id]) {
        e->exprs[x->id] = make(e, x);
        e->log[e->num_logged++] = x;
    }
    return e->exprs[x->id];
}

/* Values are made anew from here on: the block of those that are there does not come before, or what
 * they were loaded from was stored to. LLVM finds what was made twice. */
static void forget(emitter *e)
{
    while (e->num_logged > 0)
        e->exprs[e->log[--e->num_logged]->id] = NULL;
}

/* ---- statements ------------------------------------------------------------------------------ */

static void statements(emitter *e, const pdm_loop_stmt *stmt);

static void loop(emitter *e, const pdm_loop_stmt *stmt, LLVMValueRef begin, LLVMValueRef end)
{
    LLVMBuilderRef m = e->builder;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(m);
    LLVMBasicBlockRef body = LLVMAppendBasicBlockInContext(e->context, e->function, "loop");
    LLVMBasicBlockRef after = LLVMAppendBasicBlockInContext(e->context, e->function, "after");

    LLVMBuildCondBr(m, LLVMBuildICmp(m, LLVMIntSLT, begin, end, ""), body, after);
    LLVMPositionBuilderAtEnd(m, body);
    LLVMValueRef i = LLVMBuildPhi(m, e->i64, "i");
    e->vars[stmt->var] = i;
    statements(e, stmt->body);
    LLVMValueRef next = LLVMBuildNSWAdd(m, i, LLVMConstInt(e->i64, 1, false), "");
    LLVMBasicBlockRef last = LLVMGetInsertBlock(m);
    LLVMBuildCondBr(m, LLVMBuildICmp(m, LLVMIntSLT, next, end, ""), body, after);
    LLVMAddIncoming(i, (LLVMValueRef[]){begin, next}, (LLVMBasicBlockRef[]){before, last}, 2);
    LLVMPositionBuilderAtEnd(m, after);
    forget(e);
}

/* Lanes that store to places of their own; to one place, the last. */
static void store_lanes(emitter *e, const pdm_loop_stmt *stmt, LLVMValueRef v)
{
    const pdm_dtype dtype = stmt->value->dtype;
    int64_t step;

    if (!lane_step(e, stmt->indices[0], &step) || (step != 0 && step != 1)) {
        LLVMValueRef at = emit(e, stmt->indices[0]);
        for (unsigned i = 0; i < e->lanes; i++)
            LLVMBuildStore(e->builder, lane_of(e, v, i), address(e, stmt->buffer, lane_of(e, at, i)));
    } else if (step == 0) {
        LLVMBuildStore(e->builder, lane_of(e, v, e->lanes - 1),
                       address(e, stmt->buffer, emit(e, stmt->indices[0])));
    } else {
        e->wide = e->lanes;
        v = spread(e, v);
        e->wide = 0;
        LLVMValueRef stored =
            LLVMBuildStore(e->builder, v, address(e, stmt->buffer, first_lane(e, stmt->indices[0])));
        LLVMSetAlignment(stored, (unsigned)pdm_dtype_size(dtype));
    }
}

static void store(emitter *e, const pdm_loop_stmt *stmt)
{
    LLVMValueRef v = emit(e, stmt->value);

    if (stmt->value->dtype == PDM_BOOL) {
        e->wide = is_vector(v) ? e->lanes : 0;
        v = LLVMBuildZExt(e->builder, v, widened(e, e->i8), "");
        e->wide = 0;
    }
    if (e->lanes)
        store_lanes(e, stmt, v);
    else
        LLVMBuildStore(e->builder, v, address(e, stmt->buffer, emit(e, stmt->indices[0])));
    for (size_t i = 0; i < e->num_logged; i++) {
        if (e->log[i]->kind == PDM_LOOP_LOAD && e->log[i]->u.index == stmt->buffer) {
            forget(e);
            break;
        }
    }
}

static void guarded(emitter *e, const pdm_loop_stmt *stmt)
{
    LLVMBasicBlockRef body = LLVMAppendBasicBlockInContext(e->context, e->function, "if");
    LLVMBasicBlockRef after = LLVMAppendBasicBlockInContext(e->context, e->function, "after");

    LLVMBuildCondBr(e->builder, emit(e, stmt->value), body, after);
    LLVMPositionBuilderAtEnd(e->builder, body);
    statements(e, stmt->body);
    LLVMBuildBr(e->builder, after);
    LLVMPositionBuilderAtEnd(e->builder, after);
    forget(e);
}

static bool mentions(const pdm_loop_expr *x, uint32_t var)
{
    if (x->kind == PDM_LOOP_VAR)
        return x->u.index == var;
    for (uint32_t i = 0; i < x->num_args; i++) {
        if (mentions(x->args[i], var))
            return true;
    }
    return false;
}

/* What goes on in lanes: all of them do the same, and have no memory of their own. */
static bool fits_lanes(const emitter *e, const pdm_loop_stmt *list, uint32_t lane)
{
    for (const pdm_loop_stmt *stmt = list; stmt; stmt = stmt->next) {
        if (stmt->kind == PDM_LOOP_FOR &&
            (mentions(stmt->extent, lane) || !fits_lanes(e, stmt->body, lane)))
            return false;
        if (stmt->kind == PDM_LOOP_IF &&
            (mentions(stmt->value, lane) || !fits_lanes(e, stmt->body, lane)))
            return false;
        for (size_t i = 0; stmt->kind == PDM_LOOP_FOR && i < e->fn->buffers.n; i++) {
            if (e->fn->buffers.v[i].scope != PDM_LOOP_GLOBAL && e->fn->buffers.v[i].home == stmt->var)
                return false;
        }
    }
    return true;
}

static bool is_in_lanes(const emitter *e, const pdm_loop_stmt *stmt)
{
    const pdm_loop_stmt alone = {.kind = PDM_LOOP_FOR,
                                 .var = stmt->var,
                                 .extent = stmt->extent,
                                 .body = stmt->body};

    return stmt->mark == PDM_LOOP_VECTOR && !e->lanes && stmt->extent->kind == PDM_LOOP_CONST &&
           stmt->extent->u.i >= 2 && stmt->extent->u.i <= PDM_LOOP_MAX_LANES &&
           fits_lanes(e, &alone, stmt->var);
}

static void mark_stored(emitter *e, const pdm_loop_stmt *list, bool stored)
{
    for (; list; list = list->next) {
        mark_stored(e, list->body, stored);
        if (list->kind == PDM_LOOP_STORE)
            e->stores[list->buffer] = stored;
    }
}

static void in_lanes(emitter *e, const pdm_loop_stmt *stmt)
{
    forget(e);
    mark_stored(e, stmt->body, true);
    e->lanes = (unsigned)stmt->extent->u.i;
    e->lane = stmt->var;
    e->ahead = pdm_loop_note_of(stmt, PDM_LOOP_AHEAD);
    statements(e, stmt->body);
    forget(e);
    mark_stored(e, stmt->body, false);
    e->lanes = 0;
    e->ahead = 0;
}

static void unrolled(emitter *e, const pdm_loop_stmt *stmt)
{
    for (int64_t i = 0; i < stmt->extent->u.i; i++) {
        forget(e);
        e->vars[stmt->var] = LLVMConstInt(e->i64, (unsigned long long)i, false);
        statements(e, stmt->body);
    }
    forget(e);
}

static void statements(emitter *e, const pdm_loop_stmt *stmt)
{
    for (; stmt; stmt = stmt->next) {
        if (stmt->kind == PDM_LOOP_IF)
            guarded(e, stmt);
        else if (stmt->kind == PDM_LOOP_FOR && stmt->mark == PDM_LOOP_UNROLL)
            unrolled(e, stmt);
        else if (stmt->kind == PDM_LOOP_FOR && is_in_lanes(e, stmt))
            in_lanes(e, stmt);
        else if (stmt->kind == PDM_LOOP_FOR)
            loop(e, stmt, LLVMConstInt(e->i64, 0, false), emit(e, stmt->extent));
        else
            store(e, stmt);
    }
}

/* ---- functions ------------------------------------------------------------------------------- */

void pdm_llvm_nest_name(char out[PDM_LLVM_NAME], uint64_t number, uint32_t nest)
{
    snprintf(out, PDM_LLVM_NAME, "kernel_%" PRIu64 "_%u", number, nest);
}

/* What lives in turns of loops of this nest. */
static void take_locals(emitter *e, pdm_loop_stmt nest)
{
    nest.next = NULL;
    for (size_t i = 0; i < e->fn->buffers.n; i++) {
        const pdm_loop_buffer *b = &e->fn->buffers.v[i];
        uint64_t bytes = 0;
        e->locals[i] = NULL;
        if (b->scope == PDM_LOOP_GLOBAL || !pdm_loop_find(&nest, b->home) || !pdm_loop_bytes(b, &bytes))
            continue;
        const unsigned count = (unsigned)(bytes / pdm_dtype_size(b->dtype));
        e->locals[i] = LLVMBuildAlloca(e->builder, LLVMArrayType(memory_type(e, b->dtype), count), "");
        LLVMSetAlignment(e->locals[i], 64);
    }
}

/* The inner function of a nest: buffers, symbols, begin, end. */
static LLVMValueRef inner_function(emitter *e, const pdm_loop_stmt *nest, uint32_t number,
                                   LLVMTypeRef type)
{
    const unsigned buffers = (unsigned)e->fn->buffers.n, symbols = (unsigned)e->fn->symbols.n;
    char name[PDM_LLVM_NAME + 8], base[PDM_LLVM_NAME];

    pdm_llvm_nest_name(base, e->number, number);
    snprintf(name, sizeof name, "%s_inner", base);
    e->function = LLVMAddFunction(e->module, name, type);
    LLVMSetLinkage(e->function, LLVMInternalLinkage);
    add_attribute(e, e->function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, "noinline");
    add_attribute(e, e->function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, "nounwind");
    add_text_attribute(e, e->function, "prefer-vector-width", "512"); /* where there are such */
    for (unsigned i = 0; i < buffers; i++) {
        add_attribute(e, e->function, i + 1, "noalias");
        add_attribute(e, e->function, i + 1, "nocapture");
        if (e->fn->buffers.v[i].role == PDM_LOOP_INPUT)
            add_attribute(e, e->function, i + 1, "readonly");
    }
    LLVMPositionBuilderAtEnd(e->builder,
                             LLVMAppendBasicBlockInContext(e->context, e->function, "entry"));
    forget(e);
    take_locals(e, *nest);
    if (nest->kind == PDM_LOOP_FOR)
        loop(e, nest, LLVMGetParam(e->function, buffers + symbols),
             LLVMGetParam(e->function, buffers + symbols + 1));
    else if (nest->kind == PDM_LOOP_IF)
        guarded(e, nest);
    else
        store(e, nest);
    LLVMBuildRetVoid(e->builder);
    forget(e);
    return e->function;
}

static void outer_function(emitter *e, LLVMValueRef inner, LLVMTypeRef inner_type, uint32_t number,
                           LLVMValueRef *args)
{
    const unsigned buffers = (unsigned)e->fn->buffers.n, symbols = (unsigned)e->fn->symbols.n;
    LLVMTypeRef params[] = {e->ptr, e->ptr, e->i64, e->i64};
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->context), params, 4, false);
    LLVMBuilderRef m = e->builder;
    char name[PDM_LLVM_NAME];

    pdm_llvm_nest_name(name, e->number, number);
    LLVMValueRef outer = LLVMAddFunction(e->module, name, type);
    LLVMPositionBuilderAtEnd(m, LLVMAppendBasicBlockInContext(e->context, outer, "entry"));
    for (unsigned i = 0; i < buffers + symbols; i++) {
        const bool buffer = i < buffers;
        LLVMTypeRef element_type = buffer ? e->ptr : e->i64;
        LLVMValueRef index = LLVMConstInt(e->i64, buffer ? i : i - buffers, false);
        LLVMValueRef at =
            LLVMBuildInBoundsGEP2(m, element_type, LLVMGetParam(outer, buffer ? 0 : 1), &index, 1, "");
        args[i] = LLVMBuildLoad2(m, element_type, at, "");
    }
    args[buffers + symbols] = LLVMGetParam(outer, 2);
    args[buffers + symbols + 1] = LLVMGetParam(outer, 3);
    LLVMBuildCall2(m, inner_type, inner, args, buffers + symbols + 2, "");
    LLVMBuildRetVoid(m);
}

static void nests(emitter *e)
{
    const unsigned count = (unsigned)(e->fn->buffers.n + e->fn->symbols.n) + 2;
    LLVMTypeRef *params = calloc(count, sizeof(LLVMTypeRef));
    LLVMValueRef *args = calloc(count, sizeof(LLVMValueRef));
    uint32_t number = 0;

    if (!params || !args) {
        e->failed = true;
        free(params);
        free(args);
        return;
    }
    for (unsigned i = 0; i < count; i++)
        params[i] = i < e->fn->buffers.n ? e->ptr : e->i64;
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->context), params, count, false);
    for (const pdm_loop_stmt *nest = e->fn->body; nest; nest = nest->next, number++) {
        LLVMValueRef inner = inner_function(e, nest, number, type);
        outer_function(e, inner, type, number, args);
    }
    free(params);
    free(args);
}

LLVMModuleRef pdm_llvm_emit(LLVMContextRef context, const pdm_loop_fn *fn, uint64_t number)
{
    emitter e = {.fn = fn,
                 .number = number,
                 .context = context,
                 .i1 = LLVMInt1TypeInContext(context),
                 .i8 = LLVMInt8TypeInContext(context),
                 .i32 = LLVMInt32TypeInContext(context),
                 .i64 = LLVMInt64TypeInContext(context),
                 .ptr = LLVMPointerTypeInContext(context, 0)};

    e.vars = calloc((size_t)fn->num_vars + 1, sizeof(LLVMValueRef));
    e.locals = calloc(fn->buffers.n + 1, sizeof(LLVMValueRef));
    e.stores = calloc(fn->buffers.n + 1, sizeof *e.stores);
    e.exprs = calloc(fn->num_exprs + 1, sizeof(LLVMValueRef));
    e.log = calloc(fn->num_exprs + 1, sizeof *e.log);
    e.module = LLVMModuleCreateWithNameInContext(fn->name, context);
    e.builder = LLVMCreateBuilderInContext(context);
    e.failed = !e.vars || !e.locals || !e.stores || !e.exprs || !e.log;
    if (!e.failed)
        nests(&e);
    LLVMDisposeBuilder(e.builder);
    free(e.vars);
    free(e.locals);
    free(e.stores);
    free(e.exprs);
    free(e.log);
    if (e.failed) {
        LLVMDisposeModule(e.module);
        return NULL;
    }
    return e.module;
}
