"""Operators of two activations: sums, products, differences, extrema, matrices."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from match.arithmetic.tflite import multiply_by
from match.graph.broadcasting import Pair, paired
from match.graph.layers import UNSCALED, element_wise, scaling_words, without_idle_parts, words_of_line
from match.graph.operator import Array, Described, Known, Operator, Range, Refused, Requantized, Stored
from match.graph.work import Loop, Work
from match.ir.constants import (
    LOOKUP_LINE_FRACTION,
    LOOKUP_SUM_FRACTION,
    Addends,
    LayerConstants,
    Lines,
    Steps,
    Structure,
    Summands,
    ZeroPoints,
)
from match.ir.dtypes import value_range
from match.ir.graph import Tensor
from match.ir.layer import Layer, Op
from match.ir.requantization import Int64Array, Requantization

LEFT_SHIFT = 15
"""Bits by which both operands of an `Int16Addition` are shifted left before they are scaled."""

_PRODUCT = 31
"""Bits of a product of two numbers of 16 bits."""


class ElementWise(Operator):
    """An operator of two tensors, element by element; either may be broadcast."""

    elementwise: ClassVar[bool] = True
    loop: ClassVar[Loop] = Loop.ELEMENTS
    symmetric: ClassVar[bool] = True
    """Whether operands may change places, and their numbers with them."""

    dtype: str

    @property
    def op(self) -> Op:
        """What it is as a layer: in 8 bits, it is called so."""
        return Op(self.called)

    def result(self, *inputs: Tensor) -> Tensor:
        """The shape that both operands are broadcast to."""
        a, b = inputs
        return Tensor(np.broadcast_shapes(a.shape, b.shape), self.dtype)

    def layer(self, result: Tensor, inputs: Sequence[Known]) -> Described | Refused:
        """A layer with both operands in an order that it can have."""
        pair = paired(self.op, result, inputs, symmetric=self.symmetric)
        if isinstance(pair, Refused):
            return pair
        layer = pair.with_broadcast(element_wise(self.op, pair.extents, inputs[pair.order[0]].dtype, self.dtype))
        return self._described(layer, pair, [inputs[number] for number in pair.order])

    @abstractmethod
    def _described(self, layer: Layer, pair: Pair, inputs: Sequence[Known]) -> Described | Refused:
        """The layer and its constants, for inputs in its order."""


class Clipped(ElementWise):
    """One whose outputs are clipped."""

    clip: tuple[int, int]

    @property
    def lowest(self) -> int | None:
        """The lower end of the clip."""
        return self.clip[0]

    def _raised(self, more: int | None) -> dict[str, Any]:
        """The clip and the type if its outputs become larger (`Operator.unsigned`)."""
        low, high = self.clip
        return {} if more is None else {"clip": (low + more, high + more), "dtype": "uint8"}


@dataclass(frozen=True, eq=False, kw_only=True)
class Addition(Clipped):
    """``clip((a * multipliers[0] + b * multipliers[1] + bias) >> shift)`` of two tensors of 8 bits.

    ties_to_even: halves go to the even output (`match.ir.requantization.Requantization`).
    """

    called: ClassVar[str] = "add"

    multipliers: tuple[int, int]
    bias: int
    shift: int
    clip: tuple[int, int]
    dtype: str
    ties_to_even: bool = False

    @property
    def requantization(self) -> Requantization:
        """That of the sum of both tensors times their multipliers: one channel."""
        one, bias, shift = (np.array([value], np.int64) for value in (1, self.bias, self.shift))
        ties = np.array([True]) if self.ties_to_even else None
        return Requantization(one, bias, shift, self.clip, ties_to_even=ties)

    def compute(self, *inputs: Array) -> Array:
        """The requantized sums."""
        a, b = (x.astype(np.int64) * factor for x, factor in zip(inputs, self.multipliers, strict=True))
        return self.requantization(a + b).astype(self.dtype)

    def values(self, result: Tensor, inputs: Sequence[Known]) -> Range | None:
        """What becomes of the smallest and the largest sum."""
        del result
        low, high = np.zeros(1, np.int64), np.zeros(1, np.int64)
        for x, multiplier in zip(inputs, self.multipliers, strict=True):
            if x.values is None:
                return None
            ends = multiplier * x.values.low, multiplier * x.values.high
            low, high = low + np.minimum(*ends), high + np.maximum(*ends)
        return Range(self.requantization(low), self.requantization(high))

    def unsigned(self, inputs: Sequence[Stored], more: int | None) -> Operator:
        """The bias takes off what products grow by."""
        growth = sum(x.more * factor for x, factor in zip(inputs, self.multipliers, strict=True))
        bias = self.bias + ((more or 0) << self.shift) - growth
        return replace(self, bias=bias, **self._raised(more))

    def in_form(self, constants: LayerConstants, order: tuple[int, ...]) -> Operator:
        """With other multipliers and another requantization."""
        multipliers, requantization = constants.get(Addends), constants.requantization
        assert multipliers is not None, "an addition has multipliers"
        assert requantization is not None, "an addition is requantized"
        first, second = (multipliers[order.index(number)] for number in (0, 1))
        return ScaledSum(multipliers=(first, second), requantization=requantization, dtype=self.dtype)

    def _described(self, layer: Layer, pair: Pair, inputs: Sequence[Known]) -> Described:
        low, high = 0, 0
        first, second = (self.multipliers[number] for number in pair.order)
        spans = [x.range.ends for x in inputs]
        for span, multiplier in zip(spans, (first, second), strict=True):
            low, high = low + int((multiplier * span).min()), high + int((multiplier * span).max())
        bounds = int(min(span[0] for span in spans)), int(max(span[1] for span in spans))
        layer = replace(layer, clip=self.clip, input_range=bounds)
        constants = LayerConstants(Addends(first, second), self.requantization)
        return Described(layer, constants, (np.array([low], np.int64), np.array([high], np.int64)), pair.order)


@dataclass(frozen=True, eq=False, kw_only=True)
class ScaledSum(Operator):
    """An addition as a module computes it: two tensors of 8 bits times integers, their sum requantized once."""

    called: ClassVar[str] = "scaled_sum"

    multipliers: tuple[int, int]
    requantization: Requantization
    dtype: str

    def result(self, *inputs: Tensor) -> Tensor:
        """The shape that both operands are broadcast to."""
        a, b = inputs
        return Tensor(np.broadcast_shapes(a.shape, b.shape), self.dtype)

    def compute(self, *inputs: Array) -> Array:
        """The requantized sums."""
        a, b = (x.astype(np.int64) * factor for x, factor in zip(inputs, self.multipliers, strict=True))
        return self.requantization(a + b).astype(self.dtype)


@dataclass(frozen=True, eq=False, kw_only=True)
class Int16Addition(ElementWise):
    """The sum or difference of two tensors of 16 bits as TFLite Micro computes it.

    Both operands in steps of twice the larger scale are added or subtracted, and scaled to the output.

    scales: int64 of shape (3, 2), mantissa and exponent, which is 0 or less, of the first operand, of the second, and
        of their sum.
    sign: -1 for a difference, else 1.
    """

    called: ClassVar[str] = "add16"
    loop: ClassVar[Loop] = Loop.OTHER
    symmetric: ClassVar[bool] = False

    scales: Int64Array
    sign: int
    clip: tuple[int, int]
    dtype: str = "int16"

    @property
    def op(self) -> Op:
        """As of 8 bits."""
        return Op.ADD

    def compute(self, *inputs: Array) -> Array:
        """The scaled sum."""
        a, b = (
            multiply_by(x.astype(np.int64) << LEFT_SHIFT, *scale)
            for x, scale in zip(inputs, self.scales[:2], strict=True)
        )
        return multiply_by(a + self.sign * b, *self.scales[2]).clip(*self.clip).astype(self.dtype)

    def _described(self, layer: Layer, pair: Pair, inputs: Sequence[Known]) -> Described:
        del inputs
        words = scaling_words(self.scales[:, 0], self.scales[:, 1], np.array([LEFT_SHIFT, LEFT_SHIFT, 0]))
        scalings = Structure(np.append(words.reshape(-1), self.sign).astype(np.int32), "match_add_int16_t")
        return Described(replace(layer, clip=self.clip), LayerConstants(scalings), None, pair.order)


@dataclass(frozen=True, eq=False, kw_only=True)
class Multiplication(Requantized, ElementWise):
    """A product of two tensors less their zero points, requantized as one channel."""

    called: ClassVar[str] = "multiply"

    zero_points: tuple[int, int]

    def compute(self, *inputs: Array) -> Array:
        """The requantized products."""
        a, b = (x.astype(np.int64) - zero for x, zero in zip(inputs, self.zero_points, strict=True))
        return self.requantization(a * b).astype(self.dtype)

    def unsigned(self, inputs: Sequence[Stored], more: int | None) -> Operator:
        """Zero points grow with what they are of."""
        return _with_larger_zero_points(self, inputs, more)

    def _described(self, layer: Layer, pair: Pair, inputs: Sequence[Known]) -> Described:
        first, second = (self.zero_points[number] for number in pair.order)
        ends = (x.range.ends - zero for x, zero in zip(inputs, (first, second), strict=True))
        products = np.multiply.outer(*ends)
        accumulator = products.min().reshape(1), products.max().reshape(1)
        parameters = without_idle_parts(self.requantization, *accumulator)
        layer = replace(layer, clip=self.requantization.clip)
        constants = LayerConstants(ZeroPoints(first, second), parameters)
        return Described(layer, constants, accumulator, pair.order)


@dataclass(frozen=True, eq=False, kw_only=True)
class Int16Multiplication(ElementWise):
    """A product of two tensors of 16 bits, whose zero points are 0, requantized as one channel."""

    called: ClassVar[str] = "multiply16"

    requantization: Requantization
    dtype: str = "int16"

    @property
    def op(self) -> Op:
        """As of 8 bits."""
        return Op.MULTIPLY

    def compute(self, *inputs: Array) -> Array:
        """The requantized products."""
        a, b = (x.astype(np.int64) for x in inputs)
        return self.requantization(a * b).astype(self.dtype)

    def _described(self, layer: Layer, pair: Pair, inputs: Sequence[Known]) -> Described | Refused:
        del inputs
        words = words_of_line(self.requantization, _PRODUCT)
        if words is None:
            return Refused(Op.MULTIPLY, UNSCALED)
        layer = replace(layer, clip=self.requantization.clip)
        return Described(layer, LayerConstants(Structure(words, "match_scaling_t")), None, pair.order)


@dataclass(frozen=True, eq=False, kw_only=True)
class SquaredDifference(Requantized, ElementWise):
    """The square of the difference of two tensors of 8 bits, requantized as one channel.

    steps: int64, shape (2, 256): both in steps of one size, for their values in ascending order.
    """

    called: ClassVar[str] = "squared_difference"

    steps: Int64Array

    def compute(self, *inputs: Array) -> Array:
        """The requantized squares."""
        a, b = (entries(table, x) for table, x in zip(self.steps, inputs, strict=True))
        return self.requantization((a - b) ** 2).astype(self.dtype)

    def unsigned(self, inputs: Sequence[Stored], more: int | None) -> Operator:
        """Tables in another order."""
        dtype = self.dtype if more is None else "uint8"
        requantization = self.requantization.raised(more or 0)
        return replace(self, steps=_tables(self.steps, inputs), requantization=requantization, dtype=dtype)

    def _described(self, layer: Layer, pair: Pair, inputs: Sequence[Known]) -> Described:
        del inputs
        steps = self.steps[list(pair.order)]
        accumulator = np.zeros(1, np.int64), np.array([largest_square(steps)])
        parameters = without_idle_parts(self.requantization, *accumulator)
        constants = LayerConstants(Steps(_by_byte(steps, layer).astype(np.int16)), parameters)
        return Described(replace(layer, clip=self.requantization.clip), constants, accumulator, pair.order)


@dataclass(frozen=True, eq=False, kw_only=True)
class SumOfTables(Clipped):
    """What both kinds have: the sum of what two tensors of 8 bits are in a table each.

    tables: int64, shape (2, 256): what each adds for its values in ascending order, in steps of
        ``2**-LOOKUP_SUM_FRACTION``.
    """

    loop: ClassVar[Loop] = Loop.MOVES

    tables: Int64Array
    clip: tuple[int, int]
    dtype: str

    def sums(self, *inputs: Array) -> Int64Array:
        """The sums, rounded down."""
        a, b = (entries(table, x) for table, x in zip(self.tables, inputs, strict=True))
        return (a + b) >> LOOKUP_SUM_FRACTION

    def _described(self, layer: Layer, pair: Pair, inputs: Sequence[Known]) -> Described:
        del inputs
        summands = Summands(_by_byte(self.tables[list(pair.order)], layer).astype(np.int32))
        constants = LayerConstants(summands)
        return Described(replace(layer, clip=self.clip), constants, None, pair.order)


@dataclass(frozen=True, eq=False, kw_only=True)
class LookupSum(SumOfTables):
    """The clipped sum of two tables."""

    called: ClassVar[str] = "lookup_sum"
    loop: ClassVar[Loop] = Loop.MOVES
    of_either_type: ClassVar[bool] = True

    def compute(self, *inputs: Array) -> Array:
        """The sums."""
        return self.sums(*inputs).clip(*self.clip).astype(self.dtype)

    def unsigned(self, inputs: Sequence[Stored], more: int | None) -> Operator:
        """Tables in another order; the second one's numbers make up for larger outputs."""
        tables = _tables(self.tables, inputs) + np.array([[0], [(more or 0) << LOOKUP_SUM_FRACTION]])
        return replace(self, tables=tables, **self._raised(more))


