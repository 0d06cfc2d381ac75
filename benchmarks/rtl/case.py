"""A kernel call to measure: a whole layer as one tile, random tensors, and what NumPy says of its outputs."""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from match.arithmetic.fixed_point import product, shifted_right
from match.arithmetic.recurrent import logistic_in_table, tanh_in_table
from match.arithmetic.tflite_functions import exponentials_of_16_bits, logistic_of_16_bits, reciprocals_of_16_bits
from match.cost_models.pulp_cycles import Form
from match.ir.attributes import Broadcast, ChannelGroups, Concatenation, LookupTable, Transposition
from match.ir.constants import LOOKUP_SUM_FRACTION
from match.ir.exception_lists import ExceptionLists, exception_lists
from match.ir.float_average import FloatAverage
from match.ir.float_border import FloatQuantization
from match.ir.layer import Layer, Op
from match.ir.requantization import UNREACHED, Requantization
from match.prediction.blocks import tile_of
from match.target.cost import Tile
from match.target.tile_constants import float_average, quantization

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Sums = npt.NDArray[np.int32]
Reals = npt.NDArray[np.float32]
Halves = npt.NDArray[np.int16]

_SPLIT = [("addend", "<i4"), ("largest", "<i4"), ("low", "<u4"), ("bias", "<u4"), ("high", "<u4")]
"""match_requant_split_t."""

_NONE = np.zeros(0, np.uint8)

_MANTISSA = 0x61234567
"""The mantissa of fixed-point numbers."""

SCALE = np.float32(0.0123)
"""The scale of a quantize."""


@dataclass(frozen=True)
class Case:
    """A layer and the form of its requantization, by the name that the cluster gives it.

    begin: whether it begins its sums, or takes up those of other input channels. end: whether it ends them, or leaves
    them for others; those of the form "sums" stay sums. excepted: channels that have exceptions, the first ones, each
    from one to three of its own accumulators. ties: whether halves go to even outputs, as "split" has them.
    """

    layer: Layer
    form: Form = "int64"
    begin: bool = True
    end: bool = True
    excepted: int = 0
    ties: bool = False

    @property
    def name(self) -> str:
        """The layer's, and which part of its input channels this is where it is not all of them."""
        part = {(True, False): ", begins", (False, False): ", goes on", (False, True): ", ends"}
        excepted = f", {self.excepted} excepted" if self.excepted else ""
        ties = ", halves to even" if self.ties else ""
        return self.layer.name + part.get((self.begin, self.end), "") + excepted + ties

    @property
    def tile(self) -> Tile:
        """The whole layer as one."""
        spans = self.layer.spans
        return tile_of(self.layer, spans)._replace(begin=self.begin, end=self.end)

    @property
    def leaves_sums(self) -> bool:
        """Whether its outputs are int32 sums."""
        return self.form == "sums" or not self.end

    @cached_property
    def tensors(self) -> Tensors:
        """The same random tensors in every run."""
        return Tensors.of(self)


