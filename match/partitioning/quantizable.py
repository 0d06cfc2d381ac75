"""What is in floating point and would not be if the network were quantized otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from match.compilation.options import Options
from match.compilation.stopwatch import Stopwatch, unread
from match.dispatch.choice import ask
from match.dispatch.request import Workload
from match.frontend.model import Model
from match.graph.elements import Dequantize, Quantize
from match.graph.opaque import Constant
from match.graph.reals import REAL
from match.graph.recurrent import Gru, Lstm
from match.graph.value import Graph, Value, computed, readers
from match.partitioning.unrolled import workload_of
from match.rewrites.quantized_cells import QuantizedLayer, quantized_layers
from match.rewrites.unsigned import with_unsigned_activations
from match.target.hardware import MatchTarget

if TYPE_CHECKING:
    from match.relay import tvm

_WIDE = "int16", "uint16"


@dataclass(frozen=True)
class Quantizable:
    """A layer by what the model calls it, the module that would have it, and its predicted cycles there."""

    source: str
    module: str
    cycles: float


def quantizable(model: Model, target: MatchTarget, options: Options, stopwatch: Stopwatch) -> tuple[Quantizable, ...]:
    """The layers of a network, as a front end returns it, that modules take once they are integers.

    Raises:
        CostModelError, OptionError, TargetError: as `match.dispatch.choice.ask`.
    """
    layers = quantized_layers(model.network) if isinstance(model.network, Graph) else ()  # Relay has none as a layer
    workloads = [_workload(layer, target) for layer in layers]
    offers = ask(workloads, target, options, stopwatch) if workloads else []
    costs: dict[str, list[tuple[float, str]]] = {}
    for layer, offer in zip(layers, offers, strict=True):
        fits = layer.operator.fits(layer.x.dtype)
        takers = [(cost.cycles, taker) for taker, (_, cost) in offer.accepted.items()] if fits else []
        costs.setdefault(layer.source, []).append(min(takers, default=(inf, "")))
    return tuple(
        Quantizable(name, ways[0][1], sum(cycles for cycles, _ in ways))
        for name, ways in costs.items()
        if all(module for _, module in ways)
    )


def quantized_operators(model: Model, options: Options) -> frozenset[str]:
    """The names of a model's operators on real numbers that are alone between dequantizes and quantizes.

    One of them may be several operators of the graph, of which the last has the name.
    """
    network = _graph_of(model, options)
    read_by = readers(network)
    found: set[str] = set()
    seen: set[Value] = set()
    for value in network.values:
        if value not in seen and _is_real(value):
            together = _together(value, read_by)
            seen.update(together)
            names = {one.source for one in together if one.source}
            inputs = {x for one in together for x in one.inputs} - together
            reading = {reader for one in together for reader in read_by[one]} - together
            ends = all(reader is not None and isinstance(reader.operator, Quantize) for reader in reading)
            if len(names) == 1 and ends and all(isinstance(x.operator, Dequantize | Constant) for x in inputs):
                found |= names
    return frozenset(found)


def _is_real(value: Value) -> bool:
    """Whether an operator computes real numbers, other than those that integers stand for."""
    return value.dtype.startswith("float") and not isinstance(value.operator, Dequantize | Constant | None)


def _together(value: Value, read_by: Mapping[Value, Sequence[Value | None]]) -> set[Value]:
    """The real numbers that are computed of each other, with those of a tensor."""
    found, pending = set[Value](), [value]
    while pending:
        one = pending.pop()
        if one not in found:
            found.add(one)
            pending += [x for x in (*one.inputs, *read_by[one]) if x is not None and _is_real(x)]
    return found


def _graph_of(model: Model, options: Options) -> Graph:
    """The network as a graph; Relay is read as one."""
    if isinstance(model.network, Graph):
        return model.network
    from match.passes.relay_pipeline import graph_of_relay

    return graph_of_relay(model.network, unread, None, exact=options.exact)


def has_wide_activations(network: Graph | tvm.IRModule) -> bool:
    """Whether a network, as a front end returns it, quantizes real numbers to 16 bits, which modules lack."""
    if isinstance(network, Graph):
        made = (value for value in network.values if value.dtype in _WIDE)
        return any(x.dtype == REAL for value in made for x in value.inputs)
    from match.relay.objects import expressions, main_function
    from match.relay.rewrite import dtype, is_call

    return any(
        is_call(expr, "cast", "qnn.quantize") and dtype(expr) in _WIDE and dtype(expr.args[0]).startswith("float")
        for expr in expressions(main_function(network))
    )


def _workload(layer: QuantizedLayer, target: MatchTarget) -> Workload:
    """A layer as it is in a network for a target."""
    x = Value(layer.x)
    graph = Graph((x,), (computed(layer.operator, x),))
    if target.activations == "uint8":
        graph = with_unsigned_activations(graph)
    (value,) = (value for value in graph.values if isinstance(value.operator, (Lstm, Gru)))
    return workload_of(value)
