"""The C of groups: what it computes is what its operators compute, and its trace is the simulation."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import pytest

from match.analysis.simulate import simulate
from match.analysis.simulate.events import Kind
from match.analysis.trace import LayerTrace
from match.dispatch.plan import LayerPlan
from match.ir.layer import Layer
from match.mapping.group_plan import Order
from match.mapping.under_way import ends
from match.prediction.predict import predict
from match.search import groups
from match.target import group
from match.target.group import GroupCost
from match.target.registry import get_target
from tests.codegen.groups import OPS, GroupCase, planned, random_group
from tests.codegen.harness import run, traced_run
from tests.mapping.random_calls import random_calls
from tests.seeds import seeded

pytestmark = pytest.mark.cc

GROUPS = 40
"""Groups of each seed."""

EACH_RUN = 2
"""Seeds that are not left to the sweep: on two numbers of cores, as the kernels are compiled anew for each."""


TARGETS = "gap8", "gap9"


def random_groups(seed: int) -> list[tuple[GroupCase, LayerPlan, GroupCost]]:
    """Groups that the cluster of GAP8 takes, or those of GAP9."""
    rng, target = random.Random(seed), get_target(TARGETS[seed % 2])
    found: list[tuple[GroupCase, LayerPlan, GroupCost]] = []
    attempt = seed * 1_000_000
    while len(found) < GROUPS:
        attempt += 10
        case = random_group(rng, attempt)
        plan = planned(target, case, rng, f"net_{len(found)}_group") if case else None
        if case and plan:
            found.append((case, *plan))
    return found


@seeded(EACH_RUN, swept=30)
def test_groups_compute_what_their_operators_compute(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """On as many cores as the seed says; each call has a part of the constants, and dense layers have several calls."""
    monkeypatch.setattr(groups, "PART_BYTES", (1,))
    monkeypatch.setattr(group, "CUT_BYTES", 64)
    tried = random_groups(seed)
    cores = (8, 3)[seed % 2] if seed < EACH_RUN else 1 + seed % 8
    outputs, traces = traced_run(
        [plan for _, plan, _ in tried],
        [case.whole for case, _, _ in tried],
        target=get_target(TARGETS[seed % 2]),
        flags=(f"-DPULP_CLUSTER_CORES={cores}",),
    )
    for (case, plan, model), output, trace in zip(tried, outputs, traces, strict=True):
        told = f"{[stage.layer for stage in case.stages]} {plan.schedule.plan}"
        timeline = simulate(plan.schedule, model)
        assert trace == LayerTrace(plan.symbol, timeline.actions), told
        assert predict(plan.schedule, model).cycles == pytest.approx(timeline.cycles, rel=1e-12), told
        assert np.array_equal(output.reshape(-1), case.expected().reshape(-1)), told
    parted = [
        sum(action.kind is Kind.FETCH and action.operand == "weights" for action in one.actions) for one in traces
    ]
    assert max(parted) > 2


def _any_order(rng: random.Random) -> Callable[[Layer, GroupCost], tuple[list[Order], Iterator[Order]]]:
    """What stands in for the orders that the search tries."""

    def orders(layer: Layer, model: GroupCost) -> tuple[list[Order], Iterator[Order]]:
        own = random_calls(rng, layer, [lane.by_rows for lane in model.lanes])
        return [Order(own, ends(layer, own, model.lanes))], iter(())

    return orders


@seeded(EACH_RUN, swept=30)
def test_calls_under_way_may_end_in_any_order(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """NE16 and the cluster end what they were given when it is waited for, or at any start or wait before.

    Operators are cut in strips of rows wherever they may be, in any order in which they have what they read.
    """
    monkeypatch.setattr(groups, "_orders", _any_order(random.Random(seed)))
    tried = random_groups(3 + 2 * seed)
    found = [plan.schedule.plan for _, plan, _ in tried if plan.schedule.plan]
    late = [own for own in found if any(map(own.ending, range(len(own.calls))))]
    assert len(late) > GROUPS // 4
    apart = [
        own for own in found if any(one.row and one.operator != before.operator for before, one in pairwise(own.calls))
    ]
    assert len(apart) > GROUPS // 8
    plans, wholes, gap9 = [plan for _, plan, _ in tried], [case.whole for case, _, _ in tried], get_target("gap9")
    outputs, traces = traced_run(plans, wholes, target=gap9)
    for (case, plan, model), output, trace in zip(tried, outputs, traces, strict=True):
        assert trace == LayerTrace(plan.symbol, simulate(plan.schedule, model).actions)
        assert np.array_equal(output.reshape(-1), case.expected().reshape(-1))
    for order in range(2):
        outputs = run(plans, wholes, target=gap9, environment={"MATCH_HOST_ORDER": str(10 * seed + order)})
        for (case, plan, _), output in zip(tried, outputs, strict=True):
            told = f"{[stage.layer for stage in case.stages]} {plan.schedule.plan}"
            assert np.array_equal(output.reshape(-1), case.expected().reshape(-1)), told


def test_each_operator_consumes_as_its_module_does() -> None:
    """From the events of the simulation: NE16 and the cluster differ in what a cycle and a product take."""
    several = 0
    for _, plan, model in random_groups(3):
        if len(plan.schedule.memories) > 1:
            continue
        several += len(plan.units) > 1
        timeline = simulate(plan.schedule, model)
        kernels = [event for event in timeline.events if event.action.kind is Kind.KERNEL]
        energies = [own.energy for own in model.models]
        (shared, *_), made = energies, [energy for energy in energies if energy is not None]
        assert shared
        expected = sum(energy.mac * stage.macs for energy, stage in zip(made, plan.layer.operators, strict=True))
        assert plan.schedule.plan
        for event, call in zip(kernels, plan.schedule.plan.calls, strict=True):
            expected += made[call.operator].kernel * (event.end - event.begin)
        expected += shared.control * timeline.overhead + shared.cycle * timeline.cycles
        expected += shared.byte["L1"] * sum(count for _, count in timeline.moved)
        assert predict(plan.schedule, model).energy == pytest.approx(expected, rel=1e-12)
    assert several > 5


def test_every_operator_is_tried() -> None:
    """In some of the groups of each run."""
    cases = [case for seed in range(EACH_RUN) for case, _, _ in random_groups(seed)]
    assert {stage.layer.op for case in cases for stage in case.stages} == set(OPS)


def test_groups_use_what_they_may() -> None:
    """Several modules, and room that is used again."""
    plans = [plan for _, plan, _ in random_groups(1)]
    assert any(len(plan.units) > 1 for plan in plans)
    rooms = [plan.schedule.plan for plan in plans if plan.schedule.plan]
    again = [one for one in rooms if one.bytes < sum(fetch.room.bytes for fetch in one.fetches)]
    assert any(fetch.started > 0 for one in rooms for fetch in one.fetches)
    assert again
