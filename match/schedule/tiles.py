"""Tilings of a layer: which tile sizes there are, and what all tiles and blocks of a tiling cost together."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from match.ir.layer import Component, Dim, Role
from match.schedule.block_costs import BlockCosts, Sums
from match.schedule.blocks import axis_lengths, round_up, touched_lengths
from match.schedule.kernel_costs import KernelCosts
from match.schedule.kinds import Along
from match.schedule.pricing import Pricing
from match.schedule.rooms import Floats, Ints, Rooms

TILED: tuple[Dim, ...] = (Dim.K, Dim.OY, Dim.OX, Dim.C)
"""Dimensions that may be cut. No kernel adds up parts of a window, so FY and FX are not."""

Sizes = tuple[int, ...]
"""A tile: extents along `TILED`."""

AlongKey = tuple[Dim, int]
"""A dimension and the extent of a block along it."""

_Lengths = list[tuple[int, dict[Dim, Ints]]]
"""By component: bytes of an element; elements along each dimension, by tile size."""


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


def subsets(dims: Collection[Dim]) -> Iterator[tuple[Dim, ...]]:
    """All of them, counted in binary: the first of `dims` is the highest digit, so that the empty one comes first."""
    for chosen in itertools.product((False, True), repeat=len(dims)):
        yield tuple(itertools.compress(dims, chosen))


@dataclass(frozen=True)
class OuterBlocks:
    """Blocks that the memory outside holds one after the other, each of which is tiled by itself.

    `tile` are their extents along `TILED`, `held` the operands that lie in them.
    """

    tile: Sizes
    held: frozenset[str]


class TileCosts:
    """Costs of whole tilings, summed over one representative of each kind of tile.

    Tiles are rows of extents along `TILED`, shape (n, 4). With `outer`, costs are of all the blocks that a memory
    outside of this one holds one after the other, and tiles are at most as large as one. `packing` is of a memory in
    which no kernels run: its alignment. It has no scratch, and constants take what they need at least when they are
    packed with the alignment of the pricing's memory. Of other `sizes` than those given, if any are, it knows nothing.
    `known` are tables of tiles along a dimension, which costs of the same layer and sizes may share.
    """

    def __init__(
        self,
        pricing: Pricing,
        outer: OuterBlocks | None = None,
        packing: int = 0,
        sizes: Mapping[Dim, Ints] | None = None,
        known: dict[AlongKey, Along] | None = None,
    ) -> None:
        self.pricing = pricing
        self.outer = outer
        self.packing = packing
        self.sizes = sizes
        self.extents = pricing.layer.extents
        self.extents |= dict(zip(TILED, outer.tile, strict=True)) if outer else {}
        self.whole: Sizes = tuple(self.extents[dim] for dim in TILED)
        self.along = self._all_along({} if known is None else known)
        self._counts = {dim: along.counts for dim, along in self.along.items()}
        self.outer_counts = np.array([self._counts[dim][-1] for dim in TILED])
        self.outer_blocks = int(self.outer_counts.prod())
        self.rooms = Rooms(pricing.memory, pricing.operands)
        self._summed = [number for number, operand in enumerate(pricing.operands) if operand.partial_bytes]
        self._largest_lengths: dict[int, _Lengths] = {}
        self._touched_lengths: dict[tuple[Component, Dim], Ints] = {}
        self._blocks: list[BlockCosts] = []
        for number, operand in enumerate(pricing.operands):
            padded = operand.role is Role.CONSTANT and not packing
            held = outer is not None and operand.name in outer.held
            self._blocks.append(BlockCosts(pricing, number, self.along, outer=held and not padded, padded=padded))
        self.kernels = KernelCosts(pricing, self.along)

    def sums(self, operand: int, tiles: Ints) -> Sums:
        """Of the blocks of operand number `operand`; tiles are whole along the dimensions that it is not cut along."""
        return self._blocks[operand].sums(tiles)

    def sums_by_size(self, operand: int, sizes: Mapping[Dim, Ints]) -> Sums:
        """The same, for arrays of tile sizes that are broadcast; a dimension that is not named is whole."""
        every = np.broadcast_arrays(*(sizes.get(dim, np.array(self.extents[dim])) for dim in TILED))
        sums = self.sums(operand, np.stack([some.ravel() for some in every], axis=1))
        return Sums(*(figures.reshape(every[0].shape) for figures in sums))

    def asked_sums(self, operand: int, tiles: Ints) -> tuple[Ints, Sums]:
        """`tiles` and all that `sums` has been asked for, with what it says of an operand cut into them."""
        return self._blocks[operand].asked(tiles)

    def moved(self, operand: int, sizes: Mapping[Dim, Ints]) -> Ints:
        """Bytes of the same blocks, for arrays of tile sizes; a dimension that is not named is whole.

        The product of what tiles of each dimension touch together.
        """
        tensor = self.pricing.operands[operand]
        every = {dim: sizes.get(dim, np.array(self.extents[dim])) for dim in tensor.dims}
        if tensor.role is Role.CONSTANT and not self.packing:
            counts = [self._counts[dim][every[dim]] for dim in TILED if dim in tensor.dims]
            return self.block(operand, sizes) * product(counts)
        return total(
            component.element_bytes * product(self._touched(component, dim)[every[dim]] for dim in _dims(component))
            for component in tensor.components
        )

    def scratch(self, tiles: Ints) -> Ints:
        """Bytes of scratch, aligned."""
        pricing = self.pricing
        if self.packing:
            return np.zeros(len(tiles), np.int64)
        return round_up(pricing.scratches(tiles), pricing.memory.alignment)

    def block(self, operand: int, sizes: Mapping[Dim, Ints]) -> Ints:
        """Bytes of one buffer of an operand, for arrays of tile sizes; a dimension that is not named is whole."""
        result = np.zeros((), np.int64)
        for element_bytes, lengths in self._largest(operand):
            size = element_bytes * self._elements(lengths, sizes)
            result = result + round_up(size, self.pricing.memory.alignment)
        return round_up(result, self.packing) if self.packing else result

    def _elements(self, lengths: Mapping[Dim, Ints], sizes: Mapping[Dim, Ints]) -> Ints:
        """Of the largest block of a component."""
        return product(along[sizes.get(dim, self.extents[dim])] for dim, along in lengths.items())

    def _largest(self, operand: int) -> _Lengths:
        """Of the largest block of an operand."""
        known = self._largest_lengths.get(operand)
        if known is None:
            known = self._largest_lengths[operand] = [
                (component.element_bytes, {dim: self._length(component, dim) for dim in _dims(component)})
                for component in self.pricing.operands[operand].components
            ]
        return known

    def _length(self, component: Component, dim: Dim) -> Ints:
        """Elements along the axes of `dim` of the largest block, by tile size."""
        sizes = np.arange(self.extents[dim] + 1)
        return product(axis_lengths(axis, sizes) for axis in component.axes if axis.dim is dim)

    def blocks(self, sizes: Mapping[Dim, Ints]) -> list[Ints]:
        """`block` of every operand: what each needs at least in any mapping with these tiles."""
        return [self.block(number, sizes) for number in range(len(self.pricing.operands))]

    def partial_sums(self, sizes: Mapping[Dim, Ints], reduced: Ints) -> Ints:
        """Bytes of the partial sums of an output block of these sizes, where `reduced` input channels make a tile."""
        result, cut = np.zeros((), np.int64), reduced < self.extents[Dim.C]
        for number in self._summed if cut.any() else ():
            elements = total(self._elements(lengths, sizes) for _, lengths in self._largest(number))
            size = round_up(self.pricing.operands[number].partial_bytes * elements, self.pricing.memory.alignment)
            result = result + np.where(cut, size, 0)
        return result

    def taken(self, tiles: Ints) -> Ints:
        """Bytes of the shared room that blocks must leave at least: the scratch and the partial sums of one tile."""
        sizes = {dim: tiles[:, n] for n, dim in enumerate(TILED)}
        return self.scratch(tiles) + self.partial_sums(sizes, sizes[Dim.C])

    def cutting(self, dim: Dim, sizes: Ints) -> Ints:
        """The tiles that cut one dimension into some sizes and no other, shape (n, 4)."""
        tiles = np.tile(self.whole, (len(sizes), 1))
        tiles[:, TILED.index(dim)] = sizes
        return tiles

    def counts(self, tiles: Ints) -> Ints:
        """How many tiles each of the dimensions `TILED` has, those of all outer blocks together; shape (4, n)."""
        return np.stack([self._counts[dim][tiles[:, n]] for n, dim in enumerate(TILED)])

    def iterations(self, counts: Ints, inside: Sequence[Collection[Dim]], among: Collection[Dim] = TILED) -> Ints:
        """How many iterations loops over some dimensions, of those `among`, have in all outer blocks.

        A row for each entry of `inside`, a column for each of `counts`.
        """
        chosen = [n for n, dim in enumerate(TILED) if dim in among]
        cut = np.array([[TILED[n] in dims for n in chosen] for dims in inside], np.bool_)
        result: Ints = np.where(cut[:, :, None], counts[chosen], self.outer_counts[chosen, None]).prod(axis=1)
        return result

    def _all_along(self, known: dict[AlongKey, Along]) -> dict[Dim, Along]:
        """The tiles along each dimension that may be cut."""
        for dim in TILED:
            extent = self.extents[dim]
            if (dim, extent) not in known:
                sizes = self.sizes[dim] if self.sizes else np.arange(1, extent + 1)
                known[dim, extent] = Along(self.pricing, dim, sizes)
        return {dim: known[dim, self.extents[dim]] for dim in TILED}

    def _touched(self, component: Component, dim: Dim) -> Ints:
        """Elements along the axes of `dim` that all tiles of a size touch together, by size."""
        known = self._touched_lengths.get((component, dim))
        if known is None:
            axes = [axis for axis in component.axes if axis.dim is dim]
            along = self.along.get(dim) or Along(self.pricing, dim, np.array([self.extents[dim]]))
            elements = product(touched_lengths(axes, along.tiles.start, along.tiles.size))
            known = (elements[along.every.number] * along.every.times).sum(axis=1)
            self._touched_lengths[component, dim] = known
        return known


def _dims(component: Component) -> list[Dim]:
    return sorted({axis.dim for axis in component.axes})


def smallest(figures: Floats, rows: Ints, count: int) -> tuple[Ints, Ints]:
    """`count` of some rows that have the least of their `figures`, and the others."""
    if count >= len(rows):
        return rows, rows[:0]
    order = np.argpartition(figures, count)
    return rows[order[:count]], rows[order[count:]]


def candidate_tiles(pricing: Pricing, multiples: Mapping[Dim, int], *, packing: int = 0) -> dict[Dim, Ints]:
    """Every tile size of each dimension of a layer; `multiples` as in `Problem`, `packing` as in `TileCosts`.

    Input channels are cut where kernels run and where the output has partial sums.
    """
    reduces = not packing and any(operand.partial_bytes for operand in pricing.operands)
    multiples = {Dim.C: 0, **multiples} if reduces else {**multiples, Dim.C: 0}
    return {dim: candidate_sizes(pricing.layer.size(dim), multiples.get(dim, 1)) for dim in TILED}
