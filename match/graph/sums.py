"""Operators that sum products with constant weights, or windows, and requantize the sums."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from match.graph import windows
from match.graph.layers import without_idle_parts
from match.graph.operator import Array, Described, Known, Operator, Range, Refused, Requantized, Stored, whole_range
from match.graph.windows import not_one_map, windowed
from match.graph.work import Loop, Work
from match.ir.attributes import ChannelGroups
from match.ir.constants import Filters, LayerConstants
from match.ir.dtypes import value_range
from match.ir.graph import Tensor
from match.ir.layer import Layer, Op, Padding
from match.ir.requantization import Int64Array, Requantization

Int8Array = npt.NDArray[np.int8]
Weights = npt.NDArray[np.int8 | np.int16]
"""Weights of 8 bits, or of nine as int16, which no module takes."""
KernelLayout = Literal["HWIO", "HWOI"]

WORD = 4
"""Channels of 8 bits that kernels multiply at once."""

SUMS = "int32"
"""The type of sums that are not requantized."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Accumulation(Requantized):
    """What all of them have: int32 sums become `dtype` by `requantization`; with "int32" they stay as they are."""

    loop: ClassVar[Loop] = Loop.PRODUCTS

    @abstractmethod
    def sums(self, x: Array) -> Array:
        """The sums, integers of float64 or int64."""

    @property
    @abstractmethod
    def depth(self) -> int:
        """Channels of its input."""

    @abstractmethod
    def accumulator(self, x: Range) -> tuple[Int64Array, Int64Array]:
        """Smallest and largest sum of each output channel for inputs in a range, padding included."""

    def compute(self, *inputs: Array) -> Array:
        """The requantized sums."""
        return self.requantization(self.sums(*inputs).astype(np.int64)).astype(self.dtype)

    def values(self, result: Tensor, inputs: Sequence[Known]) -> Range | None:
        """What becomes of the smallest and the largest sum."""
        del result
        (x,) = inputs
        if x.values is None:
            return None
        ends = [self.requantization(end) for end in self.accumulator(x.values)]
        return Range(np.minimum(*ends), np.maximum(*ends))

    def has_wide_sums(self, x_dtype: str) -> bool:
        """Whether sums of some inputs of a type need more than 32 bits."""
        low, high = self.accumulator(whole_range(Tensor((self.depth,), x_dtype)))
        return bool(low.min() < value_range(SUMS)[0] or high.max() > value_range(SUMS)[1])

    @property
    @abstractmethod
    def growth(self) -> Int64Array:
        """What each channel's sum grows by when every input grows by one, shape (channels,)."""

    def unsigned(self, inputs: Sequence[Stored], more: int | None) -> Operator:
        """The requantization takes off what sums grow by; sums that are not requantized grow."""
        if self.dtype == SUMS:
            return self
        moved = self.requantization.moved(inputs[0].more * self.growth)
        return replace(self, requantization=moved.raised(more or 0), dtype=self.dtype if more is None else "uint8")

    def _described(self, layer: Layer, weights: Weights | None, x: Known) -> Described | Refused | None:
        if weights is not None and weights.dtype != np.int8:
            return None
        if self.dtype != SUMS and (self.dtype == "int16") != (x.dtype == "int16"):
            return Refused(layer.op, f"its output is {self.dtype} and its input {x.dtype}", layer.macs)
        if x.dtype == "int16" and self.has_wide_sums(x.dtype):
            return Refused(layer.op, "its sums need more than 32 bits", layer.macs)
        low, high = x.range.ends
        layer = replace(layer, input_range=(int(low), int(high)))
        data = None if weights is None else Filters(weights.astype(np.int8, copy=False))
        if self.dtype == SUMS:
            return Described(layer, LayerConstants(data))
        accumulator = self.accumulator(x.range)
        line = without_idle_parts(self.requantization, *accumulator)
        return Described(layer, LayerConstants(data, line), accumulator)


