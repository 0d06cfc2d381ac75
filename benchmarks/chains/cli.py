"""The command of the benchmark."""

from __future__ import annotations

from typing import Annotated

import typer

from benchmarks.engines.networks import MLPERF_TINY

ZOO = (
    "mobilenet_v1-0.25-96",
    "mobilenet_v1-0.25-128",
    "mobilenet_v1-1.0-128",
    "mobilenet_v2-0.25-128",
    "mobilenet_v2-1.0-128",
)
"""Networks of `match.zoo` that are measured where none is asked for; all of them can be."""

NETWORKS = ",".join((*MLPERF_TINY, *ZOO))
TARGETS = "gap8,gap9,pulp_open,diana"
FULL = "full"
SIZES = f"{FULL},65536,32768,24576,16384,12288,8192"

Networks = Annotated[
    str,
    typer.Option(
        "--network", metavar="A,B", help="Names of MLPerf Tiny or of `match zoo`, or .tflite and .onnx files."
    ),
]
Targets = Annotated[str, typer.Option("--target", metavar="A,B", help="Chips; see `match targets`.")]
Sizes = Annotated[str, typer.Option("--l1", metavar="A,B", help="Sizes of L1 in bytes; full: the target's own.")]


def table(network: Networks = NETWORKS, target: Targets = TARGETS, l1: Sizes = SIZES) -> None:
    """Print a table in Markdown of predicted cycles operator by operator and fused; status 1 if any is dearer.

    All lies in main memory, however much that takes.
    """
    from benchmarks.chains.gains import gains
    from benchmarks.engines.cli import size_of
    from benchmarks.engines.networks import model_of

    names, chips = network.split(","), target.split(",")
    sizes = [size_of(entry) for entry in l1.split(",")]
    models = [model_of(name) for name in names]
    typer.echo("| network | target | L1, bytes | operator by operator | fused | chains and groups | less |")
    typer.echo("|---|---|--:|--:|--:|--:|--:|")
    dearer = 0
    for name, model in zip(names, models, strict=True):
        for gain in gains(model, chips, sizes):
            cells = (
                *(name, gain.target, FULL if gain.l1 is None else f"{gain.l1:,}"),
                *(f"{gain.alone:,.0f}", f"{gain.fused:,.0f}", str(gain.several), f"{gain.less:.1%}"),
            )
            typer.echo(f"| {' | '.join(cells)} |")
            dearer += gain.fused > gain.alone
    if dearer:
        typer.echo(f"Chains and groups cost more in {dearer} of these.", err=True)
        raise typer.Exit(1)
