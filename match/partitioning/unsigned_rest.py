"""Networks of int8 for chips whose modules read different types: int8 the one, uint8 the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from match.compilation.options import Options
from match.compilation.stopwatch import Stopwatch
from match.dispatch.choice import Offers, ask
from match.dispatch.plan import Offer
from match.dispatch.request import Workload
from match.graph.value import Graph, Value
from match.partitioning.pattern import Match, find_layers
from match.rewrites.unsigned import unsigned
from match.target.hardware import MatchTarget


@dataclass(frozen=True, eq=False)
class UnsignedRest:
    """A graph in which what no module takes as int8 is unsigned; by what that computes, what modules said of it."""

    graph: Graph
    refused: Mapping[Value, tuple[Offer, ...]]


def unsigned_rest(graph: Graph, target: MatchTarget, options: Options, stopwatch: Stopwatch) -> UnsignedRest:
    """The graph in which what no module takes as it is computes with uint8 where a module takes it so.

    Of a target that is not `mixed` the graph is as it was.

    Raises:
        CostModelError, OptionError, TargetError: as `match.dispatch.choice.ask`.
    """
    asked = _asked(graph, target, options, stopwatch) if target.mixed else {}
    taken = {value for layer, own in asked.items() if own.accepted for value in layer.covered}
    others = {layer.root for layer in find_layers(graph)} - taken if asked else set[Value]()
    if not others:
        return UnsignedRest(graph, {})
    changed = unsigned(graph, taken)
    found = {layer.root for layer, own in _asked(changed.graph, target, options, stopwatch).items() if own.accepted}
    idle = {value for value in others if changed.became.get(value) not in found}
    if idle == others:
        return UnsignedRest(graph, {})
    made = unsigned(graph, taken | idle)
    refused = {
        made.became[layer.root]: own.candidates
        for layer, own in asked.items()
        if layer.root in others - idle and layer.root in made.became
    }
    return UnsignedRest(made.graph, refused)


def _asked(graph: Graph, target: MatchTarget, options: Options, stopwatch: Stopwatch) -> dict[Match, Offers]:
    """What modules say of each layer of a graph."""
    layers = [layer for layer in find_layers(graph) if isinstance(layer, Match)]
    workloads = [
        Workload(layer.layer, layer.constants, layer.accumulator, layer.layer.name, reference=layer.reference)
        for layer in layers
    ]
    return dict(zip(layers, ask(workloads, target, options, stopwatch), strict=True))
