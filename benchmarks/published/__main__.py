"""``python -m benchmarks.published``: every cell of cells.toml, predicted."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from benchmarks.command import Output, run, write
from benchmarks.models import Models, models_folder
from benchmarks.published.cells import published
from benchmarks.published.predict import predict
from benchmarks.published.results import Result, Results, table
from match.errors import OptionError
from match.files.output import check_file

FILE = Path(__file__).with_name("predicted.json")
"""What was predicted last, which tables of docs/ have."""


def read(path: Path) -> tuple[Result, ...]:
    """The results in a file that this benchmark wrote."""
    return msgspec.json.decode(path.read_bytes(), type=Results).results


def main(
    models: Models = None,
    output: Output = None,
    target: Annotated[str | None, typer.Option(help="Cells of this target only.")] = None,
) -> None:
    """Set predicted latencies beside those that papers measured on chips."""
    data = published()
    cells = [cell for cell in data.cells if target in (None, cell.target)]
    if not cells:
        known = ", ".join(sorted({cell.target for cell in data.cells}))
        raise OptionError(f"nothing was published for target {target!r}; choose one of: {known}.")
    check_file(output)
    folder = models_folder(models)
    results = Results(results=tuple(predict(cell, data.networks[cell.network], folder) for cell in cells))
    write(results, output)
    Console(width=None if Console().is_terminal else 220).print(table(results.results))


if __name__ == "__main__":
    run(main, "published", sys.argv[1:])
