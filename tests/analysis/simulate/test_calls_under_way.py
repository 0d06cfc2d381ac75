"""Groups whose kernel calls are under way at once, beside timelines computed by hand."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from match.analysis.simulate import Kind, simulate
from match.analysis.simulate.events import Event
from match.ir.group import Links, grouped
from match.ir.layer import Axis, Component, Dim, Layer, Op, Operand, Role
from match.mapping.memory import Memory
from match.mapping.schedule import Schedule
from match.mapping.under_way import Lane
from match.prediction.group import operator_cycles
from match.prediction.predict import predict
from match.search.groups import group_schedule
from match.search.problem import SearchProblem
from match.target.cost import Block, CostModel, Starting, Tile
from match.target.group import GroupCost

pytestmark = pytest.mark.unit

STAGE = Layer("add", Op.ADD, 8, 1, 1, 1, 1, 1)
NE16, CLUSTER = Lane("ne16", 2), Lane("cluster", 1)


@dataclass(frozen=True)
class Unit(CostModel):
    """Every call costs the same."""

    cycles: float
    entry: float
    start: Starting
    loss: float = 0.0

    def compute(self, layer: Layer, tile: Tile) -> float:
        return self.cycles

    def launch(self, layer: Layer) -> float:
        return self.entry

    def starting(self, layer: Layer, tile: Tile) -> Starting:
        return self.start

    def beside(self, layer: Layer) -> float:
        return self.loss

    def transfer(self, layer: Layer, block: Block) -> float:
        return 20.0

    def issue(self, layer: Layer) -> float:
        return 3.0

    def overhead(self, layer: Layer) -> float:
        return 100.0


def tensor(name: str, role: Role) -> Operand:
    return Operand(name, role, (Component(name, (Axis(Dim.K, 8),)),))


def planned(links: Links, units: list[tuple[Lane, Unit]]) -> tuple[Schedule, GroupCost]:
    """The mapping of a group with one tensor from outside."""
    layer = grouped([STAGE] * len(units), links)
    operands = tensor("input", Role.INPUT), tensor("output", Role.OUTPUT)
    model = GroupCost(tuple(unit for _, unit in units), tuple(lane for lane, _ in units))
    problem = SearchProblem("", "exact", "latency", layer, operands, (Memory("L1", 4096),), (), model)
    return group_schedule(problem), model


def calls(schedule: Schedule, model: GroupCost) -> list[Event]:
    return [event for event in simulate(schedule, model).events if event.action.kind is Kind.KERNEL]


def test_the_next_call_is_programmed_while_one_runs() -> None:
    """Two on an accelerator that is programmed for 5 cycles, then one on the cluster, which reads the second one.

    100 cycles until the first event, 3 to start the transfer, which takes 20. The core prepares a call for 4 cycles
    meanwhile, starts it in 6, and programs it.
    """
    accelerator, cores = Unit(105, 10, Starting(4, 5)), Unit(50, 6, Starting(2))
    schedule, model = planned(((~0,), (0,), (1,)), [(NE16, accelerator), (NE16, accelerator), (CLUSTER, cores)])
    assert schedule.plan
    assert schedule.plan.ended == (2, 2, 3)
    assert [(event.begin, event.end) for event in calls(schedule, model)] == [(134, 234), (234, 334), (338, 388)]
    assert simulate(schedule, model).cycles == predict(schedule, model).cycles == 388 + 3 + 20
    assert operator_cycles(schedule, model) == [115, 100, 54]


def test_a_core_that_is_kept_starts_nothing_else() -> None:
    """The accelerator's jobs keep the core for 60 of 100 cycles, so that the cluster begins behind these."""
    accelerator, cores = Unit(100, 10, Starting(0, 0, 60)), Unit(30, 6, Starting(0))
    links = ((~0,), (~0,), (0, 1))
    schedule, model = planned(links, [(NE16, accelerator), (CLUSTER, cores), (CLUSTER, cores)])
    first, beside, last = calls(schedule, model)
    assert (first.begin, first.end, first.core_end) == (133, 233, 193)
    assert (beside.begin, beside.end) == (199, 229)
    assert (last.begin, last.end) == (239, 269)
    assert predict(schedule, model).cycles == simulate(schedule, model).cycles


def test_what_runs_at_once_takes_longer() -> None:
    """The accelerator loses a quarter of a cycle and the cluster a tenth for each in which both compute."""
    accelerator, cores = Unit(80, 10, Starting(), 0.25), Unit(200, 6, Starting(), 0.1)
    links = ((~0,), (~0,), (0, 1))
    schedule, model = planned(links, [(CLUSTER, cores), (NE16, accelerator), (CLUSTER, cores)])
    first, beside, last = calls(schedule, model)
    assert (first.begin, beside.begin, beside.end) == (129, 139, 139 + 80 + 20)
    assert last.begin == 329 + 8 + 6
    assert predict(schedule, model).cycles == simulate(schedule, model).cycles


def test_calls_are_waited_for_at_once_where_nothing_is_gained() -> None:
    """A core that works in all calls."""
    cores = Unit(50, 6, Starting(0, 0, 50))
    schedule, model = planned(((~0,), (0,)), [(CLUSTER, cores), (CLUSTER, cores)])
    assert schedule.plan
    assert schedule.plan.ended == (0, 1)
    assert predict(schedule, model).cycles == 100 + 3 + 20 + 56 + 56 + 3 + 20
