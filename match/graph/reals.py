"""Operators on real numbers, float32, as a quantized network has them between dequantize and quantize.

They say what a network computes before integers stand for it (`match.rewrites.quantized_groups`). The control core
computes in floating point what is left then.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from match.arithmetic.element_functions import Step
from match.graph import windows
from match.graph.elements import OfElements
from match.graph.operator import Array, Operator
from match.graph.work import Loop, Work
from match.ir.graph import Tensor
from match.ir.layer import Op, Padding

REAL = "float32"


@dataclass(frozen=True, eq=False, kw_only=True)
class Levels(Operator):
    """Constant integers that stand for real numbers.

    levels: the integers, of 8 or 32 bits.
    scales, zero_points: one, or one for each index along `axis`, shapes (1,) or (n,).
    """

    called: ClassVar[str] = "levels"

    levels: npt.NDArray[Any]
    scales: npt.NDArray[np.float32]
    zero_points: npt.NDArray[np.int64]
    axis: int = 0

    def result(self, *inputs: Tensor) -> Tensor:
        """Real numbers of the integers' shape."""
        del inputs
        return Tensor(self.levels.shape, REAL)

    def compute(self, *inputs: Array) -> Array:
        """The real numbers."""
        del inputs
        steps = self.levels.astype(np.int64) - self.along(self.zero_points)
        return steps.astype(np.float32) * self.along(self.scales)

    def along(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The numbers, one for each index of the axis or a single one, in a shape that broadcasts with the integers."""
        if values.size == 1:
            return values.reshape([1] * self.levels.ndim)
        return values.reshape([-1 if axis == self.axis else 1 for axis in range(self.levels.ndim)])


@dataclass(frozen=True, eq=False, kw_only=True)
class RealConvolution(Operator):
    """A convolution of a map (N, H, W, C) by filters (K, C / groups, FY, FX), plus a bias (K,) if there is one."""

    called: ClassVar[str] = "real_convolution"

    strides: tuple[int, int]
    padding: Padding
    dilation: tuple[int, int]
    groups: int

    def result(self, *inputs: Tensor) -> Tensor:
        """A map of as many pixels as there are windows."""
        batch, rows, columns, _ = inputs[0].shape
        outputs, _, *window = inputs[1].shape
        size = window[0], window[1]
        counts = windows.outputs((rows, columns), size, self.strides, self.padding, self.dilation)
        return Tensor((batch, *counts, outputs), REAL)

    def compute(self, *inputs: Array) -> Array:
        """The sums; runtimes add up in other orders, which changes last bits."""
        x, filters, *bias = inputs
        tensors = (Tensor(x.shape, REAL), Tensor(filters.shape, REAL))
        _, rows, columns, outputs = self.result(*tensors).shape
        wide = windows.padded(x, self.padding, 0)
        total = np.zeros((len(x), rows, columns, outputs), np.float32)
        for row, column in np.ndindex(*filters.shape[2:]):
            place = row * self.dilation[0], column * self.dilation[1]
            seen = windows.taken(wide, place, (rows, columns), self.strides)
            parts = zip(np.split(seen, self.groups, 3), np.split(filters[:, :, row, column], self.groups), strict=True)
            total += np.concatenate([part @ own.T for part, own in parts], axis=3)
        return total + bias[0] if bias else total

    def work(self, result: Tensor, inputs: Sequence[Tensor]) -> Work:
        """Each output sums as many products as a filter has weights."""
        macs = result.elements * math.prod(inputs[1].shape[1:])
        return _products("nn.conv2d", Op.CONV2D if self.groups == 1 else Op.DEPTHWISE_CONV2D, macs)


@dataclass(frozen=True, eq=False, kw_only=True)
class RealTransposed(Operator):
    """A transposed convolution of a map (N, H, W, C) by filters (C, K / groups, FY, FX), plus a bias (K,) if any.

    padding: rows and columns that are cut off the outputs. spare: rows and columns that are added after them.
    """

    called: ClassVar[str] = "real_transposed"

    strides: tuple[int, int]
    padding: Padding
    spare: tuple[int, int]
    groups: int

    def result(self, *inputs: Tensor) -> Tensor:
        """A map of as many pixels as all windows cover, but for those that are cut off."""
        batch, *extents, _ = inputs[0].shape
        _, outputs, *window = inputs[1].shape
        cut = self.padding.top + self.padding.bottom, self.padding.left + self.padding.right
        parts = zip(extents, window, self.strides, cut, self.spare, strict=True)
        counts = [(extent - 1) * step + size - less + more for extent, size, step, less, more in parts]
        return Tensor((batch, *counts, outputs * self.groups), REAL)

    def compute(self, *inputs: Array) -> Array:
        """The sums; runtimes add up in other orders, which changes last bits."""
        x, filters, *bias = inputs
        _, rows, columns, outputs = self.result(Tensor(x.shape, REAL), Tensor(filters.shape, REAL)).shape
        (down, across), (height, width) = self.strides, filters.shape[2:]
        spread = max(rows + self.padding.top, x.shape[1] * down + height), columns + self.padding.left
        spread = spread[0], max(spread[1], x.shape[2] * across + width)
        total = np.zeros((len(x), *spread, outputs), np.float32)
        own = np.split(filters, self.groups)
        for row, column in np.ndindex(height, width):
            parts = zip(np.split(x, self.groups, 3), own, strict=True)
            products = np.concatenate([part @ each[:, :, row, column] for part, each in parts], axis=3)
            ends = row + (x.shape[1] - 1) * down + 1, column + (x.shape[2] - 1) * across + 1
            total[:, row : ends[0] : down, column : ends[1] : across] += products
        top, left = self.padding.top, self.padding.left
        total = total[:, top : top + rows, left : left + columns]
        return total + bias[0] if bias else total

    def work(self, result: Tensor, inputs: Sequence[Tensor]) -> Work:
        """Each input is multiplied with all weights of its channel."""
        macs = inputs[0].elements * math.prod(inputs[1].shape[1:])
        return _products("nn.conv2d_transpose", Op.CONV2D if self.groups == 1 else Op.DEPTHWISE_CONV2D, macs)


@dataclass(frozen=True, eq=False, kw_only=True)
class RealProduct(Operator):
    """Rows (..., C) times a matrix (C, K), plus a bias (K,) if there is one."""

    called: ClassVar[str] = "real_product"

    def result(self, *inputs: Tensor) -> Tensor:
        """The rows' axes but the last one, then K."""
        return Tensor((*inputs[0].shape[:-1], inputs[1].shape[-1]), REAL)

    def compute(self, *inputs: Array) -> Array:
        """The sums."""
        x, matrix, *bias = inputs
        total = (x @ matrix).astype(np.float32)
        return total + bias[0] if bias else total

    def work(self, result: Tensor, inputs: Sequence[Tensor]) -> Work:
        """A dense layer's."""
        return _products("nn.dense", Op.DENSE, result.elements * inputs[0].shape[-1])


@dataclass(frozen=True, eq=False, kw_only=True)
class RealMatrices(Operator):
    """Products of a (batch, rows, C) with b (batch, columns, C), transposed."""

    called: ClassVar[str] = "real_matrices"

    def result(self, *inputs: Tensor) -> Tensor:
        """A matrix of rows and columns for each pair."""
        (batch, rows, _), (_, columns, _) = (x.shape for x in inputs)
        return Tensor((batch, rows, columns), REAL)

    def compute(self, *inputs: Array) -> Array:
        """The sums."""
        a, b = inputs
        return (a @ b.swapaxes(1, 2)).astype(np.float32)

    def work(self, result: Tensor, inputs: Sequence[Tensor]) -> Work:
        """It counts as a dense layer."""
        return _products("nn.batch_matmul", Op.DENSE, result.elements * inputs[0].shape[-1])


@dataclass(frozen=True, eq=False, kw_only=True)
class RealAverage(Operator):
    """The means of windows of a map (N, H, W, C).

    counts_padding: padding is counted as zeros, else not at all.
    written_as: the model's operator, as runtimes compute means of windows and of whole maps in their ways.
    """

    called: ClassVar[str] = "real_average"

    window: tuple[int, int]
    strides: tuple[int, int]
    padding: Padding = Padding()
    counts_padding: bool = False
    written_as: Literal["windows", "map"] = "windows"

    def result(self, *inputs: Tensor) -> Tensor:
        """A map of as many pixels as there are windows."""
        batch, rows, columns, channels = inputs[0].shape
        counts = windows.outputs((rows, columns), self.window, self.strides, self.padding)
        return Tensor((batch, *counts, channels), REAL)

    def compute(self, *inputs: Array) -> Array:
        """The means."""
        (x,) = inputs
        _, rows, columns, _ = self.result(Tensor(x.shape, REAL)).shape

        def summed(numbers: Array) -> Array:
            wide = windows.padded(numbers, self.padding, 0)
            places = np.ndindex(*self.window)
            return sum((windows.taken(wide, place, (rows, columns), self.strides) for place in places), np.zeros(()))

        counts = math.prod(self.window) if self.counts_padding else summed(np.ones_like(x))
        return (summed(x) / counts).astype(np.float32)

    def work(self, result: Tensor, inputs: Sequence[Tensor]) -> Work:
        """It reads every element of each window."""
        own, combined = super().work(result, inputs), result.elements * math.prod(self.window)
        return replace(own, name="nn.avg_pool2d", combined=combined)


@dataclass(frozen=True, eq=False, kw_only=True)
class RealClip(OfElements):
    """Real numbers between two limits, which may be infinite; others become the nearer limit."""

    called: ClassVar[str] = "real_clip"
    elementwise: ClassVar[bool] = True
    loop: ClassVar[Loop] = Loop.ELEMENTS

    low: float
    high: float
    dtype: str = REAL

    def compute(self, *inputs: Array) -> Array:
        """The nearer limit of what is beyond; if that is 0 alone, 0 in the place of what is no number."""
        if (self.low, self.high) == (0, math.inf):
            return np.where(inputs[0] > 0, inputs[0], np.float32(0))
        return inputs[0].clip(np.float32(self.low), np.float32(self.high))

    def work(self, result: Tensor, inputs: Sequence[Tensor]) -> Work:
        """Called as Relay calls it."""
        name = "nn.relu" if (self.low, self.high) == (0, math.inf) else "clip"
        return replace(super().work(result, inputs), name=name)


@dataclass(frozen=True, eq=False, kw_only=True)
class RealFunction(Operator):
    """A function of `match.arithmetic.element_functions` of real numbers, element by element; inputs are broadcast."""

    called: ClassVar[str] = "real_function"
    elementwise: ClassVar[bool] = True
    loop: ClassVar[Loop] = Loop.ELEMENTS

    function: str
    dtype: str = REAL

    def result(self, *inputs: Tensor) -> Tensor:
        """The shape that all inputs are broadcast to."""
        return Tensor(np.broadcast_shapes(*(x.shape for x in inputs)), self.dtype)

    def compute(self, *inputs: Array) -> Array:
        """The function, rounded to float32."""
        return Step(self.function, (), (), self.dtype)(inputs)

    def work(self, result: Tensor, inputs: Sequence[Tensor]) -> Work:
        """Called by the function."""
        return replace(super().work(result, inputs), name=self.function)


def _products(name: str, op: Op, macs: int) -> Work:
    """What the control core does for a layer in floating point."""
    return Work(name, Loop.PRODUCTS, op, macs, floating=True)
