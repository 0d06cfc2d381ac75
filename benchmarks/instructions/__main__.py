"""``python -m benchmarks.instructions``: kernels in portable C against TVM's C, counted on one core under QEMU."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.command import Output, run, write
from benchmarks.instructions.count import count
from benchmarks.instructions.results import Results, table
from benchmarks.models import Models, models_folder
from match.errors import OptionError
from match.files.output import check_file
from match.run.tools import call, need
from match.target.registry import get_target

NETWORKS = ("pretrainedResnet_quant", "kws_ref_model", "vww_96_int8")
OPTIMIZATION = "-O2"


def main(
    models: Models = None,
    output: Output = None,
    target: Annotated[str, typer.Option(help="A target with a cluster.")] = "gap8",
    on: Annotated[str, typer.Option(help="The platform, one that counts.")] = "qemu",
    flags: Annotated[str, typer.Option(help="Optimization, of the kernels and of TVM's C alike.")] = OPTIMIZATION,
    seed: Annotated[int, typer.Option(help="Of the random input, which both get.")] = 0,
) -> None:
    """Set what each layer costs as kernels beside what it costs as TVM's C."""
    platform = next((platform for platform in get_target(target).platforms if platform.name == on), None)
    if platform is None or platform.compiler is None:
        raise OptionError(f"target {target!r} has no platform {on!r} with a compiler of its own; choose another.")
    check_file(output)
    folder = models_folder(models)
    need([platform.compiler], "the benchmark")
    results = Results(
        target=target,
        platform=on,
        compiler=call([platform.compiler, "--version"], platform.compiler).splitlines()[0],
        flags=" ".join((flags, *platform.flags)),
        networks=tuple(count(folder / f"{name}.tflite", target, on, seed, flags) for name in NETWORKS),
    )
    write(results, output)
    console = Console(width=None if Console().is_terminal else 160)
    console.print(f"{results.compiler} {results.flags}", highlight=False, soft_wrap=True)
    console.print(table(results.networks))


if __name__ == "__main__":
    run(main, "instructions", sys.argv[1:])
