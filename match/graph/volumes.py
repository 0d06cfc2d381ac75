"""Layers of volumes (N, C, D, H, W) as layers of maps.

What an output depth of a convolution sees is a map with the depths of all channels as its channels. Depths that lie in
the padding have no part in the sum, and neither have their weights. The largest number of a window is that of its
maps' largest numbers, and its mean the mean of their means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from match.graph.constants import reshaped_constant, taken_constant
from match.graph.make import concatenated, cut, reshaped, taken, transposed
from match.graph.maps import channels_first, channels_last
from match.graph.maximum import Maximum
from match.graph.reals import RealAverage, RealConvolution
from match.graph.value import Value, computed
from match.ir.layer import Padding

RANK = 5
"""The axes of a volume."""

AXES = 3
"""Those that windows move along: depth, rows and columns."""

Numbers = tuple[int, ...]

_Along = tuple[tuple[int, int], tuple[int, int], tuple[int, int], Padding]
"""Size, stride, step between elements and padding of windows on a map."""


@dataclass(frozen=True)
class Windows:
    """Windows of volumes: for each axis the size, the stride, the step between a window's elements, and the padding."""

    sizes: Numbers
    strides: Numbers
    dilation: Numbers
    before: Numbers
    after: Numbers

    @classmethod
    def of(
        cls,
        sizes: Sequence[int],
        strides: Sequence[int] | None,
        pads: Sequence[int] | None,
        dilation: Sequence[int] | None = None,
    ) -> Windows:
        """Windows of these sizes; pads of all axes before come first. What is left out is 1, and padding 0."""
        pads = [0] * (2 * AXES) if pads is None else pads
        steps, holes = ([1] * AXES if given is None else given for given in (strides, dilation))
        return cls(tuple(sizes), tuple(steps), tuple(holes), tuple(pads[:AXES]), tuple(pads[AXES:]))

    @property
    def of_maps(self) -> _Along:
        """Size, stride, step and padding of the windows within each map."""
        (_, *size), (_, *stride), (_, *hole) = self.sizes, self.strides, self.dilation
        (_, top, left), (_, bottom, right) = self.before, self.after
        return (size[0], size[1]), (stride[0], stride[1]), (hole[0], hole[1]), Padding(top, left, bottom, right)

    @property
    def of_depths(self) -> _Along:
        """The same along the depth, of maps whose rows are the depths."""
        padding = Padding(self.before[0], 0, self.after[0], 0)
        return (self.sizes[0], 1), (self.strides[0], 1), (self.dilation[0], 1), padding

    @property
    def apart(self) -> bool:
        """Whether windows neither overlap nor are padded, nor have holes."""
        return self.sizes == self.strides and not any((*self.before, *self.after)) and set(self.dilation) == {1}

    @property
    def within_maps(self) -> bool:
        """Whether each window lies in one map."""
        return self.sizes[0] == self.strides[0] == 1 and not self.before[0] and not self.after[0]

    def see_volumes(self, extent: int) -> bool:
        """Whether each window has some depths that are not in the padding, of volumes of so many."""
        return all(any(0 <= one < extent for one in depths) for depths in self.depths(extent))

    def depths(self, extent: int) -> list[list[int]]:
        """The depths that the window of each output covers. Those below 0, or of `extent` and above, are padding."""
        size, stride, hole = self.sizes[0], self.strides[0], self.dilation[0]
        ends = extent + self.before[0] + self.after[0] - (size - 1) * hole
        return [[first - self.before[0] + at * hole for at in range(size)] for first in range(0, ends, stride)]


