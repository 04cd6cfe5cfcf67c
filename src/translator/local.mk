# Legacy to PIR: base, legacy_graph, ir.
noinst_LTLIBRARIES += libpdm_tr.la
libpdm_tr_la_CFLAGS = $(PDM_LIB_CFLAGS)
libpdm_tr_la_SOURCES =
