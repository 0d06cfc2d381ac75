"""Predicted energies beside published ones, and what each objective brings: ``python -m benchmarks.energy``."""
