"""What DORY's tiler wants of a tile, operator by operator, with the coefficients of its code for PULP clusters.

Source: pulp-platform/dory, ``Hardware_targets/PULP/Common/Tiler``; the DORY paper (Burrello et al., IEEE Transactions
on Computers, 2021) gives the same terms with other weights. A tile has n output channels and h x w output pixels; for
tiles of a size, r is what is left for the last one, less one: (dimension - 1) mod size. The score to maximise is the
bytes of all buffers and terms of one dimension each. With these terms, four output channels and two pixels make full
blocks of the matrix product, eight rows keep eight cores busy, and few channels do not spoil the reuse of im2col.

- Convolution, and fully connected layers as convolutions of one pixel: everything but input channels may be cut.
- Depthwise convolution: maps of at most 32 x 32 inputs are kept whole, wider ones are cut along rows, not columns.
- Pooling: everything may be cut, channels last.
- Addition: rows alone.

Matrices, which DORY does not have, are taken for convolutions, and all its other missing operators for pooling.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from match.ir.layer import Dim, Layer, Op, input_axes

LARGEST_WHOLE_MAP = 32
"""Rows and columns of the largest depthwise input that is never cut."""


@dataclass(frozen=True)
class Rules:
    """The score of tiles of one layer.

    whole: dimensions that are never cut. bytes: weight of the bytes of all buffers. shape: score of an extent along a
    dimension. pixels, area: a tile of at least this many output pixels scores that much more.
    """

    whole: frozenset[Dim]
    bytes: int
    shape: Callable[[Dim, int], int]
    pixels: int = 0
    area: int = 0


def rules(layer: Layer) -> Rules:
    """The rules for a layer's operator."""
    match layer.op:
        case Op.CONV2D | Op.DENSE | Op.MATRICES:
            return Rules(frozenset(), 1, lambda dim, size: _convolution(layer, dim, size), 16, 1_000_000)
        case Op.DEPTHWISE_CONV2D:
            small = max(layer.iy, layer.ix) <= LARGEST_WHOLE_MAP
            whole = frozenset({Dim.OY, Dim.OX}) if small else frozenset({Dim.OX})
            return Rules(whole, 1, lambda dim, size: _depthwise(layer, dim, size))
        case Op.ADD:
            return Rules(frozenset({Dim.K, Dim.OX}), 1_000_000, lambda dim, size: size if dim is Dim.OY else 0)
        case _:
            return Rules(frozenset(), 10_000, lambda dim, size: _pooling(layer, dim, size))


def _convolution(layer: Layer, dim: Dim, size: int) -> int:
    rest = (layer.size(dim) - 1) % size
    match dim:
        case Dim.K:
            return 1_000_000 * ((size - 1) % 4) + 100_000 * size + 10_000 * (rest + rest % 4)
        case Dim.OY:
            return 2_000_000 * ((size - 1) % 8) + 20_000 * (rest % 8)
        case Dim.OX:
            return 3_000_000 * ((size - 1) % 2) + 30_000 * (rest % 2)
        case _:
            return 0


def _depthwise(layer: Layer, dim: Dim, size: int) -> int:
    rest = (layer.size(dim) - 1) % size
    match dim:
        case Dim.K:
            return 10_000 * (size > 7) + 20_000 * ((size - 1) % 16) + 100 * (rest > 7)
        case Dim.OY:
            return 10_000 * (size % 4 == 0) + 1_000 * size + 100 * (rest + rest % 4)
        case Dim.OX:
            return 1_000 * size + 100 * rest
        case _:
            return 0


def _pooling(layer: Layer, dim: Dim, size: int) -> int:
    rows, columns = input_axes(layer)
    match dim:
        case Dim.K:
            return 1_000_000 * size
        case Dim.OY:
            return rows.length(size)
        case Dim.OX:
            return 100 * columns.length(size)
        case _:
            return 0
