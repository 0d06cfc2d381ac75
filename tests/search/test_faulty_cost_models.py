"""Cost models that break their contract are named with the call at fault, and no schedule comes out of them."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass

import pytest

from match.errors import CostModelError
from match.ir.layer import Layer, Op, Padding
from match.mapping.memory import Memory
from match.mapping.schedule import Schedule
from match.target.cost import Block, MappingView, Tile
from tests.mapping.random_schedules import SteppedCost, operands_of
from tests.search.problems import searched

pytestmark = pytest.mark.unit

CONV = Layer("conv", Op.CONV2D, 6, 4, 7, 5, 7, 5, 3, 3, padding=Padding(1, 1, 1, 1))


def search(model: SteppedCost, size: int = 4096) -> Schedule:
    return searched("exact", CONV, operands_of(CONV), (Memory("L1", size),), model)


@pytest.mark.parametrize("method", ["compute", "transfer", "scratch", "launch", "issue", "overhead", "sees_padding"])
@pytest.mark.parametrize("value", [-1, float("nan"), float("inf"), "many", None, ZeroDivisionError("boom")])
def test_faulty_cost_models_are_named(method: str, value: object) -> None:
    def faulty(*arguments: object) -> object:
        if isinstance(value, Exception):
            raise value
        return value

    model = type("FaultyCost", (SteppedCost,), {method: lambda self, *arguments: faulty(*arguments)})()
    with pytest.raises(CostModelError, match=rf"cost model FaultyCost, layer conv: {method}\(") as error:
        search(model)
    assert "\n" not in str(error.value)
    if method in ("compute", "scratch"):
        assert "Tile(k=" in str(error.value)
    if method == "transfer":
        assert "Block(operand=" in str(error.value)


def test_what_they_raise_stays_one_sentence() -> None:
    class Chatty(SteppedCost):
        def compute(self, layer: Layer, tile: Tile) -> float:
            raise KeyError("no entry\nfor this tile.")

    with pytest.raises(CostModelError, match=r"raised KeyError: 'no entry\\nfor this tile\.'\.$"):
        search(Chatty())

    class Silent(SteppedCost):
        def compute(self, layer: Layer, tile: Tile) -> float:
            raise NotImplementedError

    with pytest.raises(CostModelError, match=r"raised NotImplementedError\.$"):
        search(Silent())


@pytest.mark.parametrize("method", ["compute", "transfer", "scratch", "launch", "issue", "overhead", "latency"])
def test_answers_that_change_are_shown(method: str) -> None:
    counter = itertools.count(100_000)
    model = type("Drifting", (SteppedCost,), {method: lambda self, *arguments: next(counter)})()
    with pytest.raises(
        CostModelError, match=rf"Drifting, layer conv: {method}\(.*\) returned \d+, then \d+; .* deterministic"
    ):
        search(model, 1 << 22 if method == "scratch" else 600)


def test_answers_at_random_are_found_out() -> None:
    rng = random.Random(1)

    class Noisy(SteppedCost):
        def transfer(self, layer: Layer, block: Block) -> float:
            return super().transfer(layer, block) * rng.uniform(1, 1.001)

    with pytest.raises(CostModelError, match=r"transfer\(Block\(.* deterministic"):
        search(Noisy())


def test_padding_that_is_denied_is_found_out() -> None:
    class Denying(SteppedCost):
        def sees_padding(self, layer: Layer) -> bool:
            return False

    with pytest.raises(CostModelError, match=r"compute\(Tile\(.* returned [\d.]+, then [\d.]+; sees_padding says"):
        search(Denying(), 600)


def test_predictions_below_the_kernels_own_time() -> None:
    class Optimist(SteppedCost):
        def latency(self, view: MappingView) -> float:
            return view.least / 2

    with pytest.raises(
        CostModelError, match=r"Optimist, layer conv: latency\(.*input at depth .*\) returned [\d.]+, but its"
    ):
        search(Optimist(), 600)


def test_numbers_of_any_kind_will_do() -> None:
    import numpy as np

    @dataclass(frozen=True)
    class Numpy(SteppedCost):
        def compute(self, layer: Layer, tile: Tile) -> float:
            return np.float32(super().compute(layer, tile))  # type: ignore[return-value]

        def issue(self, layer: Layer) -> float:
            return np.int16(3)  # type: ignore[return-value]

    assert search(Numpy(), 600).loops


def test_formulas_that_take_no_arrays_are_told_what_does() -> None:
    class Branching(SteppedCost):
        arrays = True

        def compute(self, layer: Layer, tile: Tile) -> float:
            return 3.0 if tile.k > 2 else 5.0

    with pytest.raises(CostModelError, match=r"compute\(\) of arrays raised ValueError: .*; use choose, smaller and "):
        search(Branching())
