# Programs that show the library; built by the tests against the installed library (pkg-config).
