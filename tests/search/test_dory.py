"""DORY's constraint program: its objective, written anew here from the published terms, and its structure."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pytest

from match.errors import OptionError, ScheduleError
from match.ir.layer import Dim, Layer, Op, Padding
from match.mapping.memory import Memory
from match.mapping.schedule import Schedule
from match.target.operands import standard_operands
from tests.mapping.random_schedules import SteppedCost, random_layer
from tests.search.networks import add, average, conv, dense, depthwise
from tests.search.problems import searched

pytestmark = pytest.mark.unit

Tile = tuple[int, int, int]
"""Output channels, rows, columns."""

PARAMETERS = 16
COST = SteppedCost(kernel_scratch=3)

PUBLISHED = (Op.CONV2D, Op.DEPTHWISE_CONV2D, Op.DENSE, Op.ADD, Op.AVG_POOL2D, Op.MAX_POOL2D, Op.LOOKUP)
"""Operators that the objective below, and `blocks`, are written for."""


def parameter_bytes(layer: Layer) -> int:
    return PARAMETERS if layer.weight_dtype or layer.op is Op.ADD else 0


def search(layer: Layer, size: int, model: SteppedCost = COST, **options: object) -> Schedule:
    operands = standard_operands(layer, parameter_bytes(layer))
    return searched("dory", layer, operands, (Memory("L1", size),), model, **options)  # type: ignore[arg-type]


def round_up(count: int) -> int:
    return -(-count // 4) * 4


def pixels(layer: Layer, h: int, w: int) -> tuple[int, int]:
    """Rows and columns of input that a tile reads at most."""
    rows = (h - 1) * layer.stride[0] + (layer.fy - 1) * layer.dilation[0] + 1
    columns = (w - 1) * layer.stride[1] + (layer.fx - 1) * layer.dilation[1] + 1
    return min(layer.iy, rows), min(layer.ix, columns)


def blocks(layer: Layer, tile: Tile) -> int:
    """Bytes of one buffer of each operand."""
    n, h, w = tile
    rows, columns = pixels(layer, h, w)
    inputs = round_up(rows * columns * (n if layer.channelwise else layer.c) * (4 if layer.op is Op.QUANTIZE else 1))
    filters = round_up(n * layer.fy * layer.fx * (1 if layer.channelwise else layer.c)) if layer.weight_dtype else 0
    parameters = parameter_bytes(layer) * (1 if layer.op is Op.ADD else n)
    table = {Op.LOOKUP: 256, Op.CHANNEL_LOOKUP: 256 * n, Op.QUANTIZE: 1040, Op.DEQUANTIZE: 1024}.get(layer.op, 0)
    outputs = round_up(n * h * w * (4 if layer.op is Op.DEQUANTIZE else 1))
    return inputs * (2 if layer.op is Op.ADD else 1) + filters + parameters + table + outputs


def scratch(layer: Layer, tile: Tile, model: SteppedCost) -> int:
    factor = model.kernel_scratch
    return round_up(factor * tile[0] * tile[2] + (4 * layer.c if factor else 0))


def objective(layer: Layer, tile: Tile) -> int:
    """The terms of DORY's code, as one formula for each of its programs."""
    n, h, w = tile
    total = 2 * blocks(layer, tile)
    last_n, last_h, last_w = (layer.k - 1) % n, (layer.oy - 1) % h, (layer.ox - 1) % w
    h_in, w_in = pixels(layer, h, w)
    if layer.op in (Op.CONV2D, Op.DENSE):
        shape = 2_000_000 * ((h - 1) % 8) + 3_000_000 * ((w - 1) % 2) + 1_000_000 * ((n - 1) % 4)
        border = 10_000 * last_n + 10_000 * (last_n % 4) + 20_000 * (last_h % 8) + 30_000 * (last_w % 2)
        return shape + 1_000_000 * (w * h >= 16) + total + 100_000 * n + border
    if layer.op is Op.DEPTHWISE_CONV2D:
        shape = 10_000 * (n > 7) + 20_000 * ((n - 1) % 16) + 10_000 * (h % 4 == 0)
        reuse = 1_000 * (w + h) + 100 * (last_h + last_w)
        return shape + total + reuse + 100 * (last_n > 7) + 100 * (last_h % 4)
    if layer.op is not Op.ADD:
        return 10_000 * total + 100 * w_in + h_in + 1_000_000 * n
    return 1_000_000 * total + 10 * w_in + h_in + 1_000 * n


def tiles(layer: Layer) -> Iterator[Tile]:
    """Every tile that DORY considers, the smallest first."""
    channels, rows, columns = (range(1, extent + 1) for extent in (layer.k, layer.oy, layer.ox))
    if layer.op is Op.ADD:
        channels, columns = [layer.k], [layer.ox]
    if layer.op is Op.DEPTHWISE_CONV2D:
        columns = [layer.ox]
        if layer.iy <= 32 and layer.ix <= 32:
            rows = [layer.oy]
    yield from itertools.product(channels, rows, columns)


def best_by_brute_force(layer: Layer, size: int, model: SteppedCost = COST) -> Tile | None:
    fitting = [t for t in tiles(layer) if 2 * blocks(layer, t) + scratch(layer, t, model) <= size]
    return max(fitting, key=lambda tile: objective(layer, tile), default=None)  # of equals the first


def tile_of(schedule: Schedule) -> Tile:
    extents = schedule.extents(len(schedule.loops))
    return extents[Dim.K], extents[Dim.OY], extents[Dim.OX]


