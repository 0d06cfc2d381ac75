"""The entry point of ``python -m benchmarks.places``."""

import sys

from benchmarks.command import run
from benchmarks.places.cli import table

run(table, "places", sys.argv[1:])
