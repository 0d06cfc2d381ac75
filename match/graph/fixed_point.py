"""What TFLite Micro computes in fixed point, and the control core alone: no module has kernels of these operators.

A scale is a mantissa and an exponent, int64 of shape (2,) or (2, n) for n channels: numbers are multiplied by
``mantissa * 2**(exponent - 31)`` with TFLite Micro's two roundings (`match.arithmetic.tflite.multiply_by`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from match.arithmetic.fixed_point import inverse_square_root, logarithm, product, shifted_right
from match.arithmetic.tflite import ADD_LEFT_SHIFT, multiply_by
from match.graph.elements import OfElements
from match.graph.operator import Array, Operator, Stored
from match.graph.work import Loop, Work
from match.ir.dtypes import value_range
from match.ir.graph import Tensor
from match.ir.layer import Op
from match.ir.requantization import Int64Array

LOG_BITS = 31 - 5 - 4
"""Bits of a logarithm that an output lacks: 5 are in front of the point, and 4 of the output after it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Narrowed(Operator):
    """What all of them have: 32 bits plus `zero`, the output's zero point, clipped to `clip`, in `dtype`."""

    zero: int
    clip: tuple[int, int]
    dtype: str

    def narrowed(self, x: Int64Array) -> Array:
        """The outputs of numbers of 32 bits."""
        return (x + self.zero).clip(*self.clip).astype(self.dtype)

    def raised(self, more: int | None) -> dict[str, Any]:
        """The fields of the operator whose result is stored larger (`Operator.unsigned`)."""
        if more is None:
            return {}
        low, high = self.clip
        return {"zero": self.zero + more, "clip": (low + more, high + more), "dtype": "uint8"}


@dataclass(frozen=True, eq=False, kw_only=True)
class NarrowedElements(Narrowed):
    """Such an operator whose inputs are broadcast."""

    elementwise: ClassVar[bool] = True
    loop: ClassVar[Loop] = Loop.ELEMENTS

    def result(self, *inputs: Tensor) -> Tensor:
        """The shape that all inputs are broadcast to."""
        return Tensor(np.broadcast_shapes(*(x.shape for x in inputs)), self.dtype)


@dataclass(frozen=True, eq=False, kw_only=True)
class Rescale(NarrowedElements):
    """Integers of at most 32 bits less `zero_point`, in another scale."""

    called: ClassVar[str] = "rescale"

    zero_point: int
    scale: Int64Array

    def compute(self, *inputs: Array) -> Array:
        """The scaled numbers."""
        return self.narrowed(multiply_by(inputs[0].astype(np.int64) - self.zero_point, *self.scale))

    def unsigned(self, inputs: Sequence[Stored], more: int | None) -> Operator:
        """The zero points grow."""
        return replace(self, zero_point=self.zero_point + inputs[0].more, **self.raised(more))


@dataclass(frozen=True, eq=False, kw_only=True)
class Prelu(NarrowedElements):
    """Numbers less their zero point: scaled from 0 on, below times the second input's and scaled.

    zero_points: of both inputs. above, below: the two scales.
    """

    called: ClassVar[str] = "prelu"

    zero_points: tuple[int, int]
    above: Int64Array
    below: Int64Array

    def compute(self, *inputs: Array) -> Array:
        """The scaled numbers."""
        x, slopes = (one.astype(np.int64) - zero for one, zero in zip(inputs, self.zero_points, strict=True))
        return self.narrowed(np.where(x >= 0, multiply_by(x, *self.above), multiply_by(x * slopes, *self.below)))

    def unsigned(self, inputs: Sequence[Stored], more: int | None) -> Operator:
        """The zero points grow."""
        return replace(self, zero_points=_larger(self.zero_points, inputs), **self.raised(more))


@dataclass(frozen=True, eq=False, kw_only=True)
class SquaredDistance(NarrowedElements):
    """The square of the difference of two tensors of 16 bits.

    scales: (3, 2), of the first tensor, of the second, and of the square.
    """

    called: ClassVar[str] = "squared_distance"

    scales: Int64Array

    def compute(self, *inputs: Array) -> Array:
        """The scaled squares."""
        a, b = (multiply_by(x.astype(np.int64), *scale) for x, scale in zip(inputs, self.scales[:2], strict=True))
        return self.narrowed(multiply_by((a - b) ** 2, *self.scales[2]))


@dataclass(frozen=True, eq=False, kw_only=True)
class SumOfScaled(Narrowed):
    """What both sums have: addends of 8 bits with one quantization, and two scales.

    scales: (2, 2), of an addend less `zero_point` and shifted left by `match.arithmetic.tflite.ADD_LEFT_SHIFT`, and of
        the sum.
    """

    zero_point: int
    scales: Int64Array

    @property
    def start(self) -> int:
        """The number that the kernel begins with: 0 less the zero point, scaled as an addend."""
        return int(multiply_by(np.array([-self.zero_point << ADD_LEFT_SHIFT]), *self.scales[0])[0])

    def addend(self, x: Array) -> Int64Array:
        """The scaled numbers of a tensor."""
        return multiply_by((x.astype(np.int64) - self.zero_point) << ADD_LEFT_SHIFT, *self.scales[0])


@dataclass(frozen=True, eq=False, kw_only=True)
class Sum(SumOfScaled, NarrowedElements):
    """The sum of any number of tensors."""

    called: ClassVar[str] = "sum"

    def compute(self, *inputs: Array) -> Array:
        """The scaled sum."""
        total = np.int64(self.start)
        for x in inputs:
            total = total + self.addend(x)
        return self.narrowed(multiply_by(np.asarray(total), *self.scales[1]))


