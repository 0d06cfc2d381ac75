"""The C of chains: what it computes is what its operators compute one after the other, and its trace is the simulation.

Schedules are random, so that tiles end anywhere, and blocks lie where no search would place them.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

from match.analysis.simulate import simulate
from match.analysis.trace import LayerTrace
from match.dispatch.request import Request
from match.prediction.predict import predict
from match.target.hardware import MatchTarget
from match.target.registry import get_target
from tests.codegen.chains import ChainCase, asked, chain_patterns, planned, random_chain
from tests.codegen.harness import traced_run
from tests.seeds import seeded

pytestmark = pytest.mark.cc


CHAINS = 50
"""Chains of each seed."""

EACH_RUN = 4
"""Seeds that are not left to the sweep: on two numbers of cores, as the kernels are compiled anew for each."""


def random_chains(target: MatchTarget, rng: random.Random, seed: int) -> list[ChainCase]:
    """Chains that the target's first module takes, of each of its patterns as many."""
    patterns = chain_patterns(target)
    chains: list[ChainCase] = []
    attempt = seed * 100000
    while len(chains) < CHAINS:
        attempt += 10
        chain = random_chain(rng, patterns[len(chains) % len(patterns)].ops, attempt)
        if chain is not None and isinstance(asked(target, chain, "x")[0], Request):
            chains.append(chain)
    return chains


@seeded(EACH_RUN, swept=96)
def test_chains_compute_what_their_operators_compute(seed: int) -> None:
    """On a cluster, on as many cores as the seed says."""
    check(get_target("gap8"), seed)


@seeded(1, swept=19)
def test_chains_on_an_accelerator_compute_what_their_operators_compute(seed: int) -> None:
    """NE16 as a model behind its registers; filters are bit planes, and the cluster requantizes its sums."""
    check(get_target("gap9", modules=["ne16"]), seed)


def check(target: MatchTarget, seed: int) -> None:
    """Outputs, traces and predictions of random chains on the target's module that run one after the other."""
    rng = random.Random(seed)
    chains = random_chains(target, rng, seed)
    planned_chains = [planned(target, chain, rng, f"net_{number}_chain") for number, chain in enumerate(chains)]
    plans = [plan for plan, _ in planned_chains]
    cores = (8, 3)[seed % 2] if seed < EACH_RUN else 1 + seed % 8
    outputs, traces = traced_run(
        plans, [chain.whole for chain in chains], target=target, flags=(f"-DPULP_CLUSTER_CORES={cores}",)
    )
    for chain, (plan, model), output, trace in zip(chains, planned_chains, outputs, traces, strict=True):
        told = f"{[stage.layer for stage in chain.stages]} {plan.schedule.loops} {plan.schedule.placements}"
        timeline = simulate(plan.schedule, model)
        assert trace == LayerTrace(plan.symbol, timeline.actions), told
        assert predict(plan.schedule, model).cycles == pytest.approx(timeline.cycles, rel=1e-12), told
        assert np.array_equal(output, chain.expected()), told
