"""An operand whose blocks are cut along some of the dimensions that tiles cut, and whole along the others."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from match.layer import Dim, Role
from match.schedule.block_costs import Sums
from match.schedule.rooms import Floats, Ints
from match.schedule.tiles import TILED, TileCosts


class TransferCosts(Protocol):
    """What transfers cost, or lower bounds of that: `TileCosts` and `Floors`."""

    def sums(self, operand: int, tiles: Ints) -> Sums:
        """Of the blocks of an operand that is cut into `tiles`."""
        ...


class CutOperand(NamedTuple):
    """An operand that is cut in several ways; shape (ways, tiles).

    block: bytes of a buffer. partial: of an output, bytes of the partial sums beside it. moved: bytes of all blocks,
    once each. transfer, first, last: as `Sums`.
    """

    block: Ints
    partial: Ints
    moved: Ints
    transfer: Floats
    first: Floats
    last: Floats


def cut_operand(
    costs: TileCosts, transfers: TransferCosts, number: int, tiles: Ints, ways: Sequence[Collection[Dim]]
) -> CutOperand:
    """Operand number `number`, cut into `tiles` along the dimensions of each of `ways` alone."""
    inside = np.array([[dim in way for dim in TILED] for way in ways])
    cut = np.where(inside[:, None, :], tiles, costs.whole)
    sizes = {dim: cut[:, :, n] for n, dim in enumerate(TILED)}
    shape = cut.shape[:2]
    partial = np.zeros((), np.int64)
    if costs.pricing.operands[number].role is Role.OUTPUT:
        partial = costs.partial_sums(sizes, tiles[:, TILED.index(Dim.C)])
    needs = costs.block(number, sizes), partial, costs.moved(number, sizes)
    block, beside, moved = (np.broadcast_to(need, shape) for need in needs)
    sums = (figures.reshape(shape) for figures in transfers.sums(number, cut.reshape(-1, len(TILED))))
    return CutOperand(block, beside, moved, *sums)
