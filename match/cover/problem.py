"""What a network's cover is chosen from: candidates, and what it costs to lay out a tensor anew between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from match.dispatch.plan import RunnerUp
from match.ir.graph import Graph
from match.mapping.storage import Storage

Layout = Storage | None
"""How a tensor lies in main memory; None: dense, as the control core reads and writes it."""


@dataclass(frozen=True)
class Candidate:
    """Operators that a module, or the control core, would execute together.

    operators: places in the graph, ascending. What others read of them comes from the last one, so that all covers have
        an order of execution.
    cost: predicted, in whatever is minimised.
    wants, gives: the layout of each tensor that it reads, and of each that it writes for others. No `Storage` in them
        is dense.
    """

    operators: tuple[int, ...]
    module: str
    cost: float
    wants: tuple[tuple[int, Layout], ...]
    gives: tuple[tuple[int, Layout], ...]


@dataclass(frozen=True)
class CoverProblem:
    """A network, its candidates, and the predicted cost of conversions.

    candidates: those that come first are preferred where covers cost the same.
    conversions: for a tensor and a layout what it costs to bring the dense tensor into that layout; for a tensor and
        None to make it dense from any layout. All that the candidates can need are there. What is a part of another
        tensor (a layout with a pitch) is never converted.

    Raises:
        ValueError: if operators of a candidate but the last one hand on a tensor, or it gives other tensors than that
            one writes.
    """

    graph: Graph
    candidates: tuple[Candidate, ...]
    conversions: Mapping[tuple[int, Layout], float]

    def __post_init__(self) -> None:
        readers: dict[int, set[int]] = {}
        for place, operator in enumerate(self.graph.operators):
            for tensor in operator.reads:
                readers.setdefault(tensor, set()).add(place)
        for candidate in self.candidates:
            *inner, last = candidate.operators
            kept = {tensor for place in inner for tensor in self.graph.operators[place].writes}
            outside = {place for tensor in kept for place in readers.get(tensor, ())} - {*candidate.operators}
            given = sorted(tensor for tensor, _ in candidate.gives)
            if outside or kept & {*self.graph.outputs} or given != sorted(self.graph.operators[last].writes):
                raise ValueError(f"what operators {candidate.operators} hand on does not come from the last one")


@dataclass(frozen=True)
class Cover:
    """Candidates that have each operator once, for the least cost.

    chosen: their places in the problem's list, by their last operators: an order of execution.
    cost: all of them and the conversions between them.
    runners_up: for each of the chosen; None where no cover goes without it.
    """

    chosen: tuple[int, ...]
    cost: float
    runners_up: tuple[RunnerUp | None, ...]
