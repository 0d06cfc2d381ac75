"""Small layers with random constants, from their inputs to their output."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from match.arithmetic.tflite import division, scaling
from match.arithmetic.tflite_functions import exponentials
from match.graph import rows
from match.graph.elements import (
    ChannelLookup,
    Dequantize,
    DequantizeSums,
    Function,
    Gate,
    LeakyRelu,
    Lookup,
    Quantize,
    Requantize,
)
from match.graph.float_average import FloatAverage
from match.graph.make import concatenated, constant, cut, taken, transposed
from match.graph.maximum import Maximum
from match.graph.operator import Operator
from match.graph.pairs import (
    AbsoluteDifference,
    Addition,
    ElementWise,
    Extremum,
    Int16Addition,
    Int16Multiplication,
    LookupLine,
    LookupSum,
    Matrices,
    Multiplication,
    SquaredDifference,
)
from match.graph.recurrent import Gru, Lstm
from match.graph.resize import ONE, Between, Resize
from match.graph.rows import LogSoftmax, Softmax, Softmax16, log_tables
from match.graph.sums import Average, Convolution, Dense
from match.graph.value import Value, computed
from match.ir.constants import LOOKUP_LINE_FRACTION, LOOKUP_SUM_FRACTION, Normalization
from match.ir.dtypes import value_range
from match.ir.float_border import FloatQuantization
from match.ir.layer import Op, Padding
from match.ir.requantization import Int64Array, Requantization

Int8Array = npt.NDArray[np.int8]

Build = Callable[..., Value]
"""From a layer's inputs to its output."""

SAME = Padding(1, 1, 1, 1)
"""Padding of a 3x3 window with stride 1, whose output is as large as its input."""

SCALE = 0.25
"""Scale of real numbers at a network's border."""


