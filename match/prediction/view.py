"""A whole mapping as a cost model with its own `latency` sees it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from match.ir.layer import Dim
from match.mapping.schedule import Loop, Placement
from match.prediction.blocks import largest_tile
from match.prediction.prices import Prices
from match.target.cost import Cost, MappingView, Stream


def view_of(
    pricing: Prices,
    loops: Sequence[Loop],
    placements: Sequence[Placement],
    cost: Cost,
    moves: Sequence[tuple[int, float]],
) -> MappingView:
    """The view of a mapping.

    Args:
        pricing: Prices of its layer.
        loops: Its loops, outermost first.
        placements: Where its operands are held, in their order, memory by memory.
        cost: Its cost if the core executes the loops, and one DMA the transfers.
        moves: Bytes and DMA cycles of each placement, all blocks together.
    """
    extents = pricing.layer.extents
    calls = iterations(extents, loops)
    tile = largest_tile(pricing.layer, {**extents, **{loop.dim: loop.tile for loop in loops}})
    streams = tuple(
        Stream(placement, iterations(extents, loops[: placement.depth]), moved, transfer)
        for placement, (moved, transfer) in zip(placements, moves, strict=True)
    )
    least = pricing.overhead + calls * pricing.launch + cost.compute
    return MappingView(pricing.layer, tuple(loops), tile, calls, streams, cost.compute, cost.cycles, least)


def iterations(extents: dict[Dim, int], loops: Sequence[Loop]) -> int:
    """How often the body of nested loops over `extents` runs, with smaller last pieces counted."""
    return math.prod(_pieces(extents[dim], [loop.tile for loop in loops if loop.dim is dim]) for dim in Dim)


def _pieces(extent: int, tiles: Sequence[int]) -> int:
    if not tiles:
        return 1
    full, rest = divmod(extent, tiles[0])
    return full * _pieces(tiles[0], tiles[1:]) + (_pieces(rest, tiles[1:]) if rest else 0)
