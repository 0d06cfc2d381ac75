"""The entry point of ``python -m benchmarks.memory``."""

import sys

from benchmarks.command import run
from benchmarks.memory.cli import table

run(table, "memory", sys.argv[1:])
