"""Instructions of each layer, as kernels in portable C and as TVM's C: ``python -m benchmarks.instructions``."""
