"""Operators of one tensor, element by element."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from match.arithmetic import recurrent
from match.arithmetic.interface import Float32Array
from match.arithmetic.tflite import multiply_by
from match.arithmetic.tflite_functions import logistic_of_16_bits
from match.graph.layers import UNSCALED, element_wise, fitting_words, words_of_line
from match.graph.operator import Array, Described, Known, Operator, Range, Refused, Stored
from match.graph.pairs import entries
from match.graph.work import Loop
from match.ir.attributes import LookupTable
from match.ir.constants import ChannelLines, ChannelTables, LayerConstants, Structure, Table
from match.ir.dtypes import value_range
from match.ir.float_border import FloatQuantization
from match.ir.graph import Tensor
from match.ir.layer import Op
from match.ir.requantization import Int64Array, Requantization

Function = Literal["logistic", "tanh"]

_BYTES = "int8", "uint8"

_HALF = 16
"""Bits of an element that is requantized."""


class OfElements(Operator):
    """An operator of one tensor, element by element, to another type."""

    dtype: str

    def result(self, *inputs: Tensor) -> Tensor:
        """The input's shape."""
        return Tensor(inputs[0].shape, self.dtype)


@dataclass(frozen=True, eq=False, kw_only=True)
class OfEntries(OfElements):
    """Functions of 8 bits: `outputs` (256,) or (channels, 256), in ascending order of the values."""

    loop: ClassVar[Loop] = Loop.MOVES
    converts: ClassVar[bool] = True

    outputs: Int64Array
    dtype: str

    @property
    def lowest(self) -> int | None:
        """The least entry."""
        return int(self.outputs.min())

    def unsigned(self, inputs: Sequence[Stored], more: int | None) -> Operator:
        """Entries in another order, and larger."""
        outputs = inputs[0].by_stored(self.outputs) + (more or 0)
        return replace(self, outputs=outputs, dtype=self.dtype if more is None else "uint8")


@dataclass(frozen=True, eq=False, kw_only=True)
class Lookup(OfEntries):
    """A function of one value of 8 bits: `outputs` (256,), in ascending order of the values."""

    called: ClassVar[str] = "lookup"
    elementwise: ClassVar[bool] = True

    def compute(self, *inputs: Array) -> Array:
        """The entries."""
        return entries(self.outputs, inputs[0]).astype(self.dtype)

    def values(self, result: Tensor, inputs: Sequence[Known]) -> Range | None:
        """The least and the largest entry for values in the input's range."""
        del result
        (x,) = inputs
        if x.values is None:
            return None
        first = value_range(x.dtype)[0]
        ends, own = np.unique(np.stack([x.values.low, x.values.high]) - first, axis=1, return_inverse=True)
        spans = [self.outputs[low : high + 1] for low, high in ends.T]
        return Range(np.array([span.min() for span in spans])[own], np.array([span.max() for span in spans])[own])

    def layer(self, result: Tensor, inputs: Sequence[Known]) -> Described:
        """A table of bytes."""
        table = byte_table(self, inputs[0].dtype)
        plain = element_wise(Op.LOOKUP, result.shape, inputs[0].dtype, result.dtype)
        layer = replace(plain, attributes=LookupTable(np.array_equal(table, np.arange(256) ^ 128)))
        return Described(layer, LayerConstants(Table(table)))


@dataclass(frozen=True, eq=False, kw_only=True)
class ChannelLookup(OfEntries):
    """A function of one value of 8 bits for each channel: `outputs` (channels, 256), in ascending order of values."""

    called: ClassVar[str] = "channel_lookup"

    def compute(self, *inputs: Array) -> Array:
        """The entries of each channel's table."""
        (x,) = inputs
        places = x.astype(np.intp) - value_range(str(x.dtype))[0]
        return self.outputs[np.arange(len(self.outputs)), places].astype(self.dtype)

    def layer(self, result: Tensor, inputs: Sequence[Known]) -> Described:
        """A table of bytes for each channel."""
        layer = element_wise(Op.CHANNEL_LOOKUP, result.shape, inputs[0].dtype, result.dtype)
        tables = byte_table(self, inputs[0].dtype)
        return Described(layer, LayerConstants(ChannelTables(tables)))


@dataclass(frozen=True, eq=False, kw_only=True)
class Quantize(Operator):
    """float32 numbers as 8 or 16 bits."""

    called: ClassVar[str] = "quantize"
    elementwise: ClassVar[bool] = True
    loop: ClassVar[Loop] = Loop.ELEMENTS
    converts: ClassVar[bool] = True

    function: FloatQuantization

    def result(self, *inputs: Tensor) -> Tensor:
        """The input's shape, in the function's type."""
        return Tensor(inputs[0].shape, self.function.dtype)

    def compute(self, *inputs: Array) -> Array:
        """The function's outputs."""
        return self.function(inputs[0]).astype(self.function.dtype)

    def unsigned(self, inputs: Sequence[Stored], more: int | None) -> Operator:
        """Another zero point."""
        del inputs
        if more is None:
            return self
        zero_point = self.function.zero_point + more
        return replace(self, function=replace(self.function, zero_point=zero_point, dtype="uint8"))

    def layer(self, result: Tensor, inputs: Sequence[Known]) -> Described | None:
        """The steps between outputs of 8 bits."""
        if result.dtype not in _BYTES:
            return None
        layer = element_wise(Op.QUANTIZE, result.shape, inputs[0].dtype, result.dtype)
        return Described(layer, LayerConstants(self.function))


