"""Tilings of a layer: which tile sizes there are, and what all tiles and blocks of a tiling cost together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from match.layer import Axis, Component, Dim, Layer, Role
from match.schedule.blocks import Span, axis_length, reduction
from match.schedule.mapping import REDUCTIONS, align
from match.schedule.pricing import Pricing
from match.schedule.rooms import Ints, Rooms

Floats = npt.NDArray[np.float64]

TILED: tuple[Dim, ...] = (Dim.K, Dim.OY, Dim.OX, Dim.C)
"""Dimensions that may be cut. No kernel adds up parts of a window, so FY and FX are not."""

Sizes = tuple[int, ...]
"""A tile: extents along `TILED`."""


def candidate_sizes(layer: Layer, dim: Dim, multiples: Mapping[Dim, int]) -> Ints:
    """Every tile size that a dimension may have, rising: the multiples allowed, and the whole."""
    size, multiple = layer.size(dim), multiples.get(dim, 0 if dim in REDUCTIONS else 1)
    smaller = range(multiple, size, multiple) if multiple else ()
    return np.array([*smaller, size], np.int64)


def total(arrays: Iterable[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """The sum of arrays of one shape, 0 if there are none."""
    return sum(arrays, start=np.zeros((), np.int64))


def product(arrays: Iterable[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """The product of arrays of one shape, 1 if there are none."""
    return math.prod(arrays, start=np.ones((), np.int64))


def round_up(sizes: Ints, multiple: int) -> Ints:
    """Each of `sizes` rounded up to a multiple."""
    return -(-sizes // multiple) * multiple


def axis_lengths(axis: Axis, sizes: Ints) -> Ints:
    """`Axis.length` of arrays."""
    return round_up(np.minimum(axis.limit, (sizes - 1) * axis.stride + axis.window), axis.multiple)


class Sums(NamedTuple):
    """What all blocks of an operand that is cut in one way cost, once each; arrays over tiles.

    transfer: DMA cycles of all. first, last: DMA cycles of the block at that end.
    """

    transfer: Floats
    first: Floats
    last: Floats


class TileCosts:
    """Costs of whole tilings, summed over one representative of each kind of tile.

    Tiles are rows of extents along `TILED`, shape (n, 4).
    """

    def __init__(self, pricing: Pricing) -> None:
        self.pricing = pricing
        layer = pricing.layer
        self.extents = {dim: layer.size(dim) for dim in Dim}
        self.whole: Sizes = tuple(self.extents[dim] for dim in TILED)
        self.rooms = Rooms(pricing.memory, pricing.operands)
        self._output = next(operand for operand in pricing.operands if operand.role is Role.OUTPUT)
        self._lengths: dict[tuple[Component, Dim], Ints] = {}
        self._kernels: dict[Sizes, float] = {}
        self._blocks = [_Blocks(pricing, number) for number in range(len(pricing.operands))]
        self._channels = _Kinds(pricing, Dim.K, lambda span: (span[1],))
        self._rows = _Kinds(pricing, Dim.OY, lambda span: (span[1], pricing.rows.span(*span)[1]))
        self._columns = _Kinds(pricing, Dim.OX, lambda span: (span[1], pricing.columns.span(*span)[1]))
        self._reductions = _Kinds(pricing, Dim.C, lambda span: reduction(layer, span))

    def compute(self, tiles: Ints) -> Floats:
        """Cycles of all kernel calls, without `launch`, when the layer is cut into each of `tiles`."""
        return np.array([self._kernel(tuple(tile)) for tile in tiles.tolist()], np.float64)

    def sums(self, operand: int, dims: frozenset[Dim], tiles: Ints) -> Sums:
        """Of the blocks of operand number `operand` when it is cut along `dims` alone."""
        cut = np.where([dim in dims for dim in TILED], tiles, self.whole)
        blocks = self._blocks[operand]
        return Sums(*np.array([blocks.sums(tuple(tile)) for tile in cut.tolist()], np.float64).T)

    def moved(self, operand: int, dims: frozenset[Dim], tiles: Ints) -> Ints:
        """Bytes of the same blocks: the product of what tiles of each dimension touch together."""
        tensor = self.pricing.operands[operand]
        sizes = {dim: tiles[:, n] for n, dim in enumerate(TILED) if dim in dims}
        if tensor.role is Role.CONSTANT:
            return self.block(operand, sizes) * product(-(-self.extents[dim] // size) for dim, size in sizes.items())
        return total(
            component.element_bytes
            * product(
                self._touched(component, dim)[sizes.get(dim, np.array(self.extents[dim]))]
                for dim in sorted({axis.dim for axis in component.axes})
            )
            for component in tensor.components
        )

    def scratch(self, tiles: Ints) -> Ints:
        """Bytes of scratch, aligned."""
        pricing = self.pricing
        bytes_of = [pricing.scratch({**self.extents, **dict(zip(TILED, tile, strict=True))}) for tile in tiles.tolist()]
        return round_up(np.array(bytes_of, np.int64), pricing.memory.alignment)

    def block(self, operand: int, sizes: Mapping[Dim, Ints]) -> Ints:
        """Bytes of one buffer of an operand, for arrays of tile sizes; a dimension that is not named is whole."""
        result = np.zeros((), np.int64)
        for component in self.pricing.operands[operand].components:
            size = component.element_bytes * self._elements(component, sizes)
            result = result + round_up(size, self.pricing.memory.alignment)
        return result

    def _elements(self, component: Component, sizes: Mapping[Dim, Ints]) -> Ints:
        """Of the largest block of a component."""
        return product(
            axis_lengths(axis, sizes.get(axis.dim, np.array(self.extents[axis.dim]))) for axis in component.axes
        )

    def blocks(self, sizes: Mapping[Dim, Ints]) -> list[Ints]:
        """`block` of every operand: what each needs at least in any mapping with these tiles."""
        return [self.block(number, sizes) for number in range(len(self.pricing.operands))]

    def partial_sums(self, sizes: Mapping[Dim, Ints], reduced: Ints) -> Ints:
        """Bytes of the partial sums of an output block of these sizes, where `reduced` input channels make a tile."""
        elements = total(self._elements(component, sizes) for component in self._output.components)
        size = round_up(self._output.partial_bytes * elements, self.pricing.memory.alignment)
        return np.where(reduced < self.extents[Dim.C], size, 0)

    def taken(self, tiles: Ints) -> Ints:
        """Bytes of the shared room that blocks must leave at least: the scratch and the partial sums of one tile."""
        sizes = {dim: tiles[:, n] for n, dim in enumerate(TILED)}
        return self.scratch(tiles) + self.partial_sums(sizes, sizes[Dim.C])

    def counts(self, tiles: Ints) -> dict[Dim, Ints]:
        """How many tiles each dimension has."""
        return {dim: -(-self.extents[dim] // tiles[:, n]) for n, dim in enumerate(TILED)}

    def _touched(self, component: Component, dim: Dim) -> Ints:
        """Elements along the axes of `dim` that all tiles of a size touch together, by size."""
        known = self._lengths.get((component, dim))
        if known is None:
            axes = [axis for axis in component.axes if axis.dim is dim]
            extent = self.extents[dim]
            known = np.full(extent + 1, extent)
            if axes != [Axis(dim, extent)]:  # else every element is touched once, whatever the size
                kinds = _Kinds(self.pricing, dim, lambda span: (_elements(axes, span),))
                for size in range(1, extent + 1) if dim in TILED else (extent,):
                    known[size] = sum(elements * times for (elements,), times in kinds.of(size))
            self._lengths[component, dim] = known
        return known

    def _kernel(self, tile: Sizes) -> float:
        known = self._kernels.get(tile)
        if known is None:
            price = self.pricing.kernel
            known = self._kernels[tile] = sum(
                many * more * most * times * price(k, (oy, iy), (ox, ix), (c, bool(begin), bool(end)))
                for (k,), many in self._channels.of(tile[0])
                for (oy, iy), more in self._rows.of(tile[1])
                for (ox, ix), most in self._columns.of(tile[2])
                for (c, begin, end), times in self._reductions.of(tile[3])
            )
        return known


class _Kinds:
    """The tiles along one dimension: what they look like, and how many look the same."""

    def __init__(self, pricing: Pricing, dim: Dim, looks: Callable[[Span], tuple[int, ...]]) -> None:
        self.pricing = pricing
        self.dim = dim
        self.extent = pricing.layer.size(dim)
        self.looks = looks
        self.known: dict[int, list[tuple[tuple[int, ...], int]]] = {}

    def of(self, size: int) -> list[tuple[tuple[int, ...], int]]:
        """Of tiles of `size`."""
        known = self.known.get(size)
        if known is None:
            kinds: dict[tuple[int, ...], int] = {}
            for run in self.pricing.runs(self.dim, 0, self.extent, size):
                start = run.first * size
                looks = self.looks((start, min(size, self.extent - start)))
                kinds[looks] = kinds.get(looks, 0) + run.last - run.first + 1
            known = self.known[size] = list(kinds.items())
        return known

    def ends(self, size: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """What the first and the last tile look like."""
        start = (self.extent - 1) // size * size
        return self.looks((0, size)), self.looks((start, self.extent - start))


class _Blocks:
    """The blocks of one operand."""

    def __init__(self, pricing: Pricing, number: int) -> None:
        operand, axes = pricing.operands[number], pricing.axes[number]
        extents = {dim: pricing.layer.size(dim) for dim in Dim}
        constant = operand.role is Role.CONSTANT

        def looks(mine: list[Axis]) -> Callable[[Span], tuple[int, ...]]:
            return lambda span: tuple([align(axis.span(*span)[1], axis.multiple) for axis in mine])

        self.pricing = pricing
        self.number = number
        self.axes = axes
        self.lengths = [axis_length(operand, axis, (0, extents[axis.dim]), extents[axis.dim]) for axis in axes]
        self.cuts = [
            (place, extents[dim], [n for n, axis in enumerate(axes) if axis.dim is dim])
            for place, dim in enumerate(TILED)
            if dim in operand.dims
        ]
        self.kinds = [
            None if constant else _Kinds(pricing, dim, looks([axis for axis in axes if axis.dim is dim]))
            for dim in TILED
        ]
        self.known: dict[Sizes, tuple[float, ...]] = {}

    def sums(self, tile: Sizes) -> tuple[float, ...]:
        """One row of `Sums`."""
        known = self.known.get(tile)
        if known is None:
            known = self.known[tile] = self._sum(tile)
        return known

    def _sum(self, tile: Sizes) -> tuple[float, ...]:
        blocks = [(self.lengths, 1)]
        first = last = self.lengths
        for place, extent, positions in self.cuts:
            size, kinds = tile[place], self.kinds[place]
            if size == extent:
                continue
            if kinds is None:  # constants: all blocks are as long as the largest
                longest = tuple([self.axes[position].length(size) for position in positions])
                ends, along = (longest, longest), [(longest, -(-extent // size))]
            else:
                ends, along = kinds.ends(size), kinds.of(size)
            blocks = [
                (_put(lengths, positions, looks), times * more) for lengths, times in blocks for looks, more in along
            ]
            first, last = _put(first, positions, ends[0]), _put(last, positions, ends[1])
        transfer = sum(times * self._transfer(lengths) for lengths, times in blocks)
        return transfer, self._transfer(first), self._transfer(last)

    def _transfer(self, lengths: list[int]) -> float:
        return self.pricing.block(self.number, tuple(lengths)).transfer


def _elements(axes: list[Axis], span: Span) -> int:
    return math.prod(align(axis.span(*span)[1], axis.multiple) for axis in axes)


def _put(lengths: list[int], positions: list[int], values: tuple[int, ...]) -> list[int]:
    result = lengths.copy()
    for position, value in zip(positions, values, strict=True):
        result[position] = value
    return result
