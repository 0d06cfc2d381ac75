"""The command of the benchmark."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import typer

import match
from benchmarks.memory.networks import integers, onnxruntime_outputs, sample, take_channels_last
from match.cli.arguments import number_of_bytes
from match.errors import CapacityError
from match.report.schema import MemoryPlanSummary

NETWORKS = "mobilenet_v1-1.0-128,mobilenet_v1-1.0-224,mobilenet_v2-1.0-128"
SIZES = "524288,393216,262144"
_ENOUGH = 1 << 28
HEAD = (
    "network",
    "L2 KiB",
    "used KiB",
    "L3 KiB",
    "predicted Mcycles",
    "with all in L2",
    "L3 traffic Mcycles",
    "hidden",
    "layers cut",
    "tensors in L3",
    "outputs as with all in L2",
    "as onnxruntime's",
)

Networks = Annotated[str, typer.Option("--network", metavar="A,B", help="Names that `match zoo` lists.")]
Sizes = Annotated[str, typer.Option("--l2", metavar="A,B", help="Sizes of the main memory, as 262144 or 256k.")]
Target = Annotated[str, typer.Option("--target", metavar="NAME", help="The chip; see `match targets`.")]

Nhwc = Annotated[bool, typer.Option("--nhwc", help="Networks with an input (1, H, W, C), which nobody has to copy.")]
Numerics = Annotated[str, typer.Option("--numerics", metavar="NAME", help="As of `match compile`.")]


def table(
    network: Networks = NETWORKS,
    l2: Sizes = SIZES,
    target: Target = "gap8",
    nhwc: Nhwc = False,
    numerics: Numerics = "hardware",
) -> None:
    """Print a table in Markdown of what networks take by size of the main memory; each runs on one input."""
    sizes = [number_of_bytes(size) for size in l2.split(",")]
    sys.stdout.write(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}\n")
    for name in network.split(","):
        for row in rows(name, sizes, target, nhwc=nhwc, numerics=numerics):
            sys.stdout.write(f"| {' | '.join(row.cells)} |\n")
            sys.stdout.flush()


@dataclass(frozen=True)
class Row:
    """One network in one size of main memory; cycles are predicted.

    `same`: outputs equal those of the network with a main memory that holds it; `exact`: those of onnxruntime.
    """

    network: str
    l2: int
    used: int
    external: int
    cycles: float
    whole: float
    traffic: float
    hidden: float
    cut: int
    spilled: int
    same: bool
    exact: bool

    @property
    def cells(self) -> tuple[str, ...]:
        """What the table says."""
        kib = [f"{size / 1024:.0f}" for size in (self.l2, self.used, self.external)]
        mega = [f"{cycles / 1e6:.2f}" for cycles in (self.cycles, self.whole, self.traffic)]
        counts = [str(self.cut), str(self.spilled), *("yes" if is_so else "no" for is_so in (self.same, self.exact))]
        return (self.network, *kib, *mega, f"{self.hidden:.1%}", *counts)


@dataclass(frozen=True)
class Refused:
    """A network that a size of main memory is too small for, and why."""

    network: str
    l2: int
    reason: str

    @property
    def cells(self) -> tuple[str, ...]:
        """What the table says."""
        return (self.network, f"{self.l2 / 1024:.0f}", self.reason)


def rows(
    name: str, sizes: Sequence[int], target: str = "gap8", *, nhwc: bool = False, numerics: str = "hardware"
) -> Iterator[Row | Refused]:
    """A network in each size of main memory, built and run on one random input."""
    model = integers(name)
    if nhwc:
        take_channels_last(model)
    inputs = sample(model)
    expected = onnxruntime_outputs(model, inputs)
    (whole,) = match.compile(model, target, l2=_ENOUGH, numerics=numerics, fuse=False).run(inputs).values()
    for size in sizes:
        try:
            compiled = match.compile(model, target, l2=size, numerics=numerics)
        except CapacityError as error:
            yield Refused(name, size, str(error))
            continue
        (output,) = compiled.run(inputs).values()
        memory, cycles = compiled.report.memory, compiled.cycles
        equal = bool(np.array_equal(output, whole)), bool(np.array_equal(output, expected))
        if isinstance(memory, MemoryPlanSummary):
            yield Row(
                name,
                size,
                memory.main_bytes,
                memory.external_bytes,
                cycles,
                cycles - memory.exposed_cycles,
                memory.traffic_cycles,
                memory.hidden,
                sum(step.cut for step in memory.steps),
                sum(tensor.external for tensor in memory.tensors),
                *equal,
            )
        else:
            yield Row(name, size, compiled.report.totals.l2_peak_bytes, 0, cycles, cycles, 0.0, 1.0, 0, 0, *equal)
