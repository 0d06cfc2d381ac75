"""The cost of tilings: tables over all tile sizes, each a sum over the classes of equal tiles.

Tables have an axis for each dimension in `TILED`; an index along it is the number of a tile size, the last one being
the whole dimension. An axis of length 1 stands for a dimension that the figure does not depend on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from match.errors import NoMappingError
from match.ir.layer import Axis, Component, Dim, Operand, Role
from match.mapping.memory import align
from match.prediction.arrays import Flags, Floats, Ints
from match.prediction.blocks import axis_length, axis_lengths, round_up, touched_lengths
from match.prediction.prices import Prices
from match.search.exact.classes import Along, Asked, Classes, Table, Tiles
from match.target.cost import Tile

TILED: tuple[Dim, ...] = (Dim.C, Dim.K, Dim.OY, Dim.OX)
"""Dimensions that may be cut. No kernel adds up parts of a window, so FY and FX are not.

C comes first: it has the fewest sizes in a table, and NumPy is quick along long last axes.
"""

Sizes = Mapping[Dim, Ints]
"""Tile sizes of each dimension, rising to the whole one."""


Box = tuple[slice, ...]
"""Some tiles: a range of size numbers for each dimension of `TILED`.

The tiles have all input channels, or each has some of them.
"""

MOST_TILES = 1 << 16
"""In a box."""


class Figures(NamedTuple):
    """Figures of an operand that is cut into tiles of each size; tables.

    block: bytes of one buffer. partial: of an output, bytes of the partial sums of a block. moved: bytes of all blocks.
    transfer: DMA cycles of all blocks. end: those of the blocks at the end that no kernel hides: the first one of an
    input, the last one of an output, in each outer block. longest: of an output, those of the longest block.
    """

    block: Ints
    partial: Ints
    moved: Ints
    transfer: Floats
    end: Floats
    longest: Floats


def tile_sizes(size: int, multiple: int) -> Ints:
    """Every tile size of a dimension, rising: the multiples of a number, none of 0, and the whole `size`."""
    smaller = range(multiple, size, multiple) if multiple else ()
    return np.array([*smaller, size], np.int64)


def all_sizes(operands: Sequence[Operand], whole: Mapping[Dim, int], multiples: Mapping[Dim, int]) -> dict[Dim, Ints]:
    """Every tile size of each dimension of `whole`; `multiples` as in `SearchProblem`.

    Input channels are cut where kernels add up partial sums of the output.
    """
    sums = any(operand.partial_bytes for operand in operands)
    multiples = {Dim.C: 0, **multiples} if sums else {**multiples, Dim.C: 0}
    return {dim: tile_sizes(whole[dim], multiples.get(dim, 1)) for dim in TILED}


def along_axis(dim: Dim, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """An array with its values along the axis of a dimension."""
    return values.reshape([-1 if other is dim else 1 for other in TILED])


class Tables:
    """The tables of a layer in one memory.

    Without an outer memory, the largest tile is the layer. Otherwise it is an outer block, and figures are sums over
    all outer blocks; `held` are the operands that lie in outer blocks. If `alone`, each of their blocks lies there by
    itself.
    """

    def __init__(
        self, prices: Prices, sizes: Sizes, held: frozenset[str] = frozenset(), *, alone: bool = False
    ) -> None:
        self.prices = prices
        self.sizes = sizes
        self.whole = prices.layer.extents | {dim: int(sizes[dim][-1]) for dim in TILED}
        self.along = {dim: Along(prices, dim, sizes[dim]) for dim in TILED}
        self.counts = {dim: along.counts for dim, along in self.along.items()}
        self.outer_counts = {dim: int(counts[-1]) for dim, counts in self.counts.items()}
        self.outer_blocks = math.prod(self.outer_counts.values())
        self._held = held
        self._alone = alone
        self.largest = max(size for _, size in prices.memory.rooms)
        self.figures = [self._figures(number) for number in range(len(prices.operands))]

    @property
    def channels(self) -> tuple[slice, slice]:
        """Numbers of the sizes that are a part of the input channels, and of the one that is all of them."""
        last = len(self.sizes[Dim.C]) - 1
        return slice(0, last), slice(last, last + 1)

    def box(self, channels: slice) -> Box:
        """All tiles whose input channels have the size numbers `channels`."""
        return (channels, *(slice(0, len(self.sizes[dim])) for dim in TILED[1:]))

    def boxes(self, channels: slice) -> Iterator[Box]:
        """Boxes that cover all tiles that fit, and few others, whose input channels have the size numbers `channels`.

        A large box is halved: long tiles and wide tiles may fit, although tiles that are long and wide do not.
        """
        left = [self.box(channels)]
        while left:
            box = self.cropped(left.pop())
            lengths = [part.stop - part.start for part in box]
            if math.prod(lengths) > MOST_TILES:
                axis = lengths.index(max(lengths))
                middle = (box[axis].start + box[axis].stop) // 2
                halves = slice(box[axis].start, middle), slice(middle, box[axis].stop)
                left += [(*box[:axis], half, *box[axis + 1 :]) for half in halves]
            elif all(lengths):
                yield box

    def cropped(self, box: Box) -> Box:
        """A box without the sizes of each dimension that do not fit even with the smallest sizes of the others."""
        least = [slice(part.start, part.start + 1) for part in box]
        for axis, part in enumerate(box):
            _, fits = self.room((*least[:axis], part, *least[axis + 1 :]), scratch=False)
            box = (*box[:axis], slice(part.start, part.start + int(np.count_nonzero(fits))), *box[axis + 1 :])
        return box

    def calls(self, box: Box) -> Ints:
        """Kernel calls of some tiles; a table."""
        counts = (along_axis(dim, self.counts[dim][part]) for dim, part in zip(TILED, box, strict=True))
        return math.prod(counts, start=np.ones((), np.int64))

    def room(self, box: Box, *, scratch: bool = True) -> tuple[Ints, Flags]:
        """Bytes of the shared room beside the `scratch`, if there is one, and whether a buffer for each operand fits.

        Tables of some tiles.
        """
        prices = self.prices
        extents = {dim: along_axis(dim, self.sizes[dim][part]) for dim, part in zip(TILED, box, strict=True)}
        memory, own = prices.memory, dict(prices.memory.private)
        taken, fits = np.zeros((), np.int64), np.ones((), np.bool_)
        for operand, figures in zip(prices.operands, self.figures, strict=True):
            block = within(figures.block, box)
            if operand.name in own:
                fits = fits & (block <= own[operand.name])
            else:
                taken = taken + block
            if self.cuts_channels(box):
                taken = taken + within(figures.partial, box)
        taken, fits = np.broadcast_arrays(taken, fits & (taken <= memory.size))
        beside = prices.scratches(extents, fits) if scratch else np.zeros((), np.int64)
        room = memory.size - round_up(beside, memory.alignment)
        fits = fits & (taken <= room)
        shape = [part.stop - part.start for part in box]
        return np.broadcast_to(room, shape), np.broadcast_to(fits, shape)

    def by_cuts(self, numbers: Ints) -> Iterator[tuple[tuple[Dim, ...], Ints]]:
        """Dimensions that tiles cut, and the tiles that cut just these; `numbers` of their sizes, shape (4, tiles)."""
        last = np.array([[len(self.sizes[dim]) - 1] for dim in TILED])
        patterns = (1 << np.arange(len(TILED))) @ (numbers < last)
        for pattern in np.unique(patterns).tolist():
            dims = tuple(dim for place, dim in enumerate(TILED) if pattern >> place & 1)
            yield dims, np.flatnonzero(patterns == pattern)

    def cuts_channels(self, box: Box) -> bool:
        """Whether tiles have some of the input channels only."""
        return box[0].stop < len(self.sizes[Dim.C])

    def calls_along(self, dim: Dim) -> Classes:
        """The classes of kernel calls along a dimension."""
        prices, channels = self.prices, self.prices.layer.c
        asked: dict[Dim, Asked] = {
            Dim.K: lambda tiles: [tiles.size],
            Dim.OY: partial(_seen, prices, prices.rows),
            Dim.OX: partial(_seen, prices, prices.columns),
            Dim.C: lambda tiles: [tiles.size, tiles.start == 0, tiles.start + tiles.size == channels],
        }
        return self.along[dim].classes("kernel", asked[dim])

    def last_kernels(self, numbers: Ints, inside: frozenset[Dim]) -> Floats:
        """Cycles of the kernel calls in the last iteration of the loops over `inside`, with `launch`; of some tiles.

        `numbers` are those of their sizes, shape (4, tiles). With outer blocks, the last iteration in each.
        """
        layer, times, calls = self.prices.layer, np.ones((), np.int64), list[list[Any]]()
        for axis, dim in enumerate(TILED):
            classes = self.calls_along(dim)
            table = classes.last if dim in inside else classes.every
            shape = [numbers.shape[1], *(-1 if place == axis else 1 for place in range(len(TILED)))]
            number = table.number[numbers[axis]].reshape(shape)
            times = times * table.times[numbers[axis]].reshape(shape)
            calls.append([look[number] for look in classes.looks])
        (c, begin, end), (k,), (oy, iy), (ox, ix) = calls
        looks: tuple[Any, ...] = (k, c, oy, ox, iy, ix, layer.fy, layer.fx, begin, end)
        cycles = self.prices.kernels(Tile(*looks)) + self.prices.launch
        result: Floats = (cycles * times).reshape(numbers.shape[1], -1).sum(axis=1)
        return result

    def kernels(self, box: Box) -> tuple[Floats, Floats]:
        """Cycles of all kernel calls, and of the last one in each outer block, with `launch`; tables of some tiles."""
        prices, layer = self.prices, self.prices.layer
        classes = [self.calls_along(dim).of(part) for dim, part in zip(TILED, box, strict=True)]
        (c, begin, end), (k,), (oy, iy), (ox, ix) = (
            [along_axis(dim, look) for look in one.looks] for dim, one in zip(TILED, classes, strict=True)
        )
        numbers: tuple[Any, ...] = (k, c, oy, ox, iy, ix, layer.fy, layer.fx, begin, end)
        wanted = None
        if not prices.takes_arrays:
            extents = {Dim.K: k, Dim.OY: oy, Dim.OX: ox, Dim.C: c}
            needs = [self.block(operand, extents) for operand in prices.operands]
            wanted = np.logical_and.reduce(np.broadcast_arrays(*(need <= self.largest for need in needs)))
        cycles = np.broadcast_to(prices.kernels(Tile(*numbers), wanted), [len(one.looks[0]) for one in classes])
        every = _summed(cycles, [(axis, one.every) for axis, one in enumerate(classes)])
        last = _summed(cycles, [(axis, one.last) for axis, one in enumerate(classes)])
        return every + self.calls(box) * np.float64(prices.launch), last + self.outer_blocks * prices.launch

    def block(self, operand: Operand, extents: Mapping[Dim, Ints]) -> Ints:
        """Bytes of one buffer of an operand, for arrays of extents that broadcast."""
        result = np.zeros((), np.int64)
        for component in operand.components:
            size = component.element_bytes * _elements(component, extents, self.whole)
            result = result + round_up(size, self.prices.memory.alignment)
        return result

    def _figures(self, number: int) -> Figures:
        prices = self.prices
        operand, axes = prices.operands[number], prices.axes[number]
        own = [dim for dim in TILED if dim in operand.dims]
        extents = {dim: along_axis(dim, self.sizes[dim]) for dim in own}
        block, partial_sums = self.block(operand, extents), np.zeros((), np.int64)
        if operand.partial_bytes:
            every = [_elements(component, extents, self.whole) for component in operand.components]
            elements = sum(every, start=np.zeros((), np.int64))
            partial_sums = round_up(operand.partial_bytes * elements, prices.memory.alignment)
        inside = operand.name in self._held and operand.role is not Role.CONSTANT
        classes = {
            dim: self.along[dim].classes(
                operand.name, partial(_lengths, operand, [axis for axis in axes if axis.dim is dim], inside)
            )
            for dim in own
        }
        looks = {dim: iter([along_axis(dim, look) for look in one.looks]) for dim, one in classes.items()}
        lengths = [_next(operand, axis, looks, self.whole) for axis in axes]
        limits = [_next(operand, axis, looks, self.whole) for axis in axes] if inside else None
        if inside and self._alone:
            limits = lengths
        cycles, moved = prices.transfers(number, lengths, limits, self.largest)
        shape = [len(classes[dim].looks[0]) if dim in own else 1 for dim in TILED]
        cycles, moved = np.broadcast_to(cycles, shape), np.broadcast_to(moved, shape)
        places = [(TILED.index(dim), one) for dim, one in classes.items()]
        every = [(place, one.every) for place, one in places]
        written = operand.role is Role.OUTPUT
        end = _summed(cycles, [(place, one.last if written else one.first) for place, one in places])
        longest = cycles if written else np.zeros([1] * len(TILED))
        for place, one in places if written else ():
            longest = one.every.largest(longest, place)
        return Figures(_table(block), _table(partial_sums), _summed(moved, every), _summed(cycles, every), end, longest)


def refusal(tables: Tables, *, scratch: bool = True) -> NoMappingError:
    """Why not even the smallest tile fits, with or without the `scratch` of kernels."""
    prices, memory = tables.prices, tables.prices.memory
    lacking: list[tuple[int, str, int]] = []
    for channels in tables.sizes[Dim.C]:  # fewer of them need partial sums
        tile = {dim: int(tables.sizes[dim][0]) for dim in TILED} | {Dim.C: int(channels)}
        extents = {dim: along_axis(dim, np.array([size])) for dim, size in tile.items()}
        needs = {room: 0 for room, _ in memory.rooms}
        needs[memory.name] = align(prices.scratch(prices.layer.extents | tile), memory.alignment) if scratch else 0
        for operand, figures in zip(prices.operands, tables.figures, strict=True):
            needs[memory.room(operand.name)] += int(tables.block(operand, extents).item())
            if channels < tables.whole[Dim.C]:
                needs[memory.name] += int(figures.partial.ravel()[0])
        room, size = next((room, size) for room, size in memory.rooms if needs[room] > size)
        where = room if room == memory.name else f"{memory.name}'s memory for {room}"
        lacking.append((needs[room], where, size))
    needed, where, there = min(lacking)
    innermost = needed if scratch and where == memory.name else None
    return NoMappingError(prices.layer.name, f"needs at least {needed} bytes of {where}, {there} are there", innermost)


def within(table: npt.NDArray[Any], box: Box) -> npt.NDArray[Any]:
    """The entries of a table for the tiles of a box."""
    return table[tuple(part if length > 1 else slice(None) for part, length in zip(box, table.shape, strict=True))]


def _table(figures: Ints) -> Ints:
    return np.array(figures, ndmin=len(TILED))


def _elements(component: Component, extents: Mapping[Dim, Ints], whole: Mapping[Dim, int]) -> Ints:
    """Elements of the largest block of a component."""
    sizes = (extents.get(axis.dim, np.array(whole[axis.dim])) for axis in component.axes)
    result: Ints = math.prod(
        (axis_lengths(axis, size) for axis, size in zip(component.axes, sizes, strict=True)),
        start=np.ones((), np.int64),
    )
    return result


def _next(operand: Operand, axis: Axis, looks: Mapping[Dim, Any], whole: Mapping[Dim, int]) -> Ints:
    """The next look along an axis, or the whole axis if it is never cut."""
    if axis.dim in looks:
        return next(looks[axis.dim])
    return np.array(axis_length(operand, axis, (0, whole[axis.dim]), whole[axis.dim]))


def _lengths(operand: Operand, axes: Sequence[Axis], inside: bool, tiles: Tiles) -> list[Ints]:
    """Elements along axes of one dimension of a tile's block and, where it lies `inside` an outer block, of that.

    Constants are stored block by block, each as long as the largest.
    """
    if operand.role is Role.CONSTANT:
        return [axis_lengths(axis, tiles.full) for axis in axes]
    lengths = touched_lengths(axes, tiles.start, tiles.size)
    return [*lengths, *touched_lengths(axes, tiles.begin, tiles.extent)] if inside else lengths


def _seen(prices: Prices, axis: Axis, tiles: Tiles) -> list[Ints]:
    """Rows or columns of tiles, and those of the input that each reads: without padding, if the cost depends on it."""
    if not prices.sees_padding:
        return [tiles.size, axis_lengths(axis, tiles.size)]
    return [tiles.size, *touched_lengths([axis], tiles.start, tiles.size)]


def _summed(prices: npt.NDArray[Any], tables: Sequence[tuple[int, Table]]) -> npt.NDArray[Any]:
    """Sums along some axes; those first that leave least to do."""
    for axis, table in sorted(tables, key=lambda one: len(one[1].number) / prices.shape[one[0]]):
        prices = table.summed(prices, axis)
    return prices
