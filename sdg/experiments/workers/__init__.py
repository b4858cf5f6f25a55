"""Jobs of runs and benchmarks in supervised local processes."""
