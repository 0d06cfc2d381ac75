"""Tilings of a layer: which tile sizes there are, and what all tiles and blocks of a tiling cost together."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from match.layer import Axis, Component, Dim, Role
from match.schedule.blocks import Span, axis_length
from match.schedule.kernel_costs import KernelCosts
from match.schedule.kinds import Kinds, Look
from match.schedule.mapping import align
from match.schedule.pricing import Pricing
from match.schedule.rooms import Floats, Ints, Rooms

TILED: tuple[Dim, ...] = (Dim.K, Dim.OY, Dim.OX, Dim.C)
"""Dimensions that may be cut. No kernel adds up parts of a window, so FY and FX are not."""

Sizes = tuple[int, ...]
"""A tile: extents along `TILED`."""


def candidate_sizes(size: int, multiple: int) -> Ints:
    """Every tile size of a dimension, rising: the multiples of a number, none of 0, and the whole `size`."""
    smaller = range(multiple, size, multiple) if multiple else ()
    return np.array([*smaller, size], np.int64)


def total(arrays: Iterable[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """The sum of arrays of one shape, 0 if there are none."""
    return functools.reduce(operator.add, _or(arrays, 0))


def product(arrays: Iterable[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """The product of arrays of one shape, 1 if there are none."""
    return functools.reduce(operator.mul, _or(arrays, 1))


def _or(arrays: Iterable[npt.NDArray[Any]], default: int) -> Iterable[npt.NDArray[Any]]:
    return list(arrays) or [np.array(default)]


def round_up(sizes: Ints, multiple: int) -> Ints:
    """Each of `sizes` rounded up to a multiple."""
    return sizes if multiple == 1 else -(-sizes // multiple) * multiple


def axis_lengths(axis: Axis, sizes: Ints) -> Ints:
    """`Axis.length` of arrays."""
    return round_up(np.minimum(axis.limit, (sizes - 1) * axis.stride + axis.window), axis.multiple)


class Sums(NamedTuple):
    """What all blocks of an operand that is cut in one way cost, once each; arrays over tiles.

    transfer: DMA cycles of all. first, last: DMA cycles of the block, or that of each outer block, at the end that no
    kernel hides: the first of an input, the last of an output; the other is 0.
    """

    transfer: Floats
    first: Floats
    last: Floats


@dataclass(frozen=True)
class OuterBlocks:
    """Blocks that the memory outside holds one after the other, each of which is tiled by itself.

    `tile` are their extents along `TILED`, `held` the operands that lie in them. With `last`, only the last one counts.
    """

    tile: Sizes
    held: frozenset[str]
    last: bool = False


class TileCosts:
    """Costs of whole tilings, summed over one representative of each kind of tile.

    Tiles are rows of extents along `TILED`, shape (n, 4). With `outer`, costs are of all the blocks that a memory
    outside of this one holds one after the other, and tiles are at most as large as one. `packing` is of a memory in
    which no kernels run: its alignment. It has no scratch, and constants take what they need at least when they are
    packed with the alignment of the pricing's memory.
    """

    def __init__(self, pricing: Pricing, outer: OuterBlocks | None = None, packing: int = 0) -> None:
        self.pricing = pricing
        self.outer = outer
        self.packing = packing
        self._sizes = {dim: pricing.layer.size(dim) for dim in Dim}
        self.extents = self._sizes | (dict(zip(TILED, outer.tile, strict=True)) if outer else {})
        self.outer_extents = {dim: self._extents(dim) for dim in TILED}
        self._counts = {dim: self._count(dim) for dim in TILED}
        self.outer_counts = {dim: sum(times for _, times in self.outer_extents[dim]) for dim in TILED}
        self.outer_blocks = math.prod(self.outer_counts.values())
        self.whole: Sizes = tuple(self.extents[dim] for dim in TILED)
        self.rooms = Rooms(pricing.memory, pricing.operands)
        self._summed = [operand for operand in pricing.operands if operand.partial_bytes]
        self._lengths: dict[tuple[Component, Dim], Ints] = {}
        self._blocks = [_Blocks(self, number) for number in range(len(pricing.operands))]
        self.kernels = KernelCosts(pricing, self.kinds)

    def kinds(self, dim: Dim, looks: Callable[[Span, Span], Look]) -> Kinds:
        """The tiles along a dimension."""
        return Kinds(self.pricing, dim, self.extents[dim], looks, last=bool(self.outer) and self.outer.last)

    def sums(self, operand: int, dims: frozenset[Dim], tiles: Ints) -> Sums:
        """Of the blocks of operand number `operand` when it is cut along `dims` alone."""
        cut = np.where([dim in dims for dim in TILED], tiles, self.whole)
        blocks = self._blocks[operand]
        return Sums(*np.array([blocks.sums(tuple(tile)) for tile in cut.tolist()], np.float64).T)

    def asked_sums(self, operand: int, tiles: Ints) -> tuple[Ints, Sums]:
        """`tiles` and all that `sums` has been asked for, with what it says of an operand cut into them."""
        self.sums(operand, frozenset(TILED), tiles)
        known = self._blocks[operand].known
        return np.array(list(known), np.int64), Sums(*np.array(list(known.values()), np.float64).T)

    def moved(self, operand: int, dims: frozenset[Dim], tiles: Ints) -> Ints:
        """Bytes of the same blocks: the product of what tiles of each dimension touch together."""
        tensor = self.pricing.operands[operand]
        sizes = {dim: tiles[:, n] for n, dim in enumerate(TILED) if dim in dims}
        if tensor.role is Role.CONSTANT and not self.packing:
            among = [dim for dim in TILED if dim in tensor.dims]
            return self.block(operand, sizes) * self.repeats(self.counts(tiles), dims, among)
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
        if self.packing:
            return np.zeros(len(tiles), np.int64)
        bytes_of = [pricing.scratch_of(*tile) for tile in tiles.tolist()]
        return round_up(np.array(bytes_of, np.int64), pricing.memory.alignment)

    def block(self, operand: int, sizes: Mapping[Dim, Ints]) -> Ints:
        """Bytes of one buffer of an operand, for arrays of tile sizes; a dimension that is not named is whole."""
        result = np.zeros((), np.int64)
        for component in self.pricing.operands[operand].components:
            size = component.element_bytes * self._elements(component, sizes)
            result = result + round_up(size, self.pricing.memory.alignment)
        return round_up(result, self.packing) if self.packing else result

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
        result, cut = np.zeros((), np.int64), reduced < self.extents[Dim.C]
        for operand in self._summed if cut.any() else ():
            elements = total(self._elements(component, sizes) for component in operand.components)
            size = round_up(operand.partial_bytes * elements, self.pricing.memory.alignment)
            result = result + np.where(cut, size, 0)
        return result

    def taken(self, tiles: Ints) -> Ints:
        """Bytes of the shared room that blocks must leave at least: the scratch and the partial sums of one tile."""
        sizes = {dim: tiles[:, n] for n, dim in enumerate(TILED)}
        return self.scratch(tiles) + self.partial_sums(sizes, sizes[Dim.C])

    def counts(self, tiles: Ints) -> dict[Dim, Ints]:
        """How many tiles each dimension has, those of all outer blocks together."""
        return {dim: self._counts[dim][tiles[:, n]] for n, dim in enumerate(TILED)}

    def repeats(self, counts: Mapping[Dim, Ints], inside: Collection[Dim], among: Iterable[Dim] = TILED) -> Ints:
        """How many iterations loops over the dimensions `inside`, of those `among`, have in all outer blocks."""
        return product(counts[dim] if dim in inside else np.array(self.outer_counts[dim]) for dim in among)

    def _count(self, dim: Dim) -> Ints:
        """How many tiles there are along a dimension, by their size; of size 0 none."""
        sizes = np.arange(1, self.extents[dim] + 1)
        counts = total(times * -(-extent // sizes) for extent, times in self.outer_extents[dim])
        return np.concatenate([[0], counts])

    def _extents(self, dim: Dim) -> list[tuple[int, int]]:
        """Extents of the outer blocks along a dimension, and how many have them."""
        full, rest = divmod(self._sizes[dim], self.extents[dim])
        if self.outer and self.outer.last:
            return [(rest or self.extents[dim], 1)]
        return [(self.extents[dim], full), *([(rest, 1)] if rest else [])]

    def _touched(self, component: Component, dim: Dim) -> Ints:
        """Elements along the axes of `dim` that all tiles of a size touch together, by size."""
        known = self._lengths.get((component, dim))
        if known is None:
            axes = [axis for axis in component.axes if axis.dim is dim]
            extent = self.extents[dim]
            known = np.full(extent + 1, sum(size * times for size, times in self.outer_extents.get(dim, [(extent, 1)])))
            if axes != [Axis(dim, self._sizes[dim])]:  # else every element is touched once, whatever the size
                kinds = self.kinds(dim, lambda span, _: (_elements(axes, span),))
                for size in range(1, extent + 1) if dim in TILED else (extent,):
                    known[size] = sum(elements * times for (elements,), times in kinds.of(size))
            self._lengths[component, dim] = known
        return known


class _Blocks:
    """The blocks of one operand in the tilings of `costs`."""

    def __init__(self, costs: TileCosts, number: int) -> None:
        pricing = costs.pricing
        operand, axes = pricing.operands[number], pricing.axes[number]
        equal = operand.role is Role.CONSTANT and not costs.packing
        held = bool(costs.outer) and operand.name in costs.outer.held

        def looks(mine: list[Axis]) -> Callable[[Span, Span], Look]:
            def lengths(span: Span) -> Look:
                return tuple([align(axis.span(*span)[1], axis.multiple) for axis in mine])

            return lambda span, block: lengths(span) + lengths(block) if held else lengths(span)

        self.pricing = pricing
        self.number = number
        self.axes = axes
        self.written = operand.role is Role.OUTPUT
        self.limited = held and operand.role is not Role.CONSTANT
        sizes = {dim: pricing.layer.size(dim) for dim in Dim}
        self.lengths = [axis_length(operand, axis, (0, sizes[axis.dim]), sizes[axis.dim]) for axis in axes]
        self.cuts = [
            (place, costs.outer_extents[dim], sizes[dim], [n for n, axis in enumerate(axes) if axis.dim is dim])
            for place, dim in enumerate(TILED)
            if dim in operand.dims
        ]
        self.kinds = [
            None if equal else costs.kinds(dim, looks([axis for axis in axes if axis.dim is dim])) for dim in TILED
        ]
        self.known: dict[Sizes, tuple[float, ...]] = {}

    def sums(self, tile: Sizes) -> tuple[float, ...]:
        """One row of `Sums`."""
        known = self.known.get(tile)
        if known is None:
            known = self.known[tile] = self._sum(tile)
        return known

    def _sum(self, tile: Sizes) -> tuple[float, ...]:
        whole = [(self.lengths + self.lengths if self.limited else self.lengths, 1)]
        every = ends = whole
        for place, outer, extent, positions in self.cuts:
            size, kinds = tile[place], self.kinds[place]
            if size == extent:
                continue
            if kinds is None:  # constants: all blocks are as long as the largest
                longest = tuple([self.axes[position].length(size) for position in positions])
                along = [(longest, sum(times * -(-length // size) for length, times in outer))]
                end = [(longest, sum(times for _, times in outer))]
            else:
                along, end = kinds.of(size), kinds.last(size) if self.written else kinds.first(size)
            places = positions + [len(self.axes) + n for n in positions] if self.limited else positions
            every, ends = _put(every, places, along), _put(ends, places, end)
        transfer, exposed = self._transfers(every), self._transfers(ends)
        return (transfer, 0.0, exposed) if self.written else (transfer, exposed, 0.0)

    def _transfers(self, blocks: list[tuple[list[int], int]]) -> float:
        """DMA cycles of blocks: lengths, where they lie in outer blocks those of these too, and how many there are."""
        count, block, number = len(self.axes), self.pricing.block, self.number
        if self.limited:
            return sum(
                times * block(number, tuple(lengths[:count]), tuple(lengths[count:])).transfer
                for lengths, times in blocks
            )
        return sum(times * block(number, tuple(lengths)).transfer for lengths, times in blocks)


def candidate_tiles(costs: TileCosts, multiples: Mapping[Dim, int]) -> dict[Dim, Ints]:
    """Every tile size of each dimension; `multiples` as in `Problem`.

    Input channels are cut where kernels run and where the output has partial sums.
    """
    reduces = not costs.packing and any(operand.partial_bytes for operand in costs.pricing.operands)
    multiples = {Dim.C: 0, **multiples} if reduces else {**multiples, Dim.C: 0}
    return {dim: candidate_sizes(costs.extents[dim], multiples.get(dim, 1)) for dim in TILED}


def _elements(axes: list[Axis], span: Span) -> int:
    return math.prod(align(axis.span(*span)[1], axis.multiple) for axis in axes)


def _put(
    blocks: list[tuple[list[int], int]], positions: list[int], along: list[tuple[Look, int]]
) -> list[tuple[list[int], int]]:
    """Every one of `blocks` cut into what there is along one dimension."""
    result: list[tuple[list[int], int]] = []
    for lengths, times in blocks:
        for looks, more in along:
            cut = lengths.copy()
            for position, value in zip(positions, looks, strict=True):
                cut[position] = value
            result.append((cut, times * more))
    return result
