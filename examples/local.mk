# Programs that show the library. They are not part of the build: tests/install.sh compiles them
# against the installed library, through pkg-config, and runs them.
exampledir = $(docdir)/examples
dist_example_DATA = \
	examples/convert.c \
	examples/run.c
