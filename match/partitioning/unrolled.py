"""Recurrent layers that no module takes. They are computed step by step, and modules may take the products in them."""

from __future__ import annotations

from collections.abc import Container, Sequence

from match.compilation.options import Options
from match.compilation.stopwatch import Stopwatch
from match.dispatch.choice import ask
from match.dispatch.plan import Offer
from match.dispatch.request import Workload
from match.errors import CapacityError
from match.graph.operator import Described, Known
from match.graph.recurrent import Gru, Recurrent
from match.graph.rewrite import rewrite
from match.graph.value import Graph, Value
from match.target.hardware import MatchTarget


def refused_recurrent(graph: Graph, target: MatchTarget, options: Options, stopwatch: Stopwatch) -> frozenset[Value]:
    """The recurrent layers of a graph that no module of the target takes.

    Raises:
        CapacityError: one of them was quantized for modules, where `Options.quantize_recurrent` asked for that.
        CostModelError, OptionError, TargetError: as `match.dispatch.choice.ask`.
    """
    layers = {value: value.operator for value in graph.values if isinstance(value.operator, Recurrent)}
    if not layers:
        return frozenset()
    fitting = [value for value, layer in layers.items() if layer.fits(value.inputs[0].dtype)]
    offers = dict(zip(fitting, ask(list(map(workload_of, fitting)), target, options, stopwatch), strict=True))
    refused = [value for value in layers if value not in offers or not offers[value].accepted]
    for value in refused:
        if layers[value].deviation is not None:
            candidates = offers[value].candidates if value in offers else ()
            raise CapacityError(_refused(value, layers[value], target, candidates))
    return frozenset(refused)


def in_steps(graph: Graph, layers: Container[Value]) -> Graph:
    """The graph with recurrent layers step by step, which TVM is asked for."""
    from match.relay.unrolled import steps_of

    def rule(value: Value, original: Value) -> Value:
        return steps_of(value) if original in layers else value

    return rewrite(graph, rule)


def workload_of(value: Value) -> Workload:
    """The question to modules about an operator, of whose inputs' values nothing is known."""
    assert value.operator is not None, "inputs are no layers"
    described = value.operator.layer(value.tensor, [Known(x.tensor) for x in value.inputs])
    assert isinstance(described, Described), "the operator is a layer"
    return Workload(described.layer, described.constants, described.accumulator, described.layer.name)


def _refused(value: Value, layer: Recurrent, target: MatchTarget, candidates: Sequence[Offer]) -> str:
    """The sentence about a quantized layer that no module takes."""
    kind, (_, _, features) = "a GRU" if isinstance(layer, Gru) else "an LSTM", value.inputs[0].shape
    reasons = [f"{one.module} refused because {one.refusal}" for one in candidates if one.refusal]
    why = "; ".join(reasons) or "sums of its gates may not fit 32 bits"
    return (
        f"quantize_recurrent makes integers of {value.source!r}, {kind} of {layer.units} units and {features} "
        f"features, for modules of {target.name}, and none of them takes it: {why}; give more L1 (--l1), fewer units, "
        "or leave quantize_recurrent out."
    )
