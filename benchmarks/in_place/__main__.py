"""The entry point of ``python -m benchmarks.in_place``."""

import sys

from benchmarks.command import run
from benchmarks.in_place.cli import table

run(table, "in_place", sys.argv[1:])
