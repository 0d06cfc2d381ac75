"""What a reference computes where it leaves integers: the interface that the integerization is written to.

`match.arithmetic.tflite` and `match.arithmetic.onnxruntime` implement it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from match.ir.dtypes import levels, value_range
from match.ir.requantization import Int64Array, Requantization

Float32Array = npt.NDArray[np.float32]


@dataclass(frozen=True)
class QuantizedType:
    """Scale and zero point of an 8-bit tensor and its NumPy type: ``real = (value - zero_point) * scale``."""

    scale: np.float32
    zero_point: int
    dtype: str

    @property
    def levels(self) -> Int64Array:
        """Every value of the type, ascending, shape (256,)."""
        return levels(self.dtype)

    @property
    def limits(self) -> tuple[int, int]:
        """The smallest and the largest value of the type."""
        return value_range(self.dtype)

    @property
    def numbers(self) -> Float32Array:
        """What each of these stands for, in float32, shape (256,)."""
        return (self.levels - self.zero_point).astype(np.float32) * self.scale


@dataclass(frozen=True, eq=False)
class Accumulator:
    """What a convolution or dense layer accumulates: ``sum(x * w)`` per output channel.

    `offset` is what is added to it before scaling (bias and the input's zero point), `low` and `high` are the smallest
    and largest sums that are reachable, all int64 of shape (channels,). `weight_scale` has one entry or as many.
    The offset has `bits` after the point; a reference that computes in integers has none.
    """

    offset: Int64Array
    low: Int64Array
    high: Int64Array
    input_scale: np.float32
    weight_scale: Float32Array
    bits: int = 0


def sum_range(dtype: str, count: int) -> tuple[Int64Array, Int64Array]:
    """Smallest and largest sum of `count` values of a type, shape (1,) each."""
    limits = np.iinfo(dtype)
    return np.array([int(limits.min) * count]), np.array([int(limits.max) * count])


def product_range(a: QuantizedType, b: QuantizedType) -> tuple[Int64Array, Int64Array]:
    """Smallest and largest product of two values less their zero points, shape (1,) each."""
    products = np.multiply.outer(a.levels[[0, -1]] - a.zero_point, b.levels[[0, -1]] - b.zero_point)
    return products.min().reshape(1), products.max().reshape(1)


class SumArithmetic(Protocol):
    """How sums of products are rounded."""

    def linear(self, accumulator: Accumulator, output: QuantizedType, clip: tuple[int, int]) -> Requantization:
        """From ``sum(x * w)`` to the output of a convolution or dense layer.

        Raises:
            NoLineError: integers do not express it (`match.arithmetic.line_fit`).
        """
        ...


class Arithmetic(SumArithmetic, Protocol):
    """How one reference rounds."""

    def average(self, dtype: str, count: int, clip: tuple[int, int]) -> Requantization:
        """From the sum of `count` values to their mean in the same quantization (average pooling), one channel."""
        ...

    def mean(self, x: QuantizedType, count: int, output: QuantizedType, clip: tuple[int, int]) -> Requantization:
        """From the sum of `count` values of x to their mean in another quantization (a reduction), one channel."""
        ...

    def add(
        self, a: QuantizedType, b: QuantizedType, output: QuantizedType, clip: tuple[int, int], sign: int
    ) -> Int64Array:
        """Outputs of ``a + sign * b`` for every pair of values, shape (256, 256), indexed by the levels of a and b."""
        ...

    def multiply(
        self, a: QuantizedType, b: QuantizedType, output: QuantizedType, clip: tuple[int, int]
    ) -> Requantization:
        """From the product of two values less their zero points to the output of a multiplication, one channel."""
        ...

    def requantize(self, x: QuantizedType, output: QuantizedType, clip: tuple[int, int]) -> Int64Array:
        """Outputs of a change of scale for every value of x, shape (256,)."""
        ...
