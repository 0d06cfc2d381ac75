"""The entry point of ``python -m benchmarks.memory``."""

from benchmarks.memory.cli import main

main()
