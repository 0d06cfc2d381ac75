"""Operators of the integer form as they are read from Relay: those of the graph, with their inputs as expressions.

Passes over Relay change them and build them again by `match.relay.integer_form`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from match.graph import elements, pairs, sums
from match.graph.maximum import Maximum
from match.relay import integer_form, relay
from match.relay.rewrite import shape


@dataclass(frozen=True, eq=False)
class OfOne:
    """What an operator of one tensor is read with.

    real: the reference computes in floating point (`match.relay.integer_form.real_sums`).
    """

    x: relay.Expr
    real: bool = False

    @property
    def operands(self) -> tuple[relay.Expr, ...]:
        """Its inputs."""
        return (self.x,)


@dataclass(frozen=True, eq=False)
class OfTwo:
    """What an operator of two tensors is read with; `real` as in `OfOne`."""

    operands: tuple[relay.Expr, relay.Expr]
    real: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Convolution(OfOne, sums.Convolution):
    """A convolution of a tensor of `x_dtype`."""

    x_dtype: str

    def build(self, x: relay.Expr) -> relay.Expr:
        """The expression, on another input."""
        total = self.sums_of(x)
        return integer_form.requantize(
            integer_form.real_sums(total) if self.real else total, self.requantization, self.dtype
        )

    def sums_of(self, x: relay.Expr) -> relay.Expr:
        """Its int32 sums, of another input."""
        return integer_form.convolution(
            x,
            np.ascontiguousarray(self.weights),
            x_dtype=self.x_dtype,
            strides=self.strides,
            padding=self.padding,
            dilation=self.dilation,
            groups=self.groups,
            kernel_layout=self.kernel_layout,
            pad_value=self.pad_value,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Dense(OfOne, sums.Dense):
    """A dense layer."""

    def build(self, x: relay.Expr) -> relay.Expr:
        """The expression, on another input."""
        total = integer_form.product(x, np.ascontiguousarray(self.weights))
        return integer_form.requantize(
            integer_form.real_sums(total) if self.real else total, self.requantization, self.dtype
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Average(OfOne, sums.Average):
    """An average pooling."""

    def build(self, x: relay.Expr) -> relay.Expr:
        """The expression, on another input."""
        return integer_form.avg_pool2d(
            x,
            self.requantization,
            self.dtype,
            window=self.window,
            strides=self.strides,
            whole_map=self.whole_map,
            real=self.real,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class MaxPool(OfOne, Maximum):
    """A maximum pooling."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Addition(OfTwo, pairs.Addition):
    """A quantized addition."""

    def build(self, a: relay.Expr, b: relay.Expr) -> relay.Expr:
        """The expression, on other operands."""
        return integer_form.add(
            a,
            b,
            self.multipliers,
            self.bias,
            self.shift,
            self.clip,
            self.dtype,
            ties_to_even=self.ties_to_even,
            real=self.real,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Multiplication(OfTwo, pairs.Multiplication):
    """A quantized product."""

    def build(self, a: relay.Expr, b: relay.Expr) -> relay.Expr:
        """The expression, on other operands."""
        return integer_form.multiply(a, b, self.zero_points, self.requantization, self.dtype, real=self.real)


@dataclass(frozen=True, eq=False, kw_only=True)
class Int16Multiplication(OfTwo, pairs.Int16Multiplication):
    """A product of 16 bits."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SquaredDifference(OfTwo, pairs.SquaredDifference):
    """A squared difference of tensors of `x_dtypes`."""

    x_dtypes: tuple[str, str]

    def build(self, a: relay.Expr, b: relay.Expr) -> relay.Expr:
        """The expression, on other operands, which are of `x_dtypes`."""
        return integer_form.squared_difference(a, b, self.x_dtypes, self.steps, self.requantization, self.dtype)


@dataclass(frozen=True, eq=False, kw_only=True)
class LookupSum(OfTwo, pairs.LookupSum):
    """A sum of lookups of tensors of `x_dtypes`."""

    x_dtypes: tuple[str, str]

    def build(self, a: relay.Expr, b: relay.Expr) -> relay.Expr:
        """The expression, on other operands, which are of `x_dtypes`."""
        return integer_form.lookup_sum(a, b, self.x_dtypes, self.tables, self.clip, self.dtype, real=self.real)


@dataclass(frozen=True, eq=False, kw_only=True)
class LookupLine(OfTwo, pairs.LookupLine):
    """A line of the first tensor that the second one chooses, tensors of `x_dtypes`."""

    x_dtypes: tuple[str, str]

    def build(self, a: relay.Expr, b: relay.Expr) -> relay.Expr:
        """The expression, on other operands, which are of `x_dtypes`."""
        return integer_form.lookup_line(a, b, self.x_dtypes, self.lines, self.clip, self.dtype, real=self.real)


@dataclass(frozen=True, eq=False, kw_only=True)
class AbsoluteDifference(OfTwo, pairs.AbsoluteDifference):
    """The difference of two tensors of `x_dtypes` without its sign."""

    x_dtypes: tuple[str, str]

    def build(self, a: relay.Expr, b: relay.Expr) -> relay.Expr:
        """The expression, on other operands, which are of `x_dtypes`."""
        return integer_form.absolute_difference(a, b, self.x_dtypes, self.tables, self.clip, self.dtype)


@dataclass(frozen=True, eq=False, kw_only=True)
class Requantize(OfOne, elements.Requantize):
    """A change of scale of a tensor of 16 bits."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Quantize(OfOne, elements.Quantize):
    """float32 numbers as 8 bits."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Dequantize(OfOne, elements.Dequantize):
    """Values of 8 bits as float32."""


@dataclass(frozen=True, eq=False, kw_only=True)
class DequantizeSums(OfOne, elements.DequantizeSums):
    """int32 sums as float32."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Matrices(OfTwo, pairs.Matrices):
    """Products of matrices."""

    def build(self, a: relay.Expr, b: relay.Expr) -> relay.Expr:
        """The expression, on other operands."""
        channels = shape(self.operands[1])[1]
        requantization = self.requantization.take(np.zeros(channels, np.intp))
        return integer_form.matrices(a, b, self.zero_points, requantization, self.dtype, real=self.real)


@dataclass(frozen=True, eq=False, kw_only=True)
class Lookup(OfOne, elements.Lookup):
    """A table of a tensor of `x_dtype`."""

    x_dtype: str

    def build(self, x: relay.Expr) -> relay.Expr:
        """The expression, on another input."""
        return integer_form.lookup(x, self.outputs, self.x_dtype, self.dtype, real=self.real)


@dataclass(frozen=True, eq=False, kw_only=True)
class ChannelLookup(OfOne, elements.ChannelLookup):
    """A table for each channel of a tensor of `x_dtype`."""

    x_dtype: str

    def build(self, x: relay.Expr) -> relay.Expr:
        """The expression, on another input."""
        return integer_form.channel_lookup(x, self.outputs, self.x_dtype, self.dtype, real=self.real)


Accumulation = Convolution | Dense | Average
"""An operator that accumulates and requantizes."""
