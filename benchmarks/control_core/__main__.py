"""``python -m benchmarks.control_core``: operators and networks on the control core, beside TVM's C."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.command import Output, run, write
from benchmarks.control_core.count import COUNTED, Layers, by_operator, counted, predicted
from benchmarks.control_core.results import Results
from benchmarks.models import Models, models_folder
from match.files.output import check_file

FILE = Path(__file__).with_name("counted.json")
"""What was counted last, which tables of docs/ have."""


def main(
    models: Models = None,
    output: Output = None,
) -> None:
    """Count operators on one core's RTL and under QEMU, by the core's kernels and as TVM's C; predict networks."""
    check_file(output)
    folder, console = models_folder(models), Console()
    counts: dict[str, list[Layers]] = {}
    for on in ("rtl", "qemu"):
        for network in COUNTED:
            with console.status(f"{network} on {on}"):
                counts.setdefault(on, []).extend(counted(network, on))
    operators = tuple(by_operator(counts["rtl"], counts["qemu"]))
    results = Results(operators=operators, networks=tuple(predicted(folder)))
    console.print(_table(results))
    write(results, output)


def _table(results: Results) -> Table:
    table = Table("operator or network", "of")
    for name in ("kernels", "TVM's C", "times fewer"):
        table.add_column(name, justify="right")
    rows = [(one.op, "cycles on RTL", one.kernels, one.generated) for one in results.operators]
    rows += [(one.op, "instructions", one.kernel_instructions, one.generated_instructions) for one in results.operators]
    for one in results.networks:
        how = f"predicted, {one.target}{', --rescale' if one.rescaled else ''}"
        rows.append((one.network, how, one.kernels, one.generated))
    for name, of, kernels, generated in rows:
        table.add_row(name, of, f"{kernels:,}", f"{generated:,}", f"{generated / kernels:.2f}")
    return table


if __name__ == "__main__":
    run(main, "control_core", sys.argv[1:])