@dataclass(frozen=True, eq=False)
class Tensors:
    """What a kernel reads, and the outputs it must write, (OY, OX, K) of the layer's type, or sums.

    addend is empty but for additions, sums of lookups and products of matrices, weights but for operators that have
    some, sums (OY, OX, K) but where it takes some up. negative_step is the tile's, lists
    are its exceptions, if it has some.
    """

    input: Bytes | Reals | Sums | Halves
    addend: Bytes | Halves
    weights: npt.NDArray[np.int8 | np.int16]
    parameters: bytes
    expected: Bytes | Sums | Reals | Halves
    negative_step: int = 0
    sums: Sums = field(default_factory=lambda: np.zeros(0, np.int32))
    lists: ExceptionLists | None = None

    @classmethod
    def of(cls, case: Case) -> Tensors:
        """Random values that the layer's sums spread over all outputs."""
        layer = case.layer
        rng = np.random.default_rng(zlib.crc32(repr(layer).encode()))
        x = rng.integers(0, 256, (layer.iy, layer.ix, layer.input_channels), np.uint8)
        empty = np.zeros(0, np.uint8)
        if layer.input_dtype == "int16":
            return _in_halves(layer, rng)
        if layer.op is Op.LOOKUP:
            table = rng.integers(0, 256, 256, np.uint8)
            if layer.get(LookupTable).turns_signs:
                table = np.arange(256, dtype=np.uint8) ^ 128
            return cls(x, empty, empty.view(np.int8), table.tobytes(), table[x])
        if layer.op is Op.CHANNEL_LOOKUP:
            tables = rng.integers(0, 256, (layer.k, 256), np.uint8)
            return cls(x, empty, empty.view(np.int8), tables.tobytes(), tables[np.arange(layer.k), x])
        if layer.op is Op.LOOKUP_SUM:
            numbers, second = rng.integers(-(2**26), 2**28, (2, 256)), rng.integers(0, 256, x.shape, np.uint8)
            outputs = ((numbers[0][x] + numbers[1][second]) >> LOOKUP_SUM_FRACTION).clip(0, 255).astype(np.uint8)
            return cls(x, second, empty.view(np.int8), numbers.astype("<i4").tobytes(), outputs)
        if layer.op is Op.DEQUANTIZE:
            numbers = rng.normal(size=256).astype(np.float32)
            return cls(x, empty, empty.view(np.int8), numbers.tobytes(), numbers[x])
        if layer.op is Op.DEQUANTIZE_SUMS:
            return _numbers(layer, rng)
        if layer.op is Op.QUANTIZE:
            reals, function = rng.normal(size=x.shape).astype(np.float32), FloatQuantization(SCALE, 120, "uint8", True)
            outputs = function(reals).astype(np.uint8)
            return cls(reals, empty, empty.view(np.int8), quantization(function), outputs)
        if layer.op is Op.TRANSPOSE:
            size = layer.get(Transposition).element_bytes
            turned = rng.integers(0, 256, (layer.iy, layer.k, layer.ix, size), np.uint8)
            outputs = turned.transpose(0, 2, 1, 3).reshape(layer.oy, layer.ox, -1)
            return cls(turned, empty, empty.view(np.int8), b"", outputs)
        if layer.op in (Op.ADD, Op.MULTIPLY):
            first, second = (rng.integers(0, 256, shape, np.uint8) for shape in _shapes_of_two(layer))
            combined = _addition if layer.op is Op.ADD else _multiplication
            return combined(first, second, case.form)
        if layer.op in (Op.MAXIMUM, Op.MINIMUM):
            first, second = (rng.integers(0, 256, shape, np.uint8) for shape in _shapes_of_two(layer))
            extremum = np.maximum if layer.op is Op.MAXIMUM else np.minimum
            return cls(first, second, empty.view(np.int8), b"", extremum(first, second))
        if layer.op is Op.CONCATENATE:
            second = rng.integers(0, 256, (layer.oy, layer.ox, layer.k - layer.input_channels), np.uint8)
            tables = rng.integers(0, 256, (2, 256), np.uint8)
            tables[np.array(layer.get(Concatenation).unchanged or (False, False))] = np.arange(256, dtype=np.uint8)
            outputs = np.concatenate([tables[0][x], tables[1][second]], axis=2)
            return cls(x, second, empty.view(np.int8), tables.tobytes(), outputs)
        if layer.op is Op.MATRICES:
            second = rng.integers(0, 256, (layer.oy, layer.k, layer.c), np.uint8)
            zeros = rng.integers(0, 256, 2)
            acc = np.einsum("yxc,ykc->yxk", x.astype(np.int64) - zeros[0], second.astype(np.int64) - zeros[1])
            plain = cls(x, second, zeros.astype("<i4").view(np.int8), *_requantized(acc, case.form))
            return _with_exceptions(plain, rng, acc.reshape(-1, 1), case.excepted) if case.excepted else plain
        windows = _windows(layer, x)
        if layer.op is Op.MAX_POOL2D:
            return cls(x, empty, empty.view(np.int8), b"", windows.max(axis=(2, 3)).astype(np.uint8))
        if layer.op is Op.FLOAT_AVG_POOL2D:
            return cls(x, empty, empty.view(np.int8), *_in_float(layer, windows))
        weights = _weights(layer, rng)
        acc = _accumulators(layer, windows, weights)
        sums = np.zeros(0, np.int32) if case.begin else rng.integers(-(2**15), 2**15, acc.shape, np.int32)
        acc = acc if case.begin else acc + sums
        if case.leaves_sums:
            return cls(x, empty, weights, b"", acc.astype(np.int32), sums=sums)
        requantized = _halves_to_even(acc) if case.ties else _requantized(acc, case.form)
        plain = cls(x, empty, weights, *requantized, sums=sums)
        return _with_exceptions(plain, rng, acc, case.excepted) if case.excepted else plain


