# The suite that has the framework judge our files: tests/oracle/run, called by run-tests and not by
# make check, because it needs the framework.
