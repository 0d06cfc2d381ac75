"""Which operator has the cycles that external memory adds to a step of the network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from match.dispatch.plan import LayerDecision
from match.placement.latency import Latency


def with_waits(decisions: Sequence[LayerDecision], steps: Sequence[int], latency: Latency) -> tuple[LayerDecision, ...]:
    """The decisions, in execution order, with all cycles of the network.

    What a step takes longer than all its operators goes to its layer, or to its longest operator on the control core;
    of a step without any, to the operator before it.

    Args:
        decisions: with their cycles alone.
        steps: the step of each decision, in order.
        latency: of these steps.
    """
    own = [0.0] * len(latency.works)
    for decision, step in zip(decisions, steps, strict=True):
        own[step] += decision.cycles
    waits = [0.0] * len(decisions)
    owner = 0
    for step, cycles in enumerate(own):
        here = [number for number, other in enumerate(steps) if other == step]
        owner = max(here, key=lambda n: (decisions[n].plan is not None, decisions[n].cycles), default=owner)
        waits[owner] += latency.begins[step + 1] - latency.begins[step] - cycles
    return tuple(
        replace(decision, cycles=decision.cycles + wait, waits=wait)
        for decision, wait in zip(decisions, waits, strict=True)
    )
