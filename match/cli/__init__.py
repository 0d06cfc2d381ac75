"""The command line: `match compile`, what works with its project, and what looks at targets and networks.

Every error that a user can cause is one sentence on stderr and exit status 2. Results go to stdout; progress goes to
stderr, and only to a terminal. Commands import what they need when they run, so that `match --help` is quick.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from match.cli import commands
from match.cli.status import execute

__all__ = ["application", "execute", "main"]


def _show_version(asked: bool) -> None:
    if asked:
        import match

        typer.echo(f"match {match.__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Compile quantized neural networks to C for heterogeneous microcontrollers."""


def application() -> typer.Typer:
    """All commands."""
    app = typer.Typer(
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    app.command("compile")(commands.compile_model)
    app.command("sweep")(commands.sweep)
    app.command("quantize")(commands.quantize)
    app.command("build")(commands.build_project)
    app.command("export")(commands.export)
    app.command("size")(commands.size_project)
    app.command("run")(commands.run)
    app.command("measure")(commands.measure)
    app.command("selftest")(commands.selftest)
    app.command("validate")(commands.validate)
    app.command("report")(commands.report)
    app.command("compare")(commands.compare)
    app.command("targets")(commands.targets)
    app.command("ops")(commands.ops)
    app.command("new-target")(commands.new_target)
    app.command("check-target")(commands.check_target)
    app.command("zoo")(commands.zoo)
    app.command("demo")(commands.demo)
    return app


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line, by default on the process's arguments, and exit with its status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    execute(application(), "match", given or ["--help"])
