"""Networks of int8 for chips whose modules read different types: int8 the one, uint8 the other."""

from __future__ import annotations

from match.compilation.options import Options
from match.compilation.stopwatch import Stopwatch
from match.dispatch.choice import ask
from match.dispatch.request import Workload
from match.graph.value import Graph, Value
from match.partitioning.pattern import Match, find_layers
from match.rewrites.unsigned import unsigned
from match.target.hardware import MatchTarget


def with_unsigned_rest(graph: Graph, target: MatchTarget, options: Options, stopwatch: Stopwatch) -> Graph:
    """The graph in which what no module takes as it is computes with uint8 where a module takes it so.

    Of a target that gives all activations one type the graph is as it was.

    Raises:
        CostModelError, OptionError, TargetError: as `match.dispatch.choice.ask`.
    """
    if target.activations is not None:
        return graph
    taken = _taken(graph, target, options, stopwatch)
    others = {layer.root for layer in find_layers(graph)} - taken
    if not others:
        return graph
    changed = unsigned(graph, taken)
    found = _taken(changed.graph, target, options, stopwatch)
    idle = {value for value in others if changed.became.get(value) not in found}
    return graph if idle == others else unsigned(graph, taken | idle).graph


def _taken(graph: Graph, target: MatchTarget, options: Options, stopwatch: Stopwatch) -> set[Value]:
    """The tensors of layers that a module takes."""
    layers = [layer for layer in find_layers(graph) if isinstance(layer, Match)]
    workloads = [
        Workload(layer.layer, layer.constants, layer.accumulator, layer.layer.name, reference=layer.reference)
        for layer in layers
    ]
    offers = ask(workloads, target, options, stopwatch)
    return {value for layer, own in zip(layers, offers, strict=True) if own.accepted for value in layer.covered}
