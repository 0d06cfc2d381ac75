"""Recurrent layers that no module takes. They are computed step by step, and modules may take the products in them."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from match.compilation.options import Options
from match.compilation.stopwatch import Stopwatch
from match.dispatch.choice import Offers, ask
from match.dispatch.plan import Offer
from match.dispatch.request import Workload
from match.errors import CapacityError
from match.graph.operator import Described, Known
from match.graph.recurrent import Gru, Recurrent
from match.graph.rewrite import rewrite
from match.graph.value import Graph, Value
from match.rewrites.unsigned import unsigned
from match.target.hardware import MatchTarget


def refused_recurrent(graph: Graph, target: MatchTarget, options: Options, stopwatch: Stopwatch) -> frozenset[Value]:
    """The recurrent layers of a graph that no module of the target takes, of one that is `mixed` neither as uint8.

    Raises:
        CapacityError: one of them was quantized for modules, where `Options.quantize_recurrent` asked for that.
        CostModelError, OptionError, TargetError: as `match.dispatch.choice.ask`.
    """
    layers = [value for value in graph.values if isinstance(value.operator, Recurrent)]
    offers = _offers({value: value for value in layers}, target, options, stopwatch)
    refused = [value for value in layers if not _accepted(value, offers)]
    if refused and target.mixed:
        became = unsigned(graph).became
        others = _offers({value: became[value] for value in refused if value in became}, target, options, stopwatch)
        refused = [value for value in refused if not _accepted(value, others)]
    for value in refused:
        assert isinstance(value.operator, Recurrent), "these are listed"
        if value.operator.deviation is not None:
            candidates = offers[value].candidates if value in offers else ()
            raise CapacityError(_refused(value, value.operator, target, candidates))
    return frozenset(refused)


def _offers(
    layers: Mapping[Value, Value], target: MatchTarget, options: Options, stopwatch: Stopwatch
) -> dict[Value, Offers]:
    """What modules say of recurrent layers, in the forms that are given beside them, unless sums are too wide."""
    fitting = {
        value: workload_of(form)
        for value, form in layers.items()
        if isinstance(form.operator, Recurrent) and form.operator.fits(form.inputs[0].dtype)
    }
    return dict(zip(fitting, ask(list(fitting.values()), target, options, stopwatch), strict=True)) if fitting else {}


def _accepted(value: Value, offers: Mapping[Value, Offers]) -> bool:
    return value in offers and bool(offers[value].accepted)


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
