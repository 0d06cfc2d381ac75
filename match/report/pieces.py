"""The smallest parts of a network whose cycles are known: layers, the operators of groups, and what these share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from match.report.layer_rows import Cause, causes
from match.report.schema import LayerSummary, OperatorSummary, Report

SHARED = "shared"
"""What is no operator's own in a group: its offload, transfers that nothing hides, waits."""


@dataclass(frozen=True)
class Piece:
    """A layer, an operator of a group, or what the operators of a group share.

    place: the layer's place in the report. name: as it is shown. source: what the model calls it, empty if that is not
    known. cycles: predicted; those of a group's pieces add up to the group's. causes: what the cycles go into; an
    operator's are its kernel call with its start. operator: whose piece it is, None for a layer and for what is shared.
    """

    place: int
    name: str
    source: str
    cycles: int
    causes: Mapping[Cause, int]
    operator: OperatorSummary | None = None


def pieces(report: Report) -> list[Piece]:
    """All pieces, in the order of execution."""
    return [piece for place, layer in enumerate(report.layers) for piece in _pieces(place, layer)]


def shared_cycles(layer: LayerSummary) -> int | None:
    """The cycles of a group that are no operator's own; None for what is no group, and for operators without cycles."""
    own = [one.cycles for one in layer.operators if one.cycles is not None]
    return layer.cycles - sum(own) if own and len(own) == len(layer.operators) else None


def operator_name(layer: LayerSummary, number: int) -> str:
    """What an operator of a chain or a group is called, counted from 0."""
    return f"{layer.operators[number].op}, {number + 1} of {len(layer.operators)} in {layer.name}"


def _pieces(place: int, layer: LayerSummary) -> Iterator[Piece]:
    shared = shared_cycles(layer)
    if shared is None:
        yield Piece(place, layer.name, layer.source, layer.cycles, causes(layer))
        return
    for number, one in enumerate(layer.operators):
        cycles = one.cycles or 0
        yield Piece(place, operator_name(layer, number), one.source, cycles, {"compute": cycles}, one)
    found = causes(layer)
    transfers, waits = found.get("transfers", 0), found.get("external memory", 0)
    parts: dict[Cause, int] = {
        "transfers": transfers,
        "offload": shared - transfers - waits,
        "external memory": waits,
    }
    yield Piece(place, f"{SHARED} in {layer.name}", "", shared, parts)
