"""The entry point of ``python -m benchmarks.fusion``."""

import sys

from benchmarks.command import run
from benchmarks.fusion.cli import table

run(table, "fusion", sys.argv[1:])
