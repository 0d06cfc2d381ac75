"""How a benchmark's command line runs, and files of what it found: errors of the user are one sentence and status 2."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, NoReturn, TypeVar

import msgspec
import typer

from match.cli import execute
from match.files.output import whole_file

Output = Annotated[Path | None, typer.Option("--output", "-o", help="JSON file to write.")]
"""The option of benchmarks that write what they found."""

Results = TypeVar("Results", bound=msgspec.Struct)


def app(command: Callable[..., None]) -> typer.Typer:
    """A command line with one command."""
    made = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.command()(command)
    return made


def run(command: Callable[..., None], name: str, arguments: Sequence[str]) -> NoReturn:
    """Run the command of `python -m benchmarks.NAME` and exit with its status."""
    execute(app(command), f"python -m benchmarks.{name}", arguments)


def write(results: msgspec.Struct, output: Path | None) -> None:
    """Write results as JSON, whole or not at all; nothing where no file was named."""
    if output is not None:
        with whole_file(output) as unfinished:
            unfinished.write_bytes(msgspec.json.format(msgspec.json.encode(results)) + b"\n")


def read(path: Path, results: type[Results]) -> Results:
    """What a benchmark wrote in a file."""
    return msgspec.json.decode(path.read_bytes(), type=results)
