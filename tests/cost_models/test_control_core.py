"""The control core's kernels: a layer in tiles, as an external memory cuts it, and arrays of tiles."""

from __future__ import annotations

import numpy as np
import pytest

from match.cost_models.pulp_control_core import ControlCoreCost, Stalls
from match.ir.layer import Layer, Op
from match.target.cost import CostModel, Tile
from match.target.registry import get_target, target_names

pytestmark = pytest.mark.unit

LAYER = Layer("dense", Op.DENSE, 32, 64, 1, 1, 1, 1)


class Nothing(CostModel):
    """Kernels that take no time beside what their products wait for."""

    arrays = True

    def compute(self, layer: Layer, tile: Tile) -> float:
        return 0 * tile.k


def test_products_of_tiles_are_those_of_the_layer() -> None:
    cost = ControlCoreCost(kernels=Nothing(), stalls_by_kind={Op.DENSE: Stalls(1.0, 0.5)})
    tiles = [Tile(k, 64, 1, 1, 1, 1, 1, 1) for k in (8, 24)]
    assert [cost.compute(LAYER, tile) for tile in tiles] == [8 * 64 / 2, 24 * 64 / 2]
    array = tiles[0]._replace(k=np.array([8, 24]))
    assert np.array_equal(cost.compute(LAYER, array), [8 * 64 / 2, 24 * 64 / 2])


def test_layers_in_external_memory_are_searched_by_arrays() -> None:
    """Else a cost model is asked about each tile by itself, and a network takes minutes."""
    chips = [chip for chip in map(get_target, target_names()) if chip.external]
    assert len(chips) > 2
    assert not [(chip.name, own.name) for chip in chips for own in chip.modules if not own.cost_model.arrays]
