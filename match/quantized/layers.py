"""Layers with constant weights: their int32 sums, with the zero point of the input, and these requantized.

Modules take one map, so several maps become one, of all their rows, where each row of the output sees one row. A
transposed convolution becomes the convolution of all its phases.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from match.arithmetic.interface import Accumulator, QuantizedType
from match.graph.make import padded, reshaped
from match.graph.maximum import Maximum
from match.graph.moves import Move
from match.graph.operator import Operator
from match.graph.sums import SUMS, Accumulation, Convolution, Dense, KernelLayout, Weights, unchanged
from match.graph.value import Value, computed
from match.ir.dtypes import value_range
from match.ir.layer import Axis, Dim, Padding
from match.ir.requantization import Int64Array, Requantization
from match.ir.step_function import reachable_sums
from match.quantized.phases import Phases, phases_of
from match.quantized.wide_weights import in_bytes


@dataclass(frozen=True, eq=False, kw_only=True)
class Filters:
    """What slides over a map (N, H, W, C): weights in a layout, with their zero points taken off.

    padding: around the map, of the input's zero point.
    """

    kernel: Weights
    layout: KernelLayout
    strides: tuple[int, int] = (1, 1)
    padding: Padding = Padding()
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1

    @property
    def sees_one_row(self) -> bool:
        """Whether each row of the outputs is computed from one row of the map."""
        return (self.kernel.shape[0], self.strides[0], self.padding.top, self.padding.bottom) == (1, 1, 0, 0)


@dataclass(frozen=True, eq=False)
class Sums:
    """The sums of a layer, and what becomes of what they are requantized to.

    operator: hands out int32 sums of x.
    limits: the smallest and the largest value that the layer's input can have.
    weights: those that each output sums with, shape (outputs, ...).
    phases: of a transposed convolution; its sums are those of all of them.
    shape: of the layer's outputs, where sums have another one.
    """

    operator: Convolution | Dense
    x: Value
    limits: tuple[int, int]
    weights: Weights
    phases: Phases | None = None
    shape: tuple[int, ...] | None = None

    @property
    def value(self) -> Value:
        """The sums."""
        return computed(self.operator, self.x)

    def for_each(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Numbers of the layer's channels, or one for all of several, for the outputs of the operator."""
        if self.phases is None or self.shape is None or values.size != self.shape[3]:
            return values
        return self.phases.repeated(values)

    def offset(self, bias: Int64Array, zero_point: int, bits: int = 0) -> Int64Array:
        """What is added to each output's sum: the bias of its channel, less what the input's zero point sums up to.

        It has so many bits after the point, as the bias has.
        """
        sums = self.weights.reshape(len(self.weights), -1).sum(axis=1, dtype=np.int64)
        return self.for_each(bias) - (zero_point * sums << bits)

    def accumulator(
        self, inputs: QuantizedType, weight_scales: npt.NDArray[np.float32], bias: Int64Array, bits: int = 0
    ) -> Accumulator:
        """What is accumulated of an input with a quantization; the bias has so many bits after the point."""
        zero_point, ends = inputs.zero_point, self.limits
        low, high = reachable_sums(self.weights, (min(ends[0], zero_point), max(ends[1], zero_point)))
        offset = self.offset(bias, zero_point, bits)
        return Accumulator(offset, low, high, inputs.scale, self.for_each(weight_scales), bits)

    def requantized(self, requantization: Requantization, dtype: str, *, exact: bool = True) -> Value:
        """The layer's outputs."""
        operator = replace(self.operator, requantization=requantization, dtype=dtype)
        return self.laid_out(computed(operator, self.x, exact=exact))

    def laid_out(self, outputs: Value) -> Value:
        """What became of the sums, where the layer's outputs are."""
        if self.phases is not None:
            assert self.shape is not None, "a transposed convolution has a shape of its own"
            return self.phases.side_by_side(outputs, self.shape[0], self.shape[3])
        return outputs if self.shape is None else reshaped(outputs, self.shape)