@dataclass(frozen=True, eq=False, kw_only=True)
class AbsoluteDifference(SumOfTables):
    """The difference of two tensors without its sign, the sum of two tables; outputs begin at the lower end of `clip`.

    Sums are rounded down before they lose their signs.
    """

    called: ClassVar[str] = "absolute_difference"

    def compute(self, *inputs: Array) -> Array:
        """The distances."""
        return (np.abs(self.sums(*inputs)) + self.clip[0]).clip(*self.clip).astype(self.dtype)

    def unsigned(self, inputs: Sequence[Stored], more: int | None) -> Operator:
        """Tables in another order; outputs begin where they are clipped."""
        return replace(self, tables=_tables(self.tables, inputs), **self._raised(more))


@dataclass(frozen=True, eq=False, kw_only=True)
class Extremum(ElementWise):
    """The larger, or the smaller, of two tensors of 8 bits of one type."""

    called: ClassVar[str] = "extremum"
    hands_on: ClassVar[bool] = True

    largest: bool
    dtype: str

    @property
    def op(self) -> Op:
        """By which of both it is."""
        return Op.MAXIMUM if self.largest else Op.MINIMUM

    def compute(self, *inputs: Array) -> Array:
        """The larger or the smaller of each pair."""
        return (np.maximum if self.largest else np.minimum)(*inputs)

    def values(self, result: Tensor, inputs: Sequence[Known]) -> Range:
        """The extrema of both lower and of both upper ends."""
        channels = (result.shape[-1] if result.shape else 1,)
        low, high = ([getattr(x.range, end) for x in inputs] for end in ("low", "high"))
        return Range(*(np.broadcast_to(self.compute(*ends), channels) for ends in (low, high)))

    def unsigned(self, inputs: Sequence[Stored], more: int | None) -> Operator:
        """Both tensors are as much larger."""
        del inputs
        return self if more is None else replace(self, dtype="uint8")

    def work(self, result: Tensor, inputs: Sequence[Tensor]) -> Work:
        """Called by which of both it is."""
        return replace(super().work(result, inputs), name=self.op.value)

    def _described(self, layer: Layer, pair: Pair, inputs: Sequence[Known]) -> Described:
        del inputs
        return Described(layer, LayerConstants(), None, pair.order)


