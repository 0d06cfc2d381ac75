"""How a benchmark's command line runs: one command, errors of the user as one sentence and exit status 2."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn

import typer

from match.cli import execute


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