@dataclass(frozen=True)
class Builds:
    """Builds of layers on activations of `dtype` ("uint8" or "int8").

    Their requantization is a sum and a shift, which every form of requantizer can express exactly. With `negative_step`
    one is taken off the sums of small accumulators, with `exceptions` the output of accumulator 0 is one less.
    Element-wise layers read maps of 16 channels.
    """

    dtype: str
    negative_step: bool = False
    exceptions: bool = False
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    @property
    def _low(self) -> int:
        return 0 if self.dtype == "uint8" else -128

    @property
    def _range(self) -> tuple[int, int]:
        return self._low, self._low + 255

    def requantization(self, channels: int, terms: int) -> Requantization:
        """A requantization of sums of so many products."""
        shift = int(terms * 8).bit_length()
        bias = self.rng.integers(-4, 4, channels) * (1 << shift) + (1 << shift >> 1)
        ones = np.ones(channels, np.int64)
        line = Requantization(ones, bias.astype(np.int64), ones * shift, self._range)
        if not (self.negative_step or self.exceptions):
            return line
        # In the middle of the outputs, and accumulator 0 the first of its output, where either changes what is seen.
        line = replace(line, bias=(self.rng.integers(-4, 4, channels) + self._low + 128) << shift)
        if self.negative_step:
            below = self.rng.integers(-2, 3, channels) << shift
            line = replace(line, negative_below=below, negative_step=ones)
        return replace(line, exceptions=np.zeros((channels, 1), np.int64)) if self.exceptions else line

    def _weights(self, *shape: int) -> Int8Array:
        """Weights of 4 bits, or one of them of 8: modules may store weights in as many bits as the layer's need."""
        weights = self.rng.integers(-8, 8, shape).astype(np.int8)
        if self.rng.integers(2):
            weights.flat[0] = -128
        return weights

    def _table(self) -> Int64Array:
        return self.rng.integers(self._low, self._low + 256, 256)

    def convolution(
        self, c: int, k: int, window: int, stride: int, padding: Padding, *, depthwise: bool = False, groups: int = 1
    ) -> Build:
        """A square filter, of all channels, of each channel by itself or in groups."""
        kernel = self._weights(window, window, c // groups, 1 if depthwise else k)
        parameters = self.requantization(k, window * window * (1 if depthwise else c // groups))

        own = groups if not depthwise else c
        layer = _convolution(kernel, parameters, self.dtype, (stride, stride), padding, own, depthwise=depthwise)
        return partial(computed, layer)

    def int16_convolution(self, c: int, k: int, window: int, *, depthwise: bool = False) -> Build:
        """The same of activations of 16 bits, padded by half the window."""
        kernel = self._weights(window, window, c, 1 if depthwise else k)
        parameters = self._int16_requantization(k, window * window * (1 if depthwise else c))
        padding, groups = Padding(*[window // 2] * 4), c if depthwise else 1
        return partial(
            computed, _convolution(kernel, parameters, "int16", (1, 1), padding, groups, depthwise=depthwise)
        )

    def int16_dense(self, c: int, k: int) -> Build:
        """Weights of shape (k, c), activations of 16 bits."""
        kernel, parameters = self._weights(k, c), self._int16_requantization(k, c)
        return partial(computed, Dense(weights=kernel, requantization=parameters, dtype="int16"))

    def int16_addition(self) -> Build:
        """A difference of two maps of 16 bits."""
        scales = np.array([[5 << 28, -1], [1 << 30, 0], [3 << 29, -13]])
        return partial(computed, Int16Addition(scales=scales, sign=-1, clip=value_range("int16")))

    def int16_multiplication(self, *, pixel: bool = False) -> Build:
        """A product of two maps of 16 bits, or of one and a pixel of 16, a constant."""
        product = Int16Multiplication(requantization=_scaling(5 << 28, -13))
        if not pixel:
            return partial(computed, product)
        numbers = constant(np.linspace(*value_range("int16"), 16).astype(np.int16))
        return partial(_beside, product, numbers)

    def requantize(self) -> Build:
        """A map of 16 bits in a larger scale."""
        return partial(computed, Requantize(requantization=_scaling(5 << 28, -1), dtype="int16"))

    def int16_leaky_relu(self) -> Build:
        """A map of 16 bits, an eighth of it below 0."""
        return partial(computed, LeakyRelu(scales=np.array([[1 << 30, 1], [1 << 30, -2]])))

    def int16_gate(self, op: Op) -> Build:
        """A gate of a map of 16 bits in steps near 2^-12."""
        function: Function = "tanh" if op is Op.TANH else "logistic"
        return partial(computed, Gate(function=function, multiplier=25000, shift=13))

    def int16_softmax(self) -> Build:
        """A softmax of rows of 16."""
        return partial(computed, Softmax16(mantissa=5 << 28, exponent=-2))

    def int16_average(self) -> Build:
        """The average of a whole map of 8 x 8."""
        mean = division(64, value_range("int16")).take(np.zeros(16, np.intp))
        return partial(computed, _average(mean, "int16"))

    def _int16_requantization(self, channels: int, terms: int) -> Requantization:
        """A rounded shift of sums of so many products."""
        shift = int(terms * 8).bit_length()
        ones = np.ones(channels, np.int64)
        bias = (self.rng.integers(-999, 999, channels) << shift) + (1 << shift >> 1)
        return Requantization(ones, bias.astype(np.int64), ones * shift, value_range("int16"))

    def dense(self, c: int, k: int) -> Build:
        """Weights of shape (k, c)."""
        kernel, parameters = self._weights(k, c), self.requantization(k, c)
        return partial(computed, Dense(weights=kernel, requantization=parameters, dtype=self.dtype))

    def addition(self) -> Build:
        """The mean of two maps."""
        return partial(computed, self._mean_of_two)

    def shifted_channels(self) -> Build:
        """The mean of a map and of one pixel, a constant."""
        pixel = constant(np.linspace(*self._range, 16).astype(self.dtype).reshape(1, 1, 1, 16))
        return partial(_beside, self._mean_of_two, pixel)

    def shifted_pixels(self) -> Build:
        """The mean of an 8 x 8 map and of one channel, a constant."""
        channel = constant(np.linspace(*self._range, 64).astype(self.dtype).reshape(1, 8, 8, 1))
        return partial(_beside, self._mean_of_two, channel)

    @property
    def _mean_of_two(self) -> Addition:
        return Addition(multipliers=(1, 1), bias=0, shift=1, clip=self._range, dtype=self.dtype)

    def outer_product(self) -> Build:
        """A product of one channel and one pixel of 16, a constant."""
        scaled, offsets = self.requantization(1, 32), (self._low + 100, self._low + 3)
        product = Multiplication(zero_points=offsets, requantization=scaled, dtype=self.dtype)
        pixel = constant(np.linspace(*self._range, 16).astype(self.dtype))
        return partial(_beside, product, pixel)

    def matrices(self) -> Build:
        """Products of matrices."""
        offsets, scaled = (self._low + 100, self._low + 90), self.requantization(1, 64)
        return partial(computed, Matrices(zero_points=offsets, requantization=scaled, dtype=self.dtype))

    def average(self) -> Build:
        """The average of a whole map of 8 x 8."""
        return partial(computed, _average(self.requantization(16, 2), self.dtype))

    def float_average(self) -> Build:
        """An average of 2 x 2 pixels, within one quantization, so that every fourth sum is a half."""
        scale, zero = np.float32(0.0371), self._low + 130
        function = FloatQuantization(scale, zero, self.dtype, half_to_even=True, zero_first=True)
        average = FloatAverage(
            scale=scale,
            zero=zero,
            function=function,
            window=(2, 2),
            strides=(2, 2),
            padding=Padding(),
        )
        return partial(computed, average)

    def maximum(self) -> Build:
        """The largest of 2 x 2 pixels."""
        return partial(computed, Maximum(window=(2, 2), strides=(2, 2), padding=Padding(), dilation=(1, 1)))

    def lookup(self) -> Build:
        """A random table."""
        return partial(computed, Lookup(outputs=self._table(), dtype=self.dtype))

    def channel_lookup(self) -> Build:
        """A random table for each of 16 channels."""
        tables = np.stack([self._table() for _ in range(16)])
        return partial(computed, ChannelLookup(outputs=tables, dtype=self.dtype))

    def multiplication(self) -> Build:
        """The product of two maps."""
        scaled, offsets = self.requantization(1, 32), (self._low + 3, self._low + 100)
        return partial(computed, Multiplication(zero_points=offsets, requantization=scaled, dtype=self.dtype))

    def of_two_maps(self) -> Iterator[ElementWise]:
        """Operators of two maps, element by element, but the addition and the multiplication, which have more probes.

        Steps of squares and distances are of two sizes, and the largest distances are clipped. Tables that are added
        are no lines. Of the lines that a second map chooses those of low values are steep, as of a divisor, and those
        of high ones fall.
        """
        scaled, levels = self.requantization(1, 256), np.arange(256)
        steps = np.stack([levels, 100 + levels // 2])
        yield SquaredDifference(steps=steps, requantization=scaled, dtype=self.dtype)
        rising = np.rint(np.sqrt(levels) * 2**23)
        tables = np.stack([rising, rising[::-1] + (self._low << LOOKUP_SUM_FRACTION)]).astype(np.int64)
        yield LookupSum(tables=tables, clip=self._range, dtype=self.dtype)
        slopes = np.rint((1 << LOOKUP_LINE_FRACTION) * 40 / np.arange(1, 257)).astype(np.int64)
        slopes[200:] = -slopes[200:]
        biases = ((100 + self._low) << LOOKUP_LINE_FRACTION) - 60 * slopes
        lines = np.stack([slopes, biases - self._low * slopes])
        yield LookupLine(lines=lines, clip=self._range, dtype=self.dtype)
        whole = levels << LOOKUP_SUM_FRACTION
        tables = np.stack([whole, (40 << LOOKUP_SUM_FRACTION) - whole * 5 // 4])
        yield AbsoluteDifference(tables=tables, clip=self._range, dtype=self.dtype)
        yield Extremum(largest=True, dtype=self.dtype)
        yield Extremum(largest=False, dtype=self.dtype)

    def concatenation(self) -> Build:
        """Channels of two maps, those of the second through a table."""
        table = Lookup(outputs=self._table(), dtype=self.dtype)

        def build(a: Value, b: Value) -> Value:
            return concatenated([a, computed(table, b)], 3)

        return build

    def part(self) -> Build:
        """Some channels."""
        return partial(cut, axis=3, begin=3, end=11)

    def softmax(self) -> Build:
        """The softmax of each pixel's channels."""
        falling = exponentials(np.float32(SCALE), np.float32(0.1))
        return partial(computed, Softmax(exponentials=falling, zero=self._low, scale=None, dtype=self.dtype))

    def log_softmax(self) -> Build:
        """The logarithm of the softmax of each pixel's channels."""
        tables = log_tables(np.float32(SCALE), exponentials(np.float32(SCALE), np.float32(1)))
        assert tables is not None
        return partial(computed, LogSoftmax(tables=tables), exact=False)

    def normalization(self) -> Build:
        """The normalization of each pixel's 16 channels; a deviation is 4 to 32 steps."""
        gains, shift = self.rng.integers(1 << 10, 1 << 13, 16).astype(np.int16), np.full(16, 20)
        bias = (np.int64(self._low + 128) << shift) + self.rng.integers(0, 1 << 20, 16)
        scaled = Requantization(np.ones(16, np.int64), bias, shift, self._range)
        operator = rows.Normalization(normalization=Normalization(1000, gains), requantization=scaled, dtype=self.dtype)
        return partial(computed, operator, exact=False)

    def lstm(self, features: int, units: int) -> Build:
        """So many units, whose gates have values of all sizes."""
        cells = self._cells(4, features, units)
        exponents = [*self.rng.integers(-3, 0, 8), -18, -22]
        scales = np.stack([self.rng.integers(1 << 30, (1 << 31) - 1, 10), exponents], axis=1)
        return partial(computed, Lstm(scales=scales, power=-11, limit=30000, **cells))

    def int16_lstm(self, features: int, units: int) -> Build:
        """The same on 16 bits, sums of which are 256 times as many steps."""
        cells = self._cells(4, features, units)
        offsets = self.rng.integers(-500_000, 500_000, (2, 4, units))
        exponents = [*self.rng.integers(-11, -8, 8), -18, -14]
        scales = np.stack([self.rng.integers(1 << 30, (1 << 31) - 1, 10), exponents], axis=1)
        wide: dict[str, Any] = {**cells, "dtype": "int16", "offsets": offsets, "zero": 0}
        return partial(computed, Lstm(scales=scales, power=-11, limit=30000, **wide))

    def gru(self, features: int, units: int, reset_first: bool = False) -> Build:
        """The same of another kind of cells."""
        cells = self._cells(3, features, units)
        scales = np.stack([self.rng.integers(1 << 30, (1 << 31) - 1, 7), [*self.rng.integers(-3, 0, 6), -7]], axis=1)
        biases = self.rng.integers(-5000, 5000, units)
        return partial(computed, Gru(scales=scales, biases=biases, reset_first=reset_first, **cells))

    def _cells(self, gates: int, features: int, units: int) -> dict[str, Any]:
        """What all kinds of recurrent layers have, but for scales."""
        over_x, over_states = (
            self.rng.integers(-127, 128, (gates, units, depth)).astype(np.int8) for depth in (features, units)
        )
        zeros = (self._low + 121, self._low + 130)
        sums = [
            zero * part.sum(axis=2, dtype=np.int64) for zero, part in zip(zeros, (over_x, over_states), strict=True)
        ]
        return {
            "input_weights": over_x,
            "state_weights": over_states,
            "offsets": self.rng.integers(-2000, 2000, (2, gates, units)) - np.stack(sums),
            "zero": zeros[1],
            "dtype": self.dtype,
        }

    def resize(self, size: int, outputs: int) -> Build:
        """A resize of a square map, each output a random way between two inputs."""
        zero = self._low + 120
        down, right_by = (self._between(size, outputs) for _ in range(2))
        return partial(computed, Resize(rows=down, columns=right_by, zero=zero, dtype=self.dtype))

    def _between(self, size: int, outputs: int) -> Between:
        below = self.rng.integers(0, size - 1, outputs)
        return Between(below, below + 1, self.rng.integers(0, ONE, outputs))

    def dequantized_sums(self) -> Build:
        """Sums of 16 channels to float32."""
        scale, bias = (self.rng.uniform(low, 0.01, 16).astype(np.float32) for low in (0.001, -0.01))
        line = DequantizeSums(offset=np.zeros(16, np.int32), scale=scale, bias=bias)
        return partial(computed, line, exact=False)

    def columns(self) -> Build:
        """Some of eight columns, two of them one after the other."""
        return partial(taken, axis=2, indices=np.array([0, 1, 4, 4, 6, 2]))

    def transposition(self, *axes: int) -> Build:
        """The axes in another order."""
        return partial(transposed, axes=axes)

    def quantization(self) -> Build:
        """From float32."""
        function = FloatQuantization(np.float32(SCALE), self._low + 130, self.dtype, half_to_even=False)
        return partial(computed, Quantize(function=function))

    def dequantization(self) -> Build:
        """To float32."""
        return partial(computed, Dequantize(scale=np.float32(SCALE), zero_point=self._low + 130))


def _beside(operator: Operator, numbers: Value, x: Value) -> Value:
    """An operator on a tensor and a constant."""
    return computed(operator, x, numbers)


def _convolution(
    kernel: Int8Array,
    parameters: Requantization,
    dtype: str,
    strides: tuple[int, int],
    padding: Padding,
    groups: int,
    *,
    depthwise: bool,
) -> Convolution:
    """A convolution, padded with 0."""
    return Convolution(
        weights=kernel,
        requantization=parameters,
        dtype=dtype,
        strides=strides,
        padding=padding,
        dilation=(1, 1),
        groups=groups,
        pad_value=0,
        kernel_layout="HWOI" if depthwise else "HWIO",
    )


def _average(requantization: Requantization, dtype: str) -> Average:
    """The average of a whole map of 8 x 8."""
    return Average(requantization=requantization, dtype=dtype, window=(8, 8), strides=(1, 1), whole_map=True)


def _scaling(mantissa: int, exponent: int) -> Requantization:
    """A scaling of integers to 16 bits."""
    return scaling(np.array([mantissa]), np.array([exponent]), np.zeros(1, np.int64), value_range("int16"))
