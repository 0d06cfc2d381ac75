"""Tilings of a layer: which tile sizes there are, and what all tiles and blocks of a tiling cost together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from match.layer import Axis, Component, Dim, Layer
from match.schedule.blocks import Span, input_axes
from match.schedule.mapping import align, block_bytes
from match.schedule.pricing import Move, Pricing

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

TILED = (Dim.K, Dim.OY, Dim.OX)
"""Dimensions that are cut. Kernels accumulate whole reductions, so C, FY and FX are not."""

Sizes = tuple[int, ...]
"""A tile: extents along `TILED`."""


def candidate_sizes(layer: Layer, dim: Dim, multiples: Mapping[Dim, int]) -> Ints:
    """Every tile size that a dimension may have, rising: the multiples allowed, and the whole."""
    size, multiple = layer.size(dim), multiples.get(dim, 1)
    smaller = range(multiple, size, multiple) if multiple else ()
    return np.array([*smaller, size], np.int64)


def component_lengths(component: Component, dim: Dim, sizes: Ints) -> Ints:
    """Elements that tiles of these sizes need along the axes of `dim`: the factor of `dim` in the component's size."""
    lengths = np.ones_like(sizes)
    for axis in component.axes:
        if axis.dim is dim:
            touched = np.minimum(axis.limit, (sizes - 1) * axis.stride + axis.window)
            lengths = lengths * round_up(touched, axis.multiple)
    return lengths


def round_up(sizes: Ints, multiple: int) -> Ints:
    """Each of `sizes` rounded up to a multiple."""
    return -(-sizes // multiple) * multiple


@dataclass(frozen=True)
class Totals:
    """All blocks of an operand that is cut in one way, once each: DMA cycles and bytes, and cycles of the end blocks."""

    transfer: float
    moved: int
    first: float
    last: float


class TileCosts:
    """Costs of whole tilings, summed over one representative of each kind of tile."""

    def __init__(self, pricing: Pricing) -> None:
        self.pricing = pricing
        layer = pricing.layer
        self.extents = {dim: layer.size(dim) for dim in Dim}
        self.whole: Sizes = tuple(self.extents[dim] for dim in TILED)
        self._operand_axes = [
            [axis for component in operand.components for axis in component.axes] for operand in pricing.operands
        ]
        self._kernel_axes = list(input_axes(layer))
        self._compute: dict[Sizes, float] = {}
        self._totals: tuple[dict[Sizes, Totals], ...] = tuple({} for _ in pricing.operands)
        self._kinds: dict[tuple[int, Dim, int], list[tuple[Span, int]]] = {}

    def compute(self, tile: Sizes) -> float:
        """Cycles of all kernel calls, without `launch`, when the layer is cut into `tile`."""
        known = self._compute.get(tile)
        if known is None:
            price = self.pricing.compute
            kinds = self._spans(-1, self._kernel_axes, zip(TILED, tile, strict=True))
            known = self._compute[tile] = sum(times * price(spans) for spans, times in kinds)
        return known

    def totals(self, operand: int, tile: Sizes) -> Totals:
        """Of the blocks of operand number `operand` when each dimension it depends on is cut into the size in `tile`."""
        known = self._totals[operand].get(tile)
        if known is None:
            known = self._totals[operand][tile] = self._sum(operand, tile)
        return known

    def scratch(self, tile: Sizes) -> int:
        """Bytes of scratch, aligned."""
        return align(self.pricing.scratch({**self.extents, **dict(zip(TILED, tile, strict=True))}), self._alignment)

    def block(self, operand: int, tile: Sizes) -> int:
        """Bytes of one buffer of an operand, when the layer is cut into `tile`."""
        extents = {**self.extents, **dict(zip(TILED, tile, strict=True))}
        return block_bytes(self.pricing.operands[operand], extents, self._alignment)

    def smallest_need(self, tile: Sizes) -> int:
        """Bytes of memory that any mapping with tiles of at least `tile` needs."""
        return self.scratch(tile) + sum(self.block(n, tile) for n in range(len(self.pricing.operands)))

    @property
    def _alignment(self) -> int:
        return self.pricing.memory.alignment

    def _sum(self, operand: int, tile: Sizes) -> Totals:
        dims = self.pricing.operands[operand].dims
        cut = {dim: size for dim, size in zip(TILED, tile, strict=True) if dim in dims}
        extents = {**self.extents, **cut}

        def price(spans: Mapping[Dim, Span]) -> Move:
            return self.pricing.move(operand, spans, extents)

        moves = [
            (price(spans), times) for spans, times in self._spans(operand, self._operand_axes[operand], cut.items())
        ]
        ends = dict(self.extents.items())
        first = {dim: (0, size) for dim, size in {**ends, **cut}.items()}
        last = {dim: (0, size) for dim, size in ends.items()}
        for dim, size in cut.items():
            start = (ends[dim] - 1) // size * size
            last[dim] = (start, ends[dim] - start)
        return Totals(
            sum(times * move.transfer for move, times in moves),
            sum(times * move.bytes for move, times in moves),
            price(first).transfer,
            price(last).transfer,
        )

    def _spans(
        self, key: int, axes: list[Axis], cut: Iterable[tuple[Dim, int]]
    ) -> list[tuple[dict[Dim, Span], int]]:
        """Spans of one tile of each kind, and how many there are of it."""
        whole: dict[Dim, Span] = {dim: (0, size) for dim, size in self.extents.items()}
        result = [(whole, 1)]
        for dim, tile in cut:
            if tile == self.extents[dim]:
                continue
            kinds = self._kinds.get((key, dim, tile))
            if kinds is None:
                kinds = self._kinds[key, dim, tile] = self._along(axes, dim, tile)
            result = [({**spans, dim: span}, times * more) for spans, times in result for span, more in kinds]
        return result

    def _along(self, axes: list[Axis], dim: Dim, tile: int) -> list[tuple[Span, int]]:
        """Tiles of one dimension that touch as many elements of these axes, and how many there are."""
        extent = self.extents[dim]
        mine = [axis for axis in axes if axis.dim is dim]
        kinds: dict[tuple[int, ...], tuple[Span, int]] = {}
        for run in self.pricing.runs(dim, 0, extent, tile):
            start = run.first * tile
            span = (start, min(tile, extent - start))
            looks = (span[1], *(axis.span(*span)[1] for axis in mine))
            known = kinds.get(looks, (span, 0))
            kinds[looks] = (known[0], known[1] + run.count)
        return list(kinds.values())


def calls(costs: TileCosts, sizes: Mapping[Dim, Ints]) -> Ints:
    """How many tiles a layer has, for arrays of tile sizes; a dimension that is not named is whole."""
    return math.prod((-(-costs.extents[dim] // size) for dim, size in sizes.items()), start=np.ones((), np.int64))
