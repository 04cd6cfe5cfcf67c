EXTRA_DIST += docs/architecture.md docs/canonical-form.md docs/cinn-pass.md docs/coverage.md \
	docs/compiler.md \
	docs/execution.md \
	docs/legacy-interpreter.md \
	docs/passes.md \
	docs/performance.md \
	docs/shapes.md \
	docs/verify.md

# The man page is made by the program from the table that --help prints, so the two cannot differ.
if !CROSS_COMPILING
man1_MANS = docs/pdmigrate.1
CLEANFILES += docs/pdmigrate.1
docs/pdmigrate.1: src/cli/pdmigrate$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) docs && src/cli/pdmigrate$(EXEEXT) --help=man >$@.tmp && mv $@.tmp $@
endif
