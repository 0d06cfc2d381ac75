"""The points that no other one is better than."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import msgspec

from match.sweeping.schema import Figures, PointResult


def aims(figures: Figures) -> tuple[float, ...]:
    """What is to be small: cycles, energy, bytes of L1, the share of outputs that move, and whether any may."""
    energy = 0.0 if figures.energy_pj is None else figures.energy_pj
    return figures.cycles, energy, figures.l1_bytes, figures.moved, figures.inexact_layers > 0


def with_best(points: Sequence[PointResult]) -> tuple[PointResult, ...]:
    """The points, of which those are marked that no other point of their network dominates; equal ones all are."""
    known: dict[str, set[tuple[float, ...]]] = defaultdict(set)
    for point in points:
        if point.figures:
            known[point.model].add(aims(point.figures))
    front = {model: {one for one in own if not _dominated(one, own)} for model, own in known.items()}
    return tuple(
        msgspec.structs.replace(point, best=point.figures is not None and aims(point.figures) in front[point.model])
        for point in points
    )


def _dominated(one: tuple[float, ...], others: set[tuple[float, ...]]) -> bool:
    return any(other != one and all(a <= b for a, b in zip(other, one, strict=True)) for other in others)
