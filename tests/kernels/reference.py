"""The operators in NumPy, from their definitions, and random tiles of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
from hypothesis import assume
from hypothesis import strategies as st

from tests.kernels.harness import TileFields, View

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Geometry:
    """Sizes of one tile: output and filter, and what the input has of the pixels that the output sees."""

    channels_in: int
    channels_out: int
    output: tuple[int, int]
    filter: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    pad: tuple[int, int, int, int]  # top, left, bottom, right
    spare: tuple[int, int]  # rows and columns of input that no output sees

    @property
    def input(self) -> tuple[int, int]:
        """Rows and columns of the input."""
        return (
            self._seen(0) - self.pad[0] - self.pad[2] + self.spare[0],
            self._seen(1) - self.pad[1] - self.pad[3] + self.spare[1],
        )

    def _seen(self, axis: int) -> int:
        window = (self.filter[axis] - 1) * self.dilation[axis] + 1
        return (self.output[axis] - 1) * self.stride[axis] + window

    def fields(self, **more: int) -> TileFields:
        """The tile's fields, without the strides of its views."""
        return TileFields(
            channels_in=self.channels_in,
            channels_out=self.channels_out,
            input_height=self.input[0],
            input_width=self.input[1],
            output_height=self.output[0],
            output_width=self.output[1],
            filter_height=self.filter[0],
            filter_width=self.filter[1],
            stride_y=self.stride[0],
            stride_x=self.stride[1],
            dilation_y=self.dilation[0],
            dilation_x=self.dilation[1],
            pad_top=self.pad[0],
            pad_left=self.pad[1],
            pad_bottom=self.pad[2],
            pad_right=self.pad[3],
            **more,
        )


@st.composite
def geometries(
    draw: st.DrawFn,
    *,
    filters: st.SearchStrategy[tuple[int, int]] | None = None,
    strides: st.SearchStrategy[tuple[int, int]] | None = None,
    most_dilation: int = 2,
    most_padding: int = 3,
    most_channels: int = 19,
    most_output: int = 7,
    channelwise: bool = False,
) -> Geometry:
    """Any tile that the limits allow and that has an input pixel."""
    small = st.integers(1, 3)
    size = draw(filters if filters is not None else st.tuples(st.integers(1, 4), st.integers(1, 4)))
    stride = draw(strides if strides is not None else st.tuples(small, small))
    dilation = draw(st.tuples(st.integers(1, most_dilation), st.integers(1, most_dilation)))
    reach = [min(most_padding, (f - 1) * d) for f, d in zip(size, dilation, strict=True)]
    pad = (
        draw(st.integers(0, reach[0])),
        draw(st.integers(0, reach[1])),
        draw(st.integers(0, reach[0])),
        draw(st.integers(0, reach[1])),
    )
    channels = draw(st.integers(1, most_channels))
    geometry = Geometry(
        channels_in=channels,
        channels_out=channels if channelwise else draw(st.integers(1, most_channels)),
        output=draw(st.tuples(st.integers(1, most_output), st.integers(1, most_output))),
        filter=size,
        stride=stride,
        dilation=dilation,
        pad=pad,
        spare=(draw(st.integers(0, 1)) if not pad[2] else 0, draw(st.integers(0, 1)) if not pad[3] else 0),
    )
    assume(min(geometry.input) >= 1)
    return geometry


margins = st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 3), st.integers(0, 3))


def strides_of(view: View) -> dict[str, int]:
    """Row and pixel stride of an input view, as fields of the tile."""
    return {"input_row_stride": view.row_stride, "input_pixel_stride": view.pixel_stride}


def output_strides_of(view: View) -> dict[str, int]:
    """The same of an output view."""
    return {"output_row_stride": view.row_stride, "output_pixel_stride": view.pixel_stride}


