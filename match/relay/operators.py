"""Operators of the integer form as values, which passes change and build again by `match.relay.integer_form`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from match.arithmetic.interface import Float32Array
from match.ir.dtypes import value_range
from match.ir.float_border import FloatQuantization
from match.ir.layer import Padding
from match.ir.requantization import Int64Array, Requantization
from match.relay import integer_form, relay
from match.relay.integer_form import Int8Array
from match.relay.rewrite import dtype, shape


@dataclass(frozen=True, eq=False)
class Convolution:
    """A convolution with its requantization; weights HWIO, in groups with the input channels of one, or HWOI.

    `real` as in `match.relay.integer_form.real_sums`.
    """

    x: relay.Expr
    weights: Int8Array
    requantization: Requantization
    dtype: str
    x_dtype: str
    strides: tuple[int, int]
    padding: Padding
    dilation: tuple[int, int]
    groups: int
    pad_value: int
    kernel_layout: integer_form.KernelLayout
    real: bool = False

    @property
    def depthwise(self) -> bool:
        """Whether each input channel has its own filters."""
        return self.kernel_layout == "HWOI"

    @property
    def grouped(self) -> bool:
        """Whether channels are in groups, each with filters of its own; not so of a depthwise convolution."""
        return self.groups > 1 and not self.depthwise

    @property
    def weights_by_output(self) -> Int8Array:
        """Shape (channels, ...), the weights that each output channel sums with."""
        if self.depthwise:
            return self.weights.reshape(-1, self.requantization.channels).T
        return self.weights.reshape(-1, self.weights.shape[3]).T

    def build(self, x: relay.Expr) -> relay.Expr:
        """The expression, on another input."""
        sums = self.sums(x)
        return integer_form.requantize(
            integer_form.real_sums(sums) if self.real else sums, self.requantization, self.dtype
        )

    def sums(self, x: relay.Expr) -> relay.Expr:
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


@dataclass(frozen=True, eq=False)
class Dense:
    """A dense layer with its requantization; weights (K, C); `real` as in `match.relay.integer_form.real_sums`."""

    x: relay.Expr
    weights: Int8Array
    requantization: Requantization
    dtype: str
    real: bool = False

    def build(self, x: relay.Expr) -> relay.Expr:
        """The expression, on another input."""
        sums = integer_form.product(x, np.ascontiguousarray(self.weights))
        return integer_form.requantize(
            integer_form.real_sums(sums) if self.real else sums, self.requantization, self.dtype
        )


@dataclass(frozen=True, eq=False)
class Average:
    """An average pooling with its requantization; `real` as in `match.relay.integer_form.real_sums`."""

    x: relay.Expr
    requantization: Requantization
    dtype: str
    window: tuple[int, int]
    strides: tuple[int, int]
    whole_map: bool
    real: bool = False

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


@dataclass(frozen=True, eq=False)
class Addition:
    """A quantized addition of two tensors; `real` as in `match.relay.integer_form.real_sums`."""

    operands: tuple[relay.Expr, relay.Expr]
    multipliers: tuple[int, int]
    bias: int
    shift: int
    clip: tuple[int, int]
    dtype: str
    ties_to_even: bool = False
    real: bool = False

    @property
    def requantization(self) -> Requantization:
        """Of the sum of both tensors times their multipliers: one channel."""
        one, bias, shift = (np.array([value], np.int64) for value in (1, self.bias, self.shift))
        ties = np.array([True]) if self.ties_to_even else None
        return Requantization(one, bias, shift, self.clip, ties_to_even=ties)

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


@dataclass(frozen=True, eq=False)
class Multiplication:
    """A quantized product of two tensors less their zero points; either tensor may be broadcast.

    `real` as in `match.relay.integer_form.real_sums`.
    """

    operands: tuple[relay.Expr, relay.Expr]
    zero_points: tuple[int, int]
    requantization: Requantization
    dtype: str
    real: bool = False

    def build(self, a: relay.Expr, b: relay.Expr) -> relay.Expr:
        """The expression, on other operands."""
        return integer_form.multiply(a, b, self.zero_points, self.requantization, self.dtype, real=self.real)


@dataclass(frozen=True, eq=False)
class SquaredDifference:
    """The square of the difference of two tensors, requantized as one channel; either tensor may be broadcast.

    steps: int64, shape (2, 256): both in steps of one size, for their values in ascending order.
    """

    operands: tuple[relay.Expr, relay.Expr]
    x_dtypes: tuple[str, str]
    steps: Int64Array
    requantization: Requantization
    dtype: str

    def build(self, a: relay.Expr, b: relay.Expr) -> relay.Expr:
        """The expression, on other operands, which are of `x_dtypes`."""
        return integer_form.squared_difference(a, b, self.x_dtypes, self.steps, self.requantization, self.dtype)


@dataclass(frozen=True, eq=False)
class LookupSum:
    """The sum of what two tensors are in a table each; either tensor may be broadcast.

    tables: int64, shape (2, 256): what each adds to an output for its values in ascending order, in steps of
    ``2**-LOOKUP_SUM_FRACTION``. `real` as in `match.relay.integer_form.real_sums`.
    """

    operands: tuple[relay.Expr, relay.Expr]
    x_dtypes: tuple[str, str]
    tables: Int64Array
    clip: tuple[int, int]
    dtype: str
    real: bool = False

    def build(self, a: relay.Expr, b: relay.Expr) -> relay.Expr:
        """The expression, on other operands, which are of `x_dtypes`."""
        return integer_form.lookup_sum(a, b, self.x_dtypes, self.tables, self.clip, self.dtype, real=self.real)


@dataclass(frozen=True, eq=False)
class LookupLine:
    """A line of the first tensor that the second one chooses; one of the two may be broadcast.

    lines: int64, shape (2, 256): slope and bias for the values of the second tensor in ascending order, in steps of
    ``2**-LOOKUP_LINE_FRACTION``. `real` as in `match.relay.integer_form.real_sums`.
    """

    operands: tuple[relay.Expr, relay.Expr]
    x_dtypes: tuple[str, str]
    lines: Int64Array
    clip: tuple[int, int]
    dtype: str
    real: bool = False

    def build(self, a: relay.Expr, b: relay.Expr) -> relay.Expr:
        """The expression, on other operands, which are of `x_dtypes`."""
        return integer_form.lookup_line(a, b, self.x_dtypes, self.lines, self.clip, self.dtype, real=self.real)


@dataclass(frozen=True, eq=False)
class AbsoluteDifference:
    """The difference of two tensors without its sign; either tensor may be broadcast.

    tables: as of a `LookupSum`, whose sum is the difference. Outputs begin at the lower end of `clip`.
    """

    operands: tuple[relay.Expr, relay.Expr]
    x_dtypes: tuple[str, str]
    tables: Int64Array
    clip: tuple[int, int]
    dtype: str

    def build(self, a: relay.Expr, b: relay.Expr) -> relay.Expr:
        """The expression, on other operands, which are of `x_dtypes`."""
        return integer_form.absolute_difference(a, b, self.x_dtypes, self.tables, self.clip, self.dtype)


@dataclass(frozen=True, eq=False)
class Requantize:
    """A change of scale of a tensor of 16 bits, by one line for all elements."""

    x: relay.Expr
    requantization: Requantization


@dataclass(frozen=True, eq=False)
class Quantize:
    """float32 numbers of x as 8 bits."""

    x: relay.Expr
    function: FloatQuantization


@dataclass(frozen=True, eq=False)
class Dequantize:
    """8-bit values of x as float32: ``(x - zero_point) * scale``."""

    x: relay.Expr
    scale: np.float32
    zero_point: int

    @property
    def outputs(self) -> Float32Array:
        """For all values in ascending order, shape (256,)."""
        low, high = value_range(dtype(self.x))
        return (np.arange(low, high + 1) - self.zero_point).astype(np.float32) * self.scale


@dataclass(frozen=True, eq=False)
class DequantizeSums:
    """int32 sums x as float32: ``float32(x + offset) * scale + bias``, each one number for each channel.

    offset: int32, scale, bias: float32, shape (channels,). The product and the sum are rounded one after the other.
    """

    x: relay.Expr
    offset: npt.NDArray[np.int32]
    scale: Float32Array
    bias: Float32Array


@dataclass(frozen=True, eq=False)
class Matrices:
    """Products of two activations, (batch, rows, C) and (batch, columns, C); the requantization has one channel.

    `real` as in `match.relay.integer_form.real_sums`.
    """

    operands: tuple[relay.Expr, relay.Expr]
    zero_points: tuple[int, int]
    requantization: Requantization
    dtype: str
    real: bool = False

    def build(self, a: relay.Expr, b: relay.Expr) -> relay.Expr:
        """The expression, on other operands."""
        channels = shape(self.operands[1])[1]
        requantization = self.requantization.take(np.zeros(channels, np.intp))
        return integer_form.matrices(a, b, self.zero_points, requantization, self.dtype, real=self.real)


@dataclass(frozen=True, eq=False)
class Lookup:
    """A table of 256 entries, in ascending order of x; `real` as in `match.relay.integer_form.real_sums`."""

    x: relay.Expr
    outputs: Int64Array
    x_dtype: str
    dtype: str
    real: bool = False

    def build(self, x: relay.Expr) -> relay.Expr:
        """The expression, on another input."""
        return integer_form.lookup(x, self.outputs, self.x_dtype, self.dtype, real=self.real)


@dataclass(frozen=True, eq=False)
class ChannelLookup:
    """A table for each channel of x, (channels, 256), each in ascending order of x; `real` as in a `Lookup`."""

    x: relay.Expr
    outputs: Int64Array
    x_dtype: str
    dtype: str
    real: bool = False

    def build(self, x: relay.Expr) -> relay.Expr:
        """The expression, on another input."""
        return integer_form.channel_lookup(x, self.outputs, self.x_dtype, self.dtype, real=self.real)


Accumulation = Convolution | Dense | Average
"""An operator that accumulates and requantizes."""
