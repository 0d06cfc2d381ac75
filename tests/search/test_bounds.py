"""Each lower bound of the search beside what it bounds: the mappings of small layers, predicted one by one."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from match.ir.layer import Dim, Layer, Op, Padding
from match.mapping.memory import Memory
from match.prediction.arrays import Flags, Ints
from match.prediction.prices import Prices
from match.search.exact.bounds import Bound, TileGroup
from match.search.exact.least import least_bytes, least_kernels, least_transfers
from match.search.exact.search import Search, nests
from match.search.exact.tables import TILED, Tables, all_sizes, within
from match.target.cost import CostModel, Tile
from match.target.operands import standard_operands
from tests.mapping.random_schedules import SteppedCost, random_arrays, random_cost
from tests.search.problems import small_problem
from tests.seeds import seeded

pytestmark = pytest.mark.unit

ROUNDING = 1 + 1e-9
LARGE = Memory("L1", 1 << 20)


def small_tables(rng: random.Random, model: CostModel) -> Tables:
    """Those of a layer with few mappings; half of them of a memory that only some of the mappings fit."""
    layer, operands, multiples = small_problem(rng, 400, reduced=rng.random() < 0.4)
    sizes = all_sizes(operands, layer.extents, multiples)
    tables = Tables(Prices(layer, operands, LARGE, model), sizes)
    if rng.random() < 0.5:
        return tables
    memory = replace(LARGE, size=some_need(rng, tables))
    return Tables(Prices(layer, operands, memory, model), sizes)


def some_need(rng: random.Random, tables: Tables) -> int:
    """Bytes that a tile takes, one that cuts all that can be cut, with two buffers of one operand."""
    numbers = [rng.randrange(max(1, len(tables.sizes[dim]) - 1)) for dim in TILED]
    tile = slice(numbers[0], numbers[0] + 1), *(slice(number, number + 1) for number in numbers[1:])
    room, _ = tables.room(tile)
    needed = LARGE.size - int(room.item())
    twice = rng.randrange(len(tables.figures))
    for operand, figures in enumerate(tables.figures):
        needed += (1 + (operand == twice)) * int(within(figures.block, tile).item())
        needed += int(within(figures.partial, tile).item()) if tables.cuts_channels(tile) else 0
    return needed


def groups(search: Search) -> Iterator[tuple[TileGroup, dict[tuple[int, ...], tuple[float, float]]]]:
    """All tiles that fit, with the bound of each by the numbers of its sizes: cycles and bytes."""
    for channels in search.tables.channels:
        for box in search.tables.boxes(channels):
            tiles = search.candidates(box)
            bounds = zip(tiles.objective.tolist(), tiles.second.tolist(), strict=True)
            of_tile = dict(zip(map(tuple, tiles.numbers.T.tolist()), bounds, strict=True))
            for group, _ in search.groups(tiles):
                yield group, of_tile


def check_bounds(rng: random.Random, model: CostModel) -> Counter[str]:
    """How many mappings there were, and how many of them cost just what their bound says."""
    search = Search(small_tables(rng, model), "latency")
    layer = search.prices.layer
    counts: Counter[str] = Counter()
    for group, of_tile in groups(search):
        rough: list[Bound] = []

        def every(tile: Ints, bound: Bound, rough: list[Bound] = rough) -> Flags:
            rough.append(Bound(*np.broadcast_arrays(*bound, tile)[:2]))
            return np.ones(tile.shape, np.bool_)

        residency, tile, bound = group.bounds(every)
        for row, (number, column) in enumerate(zip(residency.tolist(), tile.tolist(), strict=True)):
            place = tuple(group.index[:, column].tolist())
            bounds = {
                "its tile": of_tile[place],
                "TileGroup._rough": (rough[0].cycles[row], rough[0].moved[row]),
                "TileGroup._bound": (bound.cycles[row], bound.moved[row]),
            }
            sizes = {dim: int(search.tables.sizes[dim][index]) for dim, index in zip(TILED, place, strict=True)}
            for nest in nests(search.tables, sizes, group.residencies, number):
                cycles, _, _, moved = search.predicted(nest)
                for what, (least_cycles, least_moved) in bounds.items():
                    where = f"the bound of {what} is not below a mapping: {nest}, {layer}, {model}"
                    assert least_cycles <= cycles * ROUNDING, f"{least_cycles} > {cycles} cycles: {where}"
                    assert least_moved <= moved, f"{least_moved} > {moved} bytes: {where}"
                counts.update(mappings=1, tight=int(bound.cycles[row] * ROUNDING >= cycles))
    return counts


@seeded(20, 55)
def test_no_bound_is_above_a_mapping(seed: int) -> None:
    rng = random.Random(seed)
    counts = check_bounds(rng, random_cost(rng))
    assert counts["mappings"] > 0


@seeded(20, 80)
def test_no_bound_of_energy_is_above_a_mapping(seed: int) -> None:
    """Energy of all but multiply-accumulates, which are the same in all mappings."""
    rng = random.Random(seed)
    model = random_arrays(rng) if seed % 2 else random_cost(rng)
    search = Search(small_tables(rng, model), "energy")
    assert model.energy is not None
    seen = 0
    for channels in search.tables.channels:
        for box in search.tables.boxes(channels):
            tiles = search.candidates(box)
            for group, work in search.groups(tiles):
                for mapping in search.mappings(group, work):
                    for nest in search.nests(mapping):
                        cycles, compute, overhead, moved = search.predicted(nest)
                        energy = model.energy.cycle * cycles + model.energy.byte["L1"] * moved
                        energy += model.energy.kernel * compute + model.energy.control * overhead
                        assert mapping.objective <= energy + 1 / 256, (nest, model)
                        assert mapping.objective <= mapping.expected
                        seen += 1
    assert seen


@seeded(20, 200)
def test_no_bound_is_above_a_mapping_where_the_cost_model_takes_arrays(seed: int) -> None:
    """Then a bound counts what is moved before the last fetch, and all kernels behind it."""
    rng = random.Random(seed)
    counts = check_bounds(rng, random_arrays(rng))
    assert counts["mappings"] > 0


@seeded(5, 10)
def test_bounds_are_exact_where_transfers_block_the_core(seed: int) -> None:
    rng = random.Random(seed)
    counts = check_bounds(rng, random_cost(rng, overlap=False))
    assert counts["tight"] == counts["mappings"] > 0


@seeded(10, 30)
def test_no_mapping_takes_less_than_the_least(seed: int) -> None:
    """The least of all tiles together, as two memories need it: kernels, transfers and bytes."""
    rng = random.Random(seed)
    model = random_cost(rng)
    tables = small_tables(rng, model)
    prices, kernels = tables.prices, least_kernels(tables)
    layer = prices.layer
    for channels in tables.channels:
        for box in tables.boxes(channels):
            every, _ = tables.kernels(box)
            launches = tables.calls(box) * prices.launch
            weighed = (3.0 * (every - launches) + 0.5 * launches) * ROUNDING
            assert np.all(kernels <= every * ROUNDING), f"least_kernels is not below a tiling of {layer}, {model}"
            assert np.all(least_kernels(tables, 3.0, 0.5) <= weighed + 1e-6), f"weighed, {layer}, {model}"
    for operand, figures in zip(prices.operands, tables.figures, strict=True):
        transfers, moved = least_transfers(prices, [operand]), least_bytes(prices, operand)
        fits = figures.block <= prices.memory.size
        every = (figures.transfer * ROUNDING)[fits]
        assert np.all(transfers <= every), f"least_transfers of {operand}, {layer}, {model}"
        assert np.all(moved <= figures.moved[fits]), f"least_bytes of {operand}, {layer}"


class ByProducts(SteppedCost):
    """So many cycles a product, whatever the tile is."""

    def sees_padding(self, layer: Layer) -> bool:
        return False

    def compute(self, layer: Layer, tile: Tile) -> float:
        return 2.0 * tile.k * tile.c * tile.oy * tile.ox

    def launch(self, layer: Layer) -> float:
        return 0.0


def test_the_least_is_exact_where_all_tiles_are_alike() -> None:
    layer = Layer("conv", Op.CONV2D, 6, 4, 5, 7, 5, 7, 3, 3, padding=Padding(1, 1, 1, 1))
    operands = standard_operands(layer, 8, partial_bytes=4)
    tables = Tables(Prices(layer, operands, LARGE, ByProducts()), all_sizes(operands, layer.extents, {Dim.C: 1}))
    assert least_kernels(tables) == pytest.approx(2.0 * 6 * 4 * 5 * 7, rel=1e-12)
