"""Predicted latencies beside those that papers measured on chips: ``python -m benchmarks.published``."""
