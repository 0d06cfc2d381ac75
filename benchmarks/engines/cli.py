"""The command of the benchmark."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.engines.networks import MLPERF_TINY, ZOO
from match.errors import OptionError, ToolchainError
from match.files.output import check_ending, check_file, whole_file

NETWORKS = ",".join((*MLPERF_TINY, *ZOO))
FULL = "full"
SIZES = f"{FULL},65536,32768,24576,16384,12288,8192"
WIDTH = 140
PLOT_ENDINGS = (".svg", ".png", ".pdf")

Networks = Annotated[
    str,
    typer.Option(
        "--network", metavar="A,B", help="Names of MLPerf Tiny or of `match zoo`, or .tflite and .onnx files."
    ),
]
Sizes = Annotated[str, typer.Option("--l1", metavar="A,B", help="Sizes of L1 in bytes; full: the target's own.")]
Engines = Annotated[str, typer.Option("--engine", metavar="A,B", help="The first is what the others are set against.")]
Target = Annotated[str, typer.Option("--target", metavar="NAME", help="The chip; see `match targets`.")]
Modules = Annotated[
    str | None, typer.Option("--modules", metavar="A,B", help="Use these modules of the target only. [default: all]")
]
Shapes = Annotated[
    bool,
    typer.Option("--shapes", help="Map every layer of a shape that a module takes, whatever its scales and zeros."),
]
Output = Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write the results as JSON.")]
Plot = Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Draw cycles over L1 as .svg, .png or .pdf.")]


def compare(
    network: Networks = NETWORKS,
    l1: Sizes = SIZES,
    engine: Engines = "exact,loma,dory",
    target: Target = "gap9",
    modules: Modules = None,
    shapes: Shapes = False,
    output: Output = None,
    plot: Plot = None,
) -> None:
    """Predicted cycles, bytes moved and search time of each engine, by network and size of L1."""
    from rich.console import Console
    from rich.progress import Progress

    from benchmarks.engines.comparison import compare_engines, sentence
    from benchmarks.engines.grid import measure
    from benchmarks.engines.networks import read
    from benchmarks.engines.plot import plot as draw
    from benchmarks.engines.results import Measurement, Results, encode
    from benchmarks.engines.table import show, size_label
    from match.search.engine import engine as make_engine
    from match.target.registry import get_target

    chip = get_target(target, modules=None if modules is None else _list(modules))
    engines, sizes = _list(engine), [size_of(entry) for entry in _list(l1)]
    for name in engines:
        make_engine(name)
    if plot is not None:
        check_ending(plot, PLOT_ENDINGS, "a plot")
        if find_spec("matplotlib") is None:
            raise ToolchainError("--plot needs matplotlib, which is not installed: `pip install matplotlib`.")
    for file in (output, plot):
        check_file(file)
    measurements: list[Measurement] = []
    stderr = Console(stderr=True)
    with Progress(console=stderr, transient=True, disable=not stderr.is_terminal) as progress:
        task = progress.add_task("reading networks", total=None)
        networks = [read(name, chip.activations) for name in _list(network)]
        progress.update(task, total=len(networks) * len(sizes) * len(engines))
        for one in measure(networks, chip, sizes, engines, shapes=shapes):
            measurements.append(one)
            progress.update(task, advance=1, description=f"{one.network} {size_label(one.l1)} {one.engine}")
    console = Console()
    console.width = console.width if console.is_terminal else WIDTH
    show(measurements, console)
    comparisons = tuple(compare_engines(measurements))
    for comparison in comparisons:
        console.print(sentence(comparison), highlight=False, markup=False, soft_wrap=True)
    if output is not None:
        modules_used = tuple(module.name for module in chip.modules)
        results = Results(chip.name, modules_used, shapes, tuple(measurements), comparisons)
        with whole_file(output) as unfinished:
            unfinished.write_bytes(encode(results))
    if plot is not None:
        draw(measurements, plot)


def _list(text: str) -> list[str]:
    """The entries of a list with commas."""
    return [entry.strip() for entry in text.split(",") if entry.strip()]


def size_of(text: str) -> int | None:
    """Bytes; None for the target's own."""
    if text == FULL:
        return None
    if not text.isdecimal() or int(text) == 0:
        raise OptionError(
            f"the L1 size {text!r} is neither a positive number of bytes nor {FULL!r}; give one of these."
        )
    return int(text)
