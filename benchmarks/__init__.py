"""Time, memory and loss of the whole job; see `benchmarks.run` and `benchmarks.compare`."""