def _numbers(layer: Layer, rng: np.random.Generator) -> Tensors:
    """Sums, some of them with more bits than float32 has, on a line for each channel."""
    sums = rng.integers(-(2**26), 2**26, (layer.oy, layer.ox, layer.k)).astype(np.int32) >> rng.integers(0, 20, layer.k)
    offset, scale, bias = rng.integers(-1000, 1000, layer.k), rng.uniform(1e-5, 1e-3, layer.k), rng.normal(size=layer.k)
    lines = np.stack([offset.astype("<i4"), *(part.astype("<f4").view("<i4") for part in (scale, bias))], axis=1)
    numbers = (sums + offset).astype(np.float32) * scale.astype(np.float32) + bias.astype(np.float32)
    return Tensors(sums.astype(np.int32), np.zeros(0, np.uint8), np.zeros(0, np.int8), lines.tobytes(), numbers)


def _in_halves(layer: Layer, rng: np.random.Generator) -> Tensors:
    """Activations of 16 bits and weights of 8, most of whose outputs are inside the clip."""
    x = rng.integers(-(2**15), 2**15, (layer.iy, layer.ix, layer.input_channels)).astype(np.int16)
    if layer.op in (Op.ADD, Op.MULTIPLY):
        b = rng.integers(-(2**15), 2**15, x.shape).astype(np.int16)
        return _int16_addition(x, b) if layer.op is Op.ADD else _int16_product(x, b)
    if layer.op in _INT16_FUNCTIONS:
        parameters, outputs = _INT16_FUNCTIONS[layer.op](x.astype(np.int64))
        return Tensors(x, _NONE, _NONE.view(np.int8), parameters, outputs.astype(np.int16))
    if layer.op is Op.MAX_POOL2D:
        return Tensors(x, _NONE, _NONE.view(np.int8), b"", _windows(layer, x).max(axis=(2, 3)).astype(np.int16))
    weights = _weights(layer, rng).astype(np.int16)
    acc = _accumulators(layer, _windows(layer, x), weights)
    multiplier, shift = rng.integers(2**29, 2**30, layer.output_channels), 44
    multiplier = (multiplier * min(1.0, 2.0**14 / (np.abs(acc).max() >> 14))).astype(np.int64)
    bias = rng.integers(-(2**10), 2**10, layer.output_channels) << shift
    parameters = np.zeros(layer.output_channels, [("bias", "<i8"), ("multiplier", "<i4"), ("shift", "<i4")])
    parameters["bias"], parameters["multiplier"], parameters["shift"] = bias, multiplier, shift
    outputs = np.clip((acc * multiplier + bias) >> shift, *layer.clip).astype(np.int16)
    return Tensors(x, _NONE, weights, parameters.tobytes(), outputs)


def _int16_addition(a: Halves, b: Halves) -> Tensors:
    """A difference, by the definition of its fixed point."""
    scales = np.array([0x51234567, 0x40000000, 0x61234567]), np.array([1, 0, 14])
    left, right = (
        shifted_right(product(x.astype(np.int64) << 15, int(scales[0][n])), int(scales[1][n]))
        for n, x in enumerate((a, b))
    )
    total = shifted_right(product(left - right, int(scales[0][2])), int(scales[1][2]))
    words = [
        [mantissa, 1 + left, right, (1 << right) >> 1]
        for mantissa, right, left in zip(*scales, (15, 15, 0), strict=True)
    ]
    parameters = np.array([*words[0], *words[1], *words[2], -1], "<i4").tobytes()
    outputs = np.clip(total, -(2**15), 2**15 - 1).astype(np.int16)
    return Tensors(a, b, np.zeros(0, np.int8), parameters, outputs)


def _int16_product(a: Halves, b: Halves) -> Tensors:
    """Products times half a mantissa / 2^14."""
    value = shifted_right(product(a.astype(np.int64) * b, _MANTISSA), 15)
    parameters = np.array([_MANTISSA, 1, 15, 1 << 14], "<i4").tobytes()
    return Tensors(a, b, np.zeros(0, np.int8), parameters, value.clip(-(2**15), 2**15 - 1).astype(np.int16))