def convolution(
    x: Value, filters: Value, bias: Sequence[Value], windows: Windows, groups: int, *, exact: bool = True
) -> Value:
    """A convolution by constant filters (K, C / groups, FD, FY, FX), plus a constant bias (K,) if there is one.

    Each window has some depths that are not in the padding.
    """
    batch, channels, depth, rows, columns = x.shape
    _, strides, dilation, padding = windows.of_maps
    operator = RealConvolution(strides=strides, padding=padding, dilation=dilation, groups=groups)
    count, _, _, *window = filters.shape
    maps: list[Value] = []
    for depths in windows.depths(depth):
        seen = [place for place, one in enumerate(depths) if 0 <= one < depth]
        x_maps = reshaped(taken(x, 2, [depths[place] for place in seen]), (batch, channels * len(seen), rows, columns))
        own = reshaped_constant(taken_constant(filters, 2, seen), (count, channels // groups * len(seen), *window))
        sums = channels_first(computed(operator, channels_last(x_maps), own, *bias, exact=exact))
        maps.append(reshaped(sums, (*sums.shape[:2], 1, *sums.shape[2:])))
    return concatenated(maps, 2)


def largest(x: Value, windows: Windows) -> Value:
    """The largest number of each window."""
    return _twice(x, windows, _maximum)


def means(x: Value, windows: Windows, *, counts_padding: bool, exact: bool = True) -> Value:
    """The mean of each window, without holes; `counts_padding`: padding is counted as zeros, else not at all."""
    batch, channels, depth, rows, columns = x.shape
    if windows.within_maps:
        maps = _averaged(_of_maps(x), windows.of_maps, counts_padding=counts_padding, exact=exact)
        return reshaped(maps, (batch, channels, depth, *maps.shape[2:]))
    if not windows.apart:
        return _twice(x, windows, partial(_averaged, counts_padding=counts_padding, exact=False))
    deep, high, wide = windows.sizes
    after = depth // deep, rows // high, columns // wide
    ends = [count * size for count, size in zip(after, windows.sizes, strict=True)]
    for axis, end in enumerate(ends, 2):
        x = cut(x, axis, 0, end)
    x = reshaped(x, (batch, channels, after[0], deep, after[1], high, ends[2]))
    x = reshaped(transposed(x, (0, 1, 2, 4, 3, 5, 6)), (batch, channels, -1, ends[2]))
    along = (deep * high, wide), (deep * high, wide), (1, 1), Padding()
    return reshaped(_averaged(x, along, counts_padding=False, exact=exact), (batch, channels, *after))


def mean_of_all(x: Value, *, exact: bool = True) -> Value:
    """The mean of each channel of a volume, with one element along its other axes."""
    batch, channels, depth, rows, columns = x.shape
    map_ = channels_last(reshaped(x, (batch, channels, depth * rows, columns)))
    operator = RealAverage(window=(depth * rows, columns), strides=(1, 1), written_as="map")
    return reshaped(channels_first(computed(operator, map_, exact=exact)), (batch, channels, 1, 1, 1))


def _twice(x: Value, windows: Windows, pooled: Callable[[Value, _Along], Value]) -> Value:
    """What is pooled within each map, then along the depth."""
    batch, channels, depth, _, _ = x.shape
    maps = pooled(_of_maps(x), windows.of_maps)
    *_, height, width = maps.shape
    depths = pooled(reshaped(maps, (batch, channels, depth, height * width)), windows.of_depths)
    return reshaped(depths, (batch, channels, depths.shape[2], height, width))


def _of_maps(x: Value) -> Value:
    """All maps of a volume as the channels of one."""
    batch, channels, depth, rows, columns = x.shape
    return reshaped(x, (batch, channels * depth, rows, columns))


def _maximum(x: Value, along: _Along) -> Value:
    window, strides, dilation, padding = along
    operator = Maximum(window=window, strides=strides, padding=padding, dilation=dilation)
    return channels_first(computed(operator, channels_last(x)))


def _averaged(x: Value, along: _Along, *, counts_padding: bool, exact: bool) -> Value:
    window, strides, _, padding = along
    operator = RealAverage(window=window, strides=strides, padding=padding, counts_padding=counts_padding)
    return channels_first(computed(operator, channels_last(x), exact=exact))
