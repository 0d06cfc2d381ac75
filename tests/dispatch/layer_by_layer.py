"""The choice layer by layer, each as if it were alone: what a choice for the network must not be worse than."""

from __future__ import annotations

from collections.abc import Sequence

from match.compilation.options import Options
from match.compilation.stopwatch import Stopwatch
from match.dispatch.choice import Offers, ask, price
from match.dispatch.plan import CPU, LayerDecision
from match.dispatch.request import Workload
from match.target.hardware import MatchTarget


def cheapest(offers: Offers, options: Options) -> str:
    """The module that takes a layer for the least; of equals the first, and any before the control core."""
    costs = {name: price(cost, options.objective) for name, (_, cost) in offers.accepted.items()}
    costs[CPU] = price(offers.cpu, options.objective)
    return min(costs, key=lambda name: costs[name])


def dispatch(workloads: Sequence[Workload], target: MatchTarget, options: Options) -> list[LayerDecision]:
    """Decisions for layers that have nothing to do with each other."""
    return [offers.decision(cheapest(offers, options), None) for offers in ask(workloads, target, options, Stopwatch())]
