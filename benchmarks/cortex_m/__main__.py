"""``python -m benchmarks.cortex_m``: instructions and memory of MLPerf Tiny's networks on Arm's cores."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.command import Output, run, write
from benchmarks.cortex_m.count import TARGETS, Counted, Results, beside, count
from benchmarks.models import MLPERF_TINY, Models, models_folder
from match.files.output import check_file

FILE = Path(__file__).with_name("counted.json")
"""What was counted last, which a table of docs/ has."""


def main(
    models: Models = None,
    output: Output = None,
) -> None:
    """Count the instructions of each network on each core under QEMU, beside its predicted cycles and its memory."""
    check_file(output)
    folder, console = models_folder(models), Console()
    found: list[Counted] = []
    for network in MLPERF_TINY:
        for target in TARGETS:
            with console.status(f"{network} on {target}"):
                found.append(count(network, target, folder))
    console.print(_table(found))
    write(Results(counted=tuple(found), beside=beside(folder)), output)


def _table(found: list[Counted]) -> Table:
    table = Table("network", "target")
    for name in ("predicted cycles", "instructions", "at -O3", "at -Os", "RAM", "constants", "text", "stack"):
        table.add_column(name, justify="right")
    for one in found:
        counts = (one.instructions, one.fastest, one.smallest)
        numbers = (one.predicted, *counts, one.ram, one.constants, one.text, one.stack)
        table.add_row(one.network, one.target, *(f"{number:,}" for number in numbers))
    return table


if __name__ == "__main__":
    run(main, "cortex_m", sys.argv[1:])