def _int16_requantized(x: Ints) -> tuple[bytes, Ints]:
    """Parameters and outputs of a change of scale."""
    return np.array([_MANTISSA, 1, 1, 1], "<i4").tobytes(), shifted_right(product(x, _MANTISSA), 1)


def _int16_leaky_relu(x: Ints) -> tuple[bytes, Ints]:
    """The constants of a change of scale, and of another one below 0."""
    words = [_MANTISSA, 1, 0, 0, _MANTISSA, 1, 3, 4]
    outputs = np.where(x < 0, shifted_right(product(x, _MANTISSA), 3), product(x, _MANTISSA))
    return np.array(words, "<i4").tobytes(), outputs


def _int16_gate(function: Callable[[Ints], Ints]) -> Callable[[Ints], tuple[bytes, Ints]]:
    """The constants of a function of steps of a third of 2^-12."""
    table = np.array([3, 0], "<i4").tobytes() + logistic_of_16_bits().astype("<u2").tobytes()
    return lambda x: (table, function(3 * x))


def _int16_softmax(x: Ints) -> tuple[bytes, Ints]:
    """The constants of rows, with distances times half a mantissa / 2^30."""
    tables = exponentials_of_16_bits(), reciprocals_of_16_bits()
    distances = shifted_right(product(x - x.max(axis=2, keepdims=True), _MANTISSA), 1)
    exponential = _between(tables[0], distances + 2**15 - 1)
    total = exponential.sum(axis=2, keepdims=True)
    bits = np.floor(np.log2(total)).astype(np.int64) + 1
    reciprocal = _between(tables[1], (((total << 31 - bits) + (1 << 13)) >> 14) - (3 << 15))
    outputs = (exponential * reciprocal + (np.int64(1) << bits - 2)) >> (bits - 1)
    parameters = [np.array([_MANTISSA, 1, 1, 1], "<i4").tobytes()]
    parameters += [np.append(table, 0).astype("<i2").tobytes() for table in tables]
    return b"".join(parameters), outputs.clip(0, 2**15 - 1)


def _between(table: Ints, x: Ints) -> Ints:
    """Between two of 513 entries, for numbers clipped to 16 bits."""
    place, rest = np.divmod(x.clip(-(2**15), 2**15 - 1) + 2**15, 128)
    return table[place] + (((table[place + 1] - table[place]) * rest + 64) >> 7)


_INT16_FUNCTIONS = {
    Op.REQUANTIZE: _int16_requantized,
    Op.LEAKY_RELU: _int16_leaky_relu,
    Op.LOGISTIC: _int16_gate(logistic_in_table),
    Op.TANH: _int16_gate(tanh_in_table),
    Op.SOFTMAX: _int16_softmax,
}
"""Parameters and outputs of functions of one tensor of 16 bits."""


def _in_float(layer: Layer, windows: Ints) -> tuple[bytes, Bytes]:
    """Parameters, and the outputs of windows without padding, which are summed row by row in float32."""
    numbers = np.arange(-120, 136).astype(np.float32) * SCALE
    sums = np.zeros((layer.oy, layer.ox, layer.k), np.float32)
    for i, j in np.ndindex(layer.fy, layer.fx):
        sums = sums + numbers[windows[:, :, i, j]]
    function = FloatQuantization(SCALE, 120, "uint8", True, zero_first=True)
    outputs = function(sums / np.float32(layer.fy * layer.fx)).astype(np.uint8)
    return float_average(FloatAverage(SCALE, 120, function, layer.fy * layer.fx)), outputs


def _weights(layer: Layer, rng: np.random.Generator) -> npt.NDArray[np.int8]:
    if layer.op is Op.AVG_POOL2D:
        return np.zeros(0, np.int8)
    return rng.integers(-128, 128, (layer.output_channels, layer.fy, layer.fx, layer.c), np.int8)


def _windows(layer: Layer, x: Bytes | Halves) -> Ints:
    """What each output sees, (OY, OX, FY, FX, C); in the padding of max pooling less than any value."""
    top, left, bottom, right = layer.padding
    value = -(1 << 16) if layer.op is Op.MAX_POOL2D else layer.pad_value
    padded = np.pad(x.astype(np.int64), ((top, bottom), (left, right), (0, 0)), constant_values=value)
    window = np.lib.stride_tricks.sliding_window_view(padded, layer.window, axis=(0, 1))
    seen = window[:: layer.stride[0], :: layer.stride[1], :, :: layer.dilation[0], :: layer.dilation[1]]
    return seen[: layer.oy, : layer.ox].transpose(0, 1, 3, 4, 2)