@dataclass(frozen=True, eq=False, kw_only=True)
class RunningSum(SumOfScaled):
    """At each place along an axis the sum of all elements up to there.

    exclusive: without the element itself. backwards: from the last element on.
    """

    called: ClassVar[str] = "running_sum"

    axis: int
    exclusive: bool
    backwards: bool

    def result(self, *inputs: Tensor) -> Tensor:
        """The input's shape."""
        return Tensor(inputs[0].shape, self.dtype)

    def compute(self, *inputs: Array) -> Array:
        """The scaled sums, which the kernel keeps in 32 bits."""
        x = self.addend(inputs[0])
        x = np.flip(x, self.axis) if self.backwards else x
        sums = x.cumsum(self.axis) - (x if self.exclusive else 0)
        sums = np.flip(sums, self.axis) if self.backwards else sums
        kept = (sums + self.start).astype(np.int32).astype(np.int64)
        return self.narrowed(multiply_by(kept, *self.scales[1]))


@dataclass(frozen=True, eq=False, kw_only=True)
class BiasedMatrices(Narrowed):
    """A matrix (rows, C) times another one (columns, C), transposed, less their zero points, plus a bias (columns,).

    The bias is the third input, int32.
    """

    called: ClassVar[str] = "biased_matrices"
    loop: ClassVar[Loop] = Loop.PRODUCTS

    zero_points: tuple[int, int]
    scale: Int64Array

    def result(self, *inputs: Tensor) -> Tensor:
        """Rows and columns."""
        return Tensor((inputs[0].shape[0], inputs[1].shape[0]), self.dtype)

    def compute(self, *inputs: Array) -> Array:
        """The scaled sums of products, which wrap around as 32 bits do."""
        a, b = (x.astype(np.int64) - zero for x, zero in zip(inputs[:2], self.zero_points, strict=True))
        sums = (a @ b.T + inputs[2]).astype(np.int32).astype(np.int64)
        return self.narrowed(multiply_by(sums, *self.scale))

    def unsigned(self, inputs: Sequence[Stored], more: int | None) -> Operator:
        """The zero points grow; the bias has 32 bits."""
        return replace(self, zero_points=_larger(self.zero_points, inputs), **self.raised(more))

    def work(self, result: Tensor, inputs: Sequence[Tensor]) -> Work:
        """Each output sums a product for each element of a row."""
        return replace(super().work(result, inputs), op=Op.DENSE, macs=result.elements * inputs[0].shape[-1])


def _larger(zero_points: tuple[int, int], inputs: Sequence[Stored]) -> tuple[int, int]:
    """The zero points of two inputs that are stored larger."""
    first, second = zero_points
    return first + inputs[0].more, second + inputs[1].more


@dataclass(frozen=True, eq=False, kw_only=True)
class UnitLength(Narrowed):
    """Rows of numbers of 8 bits less `zero_point`, divided by their length, in steps of 1/128."""

    called: ClassVar[str] = "unit_length"

    zero_point: int

    def result(self, *inputs: Tensor) -> Tensor:
        """The input's shape."""
        return Tensor(inputs[0].shape, self.dtype)

    def compute(self, *inputs: Array) -> Array:
        """The numbers times the inverse square root of the sum of their squares."""
        x = inputs[0].astype(np.int64) - self.zero_point
        multiplier, shift = inverse_square_root((x * x).sum(axis=-1, keepdims=True))
        left, right = np.maximum(7 - shift, 0), np.maximum(shift - 7, 0)
        return self.narrowed(shifted_right(product(x << left, multiplier), right))

    def unsigned(self, inputs: Sequence[Stored], more: int | None) -> Operator:
        """The zero points grow."""
        return replace(self, zero_point=self.zero_point + inputs[0].more, **self.raised(more))


@dataclass(frozen=True, eq=False, kw_only=True)
class LogarithmOfSoftmax(OfElements):
    """The logarithm of a softmax of rows of 8 bits, in steps of 1/16 below the largest value of the type.

    exponentials: int64 (256,), by the distance to the row's largest element, with 12 bits in front of the point.
    distances: int64 (256,), the distances times the input's scale, below 0, with 5 bits in front of the point.
    least: one more than the largest distance that fits, below 0. divisor: a scale, what brings such a number back to a
        distance.
    """

    called: ClassVar[str] = "logarithm_of_softmax"

    exponentials: Int64Array
    distances: Int64Array
    least: int
    divisor: Int64Array
    dtype: str

    def work(self, result: Tensor, inputs: Sequence[Tensor]) -> Work:
        """Called as the operator of modules is that computes other steps of the same function."""
        return replace(super().work(result, inputs), name=Op.LOG_SOFTMAX.value)

    def compute(self, *inputs: Array) -> Array:
        """Distances less the logarithm of the sum; those that are too far are the smallest value."""
        x = inputs[0].astype(np.int64)
        distance = x.max(axis=-1, keepdims=True) - x
        total = logarithm(self.exponentials[distance].sum(axis=-1, keepdims=True))
        bound = np.maximum(multiply_by(total - (1 << 31), *self.divisor), self.least)
        low, high = value_range(self.dtype)
        levels = shifted_right(self.distances[distance] - total, LOG_BITS) + high
        return np.where(-distance > bound, levels, low).clip(low, high).astype(self.dtype)

    def unsigned(self, inputs: Sequence[Stored], more: int | None) -> Operator:
        """Distances stay, and so does the place of the largest value."""
        del inputs
        return self if more is None else replace(self, dtype="uint8")