@dataclass(frozen=True, eq=False, kw_only=True)
class LookupLine(Clipped):
    """``a * slope[b] + bias[b]`` of two tensors of 8 bits, rounded down and clipped.

    lines: int64, shape (2, 256): slope and bias for the values of the second tensor in ascending order, in steps of
        ``2**-LOOKUP_LINE_FRACTION``.
    """

    called: ClassVar[str] = "lookup_line"
    loop: ClassVar[Loop] = Loop.MOVES
    symmetric: ClassVar[bool] = False

    lines: Int64Array
    clip: tuple[int, int]
    dtype: str

    def compute(self, *inputs: Array) -> Array:
        """The line that the second tensor chooses, of the first."""
        a, b = inputs
        slope, bias = (entries(table, b) for table in self.lines)
        total = (a.astype(np.int64) * slope + bias) >> LOOKUP_LINE_FRACTION
        return total.clip(*self.clip).astype(self.dtype)

    def unsigned(self, inputs: Sequence[Stored], more: int | None) -> Operator:
        """Lines in another order; biases make up for larger values of the first tensor, and for larger outputs."""
        first, second = inputs
        slopes, biases = second.by_stored(self.lines)
        biases = biases - first.more * slopes + ((more or 0) << LOOKUP_LINE_FRACTION)
        return replace(self, lines=np.stack([slopes, biases]), **self._raised(more))

    def _described(self, layer: Layer, pair: Pair, inputs: Sequence[Known]) -> Described:
        del inputs
        constants = LayerConstants(Lines(_by_byte(self.lines, layer).astype(np.int32)))
        return Described(replace(layer, clip=self.clip), constants, None, pair.order)


