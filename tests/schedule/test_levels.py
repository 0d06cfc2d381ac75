"""The search over two memories against trying every mapping."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

import match.schedule.inner_search
import match.schedule.outer_search
from match.errors import ScheduleError
from match.ir.layer import Dim, Layer, Op, Operand, Padding
from match.schedule.inner_floors import InnerFloors
from match.schedule.inner_search import Effort, InnerSearch
from match.schedule.limits import UNLIMITED, Limits
from match.schedule.mapping import Loop, Memory, Placement, Schedule
from match.schedule.outer_search import Node, OuterSearch
from match.schedule.predict import predict
from match.schedule.pricing import Pricing
from match.schedule.problem import Problem
from match.schedule.search import Rank
from match.schedule.sieve import Sieve
from match.schedule.tiles import TILED, Sizes, candidate_tiles
from match.schedule.two_memories import OuterWay, TwoMemories
from match.target.cost import Cost, CostModel
from tests.schedule.brute_force_levels import two_level_schedules, two_level_size
from tests.schedule.problems import searched
from tests.schedule.random_schedules import dear_issues, operands_of, random_cost, random_layer, random_operands

Unlimited = tuple[Layer, tuple[Operand, ...], tuple[Memory, Memory], dict[Dim, int]]


def problem(rng: random.Random, most: int) -> Unlimited:
    """A layer with few mappings onto two memories without limit, and what tiles must be multiples of."""
    while True:
        layer = random_layer(rng, rng.choice([2, 3, 4, 6]))
        operands = random_operands(rng, layer)
        names = [operand.name for operand in operands]
        holds = rng.choice([None, None, frozenset(["weights"]), frozenset(n for n in names if rng.random() < 0.6)])
        outer = Memory("L2", 1 << 20, rng.choice([4, 4, 16]), holds=holds)
        inner = Memory("L1", 1 << 20, rng.choice([4, 4, 1, 8]))
        multiples = {dim: rng.choice([0, 2, 3]) for dim in (Dim.K, Dim.OY, Dim.OX) if rng.random() < 0.4}
        if layer.c > 1 and rng.random() < 0.5:
            multiples[Dim.C] = rng.choice([0, 1, 1, 2, 3])
        if 30 < two_level_size(layer, operands, (outer, inner), multiples) <= most:
            return layer, operands, (outer, inner), multiples


def key(cost: Cost, objective: str) -> tuple[float, float]:
    """What is minimised, and what decides among equals."""
    cycles = round(cost.cycles * 256) / 256
    first = {"latency": cycles, "bytes": cost.moved_bytes, "energy": round((cost.energy or 0.0) * 256) / 256}
    return first[objective], cost.moved_bytes if objective == "latency" else cycles


def limited_problem(
    rng: random.Random, unlimited: Unlimited, model: CostModel
) -> tuple[Layer, tuple[Operand, ...], tuple[Memory, ...], dict[Dim, int], list[tuple[Schedule, Cost]]]:
    """A problem whose memories are small, with each mapping that fits and what it costs."""
    layer, operands, memories, multiples = unlimited
    fitting = list(two_level_schedules(layer, operands, memories, model, multiples))
    limited: list[Memory] = []
    for memory in memories:
        needs = sorted({schedule.used_bytes(memory) for schedule in fitting})
        size = rng.choice(needs[: max(1, len(needs) * 2 // 3)]) + rng.choice([0, 0, 1, 30])
        fitting = [schedule for schedule in fitting if schedule.used_bytes(memory) <= size]
        limited.append(replace(memory, size=size))
    return layer, operands, tuple(limited), multiples, [(schedule, predict(schedule, model)) for schedule in fitting]


def outer_tile(schedule: Schedule) -> Sizes:
    extents = schedule.extents(schedule.first_loop(1))
    return tuple(extents[dim] for dim in TILED)


def both_tiles(schedule: Schedule) -> Sizes:
    """The outer and the inner one."""
    extents = schedule.extents(len(schedule.loops))
    return *outer_tile(schedule), *(extents[dim] for dim in TILED)


def check_optimal(rng: random.Random, most: int, model: CostModel) -> Schedule:
    """The best mapping, which is equal to the best of all."""
    layer, operands, memories, multiples, costs = limited_problem(rng, problem(rng, most), model)
    objective = rng.choice(["latency", "latency", "latency", "bytes", "energy"])
    best = searched("exact", layer, operands, memories, model, objective, multiples)
    least = min(key(cost, objective) for _, cost in costs)
    found = key(predict(best, model), objective)
    assert found == pytest.approx(least, rel=1e-9), (layer, memories, objective, multiples, model)
    assert best.loss == 0
    return best


def test_equals_brute_force() -> None:
    rng = random.Random(44)
    found = [check_optimal(rng, 1200, random_cost(rng)) for _ in range(65)]
    assert max(len(schedule.loops) for schedule in found) >= 3
    assert any(schedule.partial_bytes > 0 for schedule in found)


def test_equals_brute_force_where_it_takes_long_to_issue_transfers() -> None:
    rng = random.Random(48)
    for _ in range(25):
        check_optimal(rng, 500, dear_issues(rng))


def test_bounds_of_outer_tiles_hold() -> None:
    """Those of an outer tile, and of all that make the same number of blocks: below every mapping of theirs."""
    rng, ratios = random.Random(45), list[float]()
    for number in range(40):
        several = number % 2 == 0
        model = random_cost(rng) if several else random_cost(rng, speed=3.0, fixed=0.0)
        unlimited = problem(rng, 500) if several else oblong(rng)
        layer, operands, memories, multiples, costs = limited_problem(rng, unlimited, model)
        pricing = Pricing(layer, operands, memories[1], model)
        sizes = candidate_tiles(pricing, multiples)
        held = [operand.name for operand in operands if memories[0].has(operand.name)]
        floors = InnerFloors(pricing, sizes, {dim: layer.size(dim) for dim in TILED}, held)
        least: dict[tuple[int, ...], float] = {}
        for schedule, cost in costs:
            tile = outer_tile(schedule)
            least[tile] = min(least.get(tile, math.inf), cost.cycles)
        for tile, cycles in least.items():
            cell = tuple(
                tuple(n for n in sizes[dim].tolist() if -(-layer.size(dim) // n) == -(-layer.size(dim) // size))
                if dim is not Dim.C
                else (size,)
                for dim, size in zip(TILED, tile, strict=True)
            )
            alone, together = floors.cycles([(tuple((size,) for size in tile), None), (cell, None)], math.inf)
            assert together <= alone
            assert pricing.overhead + alone <= cycles * (1 + 1e-9), (layer, tile, memories, model)
            ratios.append((pricing.overhead + alone) / cycles)
    assert sum(ratios) > 0.6 * len(ratios), "they are close enough to be of use"


@pytest.mark.sweep
def test_equals_brute_force_on_larger_layers() -> None:
    rng = random.Random(41)
    for _ in range(100):
        check_optimal(rng, 6000, random_cost(rng))


@dataclass(frozen=True)
class Limited:
    """A problem with small memories, and what the best mapping with each outer tile costs."""

    problem: Problem
    least: dict[Sizes, float]


class Poor(TwoMemories):
    """Takes the best mapping so far to be half as dear again as it is, so that many others may be better."""

    kept: Rank | None = None

    def keep(self, schedule: Schedule, cost: Cost) -> None:
        self.rank = self.kept
        super().keep(schedule, cost)
        self.kept = self.rank
        assert self.kept is not None
        self.rank = self.kept._replace(objective=self.kept.objective * 1.5)


class Watched(OuterSearch):
    """Remembers the outer tiles all of whose mappings were tried or bounded away."""

    def __init__(self, problem: TwoMemories, limits: Limits) -> None:
        super().__init__(problem, limits)
        self.complete: set[Sizes] = set()
        self.thinned: set[Sizes] = set()

    def try_tile(self, node: Node, ways: list[OuterWay], effort: Effort, most: float) -> bool:
        complete = super().try_tile(node, ways, effort, most)
        if complete and node.tile not in self.thinned:
            self.complete.add(node.tile)
        return complete

    def thin(self, node: Node) -> None:
        super().thin(node)
        self.thinned.add(node.tile)


def oblong(rng: random.Random) -> Unlimited:
    """A layer with many outer tiles for so few mappings, and with sizes of tiles that a divided cell leaves out."""
    n = rng.randint(8, 9)
    layer = rng.choice([Layer("dense", Op.DENSE, n, 3, 1, 1, 1, 1), Layer("pool", Op.MAX_POOL2D, 1, 1, n, 1, n, 1)])
    holds = rng.choice([None, frozenset(["input"]), frozenset(["weights"] if layer.weight_dtype else ["output"])])
    memories = (Memory("L2", 1 << 20, 4, holds=holds), Memory("L1", 1 << 20, 4))
    return layer, operands_of(layer), memories, {Dim.C: 0}


@pytest.fixture(scope="module")
def limited_problems() -> list[Limited]:
    rng, result = random.Random(46), list[Limited]()
    for number in range(12):
        model = random_cost(rng)
        drawn = problem(rng, 300) if number % 3 == 0 else oblong(rng)
        layer, operands, memories, multiples, costs = limited_problem(rng, drawn, model)
        objective = rng.choice(["latency", "latency", "latency", "bytes", "energy"])
        asked = Problem("", "exact", objective, layer, operands, memories, tuple(multiples.items()), model)
        least: dict[Sizes, float] = {}
        for schedule, cost in costs:
            tile = outer_tile(schedule)
            least[tile] = min(least.get(tile, math.inf), key(cost, objective)[0])
        result.append(Limited(asked, least))
    return result


def tile_by_tile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has small layers reach what takes thousands of inner tiles."""
    for name, value in {"FIRST_SLAB": 2, "SLAB": 2, "CHUNK": 1, "SIFTED": 1.0}.items():
        monkeypatch.setattr(match.schedule.inner_search, name, value)


