"""The entry point of ``python -m benchmarks.chains``."""

import sys

from benchmarks.chains.cli import table
from benchmarks.command import run

run(table, "chains", sys.argv[1:])
