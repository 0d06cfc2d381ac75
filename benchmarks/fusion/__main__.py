"""The entry point of ``python -m benchmarks.fusion``."""

from benchmarks.fusion.cli import main

main()