@dataclass(frozen=True, eq=False, kw_only=True)
class Dequantize(OfElements):
    """Integers as float32: ``(x - zero_point) * scale``."""

    called: ClassVar[str] = "dequantize"
    elementwise: ClassVar[bool] = True
    loop: ClassVar[Loop] = Loop.ELEMENTS
    converts: ClassVar[bool] = True

    scale: np.float32
    zero_point: int
    dtype: str = "float32"

    def compute(self, *inputs: Array) -> Array:
        """The numbers, each rounded once."""
        return (inputs[0].astype(np.int64) - self.zero_point).astype(np.float32) * self.scale

    def unsigned(self, inputs: Sequence[Stored], more: int | None) -> Operator:
        """Another zero point."""
        del more
        return replace(self, zero_point=self.zero_point + inputs[0].more)

    def outputs(self, x_dtype: str) -> Float32Array:
        """For all values of a type in ascending order, shape (256,)."""
        return self.compute(np.arange(value_range(x_dtype)[0], value_range(x_dtype)[1] + 1))

    def layer(self, result: Tensor, inputs: Sequence[Known]) -> Described | None:
        """A table of numbers, of 8 bits."""
        x_dtype = inputs[0].dtype
        return _table_of_reals(self.outputs(x_dtype), x_dtype, result) if x_dtype in _BYTES else None


@dataclass(frozen=True, eq=False, kw_only=True)
class RealLookup(OfElements):
    """A function of one value of 8 bits in float32: `numbers` (256,), in ascending order of the values."""

    called: ClassVar[str] = "real_lookup"
    elementwise: ClassVar[bool] = True
    loop: ClassVar[Loop] = Loop.MOVES
    converts: ClassVar[bool] = True

    numbers: Float32Array
    dtype: str = "float32"

    def compute(self, *inputs: Array) -> Array:
        """The entries."""
        return entries(self.numbers, inputs[0])

    def unsigned(self, inputs: Sequence[Stored], more: int | None) -> Operator:
        """Entries in another order."""
        del more
        return replace(self, numbers=inputs[0].by_stored(self.numbers))

    def layer(self, result: Tensor, inputs: Sequence[Known]) -> Described:
        """A table of numbers, as that of a dequantize."""
        return _table_of_reals(self.numbers, inputs[0].dtype, result)


def _table_of_reals(numbers: Float32Array, x_dtype: str, result: Tensor) -> Described:
    table = np.roll(numbers, 128) if x_dtype == "int8" else numbers
    layer = element_wise(Op.DEQUANTIZE, result.shape, x_dtype, result.dtype)
    return Described(layer, LayerConstants(Table(table)))


@dataclass(frozen=True, eq=False, kw_only=True)
class DequantizeSums(OfElements):
    """int32 sums x as float32: ``float32(x + offset) * scale + bias``, each one number for each channel.

    offset: int32, scale, bias: float32, shape (channels,). The product and the sum are rounded one after the other.
    """

    called: ClassVar[str] = "dequantize_sums"
    loop: ClassVar[Loop] = Loop.ELEMENTS

    offset: npt.NDArray[np.int32]
    scale: Float32Array
    bias: Float32Array
    dtype: str = "float32"

    def compute(self, *inputs: Array) -> Array:
        """The numbers."""
        return (inputs[0] + self.offset).astype(np.float32) * self.scale + self.bias

    def layer(self, result: Tensor, inputs: Sequence[Known]) -> Described:
        """A line for each channel."""
        layer = element_wise(Op.DEQUANTIZE_SUMS, result.shape, inputs[0].dtype, result.dtype)
        lines = np.stack([self.offset, self.scale.view(np.int32), self.bias.view(np.int32)], axis=1)
        return Described(layer, LayerConstants(ChannelLines(lines)))


@dataclass(frozen=True, eq=False, kw_only=True)
class RequantizeReal(OfElements):
    """int32 sums x requantized in float32: ``rint(float32(x + offset) * factor) + zero_point``, clipped.

    offset: int32, factor: float32, shape (channels,). It is for sums that no line in integers describes.
    """

    called: ClassVar[str] = "requantize_real"
    loop: ClassVar[Loop] = Loop.ELEMENTS

    offset: npt.NDArray[np.int32]
    factor: Float32Array
    zero_point: int
    clip: tuple[int, int]
    dtype: str

    def compute(self, *inputs: Array) -> Array:
        """The product, rounded half to even."""
        product = (inputs[0] + self.offset).astype(np.float32) * self.factor
        return (np.rint(product).astype(np.int64) + self.zero_point).clip(*self.clip).astype(self.dtype)