def _accumulators(layer: Layer, windows: Ints, weights: npt.NDArray[np.int8 | np.int16]) -> Ints:
    if layer.op is Op.AVG_POOL2D:
        return windows.sum(axis=(2, 3))
    if layer.op is Op.DEPTHWISE_CONV2D:
        return np.einsum("yxijk,kij->yxk", windows, weights[..., 0].astype(np.int64))
    if layer.op is Op.GROUPED_CONV2D:
        shape = (layer.k, layer.get(ChannelGroups).outputs, layer.fy, layer.fx, layer.c)
        seen = windows.reshape(*windows.shape[:-1], layer.k, layer.c)
        acc = np.einsum("yxijgc,gkijc->yxgk", seen, weights.reshape(shape).astype(np.int64))
        return acc.reshape(layer.oy, layer.ox, -1)
    columns = windows.reshape(layer.oy, layer.ox, -1)
    return columns @ weights.reshape(layer.k, -1).T.astype(np.int64)


def _with_exceptions(plain: Tensors, rng: np.random.Generator, acc: Ints, excepted: int) -> Tensors:
    """The same with exceptions of the first channels, whose outputs are not 0; by columns of `acc`."""
    flat, outputs = acc.reshape(-1, acc.shape[-1]), plain.expected.reshape(-1, acc.shape[-1])
    exceptions = np.full((acc.shape[-1], 3), UNREACHED, np.int64)
    for channel in range(excepted):
        possible = np.unique(flat[outputs[:, channel] > 0, channel])
        chosen = rng.choice(possible, min(int(rng.integers(1, 4)), len(possible)), replace=False)
        exceptions[channel, : len(chosen)] = chosen
    zeros = np.zeros(acc.shape[-1], np.int64)
    lists = exception_lists(Requantization(zeros, zeros, zeros, (0, 255), exceptions=exceptions))
    less = (acc[..., None] == exceptions).any(axis=-1)
    return replace(plain, expected=plain.expected - less.astype(np.uint8).reshape(plain.expected.shape), lists=lists)


def _requantized(acc: Ints, form: Form) -> tuple[bytes, Bytes, int]:
    """Parameters of a form, the outputs they make of accumulators (OY, OX, K), and the step taken off half of them."""
    low, high = int(acc.min()), int(acc.max())
    slope = 250 / (high - low + 1)
    if form in ("split", "split_signed"):
        return _by_halves(acc, signed=form == "split_signed")
    if form == "int32":
        shift = min(22, 29 - math.ceil(math.log2(slope * max(abs(low), abs(high)))))
    else:
        slope = min(slope, 0.49)  # shifts of 32 and more leave multipliers below 2^31 no larger one
        shift = max(32, math.floor(30 - math.log2(slope)))
    multiplier = max(1, int(slope * 2**shift))
    bias = -low * multiplier
    total = acc * multiplier + bias
    if form == "int32" and max(np.abs(total).max(), np.abs(acc * multiplier).max()) >= 2**31:
        raise ValueError("sums do not fit 32 bits")
    entry = [("bias", "<i4" if form == "int32" else "<i8"), ("multiplier", "<i4"), ("shift", "<i4")]
    return _table(acc, entry, (bias, multiplier, shift)), np.clip(total >> shift, 0, 255).astype(np.uint8), 0


def _by_halves(acc: Ints, *, signed: bool) -> tuple[bytes, Bytes, int]:
    """The same by halves of multipliers, most of the accumulators inside the clip; signed: with a correction."""
    spread = int(acc.max()) - int(acc.min()) + 1
    addend, largest = -int(acc.min()) - spread // 16, max(1, spread * 7 // 8)
    shift = max(0, math.floor(31 - math.log2(largest)))
    multiplier = 250 * 2 ** (24 + shift) // largest
    lower, upper, bias = multiplier % 2**shift, multiplier >> shift, 32 * 77 + shift
    clipped = np.clip(acc + addend, 0, largest)
    word = ((clipped * lower + bias) >> shift) + clipped * upper
    entry = _SPLIT
    parameters = (addend, largest, lower, bias, upper)
    if signed:
        below, less = largest // 2, 2**22
        word = word - np.where(clipped < below, less, 0)
        entry, parameters = [*entry, ("below", "<i4"), ("word", "<u4")], (*parameters, below, 2**32 - less)
    return _table(acc, entry, parameters), (word % 2**32 >> 24).astype(np.uint8), int(signed)


