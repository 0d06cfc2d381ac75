"""Python's collector of cyclic garbage rests during a search, which leaves it nothing to do."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from match.errors import ScheduleError
from match.ir.layer import Layer, Op, Padding
from match.mapping.memory import Memory
from match.target.cost import Tile
from tests.mapping.random_schedules import SteppedCost, operands_of
from tests.search.problems import searched

pytestmark = pytest.mark.unit

CONV = Layer("conv", Op.CONV2D, 6, 4, 7, 5, 7, 5, 3, 3, padding=Padding(1, 1, 1, 1))
LEVELS = [(Memory("L1", 600),), (Memory("L2", 700), Memory("L1", 300))]


@pytest.fixture(params=[True, False], ids=["enabled", "disabled"])
def enabled(request: pytest.FixtureRequest) -> Iterator[bool]:
    (gc.enable if request.param else gc.disable)()
    yield request.param
    gc.enable()


@pytest.mark.parametrize("memories", LEVELS, ids=["one memory", "two memories"])
def test_a_search_leaves_no_cyclic_garbage(memories: tuple[Memory, ...]) -> None:
    searched("exact", CONV, operands_of(CONV), memories, SteppedCost())  # what is loaded at first use may leave some
    gc.collect()
    gc.disable()
    try:
        searched("exact", CONV, operands_of(CONV), memories, SteppedCost())
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_no_collection_during_a_search(enabled: bool) -> None:
    running: set[bool] = set()

    class Watched(SteppedCost):
        def compute(self, layer: Layer, tile: Tile) -> float:
            running.add(gc.isenabled())
            return super().compute(layer, tile)

    searched("exact", CONV, operands_of(CONV), LEVELS[0], Watched())
    assert running == {False}
    assert gc.isenabled() is enabled


def test_collector_is_as_before_when_a_search_fails(enabled: bool) -> None:
    with pytest.raises(ScheduleError):
        searched("exact", CONV, operands_of(CONV), (Memory("L1", 8),), SteppedCost())
    assert gc.isenabled() is enabled
