"""A transposed convolution as one convolution: the outputs between two input pixels become channels of one pixel.

With a stride of s, output ``s * j + p`` is phase p of pixel j. A phase sees the input pixels around j through every
s-th row or column of the filter. So all phases are one convolution with as many times the outputs, and its pixels are
then laid out side by side.

If the transposed convolution has groups, so has the convolution: outputs are those of all phases of a group, then of
the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from match.graph.make import reshaped, sliced, transposed
from match.graph.sums import Weights
from match.graph.value import Value
from match.ir.layer import Padding


@dataclass(frozen=True)
class _Axis:
    """One axis: for each phase (row) the filter's element at each place of the common window, -1 where there is none.

    The window of pixel j begins at input ``j - before``; the last one ends `behind` the first `extent` inputs, which
    are all that windows see.
    """

    taps: tuple[tuple[int, ...], ...]
    before: int
    behind: int
    extent: int


@dataclass(frozen=True, eq=False)
class Phases:
    """The convolution: its outputs are (group, row phase, column phase, channel of the group).

    kernel: HWIO, or HWOI where each channel is a group.
    strides: rows and columns of phases.
    seen: rows and columns of the input that windows see, from its first on.
    outputs: rows and columns of the result.
    """

    kernel: Weights
    padding: Padding
    strides: tuple[int, int]
    seen: tuple[int, int]
    outputs: tuple[int, int]
    groups: int

    def repeated(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Numbers of the result's channels for the outputs of the convolution."""
        of_groups = values.reshape(self.groups, 1, -1)
        count = self.strides[0] * self.strides[1]
        return np.broadcast_to(of_groups, (self.groups, count, of_groups.shape[2])).reshape(-1)

    def seen_of(self, x: Value) -> Value:
        """What windows see of an input (batch, rows, columns, channels)."""
        batch, _, _, channels = x.shape
        return sliced(x, [0, 0, 0, 0], [batch, *self.seen, channels])

    def side_by_side(self, x: Value, batch: int, channels: int) -> Value:
        """The outputs of the convolution as maps (batch, rows, columns, channels)."""
        (rows, columns), (down, across) = self.outputs, self.strides
        pixels = -(-rows // down), -(-columns // across)
        if self.groups > 1 and down * across > 1:  # to (phases, groups, channels of a group)
            x = reshaped(x, (batch, *pixels, self.groups, down * across, channels // self.groups))
            x = reshaped(transposed(x, (0, 1, 2, 4, 3, 5)), (batch, *pixels, down * across * channels))
        if down > 1:
            x = reshaped(x, (batch * pixels[0], pixels[1], down, across * channels))
            x = transposed(x, (0, 2, 1, 3))
        x = reshaped(x, (batch, pixels[0] * down, pixels[1] * across, channels))
        return sliced(x, [0, 0, 0, 0], [batch, rows, columns, channels])


def phases_of(
    kernel: Weights,
    extents: tuple[int, ...],
    outputs: tuple[int, int],
    strides: tuple[int, int],
    before: tuple[int, int],
    groups: int = 1,
) -> Phases:
    """The phases of a transposed convolution, without dilation, of a map of these extents (N, H, W, C).

    kernel: HWIO. outputs: rows and columns of the result. before: rows at its top and columns at its left that are cut
    off, as the padding of the convolution that is transposed.
    """
    sizes = zip(extents[1:3], outputs, kernel.shape[:2], strides, before, strict=True)
    rows, columns = (_axis(*one) for one in sizes)
    spread = _spread(kernel, rows, columns)
    if 1 < groups < extents[3]:  # from (FY, FX, groups and their inputs, outputs of a group)
        parts = spread.reshape(*spread.shape[:2], groups, -1, spread.shape[3]).swapaxes(2, 3)
        spread = np.ascontiguousarray(parts.reshape(*parts.shape[:3], -1))
    padding = Padding(rows.before, columns.before, rows.behind, columns.behind)
    return Phases(spread, padding, strides, (rows.extent, columns.extent), outputs, groups)


def _axis(extent: int, outputs: int, size: int, stride: int, pad: int) -> _Axis:
    """Output o sums ``input[i] * filter[f]`` where ``o + pad == stride * i + f``."""
    shifts = [divmod(phase + pad, stride) for phase in range(stride)]
    counts = [max(0, -(-(size - first) // stride)) for _, first in shifts]
    low = min([0, *(shift - count + 1 for (shift, _), count in zip(shifts, counts, strict=True) if count)])
    high = max([low, *(shift for (shift, _), count in zip(shifts, counts, strict=True) if count)])
    pixels = -(-outputs // stride)
    behind = pixels + high - extent
    taps = [
        tuple(first + stride * (shift - place) if 0 <= shift - place < count else -1 for place in range(low, high + 1))
        for (shift, first), count in zip(shifts, counts, strict=True)
    ]
    return _Axis(tuple(taps), -low, max(0, behind), extent + min(0, behind))


def _spread(kernel: Weights, rows: _Axis, columns: _Axis) -> Weights:
    """The filter (FY, FX, C, K) as that of all phases, zeros where a phase does not see a pixel of the window."""
    down, across = np.array(rows.taps), np.array(columns.taps)
    seen = (down[:, None, :, None] >= 0) & (across[None, :, None, :] >= 0)
    # (row phase, column phase, window row, window column, C, K)
    parts = kernel[down[:, None, :, None], across[None, :, None, :]] * seen[..., None, None]
    spread = parts.transpose(2, 3, 4, 0, 1, 5)
    return np.ascontiguousarray(spread.reshape(*spread.shape[:3], -1))