def _halves_to_even(acc: Ints) -> tuple[bytes, Bytes, int]:
    """Parameters of "split" with which the accumulators, divided by a power of two, are rounded half to even."""
    spread = int(acc.max()) - int(acc.min()) + 1
    shift = max(1, math.ceil(math.log2(spread / 280)))
    offset = (128 << shift) - (int(acc.max()) + int(acc.min())) // 2
    odd = 1 << 31 - shift
    parameters = offset + (1 << shift - 1) - 1, 255 << shift, odd, (1 << 31) + odd + shift + 7, 1 << 24 - shift
    expected = np.clip(np.rint((acc + offset) / (1 << shift)), 0, 255).astype(np.uint8)
    return _table(acc, _SPLIT, parameters), expected, 0


def _table(acc: Ints, entry: list[tuple[str, str]], parameters: tuple[int, ...]) -> bytes:
    """The same parameters for every channel."""
    table = np.zeros(acc.shape[-1], np.dtype(entry))
    for (name, _), value in zip(entry, parameters, strict=True):
        table[name] = value
    return table.tobytes()


def _shapes_of_two(layer: Layer) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Shapes of the inputs of an operator of two, one of which may be a single pixel or channel."""
    whole, pixel, channel = (layer.oy, layer.ox, layer.k), (1, 1, layer.k), (layer.oy, layer.ox, 1)
    shapes = {"": (whole, whole), "pixel": (whole, pixel), "channel": (whole, channel), "outer": (pixel, channel)}
    return shapes[layer.get(Broadcast).kind]


def _multiplication(x: Bytes, addend: Bytes, form: Form) -> Tensors:
    zeros = np.array([117, 5])
    if form == "rows":
        return _product_by_rows(x, addend, zeros)
    acc = (x.astype(np.int64) - zeros[0]) * (addend.astype(np.int64) - zeros[1])
    every = acc.reshape(-1, 1)  # one channel's parameters
    parameters, outputs, negative_step = _requantized(every, form)
    weights = zeros.astype("<i4").view(np.int8)
    return Tensors(x, addend, weights, parameters, outputs.reshape(acc.shape), negative_step)


def _product_by_rows(x: Bytes, addend: Bytes, zeros: Ints) -> Tensors:
    """A product by a line for each byte of the second input, whose slope is rounded."""
    bias, multiplier, shift = 120 << 22, int(2**38 / 300), 22
    slopes = ((addend - zeros[1]) * multiplier + 2**15) >> 16
    outputs = ((x - zeros[0]) * slopes + bias >> shift).clip(0, 255).astype(np.uint8)
    weights, parameters = zeros.astype("<i4").view(np.int8), struct.pack("<3i", bias, multiplier, shift)
    return Tensors(x, addend, weights, parameters, outputs)


def _addition(x: Bytes, addend: Bytes, form: Form) -> Tensors:
    if form == "split":
        multipliers = 2, 4
        total = x.astype(np.int64) * multipliers[0] + addend.astype(np.int64) * multipliers[1]
        parameters, expected, _ = _halves_to_even(total)
        entry = parameters[: 5 * 4] + struct.pack("<2i", *multipliers)
        return Tensors(x, addend, np.zeros(0, np.int8), entry, expected)
    narrow = form == "int32"
    multipliers, shift = ((0x3141, 0x2718), 15) if narrow else ((0x31415926, 0x27182818), 31)
    bias = np.int64(-20) << shift
    total = x.astype(np.int64) * multipliers[0] + addend.astype(np.int64) * multipliers[1] + bias
    parameters = struct.pack("<4i" if narrow else "<q3i4x", bias, *multipliers, shift)
    expected = np.clip(total >> shift, 0, 255).astype(np.uint8)
    return Tensors(x, addend, np.zeros(0, np.int8), parameters, expected)
