# The compiler: base, ir. LLVM is in a module of its own.
noinst_LTLIBRARIES += libpdm_cinn.la
libpdm_cinn_la_CPPFLAGS = $(AM_CPPFLAGS) -DPDM_MODULE_DIR='"$(pkglibdir)"'
libpdm_cinn_la_CFLAGS = $(PDM_LIB_CFLAGS)

# loop IR
libpdm_cinn_la_SOURCES = \
	src/cinn/loop_expr.c \
	src/cinn/loop_fn.c \
	src/cinn/loop_ir.h \
	src/cinn/loop_ops.def \
	src/cinn/loop_math.c \
	src/cinn/loop_print.c \
	src/cinn/loop_rewrite.c \
	src/cinn/loop_rewrite.h \
	src/cinn/loop_verify.c

# groups, and from them to loop IR
libpdm_cinn_la_SOURCES += \
	src/cinn/group.c \
	src/cinn/group.h \
	src/cinn/group_print.c \
	src/cinn/lower.c \
	src/cinn/lower.h \
	src/cinn/rule_pointwise.c \
	src/cinn/rules.c \
	src/cinn/rules.def \
	src/cinn/rules.h \
	src/cinn/schedule.c \
	src/cinn/schedule.h \
	src/cinn/schedule_cpu.c

# backends
libpdm_cinn_la_SOURCES += \
	src/cinn/backend.c \
	src/cinn/backend.h \
	src/cinn/ref/ref.c
