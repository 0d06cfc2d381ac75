"""An operand whose blocks are cut along some of the dimensions that tiles cut, and whole along the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from match.ir.layer import Dim, Role
from match.schedule.block_costs import Sums
from match.schedule.rooms import Floats, Ints
from match.schedule.tiles import TILED, TileCosts

_Scalar = TypeVar("_Scalar", bound=np.generic)


class TransferCosts(Protocol):
    """What transfers cost, or lower bounds of that: `TileCosts`, `Floors` and `OuterCells`."""

    def sums_by_size(self, operand: int, sizes: Mapping[Dim, Ints]) -> Sums:
        """Of the blocks of an operand, for arrays of tile sizes; a dimension that is not named is whole."""
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
    costs: TileCosts, transfers: TransferCosts, number: int, tiles: Ints, dims: Sequence[Dim]
) -> CutOperand:
    """Operand number `number`, cut into `tiles` along each of the `subsets` of `dims` alone."""
    sizes: dict[Dim, Ints] = {}
    shape = [2] * len(dims) + [len(tiles)]
    for axis, dim in enumerate(dims):  # whole or cut, along an axis of its own
        size = tiles[:, TILED.index(dim)]
        both = np.stack([np.full_like(size, costs.extents[dim]), size])
        sizes[dim] = both.reshape([extent if n in (axis, len(dims)) else 1 for n, extent in enumerate(shape)])
    partial = np.zeros((), np.int64)
    if costs.pricing.operands[number].role is Role.OUTPUT:
        partial = costs.partial_sums(sizes, tiles[:, TILED.index(Dim.C)])
    needs = costs.block(number, sizes), partial, costs.moved(number, sizes)
    block, beside, moved = (_by_way(need, shape) for need in needs)
    sums = transfers.sums_by_size(number, sizes)
    return CutOperand(block, beside, moved, *(_by_way(one, shape) for one in sums))


def _by_way(figures: npt.NDArray[_Scalar], shape: list[int]) -> npt.NDArray[_Scalar]:
    """With one axis for all ways in place of one for each dimension."""
    every = figures if list(figures.shape) == shape else np.broadcast_to(figures, shape)  # which takes its time
    return every.reshape(1 << (len(shape) - 1), shape[-1])