@pytest.mark.parametrize(
    "limited",
    [
        {"grid": 0.0},
        {"inner_grid": 0.0},
        {"searched": 1.0},
        {"searched": 2.0},
        {"alike": 1.0},
        {"cells": 1.0},
        {"cells": 3.0},
        {"divided": 1.0},
        {"refined": 1.0},
        {"first_predicted": 1.0, "predicted": 0.0},
        {"first_bounded": 1.0, "bounded": 0.0},
        {"first_bounded_in_all": 1.0},
    ],
    ids="-".join,
)
def test_loss_covers_what_a_limit_leaves_out(
    limited: dict[str, float], limited_problems: list[Limited], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each limit by itself: no outer tile that was not searched has a mapping better by more than the loss."""
    monkeypatch.setattr(match.schedule.outer_search, "CELLS", 1)
    tile_by_tile(monkeypatch)
    better = 0
    for one in limited_problems:
        poor = Poor(one.problem)
        search = Watched(poor, replace(UNLIMITED, **{"complete": 0.0, **limited}))
        loss = search.best().loss
        kept, best = poor.best_objective, poor.kept
        for tile, least in one.least.items():
            if tile in search.complete:
                assert best is not None
                assert best.objective <= least * (1 + 1e-9), (one.problem, tile)
            else:
                assert kept - loss <= least * (1 + 1e-9), (one.problem, tile)
                better += least < kept
    assert better, "some of them are better"


def test_a_search_without_effort_left_is_not_complete(
    limited_problems: list[Limited], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though nothing that it looked at may win."""
    tile_by_tile(monkeypatch)

    def hopeless(sieve: Sieve, *_: object) -> Sieve:
        return replace(sieve, cycles=np.full(len(sieve), math.inf))

    incomplete = 0
    for one in limited_problems:
        parent = Poor(replace(one.problem, objective="latency"))
        outer = OuterSearch(parent, UNLIMITED)
        outer.best()
        with monkeypatch.context() as patch:
            patch.setattr(match.schedule.inner_search, "with_transfers", hopeless)
            for tile in one.least:
                ways, inside = parent.ways(tile), outer.inner_floors.tiles(tile, math.inf)
                assert InnerSearch(parent, tile, ways, inside, Effort(math.inf, math.inf), {}).run()
                incomplete += not InnerSearch(parent, tile, ways, inside, Effort(math.inf, 1.0), {}).run()
    assert incomplete > 20


def test_arrays_of_blocks_at_a_border_are_shorter() -> None:
    layer = Layer("conv", Op.CONV2D, 4, 4, 8, 8, 8, 8, 3, 3, padding=Padding(1, 1, 1, 1))
    pricing = Pricing(layer, operands_of(layer), Memory("L1", 1 << 20), random_cost(random.Random(0)))
    spans = layer.spans
    rows = [pricing.array(0, spans | {Dim.OY: (start, 2)}) for start in (0, 2, 4, 6)]
    (first, *inside, last) = rows
    assert inside[0] == inside[1]
    assert first == last
    assert [a - b for a, b in zip(inside[0], first, strict=True) if a != b] == [1]


class Choosy(TwoMemories):
    """Has only mappings with one tile, and finds that out late, as it is with constants that are packed."""

    def __init__(self, problem: Problem, tile_of: Callable[[Schedule], Sizes], tile: Sizes) -> None:
        super().__init__(problem)
        self.tile_of = tile_of
        self.tile = tile

    def mapping(self, loops: tuple[Loop, ...], placements: tuple[Placement, ...]) -> Schedule | None:
        schedule = super().mapping(loops, placements)
        return schedule if schedule is not None and self.tile_of(schedule) == self.tile else None


def test_effort_has_no_limit_before_there_is_a_mapping(
    limited_problems: list[Limited], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(match.schedule.outer_search, "CELLS", 1)
    least = replace(UNLIMITED, complete=0.0, searched=1.0, cells=1.0, divided=1.0, refined=1.0)
    for one in limited_problems:
        for tile in one.least:
            assert outer_tile(OuterSearch(Choosy(one.problem, outer_tile, tile), least).best()) == tile


def test_inner_tiles_that_cut_unevenly_are_tried_where_no_other_will_do() -> None:
    rng = random.Random(49)
    few = replace(UNLIMITED, complete=0.0, inner_grid=0.0)
    for _ in range(4):
        layer, operands, memories, multiples = oblong(rng)
        problem = Problem("", "exact", "latency", layer, operands, memories, tuple(multiples.items()), random_cost(rng))
        whole = tuple(layer.size(dim) for dim in TILED)
        cut = max(TILED, key=layer.size)
        for size in range(1, layer.size(cut) + 1):
            both = *whole, *(size if dim is cut else layer.size(dim) for dim in TILED)
            assert both_tiles(OuterSearch(Choosy(problem, both_tiles, both), few).best()) == both


def test_says_which_memory_is_too_small() -> None:
    layer = Layer("conv", Op.CONV2D, 6, 4, 7, 5, 7, 5, 3, 3, padding=Padding(1, 1, 1, 1))
    operands, model = operands_of(layer), random_cost(random.Random(0), kernel_scratch=0)
    with pytest.raises(ScheduleError, match=r"layer conv needs at least 92 bytes of L2, 91 are there"):
        searched("exact", layer, operands, (Memory("L2", 91), Memory("L1", 4096)), model)
    with pytest.raises(ScheduleError, match=r"layer conv needs at least 92 bytes of L1, 91 are there"):
        searched("exact", layer, operands, (Memory("L2", 4096), Memory("L1", 91)), model)
    best = searched("exact", layer, operands, (Memory("L2", 92), Memory("L1", 92)), model)
    assert [best.used_bytes(memory) for memory in best.memories] == [92, 92]
