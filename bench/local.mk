# Benchmark scripts.
