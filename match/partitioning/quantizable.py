"""What is in floating point and would not be if the network were quantized otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from match.compilation.options import Options
from match.compilation.stopwatch import Stopwatch
from match.dispatch.choice import ask
from match.dispatch.request import Workload
from match.partitioning.pattern import Match, describe
from match.passes.recurrent_cells import quantized_layers
from match.passes.unsigned_activations import UnsignedActivations
from match.relay import relay, tvm
from match.relay.graph import post_order
from match.relay.graph_reader import read_form
from match.relay.gru import Gru
from match.relay.lstm import Lstm
from match.relay.objects import expressions, main_function
from match.relay.recurrent import read_recurrent
from match.relay.rewrite import dtype, is_call, shape
from match.target.hardware import MatchTarget

_WIDE = "int16", "uint16"


@dataclass(frozen=True)
class Quantizable:
    """A layer by what the model calls it, the module that would have it, and its predicted cycles there."""

    source: str
    module: str
    cycles: float


def quantizable(
    module: tvm.IRModule, target: MatchTarget, options: Options, stopwatch: Stopwatch
) -> tuple[Quantizable, ...]:
    """The layers of a network of QNN operators, as a front end returns it, that modules take once they are integers.

    Raises:
        CostModelError, OptionError, TargetError: as `match.dispatch.choice.ask`.
    """
    layers = quantized_layers(module)
    matches = [_alone(found, target) for _, found in layers]
    workloads = [Workload(one.layer, one.constants, one.accumulator, one.layer.name) for one in matches]
    offers = ask(workloads, target, options, stopwatch) if workloads else []
    costs: dict[str, list[tuple[float, str]]] = {}
    for (name, found), offer in zip(layers, offers, strict=True):
        fits = found.fits(found.x_dtype)
        takers = [(cost.cycles, taker) for taker, (_, cost) in offer.accepted.items()] if fits else []
        costs.setdefault(name, []).append(min(takers, default=(inf, "")))
    return tuple(
        Quantizable(name, ways[0][1], sum(cycles for cycles, _ in ways))
        for name, ways in costs.items()
        if all(module for _, module in ways)
    )


def has_wide_activations(module: tvm.IRModule) -> bool:
    """Whether a network, as a front end returns it, quantizes real numbers to 16 bits, which modules lack."""
    return any(
        is_call(expr, "cast", "qnn.quantize") and dtype(expr) in _WIDE and dtype(expr.args[0]).startswith("float")
        for expr in expressions(main_function(module))
    )


def _alone(found: Lstm | Gru, target: MatchTarget) -> Match:
    """A layer as it is in a network for a target."""
    x = relay.var("x", shape=shape(found.x), dtype=found.x_dtype)
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], found.build(x))))
    if target.activations == "uint8":
        module = UnsignedActivations()(module)
    layers = (expr for expr in post_order(main_function(module)) if read_recurrent(expr) is not None)
    matches = ((expr, read_form(expr)) for expr in layers)
    return next(match for expr, form in matches if form and (match := describe(expr, form)))
