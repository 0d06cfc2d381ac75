"""Groups in strips of rows: timelines by hand, and what any group keeps."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from itertools import pairwise

import pytest

from match.analysis.simulate import Kind, simulate
from match.ir.group import Call, Links, calls, grouped, reads, rows_axis
from match.ir.layer import Axis, Component, Dim, Group, Layer, Op, Operand, Padding, Role
from match.mapping.group_plan import group_plan
from match.mapping.memory import Memory
from match.mapping.under_way import Lane
from match.prediction.predict import predict
from match.search import groups
from match.search.groups import group_schedule
from match.search.problem import SearchProblem
from match.search.strips import strips
from match.target.cost import Block, CostModel, Starting, Tile
from match.target.group import GroupCost
from tests.seeds import seeded

pytestmark = pytest.mark.unit

NE16, CLUSTER = Lane("ne16", 2, by_rows=True), Lane("cluster", 1, by_rows=True)
ADD = Layer("add", Op.ADD, 8, 1, 12, 1, 12, 1)
CONV = Layer("conv", Op.CONV2D, 8, 8, 12, 1, 12, 1, 3, 1, padding=Padding(1, 0, 1, 0))


@dataclass(frozen=True)
class Unit(CostModel):
    """A call costs so many cycles for each `step` rows that are begun, and `entry` of the core before it begins.

    It takes `behind` more directly behind a call of another module.
    """

    row: float
    entry: float
    step: int = 1
    loss: float = 0.0
    behind: float = 0.0

    def compute(self, layer: Layer, tile: Tile) -> float:
        return self.row * self.step * -(-tile.oy // self.step)

    def launch(self, layer: Layer) -> float:
        return self.entry

    def starting(self, layer: Layer, tile: Tile) -> Starting:
        return Starting()

    def beside(self, layer: Layer) -> float:
        return self.loss

    def behind_another(self, layer: Layer) -> float:
        return self.behind

    def transfer(self, layer: Layer, block: Block) -> float:
        return 0.0


def problem(layers: list[Layer], links: Links, units: list[tuple[Lane, Unit]], size: int = 4096) -> SearchProblem:
    """A group with one tensor from outside, in a memory of `size` bytes."""
    operands = tuple(Operand(name, role, (Component(name, (Axis(Dim.K, 8),)),)) for name, role in _OUTSIDE)
    model = GroupCost(tuple(unit for _, unit in units), tuple(lane for lane, _ in units))
    return SearchProblem("", "exact", "latency", grouped(layers, links), operands, (Memory("L1", size),), (), model)


_OUTSIDE = ("input", Role.INPUT), ("output", Role.OUTPUT)


def spans(own: tuple[Call, ...]) -> list[tuple[int, int, int]]:
    """The operator of each call, and its rows."""
    return [(call.operator, call.row, call.rows) for call in own]


def test_one_module_computes_on_rows_while_another_makes_the_next() -> None:
    """Two operators of 12 rows, each 10 cycles a row. The second one begins behind the first strip of the first.

    The core starts the next strip of the accelerator in front of the wait for the one before, and one of the cluster
    in 5 cycles behind the one before. So n strips end at 5 + 120 / n + n * (5 + 120 / n).
    """
    asked = problem([ADD, ADD], ((~0,), (0,)), [(NE16, Unit(10, 5)), (CLUSTER, Unit(10, 5))])
    schedule = group_schedule(asked)
    assert schedule.plan
    found = spans(schedule.plan.calls)
    assert found[:5] == [(0, 0, 3), (0, 3, 3), (1, 0, 3), (0, 6, 3), (0, 9, 3)]
    assert [one for one in found if one[0] == 1] == [(1, row, 3) for row in range(0, 12, 3)]
    assert predict(schedule, asked.cost_model).cycles == simulate(schedule, asked.cost_model).cycles == 175
    kernels = [event for event in simulate(schedule, asked.cost_model).events if event.action.kind is Kind.KERNEL]
    tiles = [event.action.tile for event in kernels if event.action.tile]
    assert [tile.oy for tile in tiles] == [3] * 8


def test_a_reader_stays_behind_by_the_rows_that_its_window_sees() -> None:
    """A filter of three rows needs one more than it makes, but at the end."""
    asked = problem([ADD, CONV], ((~0,), (0,)), [(CLUSTER, Unit(10, 5)), (NE16, Unit(10, 5))])
    made, read = ([row + rows for operator, row, rows in spans(_strips(asked)) if operator == one] for one in (0, 1))
    assert len(made) > 2
    assert read == [*(end - 1 for end in made[:-1]), 12]


def test_strips_end_where_a_module_computes_whole_steps() -> None:
    """An accelerator that computes three rows at once; strips that are dear are few."""
    asked = problem([CONV, ADD], ((~0,), (0,)), [(NE16, Unit(10, 5, step=3)), (CLUSTER, Unit(10, 5))])
    assert all(row % 3 == 0 for operator, row, _ in spans(_strips(asked)) if operator == 0)
    asked = problem([CONV, ADD], ((~0,), (0,)), [(NE16, Unit(10, 30)), (CLUSTER, Unit(10, 30))])
    assert 2 < len(_strips(asked)) < 8


@pytest.mark.parametrize("entry", [200.0, 1000.0])
def test_nothing_is_cut_where_starts_take_longer(entry: float) -> None:
    asked = problem([ADD, ADD], ((~0,), (0,)), [(NE16, Unit(10, entry)), (CLUSTER, Unit(10, entry))])
    assert _strips(asked) == calls(asked.layer)


def test_calls_behind_another_module_take_longer() -> None:
    """Each of them, also where operators are in strips: where that is dear, modules change once."""
    units = [(NE16, Unit(10, 5, behind=2)), (CLUSTER, Unit(10, 5, behind=3))]
    asked = problem([ADD, ADD], ((~0,), (0,)), units)
    schedule, model = group_schedule(asked), asked.cost_model
    assert schedule.plan
    assert isinstance(model, GroupCost)
    order = [call.operator for call in schedule.plan.calls]
    changes = [False, *(one != other for one, other in pairwise(order))]
    expected = [5 + (2, 3)[one] * change for one, change in zip(order, changes, strict=True)]
    assert len(order) > 2
    assert model.of(schedule.plan).launches(asked.layer) == expected
    dear = problem([ADD, ADD], ((~0,), (0,)), [(lane, replace(unit, behind=200)) for lane, unit in units])
    modules = [call.operator for call in _strips(dear)]
    assert modules == sorted(modules)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (NE16._replace(by_rows=False), CLUSTER),
        (NE16, CLUSTER._replace(by_rows=False)),
        (CLUSTER, CLUSTER),
    ],
)
def test_nothing_is_cut_that_may_not_be_or_meets_nothing(first: Lane, second: Lane) -> None:
    asked = problem([ADD, ADD], ((~0,), (0,)), [(first, Unit(10, 5)), (second, Unit(10, 5))])
    assert _strips(asked) == calls(asked.layer)


def test_the_next_best_strips_are_taken_where_the_fastest_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = problem([CONV, ADD], ((~0,), (0,)), [(NE16, Unit(10, 5)), (CLUSTER, Unit(10, 5))])
    assert isinstance(asked.cost_model, GroupCost)
    fastest, *others = dict.fromkeys(strips(asked.layer, asked.cost_model))
    monkeypatch.setattr(groups, "group_plan", lambda *given: None if given[-1].calls == fastest else group_plan(*given))
    plan = group_schedule(asked).plan
    assert plan
    assert plan.calls == others[0]


def _strips(asked: SearchProblem) -> tuple[Call, ...]:
    assert isinstance(asked.cost_model, GroupCost)
    return next(strips(asked.layer, asked.cost_model), calls(asked.layer))


def random_group(rng: random.Random) -> SearchProblem:
    """Additions and convolutions of 12 rows, and one in two rows, on two modules, each of which reads one or two."""
    count = rng.randint(2, 8)
    links = [(~0,), *(tuple({rng.randrange(max(0, n - 3), n) for _ in range(2)}) for n in range(1, count))]
    for number in reversed(range(count - 1)):
        if not any(number in own for own in links):
            links[number + 1] = (number,)
    layers = [ADD if len(own) > 1 else rng.choice([ADD, CONV, CONV]) for own in links]
    units = [
        (
            rng.choice([NE16, CLUSTER])._replace(alone=rng.random() < 0.1, by_rows=rng.random() < 0.9),
            Unit(rng.uniform(5, 50), rng.uniform(1, 40), rng.choice([1, 3]), rng.choice([0.0, 0.3])),
        )
        for _ in links
    ]
    return problem(layers, tuple(links), units, rng.choice([4096, 600, 400]))


@seeded(60, swept=600)
def test_strips_are_never_slower_and_read_what_is_there(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What each call reads has been started in front of it, on another module has ended; simulated as predicted."""
    asked = random_group(random.Random(seed))
    model = asked.cost_model
    assert isinstance(model, GroupCost)
    schedule = group_schedule(asked)
    plan = schedule.plan
    assert plan
    for number, call in enumerate(plan.calls):
        for writer in asked.layer.get(Group).links[call.operator]:
            for other in (one for one in plan.calls if one.operator == writer):
                if reads(asked.layer, call, other):
                    place = plan.calls.index(other)
                    assert place < number
                    assert plan.ended[place] <= number or model.units[writer] == model.units[call.operator]
    cycles = predict(schedule, model).cycles
    assert cycles == pytest.approx(simulate(schedule, model).cycles, rel=1e-12)
    monkeypatch.setattr(groups, "strips", lambda *_: iter(()))
    assert cycles <= predict(group_schedule(asked), model).cycles


