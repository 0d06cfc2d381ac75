from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise

import pytest

from match.errors import CostModelError, OptionError, ScheduleError
from match.ir.layer import Dim, Layer, Op, Operand, Padding
from match.mapping.memory import Memory
from match.mapping.schedule import Loop, Placement, Schedule
from match.prediction.blocks import largest_tile
from match.prediction.predict import predict
from match.prediction.prices import Prices
from match.search.engine import engine, engine_names
from match.search.exact.search import OrderedLoops, Search
from match.search.exact.tables import Tables, all_sizes
from match.search.objective import OBJECTIVES
from match.search.solve import solve
from match.target.cost import Block, CostModel, Energy, MappingView, Tile
from match.target.layers import operands_of as operands_on
from match.targets.gap9.target import Gap9
from tests.mapping.random_schedules import SteppedCost, operands_of, random_cost, random_layer
from tests.mapping.walk import walk
from tests.search.brute_force import predicted_rank, rank, schedules
from tests.search.problems import JumpyCost, gap9_problems, searched, small_problem
from tests.seeds import seeded

pytestmark = pytest.mark.unit


CUT = (4, 7, 9, 13, 17, 21, 24, 33, 40, 42)
"""Seeds of small layers whose best mapping cuts the input channels."""


@dataclass(frozen=True)
class ErraticCost(SteppedCost):
    """Costs without any rule: only trying everything finds the least."""

    seed: int = 0

    def compute(self, layer: Layer, tile: Tile) -> float:
        return random.Random(f"{self.seed} {tile}").randrange(1, 400)

    def transfer(self, layer: Layer, block: Block) -> float:
        return random.Random(f"{self.seed} {block}").randrange(1, 100)


class PaddingAside(SteppedCost):
    """Tiles cost the same wherever they lie."""

    def compute(self, layer: Layer, tile: Tile) -> float:
        return super().compute(layer, tile._replace(iy=2 * tile.oy, ix=tile.ox + 1))

    def sees_padding(self, layer: Layer) -> bool:
        return False