@dataclass(frozen=True, eq=False, kw_only=True)
class Convolution(Accumulation):
    """A convolution of a map (N, H, W, C) of 8 or 16 bits.

    weights: in the layout HWIO, (FY, FX, C / groups, K), or HWOI, (FY, FX, C, K / C), where each input channel
        has its own filters.
    pad_value: the integer in the padding.
    """

    called: ClassVar[str] = "convolution"

    weights: Weights
    strides: tuple[int, int]
    padding: Padding
    dilation: tuple[int, int]
    groups: int
    pad_value: int
    kernel_layout: KernelLayout

    @property
    def depth(self) -> int:
        """Channels of the map."""
        return self.weights.shape[2] * (1 if self.depthwise else self.groups)

    @property
    def depthwise(self) -> bool:
        """Whether each input channel has its own filters."""
        return self.kernel_layout == "HWOI"

    @property
    def grouped(self) -> bool:
        """Whether channels are in groups, each with filters of its own; not so of a depthwise convolution."""
        return self.groups > 1 and not self.depthwise

    @property
    def channels(self) -> int:
        """Output channels."""
        own = self.weights.shape[2] if self.depthwise else 1
        return self.weights.shape[3] * own

    @property
    def weights_by_output(self) -> Weights:
        """The weights that each output channel sums with, shape (channels, ...)."""
        if self.depthwise:
            return self.weights.reshape(-1, self.channels).T
        return self.weights.reshape(-1, self.weights.shape[3]).T

    def result(self, *inputs: Tensor) -> Tensor:
        """A map of as many pixels as there are windows."""
        batch, rows, columns, _ = inputs[0].shape
        window = self.weights.shape[0], self.weights.shape[1]
        rows, columns = windows.outputs((rows, columns), window, self.strides, self.padding, self.dilation)
        return Tensor((batch, rows, columns, self.channels), self.dtype)

    def sums(self, x: Array) -> Array:
        """The sums of products; float64 holds them exactly."""
        _, *counts, _ = self.result(Tensor(x.shape, str(x.dtype))).shape
        rows, columns = counts
        wide = windows.padded(x, self.padding, self.pad_value).astype(np.float64)
        total = np.zeros((len(x), rows, columns, self.channels))
        for row, column in np.ndindex(*self.weights.shape[:2]):
            place = row * self.dilation[0], column * self.dilation[1]
            seen = windows.taken(wide, place, (rows, columns), self.strides)
            filters = self.weights[row, column].astype(np.float64)
            if self.depthwise:
                total += (seen[..., None] * filters).reshape(total.shape)
            else:
                parts = zip(np.split(seen, self.groups, axis=3), np.split(filters, self.groups, axis=1), strict=True)
                total += np.concatenate([part @ own for part, own in parts], axis=3)
        return total

    def accumulator(self, x: Range) -> tuple[Int64Array, Int64Array]:
        """From the signs of the weights."""
        taps = self.weights.shape[0] * self.weights.shape[1]
        if any(self.padding):
            x = Range(np.minimum(x.low, self.pad_value), np.maximum(x.high, self.pad_value))
        weights = self.weights.reshape(taps, *self.weights.shape[2:]).astype(np.int64)
        if self.grouped:
            return _in_groups(weights, x, self.groups)
        if not self.depthwise:
            return weighted(weights.reshape(-1, weights.shape[2]), Range(np.tile(x.low, taps), np.tile(x.high, taps)))
        positive, negative = np.maximum(weights, 0).sum(axis=0), np.minimum(weights, 0).sum(axis=0)
        low = positive * x.low[:, None] + negative * x.high[:, None]
        high = positive * x.high[:, None] + negative * x.low[:, None]
        return low.reshape(-1), high.reshape(-1)

    @property
    def padding_value(self) -> int | None:
        """That of padding, if there is any."""
        return self.pad_value if any(self.padding) else None

    @property
    def growth(self) -> Int64Array:
        """The sums of each channel's weights."""
        return self.weights_by_output.sum(axis=1, dtype=np.int64)

    def unsigned(self, inputs: Sequence[Stored], more: int | None) -> Operator:
        """Padding grows with the input."""
        return super(Convolution, replace(self, pad_value=self.pad_value + inputs[0].more)).unsigned(inputs, more)

    def layer(self, result: Tensor, inputs: Sequence[Known]) -> Described | Refused | None:
        """A convolution, a depthwise one, or one in groups."""
        (x,) = inputs
        batch, oy, ox, k = result.shape
        c = x.shape[3] // self.groups
        fy, fx = self.weights.shape[:2]
        op = self._op()
        if batch != 1:
            return Refused(op, not_one_map(x), batch * oy * ox * k * c * fy * fx)
        layer = windowed(op, x, result, (fy, fx), self.strides, self.dilation, self.padding)
        pad_value = self.pad_value if any(layer.padding) else 0
        layer = replace(layer, c=c, weight_dtype="int8", pad_value=pad_value, clip=self.requantization.clip)
        if self.depthwise:  # (FY, FX, channels, outputs of each)
            weights = self.weights.transpose(2, 3, 0, 1).reshape(k, fy, fx, 1)
        else:
            weights = self.weights.transpose(3, 0, 1, 2)
        if op is Op.GROUPED_CONV2D:
            together = _groups_together(self.groups, c)
            own = k // self.groups * together
            layer = replace(layer, k=self.groups // together, c=c * together, attributes=ChannelGroups(own, c))
            weights = _joined(weights, self.groups, together)
        return self._described(layer, np.ascontiguousarray(weights), x)

    def _op(self) -> Op:
        if self.groups == 1:
            return Op.CONV2D
        return Op.DEPTHWISE_CONV2D if self.depthwise and self.channels == self.groups else Op.GROUPED_CONV2D

    def work(self, result: Tensor, inputs: Sequence[Tensor]) -> Work:
        """Each output sums as many products as its filter has weights."""
        own, taps = super().work(result, inputs), math.prod(self.weights.shape[:2])
        return replace(own, op=self._op(), macs=result.elements * taps * (self.depth // self.groups))


@dataclass(frozen=True, eq=False, kw_only=True)
class Dense(Accumulation):
    """A product of x (N, C), of 8 or 16 bits, with weights (K, C), transposed."""

    called: ClassVar[str] = "dense"

    weights: Weights

    @property
    def depth(self) -> int:
        """Elements of a row of x."""
        return self.weights.shape[1]

    def result(self, *inputs: Tensor) -> Tensor:
        """One row for each of x."""
        return Tensor((inputs[0].shape[0], len(self.weights)), self.dtype)

    def sums(self, x: Array) -> Array:
        """The sums of products; float64 holds them exactly."""
        return x.astype(np.float64) @ self.weights.T.astype(np.float64)

    def accumulator(self, x: Range) -> tuple[Int64Array, Int64Array]:
        """From the signs of the weights."""
        return weighted(self.weights.T.astype(np.int64), x)

    @property
    def growth(self) -> Int64Array:
        """The sums of each channel's weights."""
        return self.weights.sum(axis=1, dtype=np.int64)

    def layer(self, result: Tensor, inputs: Sequence[Known]) -> Described | Refused | None:
        """A dense layer, whose rows lie along OX."""
        (x,) = inputs
        rows, c = x.shape
        k = len(self.weights)
        layer = Layer(
            name=Op.DENSE.value,
            op=Op.DENSE,
            k=k,
            c=c,
            oy=1,
            ox=rows,
            iy=1,
            ix=rows,
            input_dtype=x.dtype,
            output_dtype=result.dtype,
            clip=self.requantization.clip,
        )
        return self._described(layer, self.weights.reshape(k, 1, 1, c), x)

    def work(self, result: Tensor, inputs: Sequence[Tensor]) -> Work:
        """Each output sums a product for each element of the row."""
        return replace(super().work(result, inputs), op=Op.DENSE, macs=result.elements * self.depth)


@dataclass(frozen=True, eq=False, kw_only=True)
class Average(Accumulation):
    """The sums of windows of a map (N, H, W, C), requantized to their mean in the output's scale.

    whole_map: whether the window is the whole map.
    """

    called: ClassVar[str] = "average"

    window: tuple[int, int]
    strides: tuple[int, int]
    whole_map: bool

    @property
    def depth(self) -> int:
        """Channels of the map."""
        return self.requantization.channels

    def result(self, *inputs: Tensor) -> Tensor:
        """A map of as many pixels as there are windows."""
        batch, rows, columns, channels = inputs[0].shape
        return Tensor((batch, *windows.outputs((rows, columns), self.window, self.strides), channels), self.dtype)

    def sums(self, x: Array) -> Array:
        """The sums of windows."""
        rows, columns = windows.outputs((x.shape[1], x.shape[2]), self.window, self.strides)
        total = np.zeros((len(x), rows, columns, x.shape[3]), np.int64)
        for place in np.ndindex(*self.window):
            total += windows.taken(x, place, (rows, columns), self.strides)
        return total

    def accumulator(self, x: Range) -> tuple[Int64Array, Int64Array]:
        """The largest value as often as a window has pixels."""
        count = self.window[0] * self.window[1]
        return count * x.low, count * x.high

    @property
    def growth(self) -> Int64Array:
        """The pixels of a window."""
        return np.full(self.requantization.channels, self.window[0] * self.window[1], np.int64)

    def layer(self, result: Tensor, inputs: Sequence[Known]) -> Described | Refused | None:
        """An average pooling."""
        (x,) = inputs
        if x.shape[0] != 1:
            return Refused(Op.AVG_POOL2D, not_one_map(x))
        layer = windowed(Op.AVG_POOL2D, x, result, self.window, self.strides)
        return self._described(replace(layer, clip=self.requantization.clip), None, x)

    def work(self, result: Tensor, inputs: Sequence[Tensor]) -> Work:
        """It reads every element of each window."""
        return replace(super().work(result, inputs), combined=result.elements * math.prod(self.window))


def weighted(weights: Int64Array, x: Range) -> tuple[Int64Array, Int64Array]:
    """Bounds of ``x @ weights`` for weights (inputs, outputs)."""
    positive, negative = np.maximum(weights, 0), np.minimum(weights, 0)
    return x.low @ positive + x.high @ negative, x.high @ positive + x.low @ negative


def _in_groups(weights: Int64Array, x: Range, groups: int) -> tuple[Int64Array, Int64Array]:
    """Bounds of the sums of a grouped convolution, weights (taps, inputs of a group, outputs of all groups)."""
    taps, inputs, outputs = weights.shape
    each = weights.reshape(taps * inputs, groups, outputs // groups)
    low, high = (np.tile(ends.reshape(groups, inputs), taps) for ends in (x.low, x.high))
    bounds = [weighted(each[:, group], Range(low[group], high[group])) for group in range(groups)]
    return np.concatenate([first for first, _ in bounds]), np.concatenate([last for _, last in bounds])


def _groups_together(groups: int, channels: int) -> int:
    """Number of groups, of `channels` input channels each, to merge into one of at least `WORD` channels, if possible.

    Zeros fill the filters of the merged group. Kernels compute a word of channels as fast as one channel, and fetch
    windows group by group.
    """
    return min((count for count in range(1, groups) if groups % count == 0 and count * channels >= WORD), default=1)


def _joined(weights: Weights, groups: int, together: int) -> Weights:
    """Filters (K, FY, FX, C) of groups as those of fewer groups, zeros where a filter has no input channel."""
    outputs, *window, channels = weights.shape
    joined = np.zeros((outputs, *window, together, channels), weights.dtype)
    filters = np.arange(outputs, dtype=np.intp)
    joined[filters, ..., filters // (outputs // groups) % together, :] = weights
    return joined.reshape(outputs, *window, together * channels)


def unchanged(channels: int) -> Requantization:
    """Sums as they are."""
    ones, zeros = np.ones(channels, np.int64), np.zeros(channels, np.int64)
    return Requantization(ones, zeros, zeros, value_range(SUMS))
