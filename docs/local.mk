EXTRA_DIST += docs/architecture.md docs/canonical-form.md docs/cinn-pass.md docs/coverage.md \
	docs/compiler.md \
	docs/execution.md \
	docs/json.md \
	docs/legacy-interpreter.md \
	docs/passes.md \
	docs/performance.md \
	docs/shapes.md \
	docs/verify.md

# The man page and the completion for bash are made by the program from the tables of --help, so that they cannot differ.
if !CROSS_COMPILING
man1_MANS = docs/pdmigrate.1
CLEANFILES += docs/pdmigrate.1
docs/pdmigrate.1: src/cli/pdmigrate$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) docs && src/cli/pdmigrate$(EXEEXT) --help=man >$@.tmp && mv $@.tmp $@

bashcompletiondir = $(datadir)/bash-completion/completions
bashcompletion_DATA = docs/completion/pdmigrate
CLEANFILES += docs/completion/pdmigrate
docs/completion/pdmigrate: src/cli/pdmigrate$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) docs/completion && src/cli/pdmigrate$(EXEEXT) --help=bash >$@.tmp && mv $@.tmp $@
endif
