"""The entry point of ``python -m benchmarks.engines``."""

import sys

from benchmarks.command import run
from benchmarks.engines.cli import compare

run(compare, "engines", sys.argv[1:])
