"""Layers as two operators: a module computes the sums, and the control core requantizes them."""

from __future__ import annotations

from dataclasses import dataclass

from match.partitioning.pattern import Core, Match, unrequantized
from match.target.hardware import MatchTarget

REQUANTIZE = "requantize"
"""Operator, in a decision, that requantizes the sums of the layer before it to 8 bits."""

LARGEST_SHARE = 0.25
"""Share of main memory that a layer's int32 sums may take; inputs, outputs and weights need the rest."""

_SUM_BYTES = 4


@dataclass(frozen=True, eq=False)
class Halves:
    """A layer as two operators: its sums, and their requantization."""

    whole: Match
    sums: Match
    rest: Core


def halves(match: Match, target: MatchTarget) -> Halves | None:
    """The layer's sums and its requantization, if a module might take the sums and main memory has room for them."""
    if not any(match.layer.op in module.sums for module in target.modules):
        return None
    if _SUM_BYTES * match.layer.output_elements > LARGEST_SHARE * target.main_memory.size:
        return None
    parts = unrequantized(match)
    return Halves(match, *parts) if parts else None
