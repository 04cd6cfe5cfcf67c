# The program: built only on the public header (no -Isrc), own headers included by their bare name.
# It is linked with the archives, so that it starts faster, runs where it stands and needs no wrapper
# in the build tree; tests/exports.sh checks that it uses only exported names.
bin_PROGRAMS += src/cli/pdmigrate
src_cli_pdmigrate_CPPFLAGS = $(PDM_BASE_CPPFLAGS) -I$(top_srcdir)/include
src_cli_pdmigrate_LDADD = $(PDM_API_LIBS)
src_cli_pdmigrate_SOURCES = \
	src/cli/bisect.c \
	src/cli/bisect.h \
	src/cli/cli.h \
	src/cli/cmd_cache.c \
	src/cli/cmd_convert.c \
	src/cli/cmd_graph.c \
	src/cli/cmd_run.c \
	src/cli/cmd_show.c \
	src/cli/cmd_verify.c \
	src/cli/cmds.def \
	src/cli/completion.c \
	src/cli/help.c \
	src/cli/inputs.c \
	src/cli/inputs.h \
	src/cli/main.c \
	src/cli/opt.c \
	src/cli/opt.h \
	src/cli/opts.def \
	src/cli/progress.c \
	src/cli/progress.h \
	src/cli/report.c \
	src/cli/report.h \
	src/cli/tolerances.c \
	src/cli/tolerances.def \
	src/cli/tolerances.h \
	src/cli/verify.h \
	src/cli/verify_html.c \
	src/cli/verify_junit.c \
	src/cli/verify_text.c
