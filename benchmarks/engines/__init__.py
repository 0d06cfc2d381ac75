"""Search engines side by side: networks x L1 sizes x engines. Run it as ``python -m benchmarks.engines``."""
