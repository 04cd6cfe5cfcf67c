# Layer 0: libc only.
noinst_LTLIBRARIES += libpdm_base.la
libpdm_base_la_CFLAGS = $(PDM_LIB_CFLAGS)
libpdm_base_la_SOURCES =