@dataclass(frozen=True, eq=False, kw_only=True)
class Requantize(OfElements):
    """Requantizes integers of at most 32 bits to another scale.

    Modules are asked about it if the integers have 16 bits and share one multiplier, bias and shift.
    """

    called: ClassVar[str] = "requantize"
    elementwise: ClassVar[bool] = True
    loop: ClassVar[Loop] = Loop.ELEMENTS

    requantization: Requantization
    dtype: str

    def compute(self, *inputs: Array) -> Array:
        """The line."""
        return self.requantization(inputs[0]).astype(self.dtype)

    def layer(self, result: Tensor, inputs: Sequence[Known]) -> Described | Refused:
        """A scaling in 32 bits, if it is one."""
        words = words_of_line(self.requantization, _HALF)
        if words is None:
            return Refused(Op.REQUANTIZE, UNSCALED)
        layer = element_wise(Op.REQUANTIZE, result.shape, inputs[0].dtype, result.dtype)
        layer = replace(layer, clip=self.requantization.clip)
        return Described(layer, LayerConstants(Structure(words, "match_scaling_t")))


@dataclass(frozen=True, eq=False, kw_only=True)
class Gate(OfElements):
    """The logistic function or the hyperbolic tangent of 16 bits, as TFLite Micro interpolates them in a table.

    It is the function of ``x * multiplier / 2**shift``, rounded half up, in steps of the table, a third of 2**-12.
    """

    called: ClassVar[str] = "gate"
    elementwise: ClassVar[bool] = True

    function: Function
    multiplier: int
    shift: int
    dtype: str = "int16"

    def compute(self, *inputs: Array) -> Array:
        """The interpolated function."""
        place = inputs[0].astype(np.int64) * self.multiplier
        if self.shift:
            place = (place + (1 << (self.shift - 1))) >> self.shift
        function = recurrent.logistic_in_table if self.function == "logistic" else recurrent.tanh_in_table
        return function(place).clip(*value_range(self.dtype)).astype(self.dtype)

    def layer(self, result: Tensor, inputs: Sequence[Known]) -> Described:
        """The multiplier and the table."""
        layer = element_wise(Op(self.function), result.shape, inputs[0].dtype, result.dtype)
        logistic = logistic_of_16_bits().astype("<u2").view("<i4")
        words = np.concatenate([[self.multiplier, self.shift], logistic]).astype(np.int32)
        return Described(layer, LayerConstants(Structure(words, "match_gate_int16_t")))


@dataclass(frozen=True, eq=False, kw_only=True)
class LeakyRelu(OfElements):
    """16 bits in another scale from 0 on, and in a third one below, as TFLite Micro computes it.

    scales: int64 of shape (2, 2), mantissa and exponent for numbers from 0 on, and for those below.
    falls: whether numbers below 0 are also turned around, as the slope there is below 0.
    """

    called: ClassVar[str] = "leaky_relu"
    elementwise: ClassVar[bool] = True

    scales: Int64Array
    falls: bool = False
    dtype: str = "int16"

    def compute(self, *inputs: Array) -> Array:
        """The scaled numbers."""
        wide = inputs[0].astype(np.int64)
        above, below = (multiply_by(wide, *scale) for scale in self.scales)
        below = -below if self.falls else below
        return np.where(wide >= 0, above, below).clip(*value_range(self.dtype)).astype(self.dtype)

    def layer(self, result: Tensor, inputs: Sequence[Known]) -> Described | Refused:
        """Two scalings in 32 bits."""
        if self.falls:
            return Refused(Op.LEAKY_RELU, "its slope below 0 is negative")
        scalings = [fitting_words(int(mantissa), int(exponent), _HALF) for mantissa, exponent in self.scales]
        words = [scaling for scaling in scalings if scaling is not None]
        if len(words) < len(scalings):
            return Refused(Op.LEAKY_RELU, UNSCALED)
        layer = element_wise(Op.LEAKY_RELU, result.shape, inputs[0].dtype, result.dtype)
        layer = replace(layer, clip=value_range(self.dtype))
        return Described(layer, LayerConstants(Structure(np.concatenate(words), "match_scaling_t[2]")))


def byte_table(lookup: OfEntries, x_dtype: str) -> npt.NDArray[np.uint8]:
    """The output's byte for each input byte, both as unsigned numbers, along the last axis."""
    table = lookup.outputs.astype(lookup.dtype).view(np.uint8)
    # From the order of the values, -128 first, to that of their bytes, 0 first.
    return np.roll(table, 128, axis=-1) if x_dtype == "int8" else table