def windows(x: npt.NDArray[np.integer], geometry: Geometry, pad_value: int) -> Ints:
    """What each output pixel sees: (OY, OX, FY, FX, C)."""
    result = np.full((*geometry.output, *geometry.filter, x.shape[2]), pad_value, np.int64)
    for oy, ox, fy, fx in np.ndindex(*geometry.output, *geometry.filter):
        y = oy * geometry.stride[0] - geometry.pad[0] + fy * geometry.dilation[0]
        column = ox * geometry.stride[1] - geometry.pad[1] + fx * geometry.dilation[1]
        if 0 <= y < x.shape[0] and 0 <= column < x.shape[1]:
            result[oy, ox, fy, fx] = x[y, column]
    return result


def conv2d(x: npt.NDArray[np.integer], weights: npt.NDArray[np.integer], geometry: Geometry, pad_value: int) -> Ints:
    """Accumulators (OY, OX, K) for weights (K, FY, FX, C)."""
    return np.einsum("yxijc,kijc->yxk", windows(x, geometry, pad_value), weights.astype(np.int64))


def depthwise_conv2d(
    x: npt.NDArray[np.integer], weights: npt.NDArray[np.integer], geometry: Geometry, pad_value: int
) -> Ints:
    """Accumulators (OY, OX, C) for weights (C, FY, FX)."""
    return np.einsum("yxijc,cij->yxc", windows(x, geometry, pad_value), weights.astype(np.int64))


@dataclass(frozen=True)
class Requantization:
    """Parameters of each channel, and the tile's clip and step."""

    bias: Ints
    multiplier: Ints
    shift: Ints
    negative_below: Ints
    negative_step: int
    clip: tuple[int, int]
    narrow: bool = False
    exceptions: tuple[tuple[int, ...], ...] = ()  # of each channel

    @property
    def suffix(self) -> str:
        """What the names of the kernels end in that compute it."""
        return "_int32" if self.narrow else ""

    def __call__(self, acc: Ints) -> Bytes:
        """Outputs for accumulators (..., channels), as the bytes that are stored."""
        outputs = self.plain(acc)
        for channel, exceptions in enumerate(self.exceptions):
            outputs[..., channel] -= np.isin(acc[..., channel], exceptions)
        return outputs

    def plain(self, acc: Ints) -> Bytes:
        """The same without exceptions."""
        total = acc * self.multiplier + self.bias - np.where(acc < self.negative_below, self.negative_step, 0)
        return np.clip(total >> self.shift, *self.clip).astype(np.uint8)

    def lists(self) -> tuple[Bytes, Bytes]:
        """The tile's `excepted` and `exceptions`, empty if there are none."""
        if not self.exceptions:
            return np.zeros(0, np.uint8), np.zeros(0, np.uint8)
        words: list[int] = [0]
        begins: list[int] = []
        for exceptions in self.exceptions:
            begins.append(len(words) if exceptions else 0)
            words += [len(exceptions), *sorted(exceptions)] if exceptions else []
        return np.array(begins, "<u2").view(np.uint8), np.array(words, "<i4").view(np.uint8)

    def packed(self) -> Bytes:
        """match_requant_t, match_requant_signed_t or match_requant32_t, one per channel."""
        bias = "<i4" if self.narrow else "<i8"
        fields: list[tuple[str, str]] = [("bias", bias), ("multiplier", "<i4"), ("shift", "<i4")]
        if self.negative_step:
            fields += [("negative_below", "<i4"), ("reserved", "<i4")]
        return self._table(fields, 4 if self.negative_step else 3)

    def _table(self, fields: list[tuple[str, str]], named: int) -> Bytes:
        """The first of these fields by name for each channel."""
        table = np.zeros(len(self.bias), np.dtype(fields))
        for name, _ in fields[:named]:
            table[name] = getattr(self, name)
        return table.view(np.uint8)


