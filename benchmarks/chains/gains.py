"""Predicted cycles of a network on a chip, operator by operator and with chains and groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from match.compilation.options import Options
from match.compilation.stopwatch import Stopwatch
from match.frontend import Model
from match.partitioning.choice import choose
from match.partitioning.pattern import find_layers
from match.partitioning.pattern.rows import rows
from match.passes.pipeline import integer_network
from match.target.registry import get_target


@dataclass(frozen=True)
class Gain:
    """Predicted cycles with everything in main memory, conversions of layouts and the control core included.

    l1: bytes; None: the chip's own. several: how many chains and groups the network has.
    """

    network: str
    target: str
    l1: int | None
    alone: float
    fused: float
    several: int

    @property
    def less(self) -> float:
        """Share of cycles that chains and groups save; below 0 if they cost."""
        return 1.0 - self.fused / self.alone if self.alone else 0.0


def gains(model: Model, targets: Sequence[str], sizes: Sequence[int | None]) -> Iterator[Gain]:
    """What chains gain in a network on some targets, each with some sizes of L1."""
    for name in targets:
        for size in sizes:
            target = get_target(name, size)
            graph = integer_network(model, target.activations)
            listed = rows(graph, find_layers(graph))

            fused, alone = (
                choose(graph, listed, "network", target, _options(fuse=fuse), Stopwatch()) for fuse in (True, False)
            )
            several = sum(1 for one in fused.decisions if one.plan and one.plan.layer.fused)
            yield Gain(model.name, name, size, alone.cost, fused.cost, several)


def _options(*, fuse: bool) -> Options:
    return Options.parse(cache=True, fuse=fuse)