@dataclass(frozen=True, eq=False, kw_only=True)
class Matrices(Requantized):
    """Products of a (batch, rows, C) with b (batch, columns, C), transposed, less their zero points.

    The requantization has one channel.
    """

    called: ClassVar[str] = "matrices"
    loop: ClassVar[Loop] = Loop.PRODUCTS

    zero_points: tuple[int, int]

    def result(self, *inputs: Tensor) -> Tensor:
        """A matrix of rows and columns for each pair."""
        (batch, rows, _), (_, columns, _) = (x.shape for x in inputs)
        return Tensor((batch, rows, columns), self.dtype)

    def compute(self, *inputs: Array) -> Array:
        """The requantized sums of products; float64 holds them exactly."""
        a, b = (x.astype(np.float64) - zero for x, zero in zip(inputs, self.zero_points, strict=True))
        return self.requantization((a @ b.swapaxes(1, 2)).astype(np.int64)).astype(self.dtype)

    def unsigned(self, inputs: Sequence[Stored], more: int | None) -> Operator:
        """Zero points grow with what they are of."""
        return _with_larger_zero_points(self, inputs, more)

    def layer(self, result: Tensor, inputs: Sequence[Known]) -> Described | Refused:
        """Products of matrices, whose pairs lie along OY."""
        a, b = inputs
        (batch, rows, c), columns = a.shape, b.shape[1]
        if a.dtype != b.dtype:
            return Refused(Op.MATRICES, "its operands have different types", batch * rows * columns * c)
        if a.dtype == "int16":
            return Refused(Op.MATRICES, "its operands have 16 bits", batch * rows * columns * c)
        layer = Layer(
            name=Op.MATRICES.value,
            op=Op.MATRICES,
            k=columns,
            c=c,
            oy=batch,
            ox=rows,
            iy=batch,
            ix=rows,
            input_dtype=a.dtype,
            weight_dtype="",
            output_dtype=result.dtype,
            clip=self.requantization.clip,
        )
        ends = (np.array(value_range(x.dtype)) - zero for x, zero in zip(inputs, self.zero_points, strict=True))
        products = c * np.multiply.outer(*ends).astype(np.int64)
        accumulator = products.min().reshape(1), products.max().reshape(1)
        parameters = without_idle_parts(self.requantization, *accumulator)
        constants = LayerConstants(ZeroPoints(*self.zero_points), parameters)
        return Described(layer, constants, accumulator, (0, 1))

    def work(self, result: Tensor, inputs: Sequence[Tensor]) -> Work:
        """Each output sums a product for each element of a row."""
        return replace(super().work(result, inputs), op=Op.DENSE, macs=result.elements * inputs[0].shape[-1])


