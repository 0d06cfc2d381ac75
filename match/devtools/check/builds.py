"""The Relay of small layers with random constants, from their inputs to their output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from match.arithmetic.interface import QuantizedType
from match.arithmetic.tflite import division, scaling
from match.arithmetic.tflite_functions import exponentials
from match.graph.elements import Gate, LeakyRelu
from match.graph.pairs import Int16Addition
from match.graph.recurrent import Gru, Lstm
from match.graph.resize import ONE, Between, Resize
from match.graph.rows import Softmax16, log_tables
from match.ir.constants import LOOKUP_LINE_FRACTION, LOOKUP_SUM_FRACTION, Normalization
from match.ir.dtypes import value_range
from match.ir.layer import Op, Padding
from match.ir.requantization import Requantization
from match.relay import integer_form, relay
from match.relay.float_averages import quantized_mean
from match.relay.int16_addition import int16_addition
from match.relay.int16_gates import int16_gate
from match.relay.int16_leaky_relu import int16_leaky_relu
from match.relay.int16_softmax import int16_softmax
from match.relay.log_softmax import log_softmax
from match.relay.normalization import normalization
from match.relay.recurrent import recurrent
from match.relay.resize import resized
from match.relay.softmax import softmax

Build = Callable[..., relay.Expr]
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

    def _weights(self, *shape: int) -> integer_form.Int8Array:
        """Weights of 4 bits, or one of them of 8: modules may store weights in as many bits as the layer's need."""
        weights = self.rng.integers(-8, 8, shape).astype(np.int8)
        if self.rng.integers(2):
            weights.flat[0] = -128
        return weights

    def _table(self) -> integer_form.Int64Array:
        return self.rng.integers(self._low, self._low + 256, 256)

    def convolution(
        self, c: int, k: int, window: int, stride: int, padding: Padding, *, depthwise: bool = False, groups: int = 1
    ) -> Build:
        """A square filter, of all channels, of each channel by itself or in groups."""
        kernel = self._weights(window, window, c // groups, 1 if depthwise else k)
        parameters = self.requantization(k, window * window * (1 if depthwise else c // groups))

        def build(x: relay.Expr) -> relay.Expr:
            return integer_form.conv2d(
                x,
                kernel,
                parameters,
                self.dtype,
                x_dtype=self.dtype,
                strides=(stride, stride),
                padding=padding,
                groups=c if depthwise else groups,
                kernel_layout="HWOI" if depthwise else "HWIO",
            )

        return build

    def int16_convolution(self, c: int, k: int, window: int, *, depthwise: bool = False) -> Build:
        """The same of activations of 16 bits, padded by half the window."""
        kernel = self._weights(window, window, c, 1 if depthwise else k).astype(np.int16)
        parameters = self._int16_requantization(k, window * window * (1 if depthwise else c))

        def build(x: relay.Expr) -> relay.Expr:
            sums = integer_form.convolution(
                x,
                kernel,
                x_dtype="int16",
                padding=Padding(*[window // 2] * 4),
                groups=c if depthwise else 1,
                kernel_layout="HWOI" if depthwise else "HWIO",
            )
            return integer_form.requantize(sums, parameters, "int16")

        return build

    def int16_dense(self, c: int, k: int) -> Build:
        """Weights of shape (k, c), activations of 16 bits."""
        kernel, parameters = self._weights(k, c).astype(np.int16), self._int16_requantization(k, c)

        def build(x: relay.Expr) -> relay.Expr:
            return integer_form.requantize(integer_form.product(x, kernel), parameters, "int16")

        return build

    def int16_addition(self) -> Build:
        """A difference of two maps of 16 bits."""
        scales = np.array([[5 << 28, -1], [1 << 30, 0], [3 << 29, -13]])

        def build(a: relay.Expr, b: relay.Expr) -> relay.Expr:
            return int16_addition(Int16Addition(scales=scales, sign=-1, clip=value_range("int16")), a, b)

        return build

    def int16_multiplication(self, *, pixel: bool = False) -> Build:
        """A product of two maps of 16 bits, or of one and a pixel of 16, a constant."""
        line = _scaling(5 << 28, -13)
        constant = relay.const(np.linspace(*value_range("int16"), 16).astype(np.int16))

        def build(a: relay.Expr, b: relay.Expr = constant) -> relay.Expr:
            product = relay.multiply(relay.cast(a, "int32"), relay.cast(b, "int32"))
            return integer_form.requantize(product, line, "int16")

        return build

    def requantize(self) -> Build:
        """A map of 16 bits in a larger scale."""

        def build(x: relay.Expr) -> relay.Expr:
            return integer_form.requantize(relay.cast(x, "int32"), _scaling(5 << 28, -1), "int16")

        return build

    def int16_leaky_relu(self) -> Build:
        """A map of 16 bits, an eighth of it below 0."""
        scales = np.array([[1 << 30, 1], [1 << 30, -2]])

        def build(x: relay.Expr) -> relay.Expr:
            return int16_leaky_relu(LeakyRelu(scales=scales), x)

        return build

    def int16_gate(self, op: Op) -> Build:
        """A gate of a map of 16 bits in steps near 2^-12."""
        gate = Gate(function="tanh" if op is Op.TANH else "logistic", multiplier=25000, shift=13)

        def build(x: relay.Expr) -> relay.Expr:
            return int16_gate(gate, x)

        return build

    def int16_softmax(self) -> Build:
        """A softmax of rows of 16."""

        def build(x: relay.Expr) -> relay.Expr:
            return int16_softmax(Softmax16(mantissa=5 << 28, exponent=-2), x, 16)

        return build

    def int16_average(self) -> Build:
        """The average of a whole map of 8 x 8."""
        mean = division(64, value_range("int16")).take(np.zeros(16, np.intp))

        def build(x: relay.Expr) -> relay.Expr:
            return integer_form.avg_pool2d(x, mean, "int16", window=(8, 8), whole_map=True)

        return build

    def _int16_requantization(self, channels: int, terms: int) -> Requantization:
        """A rounded shift of sums of so many products."""
        shift = int(terms * 8).bit_length()
        ones = np.ones(channels, np.int64)
        bias = (self.rng.integers(-999, 999, channels) << shift) + (1 << shift >> 1)
        return Requantization(ones, bias.astype(np.int64), ones * shift, value_range("int16"))

    def dense(self, c: int, k: int) -> Build:
        """Weights of shape (k, c)."""
        kernel, parameters = self._weights(k, c), self.requantization(k, c)

        def build(x: relay.Expr) -> relay.Expr:
            return integer_form.dense(x, kernel, parameters, self.dtype)

        return build

    def addition(self) -> Build:
        """The mean of two maps."""

        def build(a: relay.Expr, b: relay.Expr) -> relay.Expr:
            return integer_form.add(a, b, (1, 1), 0, 1, self._range, self.dtype)

        return build

    def shifted_channels(self) -> Build:
        """The mean of a map and of one pixel, a constant."""
        pixel = np.linspace(*self._range, 16).astype(self.dtype).reshape(1, 1, 1, 16)

        def build(x: relay.Expr) -> relay.Expr:
            return integer_form.add(x, relay.const(pixel), (1, 1), 0, 1, self._range, self.dtype)

        return build

    def shifted_pixels(self) -> Build:
        """The mean of an 8 x 8 map and of one channel, a constant."""
        channel = np.linspace(*self._range, 64).astype(self.dtype).reshape(1, 8, 8, 1)

        def build(x: relay.Expr) -> relay.Expr:
            return integer_form.add(x, relay.const(channel), (1, 1), 0, 1, self._range, self.dtype)

        return build

    def outer_product(self) -> Build:
        """A product of one channel and one pixel of 16, a constant."""
        scaled, offsets = self.requantization(1, 32), (self._low + 100, self._low + 3)
        pixel = relay.const(np.linspace(*self._range, 16).astype(self.dtype))

        def build(x: relay.Expr) -> relay.Expr:
            return integer_form.multiply(x, pixel, offsets, scaled, self.dtype)

        return build

    def matrices(self, rows: int) -> Build:
        """Products of matrices, so many rows each."""
        requantization = self.requantization(1, 64).take(np.zeros(rows, np.intp))
        offsets = (self._low + 100, self._low + 90)

        def build(a: relay.Expr, b: relay.Expr) -> relay.Expr:
            return integer_form.matrices(a, b, offsets, requantization, self.dtype)

        return build

    def average(self) -> Build:
        """The average of a whole map of 8 x 8."""
        mean = self.requantization(16, 2)

        def build(x: relay.Expr) -> relay.Expr:
            return integer_form.avg_pool2d(x, mean, self.dtype, window=(8, 8), whole_map=True)

        return build

    def float_average(self) -> Build:
        """An average of 2 x 2 pixels, within one quantization, so that every fourth sum is a half."""
        own = QuantizedType(np.float32(0.0371), self._low + 130, self.dtype)

        def build(x: relay.Expr) -> relay.Expr:
            numbers = relay.qnn.dequantize(x, relay.const(own.scale), relay.const(own.zero_point))
            return quantized_mean(relay.nn.avg_pool2d(numbers, (2, 2), (2, 2), layout="NHWC"), own)

        return build

    def maximum(self) -> Build:
        """The largest of 2 x 2 pixels."""

        def build(x: relay.Expr) -> relay.Expr:
            return integer_form.max_pool2d(x, window=(2, 2), strides=(2, 2))

        return build

    def lookup(self) -> Build:
        """A random table."""
        table = self._table()

        def build(x: relay.Expr) -> relay.Expr:
            return integer_form.lookup(x, table, self.dtype, self.dtype)

        return build

    def channel_lookup(self) -> Build:
        """A random table for each of 16 channels."""
        tables = np.stack([self._table() for _ in range(16)])

        def build(x: relay.Expr) -> relay.Expr:
            return integer_form.channel_lookup(x, tables, self.dtype, self.dtype)

        return build

    def multiplication(self) -> Build:
        """The product of two maps."""
        scaled, offsets = self.requantization(1, 32), (self._low + 3, self._low + 100)

        def build(a: relay.Expr, b: relay.Expr) -> relay.Expr:
            return integer_form.multiply(a, b, offsets, scaled, self.dtype)

        return build

    def squared_difference(self) -> Build:
        """The squared difference of two maps, whose steps are of two sizes."""
        scaled, levels = self.requantization(1, 256), np.arange(256)
        steps = np.stack([levels, 100 + levels // 2])

        def build(a: relay.Expr, b: relay.Expr) -> relay.Expr:
            return integer_form.squared_difference(a, b, (self.dtype, self.dtype), steps, scaled, self.dtype)

        return build

    def lookup_sum(self) -> Build:
        """The sum of two maps through tables that are no lines."""
        rising = np.rint(np.sqrt(np.arange(256)) * 2**23)
        tables = np.stack([rising, rising[::-1] + (self._low << LOOKUP_SUM_FRACTION)]).astype(np.int64)

        def build(a: relay.Expr, b: relay.Expr) -> relay.Expr:
            return integer_form.lookup_sum(a, b, (self.dtype, self.dtype), tables, self._range, self.dtype)

        return build

    def lookup_line(self) -> Build:
        """A line for each value of a second map: steep ones for low values, as of a divisor, and falling ones."""
        slopes = np.rint((1 << LOOKUP_LINE_FRACTION) * 40 / np.arange(1, 257)).astype(np.int64)
        slopes[200:] = -slopes[200:]
        biases = ((100 + self._low) << LOOKUP_LINE_FRACTION) - 60 * slopes
        lines = np.stack([slopes, biases - self._low * slopes])

        def build(a: relay.Expr, b: relay.Expr) -> relay.Expr:
            return integer_form.lookup_line(a, b, (self.dtype, self.dtype), lines, self._range, self.dtype)

        return build

    def absolute_difference(self) -> Build:
        """The distance of two maps, whose steps are of two sizes; the largest are clipped."""
        levels = np.arange(256) << LOOKUP_SUM_FRACTION
        tables = np.stack([levels, (40 << LOOKUP_SUM_FRACTION) - levels * 5 // 4])

        def build(a: relay.Expr, b: relay.Expr) -> relay.Expr:
            return integer_form.absolute_difference(a, b, (self.dtype, self.dtype), tables, self._range, self.dtype)

        return build

    def concatenation(self) -> Build:
        """Channels of two maps, those of the second through a table."""
        table = self._table()

        def build(a: relay.Expr, b: relay.Expr) -> relay.Expr:
            return relay.concatenate([a, integer_form.lookup(b, table, self.dtype, self.dtype)], 3)

        return build

    def part(self) -> Build:
        """Some channels."""

        def build(x: relay.Expr) -> relay.Expr:
            return relay.strided_slice(x, [3], [11], axes=[3])

        return build

    def softmax(self) -> Build:
        """The softmax of each pixel's channels."""
        falling = exponentials(np.float32(SCALE), np.float32(0.1))

        def build(x: relay.Expr) -> relay.Expr:
            return softmax(x, 16, falling, self.dtype, self._low)

        return build

    def log_softmax(self) -> Build:
        """The logarithm of the softmax of each pixel's channels."""
        tables = log_tables(np.float32(SCALE), exponentials(np.float32(SCALE), np.float32(1)))
        assert tables is not None

        def build(x: relay.Expr) -> relay.Expr:
            return log_softmax(x, 16, tables)

        return build

    def normalization(self) -> Build:
        """The normalization of each pixel's 16 channels; a deviation is 4 to 32 steps."""
        gains, shift = self.rng.integers(1 << 10, 1 << 13, 16).astype(np.int16), np.full(16, 20)
        bias = (np.int64(self._low + 128) << shift) + self.rng.integers(0, 1 << 20, 16)
        scaled = Requantization(np.ones(16, np.int64), bias, shift, self._range)

        def build(x: relay.Expr) -> relay.Expr:
            return normalization(x, 16, Normalization(1000, gains), scaled, self.dtype)

        return build

    def lstm(self, features: int, units: int) -> Build:
        """So many units, whose gates have values of all sizes."""
        cells = self._cells(4, features, units)
        exponents = [*self.rng.integers(-3, 0, 8), -18, -22]
        scales = np.stack([self.rng.integers(1 << 30, (1 << 31) - 1, 10), exponents], axis=1)

        def build(x: relay.Expr) -> relay.Expr:
            return recurrent(Lstm(scales=scales, power=-11, limit=30000, **cells), x)

        return build

    def int16_lstm(self, features: int, units: int) -> Build:
        """The same on 16 bits, sums of which are 256 times as many steps."""
        cells = self._cells(4, features, units)
        offsets = self.rng.integers(-500_000, 500_000, (2, 4, units))
        exponents = [*self.rng.integers(-11, -8, 8), -18, -14]
        scales = np.stack([self.rng.integers(1 << 30, (1 << 31) - 1, 10), exponents], axis=1)
        wide: dict[str, Any] = {**cells, "dtype": "int16", "offsets": offsets, "zero": 0}

        def build(x: relay.Expr) -> relay.Expr:
            return recurrent(Lstm(scales=scales, power=-11, limit=30000, **wide), x)

        return build

    def gru(self, features: int, units: int, reset_first: bool = False) -> Build:
        """The same of another kind of cells."""
        cells = self._cells(3, features, units)
        scales = np.stack([self.rng.integers(1 << 30, (1 << 31) - 1, 7), [*self.rng.integers(-3, 0, 6), -7]], axis=1)
        biases = self.rng.integers(-5000, 5000, units)

        def build(x: relay.Expr) -> relay.Expr:
            return recurrent(Gru(scales=scales, biases=biases, reset_first=reset_first, **cells), x)

        return build

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
        rows, columns = (self._between(size, outputs) for _ in range(2))

        def build(x: relay.Expr) -> relay.Expr:
            return resized(Resize(rows=rows, columns=columns, zero=zero, dtype=self.dtype), x)

        return build

    def _between(self, size: int, outputs: int) -> Between:
        below = self.rng.integers(0, size - 1, outputs)
        return Between(below, below + 1, self.rng.integers(0, ONE, outputs))

    def dequantized_sums(self) -> Build:
        """Sums of 16 channels to float32."""
        scale, bias = (relay.const(self.rng.uniform(low, 0.01, 16).astype(np.float32)) for low in (0.001, -0.01))

        def build(x: relay.Expr) -> relay.Expr:
            return relay.add(relay.multiply(relay.cast(x, "float32"), scale), bias)

        return build

    def columns(self) -> Build:
        """Some of eight columns, two of them one after the other."""
        chosen = relay.const(np.array([0, 1, 4, 4, 6, 2], np.int32))

        def build(x: relay.Expr) -> relay.Expr:
            return relay.take(x, chosen, axis=2)

        return build

    def transposition(self, *axes: int) -> Build:
        """The axes in another order."""

        def build(x: relay.Expr) -> relay.Expr:
            return relay.transpose(x, axes)

        return build

    def quantization(self) -> Build:
        """From float32."""
        zero = relay.const(self._low + 130)

        def build(x: relay.Expr) -> relay.Expr:
            return relay.qnn.quantize(x, relay.const(SCALE), zero, out_dtype=self.dtype)

        return build

    def dequantization(self) -> Build:
        """To float32."""

        def build(x: relay.Expr) -> relay.Expr:
            return relay.qnn.dequantize(x, relay.const(SCALE), relay.const(self._low + 130))

        return build


def _scaling(mantissa: int, exponent: int) -> Requantization:
    """A scaling of integers to 16 bits."""
    return scaling(np.array([mantissa]), np.array([exponent]), np.zeros(1, np.int64), value_range("int16"))
