"""Recurrent layers that no module takes, as operators of their steps, whose products modules may still take."""

from __future__ import annotations

from match.compilation.options import Options
from match.compilation.stopwatch import Stopwatch
from match.dispatch.choice import ask
from match.dispatch.request import Workload
from match.partitioning.pattern.recurrent import fits, lstm
from match.relay import relay, tvm
from match.relay.graph import post_order
from match.relay.lstm import read_lstm, unrolled
from match.relay.rewrite import New, rewrite
from match.target.hardware import MatchTarget


def unrolled_where_refused(
    module: tvm.IRModule, target: MatchTarget, options: Options, stopwatch: Stopwatch
) -> tvm.IRModule:
    """A network, types inferred, in which each LSTM is one that a module of the target would take.

    Raises:
        CostModelError, OptionError, TargetError: as `match.dispatch.choice.ask`.
    """
    found = {expr: read for expr in post_order(module["main"]) if (read := read_lstm(expr)) is not None}
    if not found:
        return module
    matches = [lstm(expr, read) for expr, read in found.items() if fits(read)]
    workloads = [Workload(one.layer, one.constants, one.accumulator, one.layer.name) for one in matches]
    offers = ask(workloads, target, options, stopwatch)
    taken = {one.root for one, offer in zip(matches, offers, strict=True) if offer.accepted}

    def rule(call: relay.Call, new: New) -> relay.Expr | None:
        return unrolled(call, new) if call not in taken else None

    return module if len(taken) == len(found) else rewrite(module, rule)
