# Layer 0: libc, and libzip (loaded on demand) in npz.c.
noinst_LTLIBRARIES += libpdm_base.la
libpdm_base_la_CPPFLAGS = $(AM_CPPFLAGS) $(LIBZIP_CFLAGS)
libpdm_base_la_CFLAGS = $(PDM_LIB_CFLAGS)
libpdm_base_la_SOURCES = \
	src/base/arena.c \
	src/base/arena.h \
	src/base/buf.c \
	src/base/buf.h \
	src/base/buffer.h \
	src/base/checked.c \
	src/base/checked.h \
	src/base/decimal.c \
	src/base/decimal.h \
	src/base/diag.c \
	src/base/diag.h \
	src/base/diags.def \
	src/base/dtype.c \
	src/base/dtype.def \
	src/base/dtype.h \
	src/base/file.c \
	src/base/file.h \
	src/base/half.c \
	src/base/intern.c \
	src/base/intern.h \
	src/base/map.c \
	src/base/map.h \
	src/base/npz.c \
	src/base/npz.h \
	src/base/npz_write.c \
	src/base/param_data.c \
	src/base/params.c \
	src/base/params.h \
	src/base/status.c \
	src/base/status.h \
	src/base/tensor.c \
	src/base/tensor.h \
	src/base/utf8.c \
	src/base/utf8.h \
	src/base/vec.c \
	src/base/vec.h
