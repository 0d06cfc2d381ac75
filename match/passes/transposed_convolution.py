"""A transposed convolution as one convolution: the outputs between two input pixels become channels of one pixel.

With a stride of s, output ``s * j + p`` is phase p of pixel j. A phase sees the input pixels around j through every
s-th row or column of the filter. So all phases are one convolution with as many times the outputs, and its pixels are
then laid out side by side.

If the transposed convolution has groups, so has the convolution: outputs are those of all phases of a group, then of
the next.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from match.ir.layer import Padding
from match.passes.wide_weights import in_bytes
from match.relay import integer_form, relay
from match.relay.integer_form import Weights
from match.relay.qnn import LinearSums
from match.relay.rewrite import shape


@dataclass(frozen=True)
class _Phases:
    """One axis: for each phase (row) the filter's element at each place of the common window, -1 where there is none.

    The window of pixel j begins at input ``j - before``; the last one ends `behind` the first `extent` inputs, which
    are all that windows see.
    """

    taps: tuple[tuple[int, ...], ...]
    before: int
    behind: int
    extent: int


@dataclass(frozen=True, eq=False)
class PhaseConvolution:
    """The convolution: its outputs are (group, row phase, column phase, channel of the group), and what they become.

    Weights are HWIO, or HWOI where each channel is a group. `layer` has bias and scales for each of these outputs;
    `seen` are the rows and columns of input that windows see,
    `outputs` those of the result.
    """

    layer: LinearSums
    weights: Weights
    padding: Padding
    phases: tuple[int, int]
    seen: tuple[int, int]
    outputs: tuple[int, int]
    groups: int

    @property
    def weights_by_output(self) -> Weights:
        """Shape (channels, ...)."""
        return self.weights.reshape(-1, len(self.layer.bias)).T

    @property
    def _depthwise(self) -> bool:
        return 1 < self.groups == shape(self.layer.x)[3]

    def sums(self, x: relay.Expr) -> relay.Expr:
        """The int32 sums of an input of the transposed convolution."""
        batch, *extents, channels = shape(self.layer.x)
        if tuple(extents) != self.seen:
            x = relay.strided_slice(x, [0, 0, 0, 0], [batch, *self.seen, channels])
        if batch > 1 and sees_one_row(self.layer.call):
            x = as_one_map(x, (batch, *self.seen, channels))
        inputs = self.layer.input
        x, weights, layout = in_bytes(x, self.weights, "HWOI" if self._depthwise else "HWIO", self.groups)
        return integer_form.convolution(
            x,
            weights,
            x_dtype=inputs.dtype,
            padding=self.padding,
            groups=self.groups,
            kernel_layout=layout,
            pad_value=inputs.zero_point,
        )

    def side_by_side(self, x: relay.Expr) -> relay.Expr:
        """The outputs (batch, rows, columns, phases and channels) as maps."""
        batch = shape(self.layer.x)[0]
        (rows, columns), (down, across) = self.outputs, self.phases
        channels = len(self.layer.bias) // (down * across)
        pixels = -(-rows // down), -(-columns // across)
        if self.groups > 1 and down * across > 1:  # to (phases, groups, channels of a group)
            x = relay.reshape(x, (batch, *pixels, self.groups, down * across, channels // self.groups))
            x = relay.reshape(relay.transpose(x, (0, 1, 2, 4, 3, 5)), (batch, *pixels, down * across * channels))
        if down > 1:
            x = relay.reshape(x, (batch * pixels[0], pixels[1], down, across * channels))
            x = relay.transpose(x, (0, 2, 1, 3))
        x = relay.reshape(x, (batch, pixels[0] * down, pixels[1] * across, channels))
        if (pixels[0] * down, pixels[1] * across) == self.outputs:
            return x
        return relay.strided_slice(x, [0, 0, 0, 0], [batch, rows, columns, channels])


def sees_one_row(convolution: relay.Call) -> bool:
    """Whether each row of the outputs of a convolution, transposed or not, is computed from one row of its input."""
    attrs = convolution.attrs
    top, _, bottom, _ = (int(side) for side in attrs.padding)
    return (int(attrs.kernel_size[0]), int(attrs.strides[0]), top, bottom) == (1, 1, 0, 0)


def as_one_map(x: relay.Expr, extents: tuple[int, ...]) -> relay.Expr:
    """Maps (batch, rows, columns, channels) as one, whose rows are those of all of them."""
    batch, rows, columns, channels = extents
    return relay.reshape(x, (1, batch * rows, columns, channels))


def phase_convolution(layer: LinearSums) -> PhaseConvolution:
    """The convolution for a `qnn.conv2d_transpose` in NHWC, without dilation."""
    attrs, extents, outputs = layer.call.attrs, shape(layer.x), shape(layer.call)
    layout = str(attrs.kernel_layout)
    kernel = layer.weights.transpose([layout.index(axis) for axis in "HWIO"])
    strides = [int(step) for step in attrs.strides]
    top, left, _, _ = (int(side) for side in attrs.padding)
    sizes = zip(extents[1:3], outputs[1:3], kernel.shape[:2], strides, (top, left), strict=True)
    rows, columns = (_phases(*one) for one in sizes)
    count, groups = strides[0] * strides[1], int(attrs.groups)
    scale = layer.weight_scale
    repeated = replace(
        layer,
        bias=_repeated(layer.bias, count, groups),
        weight_scale=scale if scale.size == 1 else _repeated(scale, count, groups),
    )
    padding = Padding(rows.before, columns.before, rows.behind, columns.behind)
    spread = _spread(kernel, rows, columns)
    if 1 < groups < extents[3]:  # from (FY, FX, groups and their inputs, outputs of a group)
        parts = spread.reshape(*spread.shape[:2], groups, -1, spread.shape[3]).swapaxes(2, 3)
        spread = np.ascontiguousarray(parts.reshape(*parts.shape[:3], -1))
    phases, seen = (strides[0], strides[1]), (rows.extent, columns.extent)
    return PhaseConvolution(repeated, spread, padding, phases, seen, (outputs[1], outputs[2]), groups)


def _repeated(values: npt.NDArray[Any], phases: int, groups: int) -> npt.NDArray[Any]:
    """Numbers of channels for those of all phases, group by group."""
    of_groups = values.reshape(groups, 1, -1)
    return np.broadcast_to(of_groups, (groups, phases, of_groups.shape[2])).reshape(-1)


def _phases(extent: int, outputs: int, size: int, stride: int, pad: int) -> _Phases:
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
    return _Phases(tuple(taps), -low, max(0, behind), extent + min(0, behind))


def _spread(kernel: Weights, rows: _Phases, columns: _Phases) -> Weights:
    """The filter (FY, FX, C, K) as that of all phases, zeros where a phase does not see a pixel of the window."""
    down, across = np.array(rows.taps), np.array(columns.taps)
    seen = (down[:, None, :, None] >= 0) & (across[None, :, None, :] >= 0)
    # (row phase, column phase, window row, window column, C, K)
    parts = kernel[down[:, None, :, None], across[None, :, None, :]] * seen[..., None, None]
    spread = parts.transpose(2, 3, 4, 0, 1, 5)
    return np.ascontiguousarray(spread.reshape(*spread.shape[:3], -1))