@dataclass(frozen=True)
class UpperWords(Requantization):
    """The same by the upper words of products: `bias` is a word whose lowest five bits are `shift`."""

    addend: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def suffix(self) -> str:
        """What the names of the kernels end in that compute it."""
        return "_high"

    def plain(self, acc: Ints) -> Bytes:
        """Outputs for accumulators (..., channels)."""
        added = acc + self.addend
        total = added * self.multiplier // 2**32 + self.bias
        return np.clip(total // 2**self.shift, *self.clip).astype(np.uint8)

    def packed(self) -> Bytes:
        """match_requant_high_t, one per channel."""
        fields: list[tuple[str, str]] = [("addend", "<i4"), ("multiplier", "<u4"), ("bias", "<i4")]
        return self._table(fields, len(fields))


@dataclass(frozen=True)
class SplitMultipliers(Requantization):
    """The same by halves of multipliers, for clipped accumulators: words wrap; `shift` is the lowest bits of `bias`."""

    addend: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    largest: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    low: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    high: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    negative_word: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def suffix(self) -> str:
        """What the names of the kernels end in that compute it."""
        return "_split"

    def plain(self, acc: Ints) -> Bytes:
        """Outputs for accumulators (..., channels)."""
        clipped = np.clip(acc + self.addend, 0, self.largest)
        word = ((clipped * self.low + self.bias) % 2**32 >> self.shift) + clipped * self.high
        if self.negative_step:
            word = word + np.where(clipped < self.negative_below, self.negative_word, 0)
        return (word % 2**32 >> 24).astype(np.uint8)

    def packed(self) -> Bytes:
        """match_requant_split_t or match_requant_split_signed_t, one per channel."""
        unsigned = [(name, "<u4") for name in ("low", "bias", "high")]
        fields: list[tuple[str, str]] = [("addend", "<i4"), ("largest", "<i4"), *unsigned]
        if self.negative_step:
            fields += [("negative_below", "<i4"), ("negative_word", "<u4")]
        return self._table(fields, len(fields))


FORMS = ("int64", "int64_signed", "int64_except", "int32", "split", "split_signed", "split_except")
"""The forms of all kernels that requantize sums, but for `WIDE_FORMS`; those that end in "except" have exceptions."""

WIDE_FORMS = ("int64", "int64_signed", "int32", "high")
"""The forms of kernels whose accumulators may have many bits."""


def requantization_of(
    rng: np.random.Generator, acc: Ints, form: str, clip: tuple[int, int] = (0, 255)
) -> Requantization:
    """Random parameters of one of the forms; those that clip from 0 on do so up to the size of the range."""
    from_zero = (0, clip[1] - clip[0])
    if form == "int32":
        return narrow_requantization(rng, acc, from_zero)
    if form == "high":
        return upper_words(rng, acc, from_zero)
    if form.startswith("split"):
        plain = split_multipliers(rng, acc, from_zero, step=form == "split_signed")
    else:
        plain = random_requantization(rng, acc, step=form == "int64_signed", clip=clip)
    return replace(plain, exceptions=random_exceptions(rng, acc, plain)) if form.endswith("except") else plain


def random_exceptions(rng: np.random.Generator, acc: Ints, plain: Requantization) -> tuple[tuple[int, ...], ...]:
    """Some accumulators of each channel that have not its lowest output, none of some channels."""
    flat = acc.reshape(-1, acc.shape[-1])
    outputs = plain.plain(flat)
    lowest = np.uint8(plain.clip[0] & 0xFF)
    found: list[tuple[int, ...]] = []
    for channel in range(flat.shape[1]):
        possible = np.unique(flat[outputs[:, channel] != lowest, channel])
        count = min(int(rng.choice([0, 1, 2, 5, 40])), len(possible))
        found.append(tuple(int(one) for one in rng.choice(possible, count, replace=False)) if count else ())
    return tuple(found)


def upper_words(rng: np.random.Generator, acc: Ints, clip: tuple[int, int]) -> UpperWords:
    """Parameters that spread the accumulators over the outputs, with every kind of shift; some are constant."""
    flat = acc.reshape(-1, acc.shape[-1])
    low, high = flat.min(axis=0), flat.max(axis=0)
    slope = np.minimum(rng.uniform(150, 400, len(low)) / (high - low + 1), 0.99)
    shift = np.floor(rng.uniform(0.0, np.minimum(-np.log2(slope), 20.0))).astype(np.int64)
    multiplier = (slope * np.exp2(32 + shift)).astype(np.int64) * rng.choice([1, 1, 1, 1, 0], len(low))
    addend = -low + rng.integers(-(2**28), 2**28, len(low))
    word = -((low + addend) * multiplier // 2**32) + (np.exp2(shift) * rng.uniform(-20, 3, len(low))).astype(np.int64)
    return UpperWords(
        bias=word // 32 * 32 + shift,
        multiplier=multiplier,
        shift=shift,
        negative_below=np.zeros_like(low),
        negative_step=0,
        clip=clip,
        addend=addend,
    )


def split_multipliers(rng: np.random.Generator, acc: Ints, clip: tuple[int, int], *, step: bool) -> SplitMultipliers:
    """Parameters that spread the accumulators over the outputs, with every length of a half; some are constant."""
    flat = acc.reshape(-1, acc.shape[-1])
    lowest, highest = flat.min(axis=0), flat.max(axis=0)
    span = highest - lowest + 1
    largest = np.maximum(1, (span * rng.uniform(0.5, 1.2, len(span))).astype(np.int64))
    addend = -lowest - (span * rng.uniform(-0.1, 0.3, len(span))).astype(np.int64)
    constant = rng.random(len(span)) < 0.2
    shift = rng.integers(0, 32, len(span))
    low = np.minimum(2**shift - 1, (2**31 * rng.random(len(span)) / largest).astype(np.int64))
    high = (2.0**32 * rng.uniform(0.4, 0.5, len(span)) * clip[1] / 256 / largest).astype(np.int64)
    bias = rng.integers(0, 2**26, len(span)) * 32
    border = np.clip(flat[rng.integers(len(flat)), np.arange(len(span))] + addend, 0, largest)  # that some are at
    return SplitMultipliers(
        bias=np.where(constant, 0, bias + shift),
        multiplier=np.zeros_like(span),
        shift=np.where(constant, 0, shift),
        negative_below=border if step else np.zeros_like(span),
        negative_step=1 if step else 0,
        clip=clip,
        addend=np.where(constant, 2**30, addend),
        largest=np.where(constant, 1, largest),
        low=np.where(constant, 0, low),
        high=np.where(constant, rng.integers(0, clip[1] + 1, len(span)) << 24, high),
        negative_word=rng.integers(0, 2**32, len(span)),
    )


def narrow_requantization(rng: np.random.Generator, acc: Ints, clip: tuple[int, int]) -> Requantization:
    """Parameters that spread the accumulators over the outputs, whose products and sums fit 32 bits."""
    flat = acc.reshape(-1, acc.shape[-1])
    low, high = flat.min(axis=0), flat.max(axis=0)
    largest = np.maximum(np.abs(flat).max(axis=0), 1)
    slope = np.minimum(rng.uniform(150, 400, len(low)) / (high - low + 1), 2.0**29 / largest)
    room = np.maximum(slope * largest, 1024.0)
    shift = np.floor(rng.uniform(0.0, 30 - np.log2(room))).astype(np.int64)
    multiplier = np.floor(slope * np.exp2(shift)).astype(np.int64) * rng.choice([1, 1, 1, -1], len(low))
    lowest = np.minimum(low * multiplier, high * multiplier)
    bias = (np.exp2(shift) * rng.uniform(-20, 3, len(low))).astype(np.int64) - lowest
    none = np.zeros_like(low)
    return Requantization(bias, multiplier, shift, negative_below=none, negative_step=0, clip=clip, narrow=True)


def random_requantization(
    rng: np.random.Generator, acc: Ints, *, step: bool, clip: tuple[int, int] = (0, 255)
) -> Requantization:
    """Parameters that spread the accumulators (..., channels) over the outputs, with every kind of shift."""
    flat = acc.reshape(-1, acc.shape[-1])
    low, high = flat.min(axis=0), flat.max(axis=0)
    shift = rng.integers(0, 63, len(low))
    ideal = np.floor(rng.uniform(150, 400, len(low)) * np.exp2(shift) / (high - low + 1))
    multiplier = np.clip(ideal, 1, 2**31 - 1).astype(np.int64) * rng.choice([1, 1, 1, -1], len(low))
    lowest = np.minimum(low * multiplier, high * multiplier)
    rounding = (np.exp2(shift) * rng.uniform(-20, 3, len(low))).clip(-(2**61), 2**61).astype(np.int64)
    return Requantization(
        bias=rounding - lowest,
        multiplier=multiplier,
        shift=shift,
        negative_below=rng.integers(low, high + 1) if step else np.zeros_like(low),
        negative_step=int(rng.integers(1, 2**40)) if step else 0,
        clip=clip,
    )


def softmax_of(row: Ints, exponentials: Ints, zero: int, factor: int, exponent: int) -> list[int]:
    """A row as gemmlowp's fixed point has it (`fixedpoint.h`), on Python's integers, which do not overflow.

    1 has ``256 * factor / 2**30 * 2**exponent`` steps.
    """

    def product(a: int, b: int) -> int:
        return (a * b + (1 << 30)) >> 31

    values = [int(exponentials[max(row) - x]) for x in row]
    total = sum((value + (1 << 11)) >> 12 for value in values)
    above_one = total.bit_length() - 20
    half = total << (11 - above_one)
    result = round(48 / 17 * (1 << 29)) + product(half, -round(32 / 17 * (1 << 29)))
    for _ in range(3):
        result += 4 * product(result, (1 << 29) - product(half, result))
    inverse = (min(2 * result, (1 << 31) - 1) * factor + (1 << 29)) >> 30
    shift = above_one + 31 - 8 - exponent
    levels = ((product(value, inverse) + (1 << (shift - 1))) >> shift for value in values)
    return [zero + level for level in levels]


def log_softmax_of(row: Ints, exponentials: Ints, distances: Ints, fraction: int) -> list[int]:
    """The logarithm of a row's softmax with `fraction` bits behind the point, on Python's integers.

    Of a sum's half to 4096th part, u from -1 to 1 above 3/4, it takes the polynomial that meets log(3/2 + u/2) at
    Chebyshev's nodes.
    """
    series = np.polynomial.chebyshev.Chebyshev.interpolate(lambda u: np.log(1.5 + u / 2), 9)
    powers = [round(term * 2**31) for term in series.convert(kind=np.polynomial.Polynomial).coef.tolist()]
    total = sum(int(exponentials[max(row) - x]) for x in row)
    halvings = (total >> 31).bit_length()
    place = 4 * (total >> halvings) - (3 << 31)
    result = powers[-1]
    for power in powers[-2::-1]:
        result = ((result * place + (1 << 30)) >> 31) + power
    wide = (halvings - 1) * round(math.log(2) * 2**31) + result
    taken = (wide + (1 << (30 - fraction))) >> (31 - fraction)
    return [int(distances[max(row) - x]) - taken for x in row]


def normalized(row: Ints, spread: int, gains: Ints, centre: int | None = None) -> list[int]:
    """A row's distances from its mean in deviations, 12 bits behind the point, times gains; on Python's integers.

    `spread` is epsilon times the squared number of elements, 8 bits behind the point. With a centre distances are from
    that, in roots of the mean of their squares.
    """

    def product(a: int, b: int) -> int:
        return (a * b + (1 << 30)) >> 31

    values = [int(value) - (centre or 0) for value in row]
    count, total = len(values), sum(values) if centre is None else 0
    whole = ((count * sum(value**2 for value in values) - total**2) << 8) + spread
    powers = next(power for power in range(40) if whole < 4 ** (power + 1))
    mantissa = (whole << 31) >> 2 * (powers + 1)
    inverse = round(1.1033 * 2**30) + product(mantissa, -round(2**31 / 3))
    for _ in range(3):
        inverse += 8 * product(inverse, 2**27 - product(mantissa, product(inverse, inverse)))
    root = next(bits for bits in range(40) if count <= 4**bits)
    upper = [((count * value - total) * 2 ** (33 - root - powers) * inverse) >> 32 for value in values]
    bits = 15 - root
    return [((word + (1 << (bits - 1))) >> bits) * int(gain) for word, gain in zip(upper, gains, strict=True)]


def random_positions(rng: np.random.Generator, size: int, outputs: int) -> Ints:
    """Shape (outputs, 3): the inputs below and above each output, and the weight of the one above in 1/1024.

    Many are in the middle, where sums are halves.
    """
    below = rng.integers(0, size, outputs)
    above = np.minimum(below + rng.integers(0, 2, outputs), size - 1)
    weight = np.where(rng.random(outputs) < 0.5, 512, rng.integers(0, 1024, outputs))
    return np.stack([below, above, np.where(above > below, weight, 0)], axis=1)


def random_columns(rng: np.random.Generator, size: int, outputs: int) -> npt.NDArray[np.int32]:
    """The input's column of each output column, or -1: some beside one another, in any order."""
    columns = (np.arange(outputs) + rng.integers(-1, size)) % (size + 1) - 1
    return np.where(rng.random(outputs) < 0.3, rng.integers(-1, size, outputs), columns).astype(np.int32)


def packed_positions(positions: Ints) -> Bytes:
    """match_between_t of each."""
    entries = np.zeros(len(positions), [("at", "<u2", 2), ("weight", "<i4")])
    entries["at"], entries["weight"] = positions[:, :2], positions[:, 2]
    return entries.view(np.uint8)


def resized(image: npt.NDArray[np.uint8], rows: Ints, columns: Ints, zero: int) -> Bytes:
    """A map (rows, columns, channels) between its pixels; halves are rounded away from `zero`."""
    distance = image.astype(np.int64) - zero
    for axis, own in enumerate((rows, columns)):
        weight = own[:, 2].reshape([-1 if axis == other else 1 for other in range(3)])
        distance = distance.take(own[:, 0], axis) * (1024 - weight) + distance.take(own[:, 1], axis) * weight
    magnitude = (np.abs(distance) + (1 << 19)) >> 20
    return (zero + np.sign(distance) * magnitude).astype(np.uint8)


def twice_rounded(x: Ints, mantissa: int, left: int, right: int) -> Ints:
    """``x * 2**left * mantissa`` rounded at bit 31, half up, and where it is shifted right, half away from zero."""
    high = ((x << left) * mantissa + (1 << 30)) >> 31
    return np.sign(high) * ((np.abs(high) + ((1 << right) >> 1)) >> right)


def gate_of(function: str, place: Ints, table: Ints) -> Ints:
    """The logistic function or the hyperbolic tangent, between entries of a table as TFLite Micro takes them."""
    bits = 9 if function == "logistic" else 8
    index, rest = np.divmod(np.abs(place), 1 << bits)
    near = np.minimum(index, 254)
    most = 0x7FFF << 10 if function == "logistic" else 0xFFFF << 8
    value = np.where(index < 255, (table[near] << bits) + rest * (table[near + 1] - table[near]), most)
    if function == "logistic":
        return np.where(place < 0, (1 << 25) + (1 << 9) - 1 - value, value + (1 << 9)) >> 10
    return np.where(place < 0, (1 << 23) + (1 << 7) - 1 - value, value - (1 << 23) + (1 << 7)) >> 8
