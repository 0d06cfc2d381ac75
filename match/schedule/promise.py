"""Whether a cost model keeps its promise to be `regular`, as far as a search has asked it."""

from __future__ import annotations

import numpy as np

from match.errors import CostModelError
from match.ir.layer import Role
from match.schedule.floors import Floors
from match.schedule.rooms import Floats, Ints
from match.schedule.tiles import TILED, TileCosts
from match.target.answers import SLACK

SAMPLE = 4
"""Tiles, spread over all that fit, that are asked for beside those that a search asks for anyway."""


def check_regular(costs: TileCosts, floors: Floors, tiles: Ints) -> None:
    """Hold what tilings cost against the bounds that follow from larger tiles.

    Checked are a sample of `tiles`, shape (n, number of `TILED`), and everything that `costs` has been asked for.

    Raises:
        CostModelError: if one costs less than its bound, so that a search may have dropped the best mapping.
    """
    sample = tiles[:: max(1, -(-len(tiles) // SAMPLE))]
    asked, cycles = costs.kernels.asked(sample)
    _check(costs, asked, cycles, floors.compute(asked), "kernel calls cost")
    for number, operand in enumerate(costs.pricing.operands):
        asked, sums = costs.asked_sums(number, sample)
        bounds = floors.sums(number, asked)
        _check(costs, asked, sums.transfer, bounds.transfer, f"transfers of {operand.name} cost")
        if operand.role is Role.OUTPUT:
            _check(costs, asked, sums.last, bounds.last, f"the last transfer of {operand.name} costs")
        else:
            _check(costs, asked, sums.first, bounds.first, f"the first transfer of {operand.name} costs")


def _check(costs: TileCosts, tiles: Ints, cycles: Floats, bounds: Floats, what: str) -> None:
    broken = np.nonzero(cycles * (1 + SLACK) < bounds)[0]
    if len(broken):
        row = broken[0]
        sizes = " ".join(f"{dim}={size}" for dim, size in zip(TILED, tiles[row].tolist(), strict=True))
        pricing = costs.pricing
        raise CostModelError(
            f"cost model {type(pricing.cost_model).__name__}, layer {pricing.layer.name}: {what} {cycles[row]:g} "
            f"cycles in tiles of {sizes}, but {bounds[row]:g} or more follow from larger tiles; a cost model for which "
            f"cutting pays must not be declared regular."
        )
