# PIR: base, and cJSON in pir_json_read.c.
noinst_LTLIBRARIES += libpdm_ir.la
libpdm_ir_la_CPPFLAGS = $(AM_CPPFLAGS) $(CJSON_CFLAGS)
libpdm_ir_la_CFLAGS = $(PDM_LIB_CFLAGS)
libpdm_ir_la_SOURCES =
