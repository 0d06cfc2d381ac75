"""A lower bound of all mappings onto two memories, whatever their tiles.

Of all tiles that fit the inner memory the one with the least cycles per output is found, and of all blocks the one with
the least cycles per byte. No mapping is faster than if all its tiles and blocks were as fast as these.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from match.ir.layer import Axis, Dim, Operand, Role
from match.prediction.arrays import Ints
from match.prediction.blocks import axes_of, axis_lengths, round_up, touched
from match.prediction.prices import Prices
from match.search.exact.tables import TILED, Tables, along_axis
from match.target.cost import Tile, ceil_div


def least_bytes(prices: Prices, operand: Operand) -> int:
    """Bytes of an operand that every mapping moves: those that windows touch, without gaps between windows."""
    total = 0
    for component in operand.components:
        size = component.element_bytes
        for axis in component.axes:
            extent = prices.layer.size(axis.dim)
            apart = axis.stride > axis.window
            starts = np.arange(extent)
            size *= int(touched(axis, starts, np.ones_like(starts)).sum()) if apart else axis.span(0, extent)[1]
        total += size
    return total


def least_transfers(prices: Prices, operands: Sequence[Operand]) -> float:
    """A lower bound of DMA cycles for some operands: each byte as fast as in the fastest block."""
    cycles = 0.0
    for operand in operands:
        lengths = [lengths_anywhere(operand, axis, prices.layer.size(axis.dim)) for axis in axes_of(operand)]
        every, moved = prices.transfers(prices.operands.index(operand), lengths, None)
        cycles += float((every / moved).min()) * least_bytes(prices, operand)
    return cycles


def least_kernels(tables: Tables, compute: float = 1.0, launch: float = 1.0) -> float:
    """A lower bound of the cycles of all kernel calls: each output as fast as in the fastest tile that fits.

    All tiles count, wherever they lie in the layer. `tables` are of the layer in the inner memory. `compute` and
    `launch` weigh a cycle of a kernel and of its launch; as pJ they give a lower bound of energy.
    """
    prices, layer = tables.prices, tables.prices.layer
    (oy, iy), (ox, ix) = (anywhere(axis, layer.size(axis.dim)) for axis in (prices.rows, prices.columns))
    k, sizes = along_axis(Dim.K, np.arange(1, layer.k + 1)), tables.sizes[Dim.C]
    ends = [*itertools.product((True, False), repeat=2)] if len(sizes) > 1 else [(True, True)]
    begin, end = (along_axis(Dim.C, np.array(flags)) for flags in zip(*ends, strict=True))
    outputs = {dim: along_axis(dim, sizes) for dim, sizes in ((Dim.OY, oy), (Dim.OX, ox))}
    inputs = [along_axis(dim, sizes) for dim, sizes in ((Dim.OY, iy), (Dim.OX, ix))]
    least, place = math.inf, TILED.index(Dim.K)
    others = tuple(axis for axis in range(len(TILED)) if axis != place)
    for channels in {*sizes.tolist(), *(layer.c % sizes).tolist()} - {0}:
        extents: dict[Dim, Any] = {Dim.K: k, Dim.C: np.array(channels), **outputs}
        needs = [tables.block(operand, extents) for operand in prices.operands]
        fits = np.logical_and.reduce(np.broadcast_arrays(*(need <= tables.largest for need in needs)))
        if not fits.any():
            continue
        # Room grows with the output channels, so that often few of them leave any.
        most = int(np.flatnonzero(fits.any(axis=others))[-1]) + 1
        fits, extents[Dim.K] = (table.take(range(most), place) for table in (fits, k))
        numbers: list[Any] = [*extents.values(), *inputs, layer.fy, layer.fx, begin, end]
        cycles = launch * prices.launch + compute * prices.kernels(Tile(*numbers), fits)
        products = math.prod(extents.values())
        least = min(least, float((np.where(fits, cycles, math.inf) / products).min()))
    return least * layer.k * layer.c * layer.oy * layer.ox


def anywhere(axis: Axis, extent: int) -> Ints:
    """Outputs of tiles along an axis and what each reads of the input, for tiles anywhere; shape (2, tiles).

    Tiles of a size differ only where windows reach beyond the input: so many starts from either end are all there are.
    """
    step = max(axis.stride, 1)
    front = min(extent, ceil_div(max(axis.before, 0), step))
    beyond = (extent - 1) * axis.stride - axis.before + axis.window - axis.limit
    behind = min(extent, ceil_div(max(beyond, 0), step))
    size = np.arange(1, extent + 1)[:, None]
    last = extent - size
    starts = np.minimum(last, np.arange(front)), np.maximum(0, last - np.arange(behind + 1))
    start = np.concatenate(starts, axis=1)
    pairs = np.stack([np.broadcast_to(size, start.shape), touched(axis, start, size)], axis=-1)
    return np.unique(pairs.reshape(-1, 2), axis=0).T


def lengths_anywhere(operand: Operand, axis: Axis, extent: int) -> Ints:
    """Elements along an axis of blocks of all sizes anywhere; an array along the axis of its dimension."""
    if axis.dim not in TILED:
        return np.array(axis.length(extent))
    if operand.role is Role.CONSTANT:
        return along_axis(axis.dim, axis_lengths(axis, np.arange(1, extent + 1)))
    return along_axis(axis.dim, round_up(np.arange(1, axis.limit + 1), axis.multiple))
