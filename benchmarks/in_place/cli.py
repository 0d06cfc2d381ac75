"""The command of the benchmark."""

from __future__ import annotations

from typing import Annotated

import typer

NETWORKS = "densenet-1.0-32,unet-0.125-64,squeezenet-0.5-64"

Networks = Annotated[str, typer.Option("--network", metavar="A,B", help="Names that `match zoo` lists, or files.")]
Target = Annotated[str, typer.Option("--target", metavar="NAME", help="The chip; see `match targets`.")]
Numerics = Annotated[str, typer.Option("--numerics", metavar="NAME", help="As of `match compile`.")]


def table(network: Networks = NETWORKS, target: Target = "gap9", numerics: Numerics = "exact") -> None:
    """Print a table in Markdown of networks with copies and with tensors inside others; all is in main memory.

    Networks of the zoo are quantized by onnxruntime.
    """
    from benchmarks.in_place.peaks import measure, model_of

    ways = ("copied", "cheapest", "in place")
    heads = [f"{what}, {way}" for what in ("peak, KiB", "Mcycles") for way in ways]
    typer.echo(f"| {' | '.join(('network', 'copies', 'sum of copies, KiB', 'of these in place', *heads))} |")
    typer.echo(f"|---|{'--:|' * 9}")
    for name in network.split(","):
        copied, cheapest, few = found = measure(model_of(name), target, numerics)
        cells = (
            *(name.rpartition("/")[2], str(copied.copies), f"{copied.copied_bytes / 1024:.1f}"),
            f"{cheapest.in_place}, {few.in_place}",
            *(f"{one.peak / 1024:.1f}" for one in found),
            *(f"{one.cycles / 1e6:.3f}" for one in found),
        )
        typer.echo(f"| {' | '.join(cells)} |")
