"""``python -m benchmarks.rtl``: the cluster's kernels on CV32E40P RTL under Verilator."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from benchmarks import command
from benchmarks.rtl.fit import fit as fit_constants
from benchmarks.rtl.results import Measurement, Results, summary
from benchmarks.rtl.run import GROUPS, run
from benchmarks.rtl.simulator import Simulator
from benchmarks.rtl.table import calls, groups
from benchmarks.rtl.toolchain import ISA, firmware
from match.cost_models.measured import FILE, written
from match.errors import OptionError, OutputError
from match.files.output import check_file, whole_file
from match.run.rtl.simulator import default_folder, simulator


def main(
    group: Annotated[str, typer.Option("--group", metavar="A,B", help="Of layers: required, fitted, tested.")] = (
        ",".join(GROUPS)
    ),
    isa: Annotated[str, typer.Option(help="What the kernels are compiled for: corev or portable.")] = "corev",
    fit: Annotated[bool, typer.Option("--fit", help="Print constants fitted to the group 'fitted'.")] = False,
    write: Annotated[bool, typer.Option("--write", help="With --fit: write them to the cost model's file.")] = False,
    output: command.Output = None,
    folder: Annotated[Path | None, typer.Option(help="Where built programs are kept. [default: the cache]")] = None,
) -> None:
    """Cycles of the cluster's kernels on one core, each result compared with NumPy, beside what the cost model says."""
    names = [name.strip() for name in group.split(",")]
    for name, known, what in [*((name, list(GROUPS), "group") for name in names), (isa, list(ISA), "instruction set")]:
        if name not in known:
            raise OptionError(f"there is no {what} {name!r}; choose one of: {', '.join(known)}.")
    if write and not fit:
        raise OptionError("--write needs --fit: what is fitted is what is written.")
    check_file(output)
    place = folder or default_folder()
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or error
        raise OutputError(f"programs cannot be kept in {place}: {reason}; name another folder by --folder.") from error
    measurements: list[Measurement] = []
    stderr = Console(stderr=True)
    with (
        Progress(console=stderr, transient=True, disable=not stderr.is_terminal) as progress,
        Simulator(simulator(place), firmware(place, isa)) as core,
    ):
        task = progress.add_task("measuring", total=sum(len(GROUPS[name]()) for name in names))
        for one in run(core, names):
            measurements.append(one)
            progress.update(task, advance=1, description=one.layer)
    by_group = [(name, [one for one in measurements if one.group == name]) for name in names]
    summaries = tuple(summary(name, part) for name, part in by_group)
    console = Console(width=None if Console().is_terminal else 140)
    console.print(calls(measurements))
    console.print(groups(summaries))
    if fit:
        cases = GROUPS["fitted"]()
        measured = [one.cycles for one in measurements if one.group == "fitted"]
        if not measured:
            raise OptionError("--fit needs the measurements of the group 'fitted'; add it to --group.")
        constants = fit_constants(cases, measured)
        for name, value in constants.items():
            console.print(f"{name}: {value}")
        if write:
            with whole_file(FILE) as unfinished:
                unfinished.write_bytes(written(constants))
    command.write(Results(isa=isa, measurements=tuple(measurements), summaries=summaries), output)


if __name__ == "__main__":
    command.run(main, "rtl", sys.argv[1:])
