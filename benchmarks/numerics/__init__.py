"""What a chip's own arithmetic does to the outputs of whole networks: ``python -m benchmarks.numerics``."""