@dataclass(frozen=True, eq=False, kw_only=True)
class FunctionOfTwo(Operator):
    """A function of two tensors of 8 bits, element by element; which form it has is not decided yet.

    outputs: for every pair of values in ascending order, shape (256, 256).
    slopes: about what the output grows by, clipped to `clip`, when either value grows by one.
    """

    called: ClassVar[str] = "function_of_two"
    elementwise: ClassVar[bool] = True
    loop: ClassVar[Loop] = Loop.MOVES

    outputs: npt.NDArray[np.int16]
    slopes: tuple[float, float]
    clip: tuple[int, int]
    dtype: str

    def result(self, *inputs: Tensor) -> Tensor:
        """The shape that both operands are broadcast to."""
        a, b = inputs
        return Tensor(np.broadcast_shapes(a.shape, b.shape), self.dtype)

    def compute(self, *inputs: Array) -> Array:
        """The outputs."""
        a, b = (x.astype(np.intp) - value_range(str(x.dtype))[0] for x in inputs)
        return self.outputs[a, b].astype(self.dtype)


def _with_larger_zero_points(
    operator: Multiplication | Matrices, inputs: Sequence[Stored], more: int | None
) -> Multiplication | Matrices:
    """A product of tensors that are stored so (`Operator.unsigned`)."""
    first, second = (zero + x.more for zero, x in zip(operator.zero_points, inputs, strict=True))
    dtype = operator.dtype if more is None else "uint8"
    requantization = operator.requantization.raised(more or 0)
    return replace(operator, zero_points=(first, second), requantization=requantization, dtype=dtype)


def _tables(tables: Int64Array, inputs: Sequence[Stored]) -> Int64Array:
    """A table of each of two inputs, (2, 256), by what is stored of them."""
    return np.stack([x.by_stored(table) for table, x in zip(tables, inputs, strict=True)])


def entries(table: Array, x: Array) -> Array:
    """The entries of a table (256,), by values in ascending order, for a tensor of 8 bits."""
    return table[x.astype(np.intp) - value_range(str(x.dtype))[0]]


def largest_square(steps: Int64Array) -> int:
    """The largest sum that a `SquaredDifference` requantizes."""
    first, second = steps
    return int(max(first.max() - second.min(), second.max() - first.min())) ** 2


def _by_byte(tables: Int64Array, layer: Layer) -> Int64Array:
    """Tables (2, 256) of a layer's inputs by the byte that stores a value, from those by values in ascending order."""
    return np.roll(tables, 128, axis=1) if layer.input_dtype == "int8" else tables
