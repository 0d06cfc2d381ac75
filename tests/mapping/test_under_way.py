"""Which kernel calls of a group may be under way at once, and which have to be waited for."""

from __future__ import annotations

import random

import pytest

from match.ir.group import calls, grouped, reads
from match.ir.layer import Group, Layer, Op
from match.mapping.group_plan import one_by_one
from match.mapping.under_way import Lane, ends
from tests.mapping.random_calls import random_calls
from tests.seeds import seeded

pytestmark = pytest.mark.unit

NE16, CLUSTER, WAITING = Lane("ne16", 2), Lane("cluster", 1), Lane("slow")
STAGE = Layer("add", Op.ADD, 8, 1, 6, 1, 6, 1)


def chain(*lanes: Lane, links: tuple[tuple[int, ...], ...] = ()) -> tuple[int, ...]:
    """Ends of operators in a row, or with the links that are given."""
    row = ((~0,), *((number,) for number in range(len(lanes) - 1)))
    layer = grouped([STAGE] * len(lanes), links or row)
    return ends(layer, calls(layer), lanes)


def test_a_module_that_takes_two_is_waited_for_when_both_are_taken() -> None:
    """It executes them in order, so that the second one may read what the first one writes."""
    assert chain(NE16, NE16, NE16, NE16) == (2, 3, 4, 4)


def test_another_module_waits_for_what_it_reads() -> None:
    assert chain(NE16, NE16, CLUSTER, NE16, CLUSTER, CLUSTER) == (2, 2, 3, 4, 5, 6)


def test_the_core_waits_at_once_where_a_module_does_not_go_on() -> None:
    assert chain(WAITING, NE16, WAITING) == (0, 2, 2)
    assert chain(CLUSTER._replace(most=0), CLUSTER._replace(most=0)) == (0, 1)


def test_independent_operators_run_at_once() -> None:
    """Two branches of one tensor, and their sum."""
    assert chain(CLUSTER, CLUSTER, NE16, CLUSTER, links=((~0,), (0,), (0,), (1, 2))) == (1, 3, 3, 4)


def test_nothing_is_beside_what_is_alone() -> None:
    """Neither those in front of it nor those behind it, but for the same module's."""
    branches = ((~0,), (~1,), (~2,), (0, 1, 2))
    alone = NE16._replace(alone=True)
    assert chain(CLUSTER, alone, CLUSTER, CLUSTER, links=branches) == (1, 2, 3, 4)
    assert chain(NE16, alone, NE16, NE16, links=branches) == (1, 3, 4, 4)


@seeded(200, swept=2000)
def test_calls_wait_for_what_they_must_and_for_nothing_else(seed: int) -> None:
    """Beside the definition: which calls may not be under way with which, pair by pair."""
    rng = random.Random(seed)
    count = rng.randint(1, 9)
    links = [tuple({rng.choice([~0, *range(number)]) for _ in range(2)}) for number in range(count)]
    lanes = [
        rng.choice([NE16, CLUSTER, WAITING])._replace(alone=rng.random() < 0.2, by_rows=rng.random() < 0.7)
        for _ in range(count)
    ]
    layer = grouped([STAGE] * count, tuple(links), [rng.choice([0, 0, 3]) for _ in range(count)])
    own = random_calls(rng, layer, [lane.by_rows for lane in lanes]) if rng.random() < 0.5 else calls(layer)
    found = ends(layer, own, lanes)

    def excluded(call: int, other: int) -> bool:
        """Whether the call may not start before the other one, in front of it, has ended."""
        mine, its = lanes[own[call].operator], lanes[own[other].operator]
        if its.most == 0:
            return True
        if mine.unit == its.unit and not mine.alone:
            between = [one for one in range(other + 1, call) if lanes[own[one].operator].unit == its.unit]
            return len(between) + 1 >= its.most
        return mine.alone or its.alone or reads(layer, own[call], own[other])

    for other, end in enumerate(found):
        if lanes[own[other].operator].most == 0:
            assert end == other
            continue
        unit = lanes[own[other].operator].unit
        behind = [one for one in range(other, len(own)) if lanes[own[one].operator].unit == unit]
        first = min(
            (call for one in behind for call in range(one + 1, len(own)) if excluded(call, one)), default=len(own)
        )
        assert end == first, f"{lanes} {layer.get(Group).links}"
    assert one_by_one(layer).ended == tuple(range(len(calls(layer))))
