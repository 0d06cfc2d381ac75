"""Operators that the runtimes have integer kernels for, and what becomes of each: docs/runtimes.md."""