@seeded(200, swept=2000)
def test_calls_read_what_their_windows_see(seed: int) -> None:
    """Beside the definition: input rows of each output row, bytes of each row, of a tensor or of a view of it."""
    rng = random.Random(seed)
    fy, stride, before = rng.randint(1, 4), rng.randint(1, 3), rng.randint(0, 1)
    oy = rng.randint(1, 6)
    iy = (oy - 1) * stride + fy - before - rng.randint(0, min(1, fy - 1))
    if iy < 1 or before >= fy:
        return
    padding = Padding(before, 0, max(0, (oy - 1) * stride + fy - before - iy), 0)
    reader = Layer("pool", Op.MAX_POOL2D, 8, 1, oy, 1, iy, 1, fy, 1, (stride, 1), padding=padding)
    folded = rng.choice(
        [rows for rows in range(1, iy + 1) if iy % rows == 0]
    )  # rows of the tensor that it is a view of
    writer = Layer("add", Op.ADD, 8, 1, folded, iy // folded, folded, iy // folded)
    layer = grouped([writer, reader], ((~0,), (0,)))
    assert rows_axis(reader, 0).limit == iy
    row, first = rng.randrange(oy), rng.randrange(folded)
    own = Call(1, 0, 8, row, rng.randint(1, oy - row))
    other = Call(0, 0, 8, first, rng.randint(1, folded - first))
    windows = {place * stride + inside - before for place in range(own.row, own.row + own.rows) for inside in range(fy)}
    seen = set(range(max(0, min(windows)), min(iy - 1, max(windows)) + 1))
    each = iy // folded
    made = set(range(other.row * each, (other.row + other.rows) * each))
    assert reads(layer, own, other) == bool(seen & made)
