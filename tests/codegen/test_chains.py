"""The C of chains: what it computes is what its operators compute one after the other, and its trace is the simulation.

Schedules are random, so that tiles end anywhere, and blocks lie where no search would place them.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

from match.analysis.simulate import simulate
from match.analysis.trace import LayerTrace
from match.dispatch.plan import LayerPlan
from match.dispatch.request import Request
from match.prediction.predict import predict
from match.target.chain import ChainCost
from match.target.registry import get_target
from tests.codegen.chains import ChainCase, asked, chain_patterns, planned, random_chain
from tests.codegen.harness import traced_run

pytestmark = pytest.mark.cc


def check(count: int, seed: int) -> None:
    """So many random chains, of each pattern as many, with two schedules each."""
    rng = random.Random(seed)
    target = get_target("gap8")
    patterns = chain_patterns(target)
    chains: list[ChainCase] = []
    attempt = seed
    while len(chains) < count:
        attempt += 10
        chain = random_chain(rng, patterns[len(chains) % len(patterns)].ops, attempt)
        if chain is not None and isinstance(asked(target, chain, "x")[0], Request):
            chains.append(chain)
    for begin in range(0, count, 50):
        some = chains[begin : begin + 50] * 2
        plans = [planned(target, chain, rng, f"net_{number}_chain") for number, chain in enumerate(some)]
        compare(some, plans)


def compare(chains: list[ChainCase], planned: list[tuple[LayerPlan, ChainCost]]) -> None:
    """Outputs, traces and predictions of chains that run one after the other."""
    plans = [plan for plan, _ in planned]
    outputs, traces = traced_run(plans, [chain.whole for chain in chains], target=get_target("gap8"))
    for chain, (plan, model), output, trace in zip(chains, planned, outputs, traces, strict=True):
        told = f"{[stage.layer for stage in chain.stages]} {plan.schedule.loops} {plan.schedule.placements}"
        timeline = simulate(plan.schedule, model)
        assert trace == LayerTrace(plan.symbol, timeline.actions), told
        assert predict(plan.schedule, model).cycles == pytest.approx(timeline.cycles, rel=1e-12), told
        assert np.array_equal(output, chain.expected()), told


def test_chains_compute_what_their_operators_compute() -> None:
    check(45, 1)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(100000, 2100000, 100000))
def test_many_chains_compute_what_their_operators_compute(seed: int) -> None:
    check(250, seed)
