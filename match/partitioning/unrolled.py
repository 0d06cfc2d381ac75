"""Recurrent layers that no module takes, as operators of their steps, whose products modules may still take."""

from __future__ import annotations

from collections.abc import Sequence

from match.compilation.options import Options
from match.compilation.stopwatch import Stopwatch
from match.dispatch.choice import ask
from match.dispatch.plan import Offer
from match.dispatch.request import Workload
from match.errors import CapacityError
from match.partitioning.pattern import describe
from match.relay import relay, tvm
from match.relay.graph import post_order
from match.relay.graph_reader import read_form
from match.relay.gru import Gru
from match.relay.lstm import Lstm
from match.relay.objects import main_function
from match.relay.recurrent import read_recurrent, unrolled
from match.relay.rewrite import New, rewrite, shape, source_name
from match.target.hardware import MatchTarget


def unrolled_where_refused(
    module: tvm.IRModule, target: MatchTarget, options: Options, stopwatch: Stopwatch
) -> tvm.IRModule:
    """A network, types inferred, in which each recurrent layer is one that a module of the target would take.

    Raises:
        CapacityError: no module takes a layer that was quantized for them, where `Options.quantize_recurrent` asked.
        CostModelError, OptionError, TargetError: as `match.dispatch.choice.ask`.
    """
    found = {expr: read for expr in post_order(main_function(module)) if (read := read_recurrent(expr)) is not None}
    if not found:
        return module
    matches = [
        match
        for expr, read in found.items()
        if read.fits(read.x_dtype) and (form := read_form(expr)) and (match := describe(expr, form))
    ]
    workloads = [Workload(one.layer, one.constants, one.accumulator, one.layer.name) for one in matches]
    offers = ask(workloads, target, options, stopwatch)
    taken = {one.root for one, offer in zip(matches, offers, strict=True) if offer.accepted}

    quantized = [expr for expr, read in found.items() if read.moved is not None and expr not in taken]
    if quantized:
        refusals = {one.root: offer.candidates for one, offer in zip(matches, offers, strict=True)}
        raise CapacityError(_refused(quantized[0], found[quantized[0]], target, refusals.get(quantized[0], ())))

    def rule(call: relay.Call, new: New) -> relay.Expr | None:
        return unrolled(call, new) if call not in taken else None

    return module if len(taken) == len(found) else rewrite(module, rule)


def _refused(expr: relay.Expr, found: Lstm | Gru, target: MatchTarget, candidates: Sequence[Offer]) -> str:
    """The sentence about a quantized layer that no module takes."""
    kind, (_, _, features) = "a GRU" if isinstance(found, Gru) else "an LSTM", shape(found.x)
    reasons = [f"{one.module} refused because {one.refusal}" for one in candidates if one.refusal]
    why = "; ".join(reasons) or "sums of its gates may not fit 32 bits"
    return (
        f"quantize_recurrent makes integers of {source_name(expr)!r}, {kind} of {found.units} units and {features} "
        f"features, for modules of {target.name}, and none of them takes it: {why}; give more L1 (--l1), fewer units, "
        "or leave quantize_recurrent out."
    )