def check_optimal(
    rng: random.Random,
    model: CostModel,
    most: int,
    *,
    by_walking: bool = False,
    private: bool = False,
    reduced: bool = False,
) -> bool:
    """Whether the best mapping cuts the input channels."""
    layer, operands, multiples = small_problem(rng, most, reduced=reduced)
    alone = [operand.name for operand in operands if private and rng.random() < 0.5]
    largest = Memory("L1", 1 << 20, private=tuple((name, 1 << 20) for name in alone))
    everything = list(schedules(layer, operands, largest, model, multiples))

    def small_size(room: str) -> int:
        needs = sorted({schedule.used_bytes(largest, room) for schedule in fitting})
        return rng.choice(needs[: max(1, len(needs) * 2 // 3)]) + rng.choice([0, 0, 1, 50])

    fitting, sizes = everything, {}
    for room, _ in largest.rooms:
        sizes[room] = small_size(room)
        fitting = [schedule for schedule in fitting if schedule.used_bytes(largest, room) <= sizes[room]]
    memory = Memory("L1", sizes["L1"], private=tuple((name, sizes[name]) for name in alone))
    objective = rng.choice(["latency", "latency", "latency", "bytes", "energy"])
    assert model.energy is not None
    ranks = []
    for schedule in fitting:
        if by_walking:
            line = walk(schedule, model)
            work = model.energy.kernel * line.compute + model.energy.control * line.overhead
            ranks.append(rank(schedule, line.cycles, sum(line.moved.values()), objective, model.energy, work))
        else:
            ranks.append(predicted_rank(schedule, model, objective))
    best = searched("exact", layer, operands, (memory,), model, objective, multiples)
    found = predicted_rank(best, model, objective)
    assert found == min(ranks), (layer, memory, objective, multiples, model)  # type: ignore[type-var]
    return any(loop.dim is Dim.C for loop in best.loops)


@seeded(20, 80)
def test_equals_brute_force(seed: int) -> None:
    rng = random.Random(seed)
    check_optimal(rng, random_cost(rng), most=1500)


@seeded(10, 20)
def test_equals_brute_force_where_padding_changes_nothing(seed: int) -> None:
    rng = random.Random(seed)
    check_optimal(rng, PaddingAside(overlap=seed % 4 > 0), most=1000, reduced=seed % 2 > 0)


@seeded(10, 15)
def test_equals_brute_force_over_an_event_by_event_walk(seed: int) -> None:
    rng = random.Random(seed)
    check_optimal(rng, random_cost(rng), most=300, by_walking=True)


@seeded(14, 46)
def test_equals_brute_force_where_operands_have_rooms_of_their_own(seed: int) -> None:
    rng = random.Random(seed)
    check_optimal(rng, random_cost(rng), most=800, private=True)


@seeded(14, 56)
def test_equals_brute_force_where_input_channels_may_be_cut(seed: int) -> None:
    rng = random.Random(seed)
    check_optimal(rng, random_cost(rng), most=1500, private=seed % 4 == 0, reduced=True)


@pytest.mark.parametrize("seed", CUT)
def test_equals_brute_force_where_input_channels_are_cut(seed: int) -> None:
    rng = random.Random(seed)
    assert check_optimal(rng, random_cost(rng), most=300, by_walking=True, reduced=True)


@seeded(5, 10)
def test_equals_brute_force_where_channels_are_cut_whatever_tiles_cost(seed: int) -> None:
    check_optimal(random.Random(seed), ErraticCost(seed=seed), most=800, reduced=True)


@seeded(10, 15)
def test_equals_brute_force_whatever_tiles_cost(seed: int) -> None:
    rng = random.Random(seed)
    check_optimal(rng, ErraticCost(seed=seed, overlap=rng.random() < 0.8), most=800)


@seeded(14, 26)
def test_equals_brute_force_where_cutting_pays(seed: int) -> None:
    rng = random.Random(seed)
    check_optimal(rng, JumpyCost(**vars(random_cost(rng))), most=700, reduced=seed % 2 == 0)


@seeded(5)
def test_the_same_is_found_whether_the_cost_model_is_asked_in_arrays_or_one_by_one(seed: int) -> None:
    layer = random_layer(random.Random(seed), 20)
    operands, memory = operands_of(layer), Memory("L1", 900)
    with suppress(ScheduleError):
        found = searched("exact", layer, operands, (memory,), JumpyCost())
        assert found == searched("exact", layer, operands, (memory,), JumpyCost(arrays=False))


def test_bounds_of_a_cost_model_on_plain_numbers_are_those_of_one_on_arrays() -> None:
    """For every block that fits; filters and parameters are two components along the same dimension."""
    layer, memory = Layer("conv", Op.CONV2D, 16, 32, 8, 8, 8, 8, 3, 3, padding=Padding(1, 1, 1, 1)), Memory("L1", 6000)
    operands = operands_of(layer)
    sizes = all_sizes(operands, layer.extents, {})
    arrays, plain = (
        Tables(Prices(layer, operands, memory, replace(JumpyCost(), arrays=own)), sizes).figures
        for own in (True, False)
    )
    for one, other in zip(arrays, plain, strict=True):
        fits = one.block <= memory.size
        assert fits.any()
        assert (one.transfer == other.transfer)[fits].all()
        assert (one.end == other.end)[fits].all()


def test_finds_the_same_in_small_boxes_of_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(17)
    found: list[list[Schedule]] = []
    layers = [random_layer(rng, 12) for _ in range(12)]
    for most in (1 << 16, 5):
        monkeypatch.setattr("match.search.exact.tables.MOST_TILES", most)
        some: list[Schedule] = []
        for layer in layers:
            with suppress(ScheduleError):
                some.append(searched("exact", layer, operands_of(layer), (Memory("L1", 700),), SteppedCost()))
        found.append(some)
    assert len(found[0]) > 3
    assert found[0] == found[1]


@seeded(10, 15)
def test_beats_or_equals_random_mappings_of_larger_layers(seed: int) -> None:
    rng = random.Random(seed)
    layer = random_layer(rng, 24)
    operands = operands_of(layer)
    model = random_cost(rng)
    memory = Memory("L1", rng.choice([2000, 6000, 20000]))
    with suppress(ScheduleError):  # not even the smallest tile fits
        best = predict(searched("exact", layer, operands, (memory,), model), model)
        for _ in range(40):
            schedule = random_single_cuts(rng, layer, operands)
            with suppress(ScheduleError):
                other = replace(schedule, memories=(memory,), scratch=scratch_of(schedule, model))
                assert best.cycles <= predict(other, model).cycles + 1 / 256


def random_single_cuts(rng: random.Random, layer: Layer, operands: tuple[Operand, ...]) -> Schedule:
    """A mapping that cuts each dimension at most once."""
    cut = [dim for dim in (Dim.K, Dim.OY, Dim.OX) if layer.size(dim) > 1 and rng.random() < 0.6]
    rng.shuffle(cut)
    loops = tuple(Loop(dim, rng.randint(1, layer.size(dim) - 1), layer.size(dim)) for dim in cut)
    placements = []
    for operand in operands:
        depth = rng.choice([0] + [n + 1 for n, dim in enumerate(cut) if dim in operand.dims])
        placements.append(Placement(operand.name, "L1", depth, rng.choice([1, 2]) if depth else 1))
    return Schedule(layer, operands, (Memory("L1", 1 << 30),), loops, tuple(placements))


def scratch_of(schedule: Schedule, model: CostModel) -> int:
    return model.scratch(schedule.layer, largest_tile(schedule.layer, schedule.extents(len(schedule.loops))))


CONV = Layer("conv", Op.CONV2D, 6, 4, 7, 5, 7, 5, 3, 3, padding=Padding(1, 1, 1, 1))


def test_fits_at_every_size_from_the_least_on() -> None:
    operands, model = operands_of(CONV), SteppedCost(kernel_scratch=3)
    with pytest.raises(ScheduleError, match=r"layer conv needs at least \d+ bytes of L1, 16 are there") as error:
        searched("exact", CONV, operands, (Memory("L1", 16),), model)
    least = int(str(error.value).split("at least ")[1].split()[0])
    with pytest.raises(ScheduleError, match=f"at least {least} bytes of L1, {least - 1} are there"):
        searched("exact", CONV, operands, (Memory("L1", least - 1),), model)
    costs = []
    for size in range(least, least + 900, 7):
        schedule = searched("exact", CONV, operands, (Memory("L1", size),), model)
        assert schedule.used_bytes(schedule.inner_memory) <= size
        assert schedule.scratch == scratch_of(schedule, model)
        costs.append(predict(schedule, model).cycles)
    assert all(more <= less for less, more in pairwise(costs)), "more memory never costs time"
    assert costs[-1] < costs[0]


def test_names_the_room_that_is_too_small() -> None:
    operands, model = operands_of(CONV), SteppedCost()
    memory = Memory("L1", 1 << 20, private=(("weights", 40),))
    with pytest.raises(ScheduleError, match="layer conv needs at least 52 bytes of L1's memory for weights, 40 are"):
        searched("exact", CONV, operands, (memory,), model)
    memory = Memory("L1", 8, private=(("weights", 52),))
    with pytest.raises(ScheduleError, match=r"layer conv needs at least 40 bytes of L1, 8 are there"):
        searched("exact", CONV, operands, (memory,), model)
    memory = Memory("L1", 40, private=(("weights", 52),))
    schedule = searched("exact", CONV, operands, (memory,), model)
    assert (schedule.used_bytes(memory), schedule.used_bytes(memory, "weights")) == (40, 52)


def test_is_deterministic() -> None:
    operands, memory = operands_of(CONV), Memory("L1", 600)
    found = {searched("exact", CONV, operands, (memory,), SteppedCost(), objective) for objective in OBJECTIVES}
    again = {searched("exact", CONV, operands, (memory,), SteppedCost(), objective) for objective in OBJECTIVES}
    assert found == again


def test_equal_costs_are_decided_by_bytes_then_size() -> None:
    @dataclass(frozen=True)
    class Free(CostModel):
        def compute(self, layer: Layer, tile: Tile) -> float:
            return 0.0

        def transfer(self, layer: Layer, block: Block) -> float:
            return 0.0

    schedule = searched("exact", CONV, operands_of(CONV), (Memory("L1", 4096),), Free())
    assert schedule.loops == ()
    schedule = searched("exact", CONV, operands_of(CONV), (Memory("L1", 500),), Free())
    cost = predict(schedule, Free())
    assert cost.cycles == 0
    least = searched("exact", CONV, operands_of(CONV), (Memory("L1", 500),), Free(), "bytes")
    assert cost.moved_bytes == predict(least, Free()).moved_bytes


def test_objectives() -> None:
    operands, memory, model = operands_of(CONV), Memory("L1", 420), SteppedCost(bandwidth=8.0)
    fast = predict(searched("exact", CONV, operands, (memory,), model, "latency"), model)
    lean = predict(searched("exact", CONV, operands, (memory,), model, "bytes"), model)
    assert fast.cycles < lean.cycles
    assert lean.moved_bytes < fast.moved_bytes
    frugal = predict(searched("exact", CONV, operands, (memory,), model, "energy"), model)
    assert frugal.energy == 3.0 * CONV.macs + 1.5 * lean.moved_bytes
    assert fast.energy is not None
    assert 3.0 * CONV.macs + 1.5 * lean.moved_bytes < fast.energy


def test_a_slow_mapping_is_not_frugal_where_cycles_cost() -> None:
    """What a cycle takes decides between few bytes and few cycles; at some price the fast mapping is the frugal one."""
    operands, memory = operands_of(CONV), Memory("L1", 420)
    found = []
    for price in (0.0, 0.01, 1.0, 1000.0):
        model = SteppedCost(bandwidth=8.0, energy=Energy(3.0, {"L1": 1.5}, cycle=price))
        fast, frugal = (
            predict(searched("exact", CONV, operands, (memory,), model, o), model) for o in ("latency", "energy")
        )
        assert frugal.energy == pytest.approx(3.0 * CONV.macs + 1.5 * frugal.moved_bytes + price * frugal.cycles)
        assert frugal.energy is not None
        assert fast.energy is not None
        assert frugal.energy <= fast.energy
        found.append((frugal.cycles, frugal.moved_bytes))
    assert found == sorted(found, key=lambda one: -one[0])
    assert found[0][0] > found[-1][0] == fast.cycles
    assert found[0][1] < found[-1][1]


def test_energy_needs_figures() -> None:
    operands, memory = operands_of(CONV), Memory("L1", 420)
    with pytest.raises(OptionError, match=r"'energy' needs pJ .* cost model SteppedCost has none"):
        searched("exact", CONV, operands, (memory,), SteppedCost(energy=None), "energy")
    other = SteppedCost(energy=Energy(1.0, {"L2": 1.0}))
    with pytest.raises(CostModelError, match="layer conv: energy has no entry for memory L1; it has: L2"):
        searched("exact", CONV, operands, (memory,), other, "energy")
    negative = SteppedCost(energy=Energy(1.0, {"L1": -1.0}))
    with pytest.raises(CostModelError, match=r"layer conv: energy.byte\['L1'\] returned -1"):
        searched("exact", CONV, operands, (memory,), negative, "energy")
    assert (
        predict(searched("exact", CONV, operands, (memory,), model := SteppedCost(energy=None)), model).energy is None
    )


def test_dimensions_that_cannot_be_cut_are_whole() -> None:
    multiples = {Dim.OY: 0, Dim.OX: 0, Dim.K: 4}
    schedule = searched("exact", CONV, operands_of(CONV), (Memory("L1", 560),), SteppedCost(), multiples=multiples)
    assert [(loop.dim, loop.tile) for loop in schedule.loops] == [(Dim.K, 4)]


def test_unknown_names() -> None:
    assert "exact" in engine_names()
    with pytest.raises(OptionError, match="engine 'annealing' is unknown; choose one of: exact"):
        engine("annealing")
    with pytest.raises(OptionError, match="objective 'beauty' is unknown; choose one of: latency, energy, bytes"):
        searched("exact", CONV, operands_of(CONV), (Memory("L1", 4096),), SteppedCost(), "beauty")


def test_one_or_two_levels_of_scratchpad() -> None:
    memories = tuple(Memory(name, 4096) for name in ("L3", "L2", "L1"))
    with pytest.raises(ScheduleError, match="is to pass 3 levels of scratchpad, and the exact engine maps onto"):
        searched("exact", CONV, operands_of(CONV), memories, SteppedCost())

    class Own(SteppedCost):
        def latency(self, view: MappingView) -> float | None:
            return None

    with pytest.raises(ScheduleError, match=r"leaves the latency of mappings to the engine, which Own does not"):
        searched("exact", CONV, operands_of(CONV), memories[1:], Own())


def test_few_mappings_are_predicted_where_short_lines_take_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of mappings of an addition of two parts of a map move the same lines, and end otherwise."""
    predicted: list[OrderedLoops] = []
    try_nest = Search.try_nest

    def counted(search: Search, nest: OrderedLoops) -> None:
        predicted.append(nest)
        try_nest(search, nest)

    monkeypatch.setattr(Search, "try_nest", counted)
    whole = Layer("add", Op.ADD, 32, 1, 56, 56, 56, 56)
    (problem,) = (one for one in gap9_problems([whole], 32768) if one.module == "cluster")
    layer = replace(whole, pitches=(64, 64, 0))
    module = next(module for module in Gap9().modules if module.name == "cluster")
    solve(replace(problem, layer=layer, operands=operands_on([module], layer, module.requantizers[:1])))
    assert 0 < len(predicted) < 1000
