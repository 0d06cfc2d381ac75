"""The entry point of ``python -m benchmarks.engines``."""

from benchmarks.engines.cli import main

main()
