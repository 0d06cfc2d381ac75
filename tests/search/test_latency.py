"""Cost models with a latency of their own: what they see of a mapping, and that the search is still exhaustive."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest

import match.search.exact.search
from match.ir.layer import Dim, Layer, Op
from match.mapping.memory import Memory
from match.prediction.predict import predict
from match.target.cost import MappingView
from tests.mapping.random_schedules import SteppedCost, operands_of, random_cost, random_layer, random_schedule
from tests.mapping.walk import walk
from tests.search.brute_force import predicted_rank, schedules, size_of_search
from tests.search.problems import searched
from tests.seeds import seeded

pytestmark = pytest.mark.unit


@dataclass(frozen=True)
class TwoChannels(SteppedCost):
    """Reads and writes have a DMA each, and a refill of every first block: nothing like the default."""

    def latency(self, view: MappingView) -> float | None:
        reads = sum(stream.transfer for stream in view.streams[:-1])
        exposed = sum(stream.transfer / stream.blocks for stream in view.streams if stream.placement.buffers == 2)
        exposed += sum(stream.transfer for stream in view.streams if stream.placement.buffers == 1)
        return max(view.least + exposed / 3, reads, view.streams[-1].transfer) + 7 * view.calls


class Recorded(SteppedCost):
    """Leaves the latency as it is."""

    views: list[MappingView]

    def latency(self, view: MappingView) -> float | None:
        self.views.append(view)
        return None


def two_channels(rng: random.Random) -> TwoChannels:
    return TwoChannels(**vars(random_cost(rng)))


@seeded(40)
def test_views_hold_what_an_event_by_event_walk_counts(seed: int) -> None:
    rng = random.Random(seed)
    schedule = random_schedule(rng, random_layer(rng, 8), depth=4)
    model = Recorded(**vars(random_cost(rng)))
    object.__setattr__(model, "views", [])
    cost = predict(schedule, model)
    (view,) = model.views
    line = walk(schedule, model)
    starts = [(kind, name) for kind, name, _, _ in line.events if kind == "start"]
    for operand, stream in zip(schedule.operands, view.streams, strict=True):
        assert stream.placement == schedule.placement(operand.name, schedule.inner_memory)
        assert stream.blocks == starts.count(("start", operand.name))
        assert stream.bytes == line.moved[operand.name]
    assert sum(stream.transfer for stream in view.streams) == pytest.approx(line.transfer)
    assert view.calls == sum(1 for _ in schedule.blocks(len(schedule.loops)))
    assert view.compute == pytest.approx(line.compute)
    assert view.least == pytest.approx(model.offload + view.calls * model.fixed + line.compute)
    assert view.cycles == cost.cycles == pytest.approx(line.cycles)
    assert (view.layer, view.loops) == (schedule.layer, schedule.loops)
    extents = schedule.extents(len(schedule.loops))
    assert (view.tile.k, view.tile.oy, view.tile.ox) == (extents[Dim.K], extents[Dim.OY], extents[Dim.OX])


def test_equals_brute_force() -> None:
    rng = random.Random(31)
    done = 0
    while done < 30:
        layer = random_layer(rng, rng.choice([3, 4, 6]))
        operands = operands_of(layer)
        if not 1 < size_of_search(layer, operands, {}) <= 400:
            continue
        done += 1
        model = two_channels(rng)
        everything = list(schedules(layer, operands, Memory("L1", 1 << 20), model, {}))
        memory = Memory("L1", rng.choice([schedule.used_bytes(schedule.inner_memory) for schedule in everything]))
        objective = rng.choice(["latency", "latency", "bytes", "energy"])
        assert model.energy is not None
        ranks = [
            predicted_rank(schedule, model, objective)
            for schedule in everything
            if schedule.used_bytes(schedule.inner_memory) <= memory.size
        ]
        best = searched("exact", layer, operands, (memory,), model, objective)
        found = predicted_rank(best, model, objective)
        assert found == min(ranks), (layer, memory.size, objective, model)  # type: ignore[type-var]
        assert best.loss == 0


def test_an_unchanged_latency_changes_nothing() -> None:
    class Default(SteppedCost):
        def latency(self, view: MappingView) -> float | None:
            return None

    rng = random.Random(32)
    for _ in range(5):
        layer = random_layer(rng, 6)
        operands, memory = operands_of(layer), Memory("L1", 5000)
        fixed = vars(random_cost(rng))
        found = searched("exact", layer, operands, (memory,), Default(**fixed))
        assert found == searched("exact", layer, operands, (memory,), SteppedCost(**fixed))


def test_a_search_that_gives_up_says_what_it_may_have_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = Layer("conv", Op.CONV2D, 8, 4, 10, 10, 10, 10)
    operands, memory, model = operands_of(layer), Memory("L1", 700), TwoChannels(fixed=1.0)
    best = searched("exact", layer, operands, (memory,), model)
    least = predict(best, model).cycles
    assert best.loss == 0
    monkeypatch.setattr(match.search.exact.search, "MOST_VIEWS", 5)
    hasty = searched("exact", layer, operands, (memory,), model)
    cycles = predict(hasty, model).cycles
    assert cycles - hasty.loss <= least <= cycles
    assert 0 < hasty.loss < cycles
    lean = searched("exact", layer, operands, (memory,), model, "bytes")
    assert lean.loss == 0
    plain = SteppedCost(fixed=1.0)
    fewest = predict(searched("exact", layer, operands, (memory,), plain, "bytes"), plain).moved_bytes
    assert predict(lean, plain).moved_bytes == fewest