def convolution_sums(x: Value, filters: Filters, zero_point: int) -> Sums:
    """The sums of a convolution."""
    layout, groups = filters.layout, filters.groups
    outputs = filters.kernel.shape[3] * (groups if layout == "HWOI" else 1)
    operator = _convolution(filters, filters.kernel, layout, zero_point, outputs)
    shape = operator.result(x.tensor).shape
    one_map = _as_one_map(x) if x.shape[0] > 1 and filters.sees_one_row else x
    read, kernel, own = in_bytes(one_map, filters.kernel, layout, groups)
    by_output = filters.kernel.reshape(-1, outputs if layout == "HWOI" else filters.kernel.shape[3]).T
    operator, read = _with_own_padding(_convolution(filters, kernel, own, zero_point, outputs), read)
    return Sums(operator, read, limits(x), by_output, shape=shape if one_map is not x else None)


def transposed_sums(
    x: Value,
    kernel: Weights,
    strides: tuple[int, int],
    before: tuple[int, int],
    shape: tuple[int, ...],
    zero_point: int,
    groups: int = 1,
) -> Sums:
    """The sums of a transposed convolution, weights in HWIO; `before` is as of `phases_of`, `shape` the result's."""
    phases = phases_of(kernel, x.shape, (shape[1], shape[2]), strides, before, groups)
    seen = phases.seen_of(x)
    layout: KernelLayout = "HWOI" if 1 < groups == x.shape[3] else "HWIO"
    filters = Filters(kernel=phases.kernel, layout=layout, padding=phases.padding, groups=groups)
    outputs = len(phases.repeated(np.zeros(shape[3])))
    if x.shape[0] > 1 and (kernel.shape[0], strides[0], before[0]) == (1, 1, 0):
        seen = _as_one_map(seen)
    read, weights, own = in_bytes(seen, phases.kernel, layout, groups)
    operator, read = _with_own_padding(_convolution(filters, weights, own, zero_point, outputs), read)
    return Sums(operator, read, limits(x), phases.kernel.reshape(-1, outputs).T, phases, shape)


def dense_sums(x: Value, weights: Weights) -> Sums:
    """The sums of rows (N, C) times weights (K, C), transposed."""
    read, parts, _ = in_bytes(x, np.ascontiguousarray(weights.T)[None, None])
    own = np.ascontiguousarray(parts[0, 0].T)
    return Sums(Dense(weights=own, requantization=unchanged(len(own)), dtype=SUMS), read, limits(x), weights)


def limits(x: Value) -> tuple[int, int]:
    """Values that a tensor of integers can have: those of the clip of the operator that computes it, if it has one."""
    while isinstance(x.operator, Maximum) or (isinstance(x.operator, Move) and _is_order(x.operator)):
        x = x.inputs[0]
    return _clip(x.operator) or value_range(x.dtype)


def _clip(operator: Operator | None) -> tuple[int, int] | None:
    requantization = getattr(operator, "requantization", None)
    if isinstance(requantization, Requantization):
        return None if isinstance(operator, Accumulation) and operator.dtype == SUMS else requantization.clip
    return getattr(operator, "clip", None)


def _is_order(move: Move) -> bool:
    return all(columns is None for columns in move.columns)


def _convolution(filters: Filters, kernel: Weights, layout: KernelLayout, zero_point: int, outputs: int) -> Convolution:
    return Convolution(
        weights=np.ascontiguousarray(kernel),
        requantization=unchanged(outputs),
        dtype=SUMS,
        strides=filters.strides,
        padding=filters.padding,
        dilation=filters.dilation,
        groups=filters.groups,
        pad_value=zero_point,
        kernel_layout=layout,
    )


def _with_own_padding(convolution: Convolution, x: Value) -> tuple[Convolution, Value]:
    """The convolution and what it reads: padding that some window lies in alone is none that modules have."""
    if not any(convolution.padding):
        return replace(convolution, pad_value=0), x
    outputs, sides = convolution.result(x.tensor).shape[1:3], convolution.padding
    for place, dim in enumerate((Dim.OY, Dim.OX)):
        window = (convolution.weights.shape[place] - 1) * convolution.dilation[place] + 1
        axis = Axis(dim, x.shape[1 + place], convolution.strides[place], window, sides[place])
        if not axis.windows_see(outputs[place]):
            widths = [(0, 0), (sides.top, sides.bottom), (sides.left, sides.right), (0, 0)]
            own = replace(convolution, padding=Padding(), pad_value=0)
            return own, padded(x, widths, convolution.pad_value)
    return convolution, x


def _as_one_map(x: Value) -> Value:
    """Maps (batch, rows, columns, channels) as one, whose rows are those of all of them."""
    batch, rows, columns, channels = x.shape
    return reshaped(x, (1, batch * rows, columns, channels))
