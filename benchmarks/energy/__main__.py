"""``python -m benchmarks.energy``: predicted energies beside published ones, and objectives beside each other."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.command import Output, run, write
from benchmarks.energy.objectives import TARGETS, chosen, networks, objectives_table
from benchmarks.energy.published import cells, predicted, published_table
from benchmarks.energy.results import Results
from benchmarks.models import Models, models_folder
from benchmarks.published.cells import published
from match.errors import OptionError
from match.files.output import check_file

WIDTH = 200
FILE = Path(__file__).with_name("predicted.json")
"""What was predicted last, which tables of docs/ have."""


def main(
    models: Models = None,
    output: Output = None,
    target: Annotated[str | None, typer.Option(help="This target only.")] = None,
) -> None:
    """Set predicted energies beside published ones, and networks chosen for other objectives beside the fastest.

    The status is 1 if one takes more than 1.25 times the cycles for less than 5 % of the energy.
    """
    if target not in (None, *TARGETS):
        raise OptionError(f"there are no figures of target {target!r}; choose one of: {', '.join(TARGETS)}.")
    check_file(output)
    folder, known = models_folder(models), published().networks
    beside = [predicted(one, known[one.network], folder) for one in cells() if target in (None, one.target)]
    console = Console(width=None if Console().is_terminal else WIDTH)
    console.print(published_table(beside))
    every = [
        row for name in TARGETS if target in (None, name) for path in networks(folder) for row in chosen(path, name)
    ]
    console.print(objectives_table(every))
    write(Results(published=tuple(beside), objectives=tuple(every)), output)
    dear = [one for one in every if one.is_dear]
    for one in dear:
        console.print(f"{one.network} on {one.target}: {one.cycles_factor:.2f} times the cycles for little energy")
    if dear:
        raise typer.Exit(1)


if __name__ == "__main__":
    run(main, "energy", sys.argv[1:])