def whole(layer: Layer) -> Tile:
    return layer.k, layer.oy, layer.ox


@pytest.mark.parametrize("seed", range(8))
def test_the_tile_is_the_best_of_all_under_the_published_objective(seed: int) -> None:
    rng = random.Random(seed)
    cut = 0
    while cut < 6:
        layer = random_layer(rng, 12)
        if layer.op not in PUBLISHED:
            continue
        fits = blocks(layer, whole(layer)) + scratch(layer, whole(layer), COST)
        size = rng.randint(fits // 8, fits - 1) if fits > 8 else 8
        expected = best_by_brute_force(layer, size)
        if expected is None:
            with pytest.raises(ScheduleError, match=rf"layer {layer.name} needs at least \d+ bytes of L1 with two"):
                search(layer, size)
            continue
        assert tile_of(search(layer, size)) == expected, (layer, size)
        cut += 1


@pytest.mark.parametrize(
    ("layer", "size"),
    [
        (conv("conv", 16, 16, (32, 32), (3, 3)), 8192),
        (conv("strided", 32, 16, (32, 32), (3, 3), 2), 8192),
        (conv("pointwise", 64, 64, (25, 5), (1, 1)), 8192),
        (depthwise("small", 32, (25, 5)), 2048),
        (depthwise("wide", 8, (48, 48)), 8192),
        (dense("dense", 128, 128), 8192),
        (average("pool", 64, (8, 8)), 3072),
        (add("add", 16, 32), 8192),
    ],
    ids=lambda value: value.name if isinstance(value, Layer) else str(value),
)
def test_layers_of_networks(layer: Layer, size: int) -> None:
    model = SteppedCost()
    assert tile_of(search(layer, size, model)) == best_by_brute_force(layer, size, model)


def test_a_layer_that_fits_is_not_cut() -> None:
    layer = conv("conv", 16, 16, (8, 8), (3, 3))
    need = blocks(layer, whole(layer)) + scratch(layer, whole(layer), COST)
    assert search(layer, need).loops == ()
    assert search(layer, need - 4).loops != ()


def test_loops_run_over_channels_rows_columns_and_every_moving_operand_has_two_buffers() -> None:
    layer = conv("conv", 64, 32, (16, 16), (3, 3))
    schedule = search(layer, 4096, SteppedCost())
    assert [loop.dim for loop in schedule.loops] == [Dim.K, Dim.OY, Dim.OX]
    held = {p.operand: (p.depth, p.buffers) for p in schedule.placements}
    assert held == {"input": (3, 2), "weights": (1, 2), "output": (3, 2)}


def test_room_for_two_buffers_is_kept_even_for_what_never_moves() -> None:
    layer = conv("conv", 8, 16, (32, 32), (3, 3))
    size = 12000
    schedule = search(layer, size, SteppedCost())
    held = {p.operand: (p.depth, p.buffers) for p in schedule.placements}
    assert held["weights"] == (0, 1)
    n, h, w = tile_of(schedule)
    assert 2 * blocks(layer, (n, h, w)) <= size < 2 * blocks(layer, (n, h + 8, w))


def test_one_buffer_where_transfers_do_not_run_beside_compute() -> None:
    layer = conv("conv", 64, 32, (16, 16), (3, 3))
    schedule = search(layer, 8192, SteppedCost(overlap=False))
    assert schedule.loops
    assert {placement.buffers for placement in schedule.placements} == {1}
    assert schedule.used_bytes(schedule.inner_memory) > 4096


def test_sizes_keep_the_multiples_of_the_module() -> None:
    layer = conv("conv", 24, 16, (16, 16), (3, 3))
    schedule = search(layer, 8000, SteppedCost(), multiples={Dim.K: 16, Dim.OX: 0})
    sizes = {loop.dim: loop.tile for loop in schedule.loops}
    assert sizes[Dim.K] == 16
    assert Dim.OX not in sizes


def test_private_memories_limit_their_own_operands() -> None:
    layer = conv("conv", 64, 16, (16, 16), (3, 3))
    operands = standard_operands(layer, PARAMETERS)
    memory = Memory("L1", 65536, private=(("weights", 2 * (9 * 16 + PARAMETERS) * 20),))
    (loop,) = searched("dory", layer, operands, (memory,), SteppedCost()).loops
    assert (loop.dim, loop.tile) == (Dim.K, 20)
    memory = Memory("L1", 65536, private=(("weights", 100),))
    with pytest.raises(ScheduleError, match="needs at least 320 bytes of L1's memory for weights with two buffers"):
        searched("dory", layer, operands, (memory,), SteppedCost())


def test_the_same_every_time() -> None:
    layer = Layer("pool", Op.MAX_POOL2D, 12, 1, 9, 9, 18, 18, 2, 2, (2, 2), padding=Padding(), weight_dtype="")
    assert search(layer, 1500) == search(layer, 1500)


def test_refusals() -> None:
    layer = conv("conv", 8, 8, (8, 8), (3, 3))
    operands = standard_operands(layer, PARAMETERS)
    with pytest.raises(ScheduleError, match="layer conv has 2 levels of scratchpad, and the dory engine maps onto one"):
        searched("dory", layer, operands, (Memory("L2", 9999), Memory("L1", 999)), SteppedCost())
    with pytest.raises(OptionError, match="objective 'beauty' is unknown"):
        search(layer, 4096, objective="beauty")
