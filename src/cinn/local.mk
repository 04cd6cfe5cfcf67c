# The compiler: base, ir. LLVM is in a module of its own.
noinst_LTLIBRARIES += libpdm_cinn.la
libpdm_cinn_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_builddir)/src -DPDM_MODULE_DIR='"$(pkglibdir)"'
libpdm_cinn_la_CFLAGS = $(PDM_LIB_CFLAGS)

# loop IR
libpdm_cinn_la_SOURCES = \
	src/cinn/loop_expr.c \
	src/cinn/loop_fn.c \
	src/cinn/loop_ir.h \
	src/cinn/loop_ops.c \
	src/cinn/loop_ops.def \
	src/cinn/loop_key.c \
	src/cinn/loop_math.c \
	src/cinn/loop_print.c \
	src/cinn/loop_rewrite.c \
	src/cinn/loop_rewrite.h \
	src/cinn/loop_tree.c \
	src/cinn/loop_verify.c

# groups, and from them to loop IR
libpdm_cinn_la_SOURCES += \
	src/cinn/formula.h \
	src/cinn/gpu.c \
	src/cinn/gpu.h \
	src/cinn/group.c \
	src/cinn/group.h \
	src/cinn/group_dims.c \
	src/cinn/group_print.c \
	src/cinn/group_summary.c \
	src/cinn/lower.c \
	src/cinn/lower.h \
	src/cinn/rule_channel.c \
	src/cinn/rule_gather.c \
	src/cinn/rule_index.c \
	src/cinn/rule_interp.c \
	src/cinn/rule_join.c \
	src/cinn/rule_norm.c \
	src/cinn/rule_pointwise.c \
	src/cinn/rule_reduce.c \
	src/cinn/rules.c \
	src/cinn/rules.def \
	src/cinn/rules.h \
	src/cinn/depend.c \
	src/cinn/depend.h \
	src/cinn/schedule.c \
	src/cinn/schedule.h \
	src/cinn/schedule_keep.c \
	src/cinn/schedule_move.c \
	src/cinn/schedule_gpu.c \
	src/cinn/schedule_policy.c

# backends, and what they made
libpdm_cinn_la_SOURCES += \
	src/cinn/backend.c \
	src/cinn/backend.h \
	src/cinn/cache.c \
	src/cinn/cache.h \
	src/cinn/calls.c \
	src/cinn/calls.h \
	src/cinn/cuda/cublas.c \
	src/cinn/cuda/cublas.h \
	src/cinn/cuda/cuda.c \
	src/cinn/cuda/cudnn.c \
	src/cinn/cuda/cudnn.h \
	src/cinn/cuda/driver.c \
	src/cinn/cuda/driver.h \
	src/cinn/cuda/library.c \
	src/cinn/cuda/library.h \
	src/cinn/cuda/nvrtc.c \
	src/cinn/cuda/nvrtc.h \
	src/cinn/cuda/print.c \
	src/cinn/cuda/print.h \
	src/cinn/kernels.c \
	src/cinn/kernels.h \
	src/cinn/native.c \
	src/cinn/native.h \
	src/cinn/notes.c \
	src/cinn/notes.h \
	src/cinn/ref/ref.c

# The module that is opened when something is compiled; LLVM is linked here and nowhere else.
if HAVE_LLVM
pkglib_LTLIBRARIES += pdmigrate-llvm.la
endif
pdmigrate_llvm_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_builddir)/src $(LLVM_CPPFLAGS)
pdmigrate_llvm_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -no-undefined \
	-Wl,--no-undefined
pdmigrate_llvm_la_LIBADD = $(LLVM_LIBS) $(PDM_LIBM)
pdmigrate_llvm_la_SOURCES = \
	src/base/dtype.c \
	src/cinn/calls.c \
	src/cinn/calls.h \
	src/cinn/loop_ops.c \
	src/cinn/loop_tree.c \
	src/cinn/llvm/emit.c \
	src/cinn/llvm/emit.h \
	src/cinn/llvm/module.c

# Code that was kept is used only by those who would make the same: what the module is made of tells, and which LLVM.
pdm_llvm_made_of = $(pdmigrate_llvm_la_SOURCES) src/cinn/backend.h src/cinn/loop_ir.h src/cinn/loop_ops.def
src/cinn/identity.h: $(pdm_llvm_made_of) config.status
	$(AM_V_GEN)$(MKDIR_P) src/cinn && sum=`cd $(srcdir) && cat $(pdm_llvm_made_of) | cksum | tr ' ' -` && \
	echo "#define PDM_CINN_MODULE_IDENTITY \"$$sum of LLVM $(pdm_llvm)\"" >$@.tmp && mv $@.tmp $@
BUILT_SOURCES += src/cinn/identity.h
CLEANFILES += src/cinn/identity.h
# For a build of one program only, which makes no BUILT_SOURCES.
src/cinn/libpdm_cinn_la-backend.lo src/cinn/llvm/pdmigrate_llvm_la-module.lo: src/cinn/identity.h
# Nobody links the module, but who has the compiler refuses a module of other sources.
if HAVE_LLVM
EXTRA_libpdm_cinn_la_DEPENDENCIES = pdmigrate-llvm.la
endif
