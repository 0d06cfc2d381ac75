"""Tensors of 8 bits whose levels stand for intervals of real numbers each, and functions of one or two of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from match.arithmetic.element_functions import Values
from match.arithmetic.interface import Float32Array, QuantizedType
from match.arithmetic.onnxruntime import quantize
from match.graph.make import lookup
from match.graph.pairs import Addition, Multiplication
from match.graph.value import Value
from match.ir.requantization import Int64Array
from match.quantized.functions_of_two import function_of_two
from match.quantized.layers import limits
from match.rewrites.quantized_groups.functions import slopes_of
from match.rewrites.quantized_groups.pairs import multiplied
from match.rewrites.quantized_groups.quantities import Dequantized, as_type

Limits = tuple[int, int]
Range = tuple[float, float]
Reached = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Rounded:
    """A tensor of 8 bits, and the least and the largest number that each of its levels stands for, shape (256,).

    Both are one array where a level stands for one number. reached: the levels that the tensor has. off: how far a
    number is at most from that of its level.
    """

    x: Dequantized
    low: Float32Array
    high: Float32Array
    reached: Reached
    off: float

    @classmethod
    def exactly(cls, x: Dequantized) -> Rounded:
        """What is dequantized."""
        own, (first, last) = x.quantization, limits(x.value)
        numbers = own.numbers
        return cls(x, numbers, numbers, (first <= own.levels) & (own.levels <= last), 0)


@dataclass(frozen=True, eq=False)
class InBytes:
    """A function of one or two tensors, in 8 bits.

    outputs: of each level, or pair of levels, that is reached, shape (n,). low, high: the numbers that it stands for.
    """

    value: Value
    outputs: Int64Array
    low: Float32Array
    high: Float32Array

    def off(self, output: QuantizedType, clip: Limits) -> int:
        """Steps by which an output differs at most from a number that it stands for, when that is rounded."""
        least, most = (quantize(end, output, clip) for end in (self.low, self.high))
        return int(np.maximum(most - self.outputs, self.outputs - least).max())

    def rounded(self, own: QuantizedType) -> Rounded:
        """What each level stands for."""
        low, high = np.full(256, np.inf, np.float32), np.full(256, -np.inf, np.float32)
        levels = self.outputs - own.limits[0]
        np.minimum.at(low, levels, self.low)
        np.maximum.at(high, levels, self.high)
        reached, numbers = low <= high, own.numbers
        off = float(np.maximum(high - numbers, numbers - low)[reached].max())
        ends = np.where(reached, low, numbers), np.where(reached, high, numbers)
        return Rounded(Dequantized(self.value, own), *ends, reached, off)


@dataclass(frozen=True, eq=False)
class InNumbers:
    """A function of one or two tensors of 8 bits: its numbers for each level, or pair of levels.

    low, high: the least and the largest number that may be meant. reached: the levels, or pairs, that there are. All
    have the shape (256,) or (256, 256).
    """

    tensors: Sequence[Rounded]
    is_product: bool
    values: Float32Array
    low: Float32Array
    high: Float32Array
    reached: Reached

    @property
    def range(self) -> Range:
        """The least and the largest number of all."""
        return float(self.low[self.reached].min()), float(self.high[self.reached].max())

    def in_bytes(self, output: QuantizedType, clip: Limits) -> InBytes:
        """The function in 8 bits."""
        outputs, operands = quantize(self.values, output, clip), [tensor.x for tensor in self.tensors]
        if self.is_product:
            operands = [as_type(x, output.dtype) for x in operands]
        first, *others = operands
        if not others:
            value = lookup(first.value, outputs.astype(output.dtype), exact=False)
        elif self.is_product:
            value = multiplied(first, others[0], output, clip, exact=False)
        else:
            pair, slopes = (first.value, others[0].value), slopes_of(self.values, output)
            value = function_of_two(*pair, outputs, slopes, clip, output.dtype, close=True, exact=False)
        if isinstance(value.operator, Addition | Multiplication):  # which may round some numbers otherwise
            levels = grid([x.quantization.levels for x in operands])
            outputs = value.operator.compute(*levels).astype(np.int64)
        return InBytes(value, outputs[self.reached], self.low[self.reached], self.high[self.reached])


def grid(arrays: Sequence[Values]) -> Sequence[Values]:
    """What two tensors have, in shapes that broadcast to all pairs; one as it is."""
    return arrays if len(arrays) == 1 else (arrays[0][:, None], arrays[1][None, :])
