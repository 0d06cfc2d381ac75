"""What constants cost that a Cortex-M reads from flash."""

from __future__ import annotations

import pytest

from match.cost_models.cortex_m import CortexMCost
from match.ir.layer import Layer, Op, Padding
from match.target.cost import Tile
from match.targets.cortex_m.boards import NUCLEO_H743ZI, PICO_2

pytestmark = pytest.mark.unit

CONVOLUTION = Layer("conv", Op.CONV2D, 8, 16, 6, 6, 6, 6, 3, 3, padding=Padding(1, 1, 1, 1))
DEPTHWISE = Layer("dw", Op.DEPTHWISE_CONV2D, 8, 1, 6, 6, 6, 6, 3, 3, padding=Padding(1, 1, 1, 1))
DENSE = Layer("dense", Op.DENSE, 10, 640, 1, 1, 1, 1)


def waits(layer: Layer, vectors: bool, cache: int) -> float:
    """Cycles of a layer that waits half a cycle for a byte, less those of one that never waits."""
    tile = Tile(layer.k, layer.c, layer.oy, layer.ox, layer.iy, layer.ix, layer.fy, layer.fx)
    waiting = CortexMCost(vectors=vectors, flash=0.5, cache=cache)
    return waiting.compute(layer, tile) - CortexMCost(vectors=vectors).compute(layer, tile)


@pytest.mark.parametrize(("vectors", "groups"), [(False, 9), (True, 18)])
def test_weights_are_read_for_each_group_of_pixels(vectors: bool, groups: int) -> None:
    """The kernel takes four or two of 36 pixels at once; a cache that holds all weights makes it once."""
    weights = 8 * 16 * 9
    for cache, times in ((0, groups), (weights - 1, groups), (weights, 1)):
        assert waits(CONVOLUTION, vectors, cache) == pytest.approx(0.5 * weights * times)


def test_one_row_and_depthwise_filters_are_read_once() -> None:
    assert waits(DENSE, vectors=False, cache=0) == pytest.approx(0.5 * 6400)
    assert waits(DEPTHWISE, vectors=False, cache=0) == pytest.approx(0.5 * 72)
    assert waits(DEPTHWISE, vectors=True, cache=0) == pytest.approx(0.5 * 72 * 18)


def test_boards_say_what_their_flash_takes() -> None:
    assert (NUCLEO_H743ZI.cost.flash, NUCLEO_H743ZI.cost.cache) == (18 / 32, 16384)
    assert PICO_2.cost.flash == 7
    assert PICO_2.cost.cycles == PICO_2.core.cost.cycles
