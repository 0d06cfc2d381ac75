"""Tiles of 16 bits, and the layers on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.kernels.harness import Harness, TileFields, View, embed
from tests.kernels.pulp_tiles import align4, expect
from tests.kernels.recurrent import LstmInt16
from tests.kernels.reference import (
    Geometry,
    Ints,
    conv2d,
    depthwise_conv2d,
    gate_of,
    output_strides_of,
    strides_of,
    twice_rounded,
    windows,
)

Halves = npt.NDArray[np.int16]
Margin = tuple[int, int, int, int]

REQUANT = np.dtype([("bias", "<i8"), ("multiplier", "<i4"), ("shift", "<i4")])
REQUANT_SIGNED = np.dtype([*REQUANT.descr, ("negative_below", "<i4"), ("reserved", "<i4")])


def embed_halves(halves: Halves, margin: Margin) -> View:
    """An HWC array in a block with margins; strides of the view count bytes."""
    left, right, front, back = margin
    height, width, channels = halves.shape
    return embed(halves.view(np.uint8).reshape(height, width, 2 * channels), (left, right, 2 * front, 2 * back))


def in_halves(strides: dict[str, int]) -> dict[str, int]:
    """As a tile has those of elements of two bytes."""
    return {name: stride // 2 for name, stride in strides.items()}


@dataclass(frozen=True, eq=False)
class Lines:
    """Parameters for each channel, and what accumulators lack that are less than a channel's own; 0: nothing."""

    parameters: npt.NDArray[np.void]
    step: int

    def outputs(self, acc: Ints, clip: tuple[int, int]) -> Halves:
        """What accumulators become, by the definition."""
        lines = self.parameters
        total = acc * lines["multiplier"] + lines["bias"]
        if self.step:
            total -= (acc < lines["negative_below"]) * self.step
        return np.clip(total >> lines["shift"], *clip).astype(np.int16)


def lines_of(rng: np.random.Generator, acc: Ints) -> Lines:
    """Random ones, with shifts on both sides of 32, half of them with a step.

    Most outputs have 16 bits, those of some channels more than 32; some channels are constant.
    """
    step = int(rng.integers(1 << 20, 1 << 50)) if rng.random() < 0.5 else 0
    lines = np.zeros(acc.shape[-1], REQUANT_SIGNED if step else REQUANT)
    lines["shift"] = rng.integers(20, 46, len(lines))
    slope = rng.uniform(0.2, 2) * 2.0**15 / (np.abs(acc).max(axis=(0, 1)) + 1)
    slope[rng.random(len(lines)) < 0.1] *= 2.0**24
    lines["multiplier"] = np.minimum(slope * 2.0 ** lines["shift"], 2.0**31 - 1)
    lines["multiplier"][rng.random(len(lines)) < 0.1] = 0
    lines["bias"] = rng.integers(-(2**12), 2**12, len(lines)) << lines["shift"]
    lines["bias"] += np.int64(1) << (lines["shift"] - 1).astype(np.int64)
    if step:
        lines["negative_below"] = rng.choice(acc.reshape(-1), len(lines))
    return Lines(lines, step)


def computes(
    harness: Harness,
    kernel: str,
    geometry: Geometry,
    x: Halves,
    expected: Halves,
    gaps: tuple[Margin, ...],
    clip: tuple[int, int],
    *,
    windowless: bool = False,
    **given: Any,
) -> None:
    """A kernel of one input makes the expected outputs, and leaves what lies around them alone."""
    source, target = embed_halves(x, gaps[0]), embed_halves(np.zeros(expected.shape, np.int16), gaps[1])
    fields = _fields(geometry, source, target, clip)
    if windowless:
        names = ("filter_height", "filter_width", "stride_y", "stride_x", "dilation_y", "dilation_x")
        fields = replace(fields, **dict.fromkeys(names, 0))
    output = harness.kernel(f"match_pulp_{kernel}_int16", fields, input=source.block, output=target.block, **given)
    expect(output, target, expected.view(np.uint8).reshape(target.tile.shape))


def int16_on(
    harness: Harness,
    kernel: str,
    geometry: Geometry,
    gaps: tuple[Margin, Margin],
    clip: tuple[int, int],
    rng: np.random.Generator,
) -> None:
    """A tile of random activations, extremes among them, and weights of 8 bits."""
    x = rng.integers(-(2**15), 2**15, (*geometry.input, geometry.channels_in)).astype(np.int16)
    x[rng.random(x.shape) < 0.1] = -(2**15)
    each = () if kernel == "depthwise_conv2d" else (geometry.channels_in,)
    weights = rng.integers(-128, 128, (geometry.channels_out, *geometry.filter, *each)).astype(np.int16)
    ordered = weights.transpose(1, 2, 0) if kernel == "depthwise_conv2d" else weights
    acc = (depthwise_conv2d if kernel == "depthwise_conv2d" else conv2d)(x, weights, geometry, 0)
    lines = lines_of(rng, acc)
    expected = lines.outputs(acc, clip)
    computes(
        harness,
        kernel,
        geometry,
        x,
        expected,
        gaps,
        clip,
        windowless=kernel == "dense",
        weights=np.frombuffer(ordered.tobytes(), np.uint8),
        parameters=lines.parameters.view(np.uint8),
        negative_step=lines.step,
    )


def grouped(
    harness: Harness,
    groups: int,
    geometry: Geometry,
    gaps: tuple[Margin, Margin],
    clip: tuple[int, int],
    rng: np.random.Generator,
) -> None:
    """A convolution of groups with the geometry's channels each."""
    x = rng.integers(-(2**15), 2**15, (*geometry.input, groups, geometry.channels_in)).astype(np.int16)
    shape = groups, geometry.channels_out, *geometry.filter, geometry.channels_in
    weights = rng.integers(-128, 128, shape).astype(np.int16)
    accs = [conv2d(x[:, :, group], weights[group], geometry, 0) for group in range(groups)]
    acc = np.concatenate(accs, axis=2)
    lines = lines_of(rng, acc)
    computes(
        harness,
        "grouped_conv2d",
        geometry,
        np.ascontiguousarray(x.reshape(*geometry.input, -1)),
        lines.outputs(acc, clip),
        gaps,
        clip,
        weights=weights.view(np.uint8),
        parameters=lines.parameters.view(np.uint8),
        negative_step=lines.step,
        groups=groups,
    )


def _fields(geometry: Geometry, source: View, target: View, clip: tuple[int, int]) -> TileFields:
    """The fields of a tile."""
    strides = in_halves(strides_of(source) | output_strides_of(target))
    return geometry.fields(**strides, clip_low=clip[0], clip_high=clip[1])


def averages(
    harness: Harness,
    geometry: Geometry,
    gaps: tuple[Margin, Margin],
    clip: tuple[int, int],
    rng: np.random.Generator,
) -> None:
    """A tile of average pooling without padding, extremes among its values."""
    x = rng.integers(-(2**15), 2**15, (*geometry.input, geometry.channels_in)).astype(np.int16)
    x[rng.random(x.shape) < 0.2] = rng.choice([-(2**15), 2**15 - 1])
    acc = windows(x, geometry, 0).sum(axis=(2, 3), dtype=np.int64)
    lines = lines_of(rng, acc)
    computes(
        harness,
        "avg_pool2d",
        geometry,
        x,
        lines.outputs(acc, clip),
        gaps,
        clip,
        parameters=lines.parameters.view(np.uint8),
        negative_step=lines.step,
    )


@dataclass(frozen=True)
class Scaling:
    """A mantissa of 31 bits, and by how many bits numbers are shifted left before the product, and right behind it."""

    mantissa: int
    left: int
    right: int

    @classmethod
    def drawn(cls, rng: np.random.Generator, most_left: int, most_right: int) -> Scaling:
        """Any, which shifts in one direction."""
        left, right = int(rng.integers(most_left + 1)), int(rng.integers(most_right + 1))
        some = (left, 0) if rng.random() < 0.5 else (0, right)
        return cls(int(rng.integers(2**30, 2**31)), *some)

    @property
    def words(self) -> list[int]:
        """match_scaling_t."""
        return [self.mantissa, self.left + 1, self.right, (1 << self.right) >> 1]

    def __call__(self, x: Ints) -> Ints:
        """See `twice_rounded`."""
        return twice_rounded(x, self.mantissa, self.left, self.right)


def small_and_large(rng: np.random.Generator, shape: tuple[int, ...]) -> Halves:
    """Numbers of 16 bits; extremes, and some next to 0, whose rounding differs by their sign."""
    x = rng.integers(-(2**15), 2**15, shape).astype(np.int16)
    x[rng.random(shape) < 0.2] = rng.integers(-3, 3)
    x[rng.random(shape) < 0.1] = -(2**15)
    return x


def elements(shape: tuple[int, int, int]) -> Geometry:
    """The geometry of an operator of elements."""
    return Geometry(shape[2], shape[2], shape[:2], (1, 1), (1, 1), (1, 1), (0, 0, 0, 0), (0, 0))


def requantized(
    harness: Harness, shape: tuple[int, int, int], gaps: tuple[Margin, ...], rng: np.random.Generator
) -> None:
    """A tile of a change of scale, by the definition of its rounding."""
    x, by = small_and_large(rng, shape), Scaling.drawn(rng, 15, 16)
    clip = ((-(1 << 15), (1 << 15) - 1), (0, (1 << 15) - 1))[int(rng.integers(2))]
    expected = np.clip(by(x.astype(np.int64)), *clip).astype(np.int16)
    computes(
        harness,
        "requantize",
        elements(shape),
        x,
        expected,
        gaps,
        clip,
        parameters=np.array(by.words, "<i4").view(np.uint8),
    )


def leaky_relu(
    harness: Harness, shape: tuple[int, int, int], gaps: tuple[Margin, ...], rng: np.random.Generator
) -> None:
    """A scale for numbers from 0 on, and another one for those below."""
    x, above, below = small_and_large(rng, shape), Scaling.drawn(rng, 4, 8), Scaling.drawn(rng, 4, 8)
    wide = x.astype(np.int64)
    expected = np.where(x < 0, below(wide), above(wide)).clip(-(1 << 15), (1 << 15) - 1).astype(np.int16)
    computes(
        harness,
        "leaky_relu",
        elements(shape),
        x,
        expected,
        gaps,
        (0, 0),
        parameters=np.array(above.words + below.words, "<i4").view(np.uint8),
    )


def of_two(
    harness: Harness,
    kernel: str,
    both: tuple[Halves, Halves],
    parameters: Sequence[int],
    expected: Halves,
    gaps: tuple[Margin, ...],
    clip: tuple[int, int],
) -> None:
    """A tile of an operator of two inputs, the second one whole, or one pixel or channel for all."""
    source, addend = (embed_halves(x, gap) for x, gap in zip(both, gaps, strict=False))
    target = embed_halves(np.zeros(expected.shape, np.int16), gaps[2])
    channels = addend.tile.shape[2] // 2
    second = {name.replace("input", "addend"): stride // 2 for name, stride in strides_of(addend).items()}
    if both[1].shape[:2] != expected.shape[:2]:
        second = dict.fromkeys(second, 0)
    fields = replace(_fields(elements(expected.shape), source, target, clip), channels_in=channels, **second)
    output = harness.kernel(
        f"match_pulp_{kernel}_int16",
        fields,
        input=source.block,
        addend=addend.block,
        parameters=np.array(parameters, "<i4").view(np.uint8),
        output=target.block,
    )
    expect(output, target, expected.view(np.uint8).reshape(target.tile.shape))


def multiplied(
    harness: Harness,
    shape: tuple[int, int, int],
    broadcast: str,
    gaps: tuple[Margin, ...],
    rng: np.random.Generator,
) -> None:
    """Products, by the definition of their rounding."""
    both, by = (
        (small_and_large(rng, shape), small_and_large(rng, second_shape(shape, broadcast))),
        Scaling.drawn(rng, 0, 31),
    )
    clip = ((-(1 << 15), (1 << 15) - 1), (0, 999))[int(rng.integers(2))]
    product = both[0].astype(np.int64) * both[1]
    of_two(harness, "multiply", both, by.words, np.clip(by(product), *clip).astype(np.int16), gaps, clip)


def added(
    harness: Harness,
    shape: tuple[int, int, int],
    broadcast: str,
    gaps: tuple[Margin, ...],
    rng: np.random.Generator,
) -> None:
    """Sums and differences, by the definition of their rounding; outputs of small numbers tell each rounding apart."""
    small = rng.random() < 0.5
    low, high = (-2, 2) if small else (-(2**15), 2**15 - 1)
    a, b = (
        rng.integers(low, high, extents, endpoint=True).astype(np.int16)
        for extents in (shape, second_shape(shape, broadcast))
    )
    a[rng.random(a.shape) < 0.2], b[rng.random(b.shape) < 0.2] = low, high
    rights = [int(rng.integers(1, 6)), int(rng.integers(1, 6)), int(rng.integers(4 if small else 18))]
    first, second, last = (
        Scaling(int(rng.integers(2**30, 2**31)), left, right) for left, right in zip((15, 15, 0), rights, strict=True)
    )
    sign = int(rng.choice([-1, 1]))
    clip = ((-(1 << 15), (1 << 15) - 1), (0, 999))[int(rng.integers(2))]
    total = last(first(a.astype(np.int64)) + sign * second(b.astype(np.int64)))
    words = [*first.words, *second.words, *last.words, sign]
    of_two(harness, "add", (a, b), words, np.clip(total, *clip).astype(np.int16), gaps, clip)


def second_shape(shape: tuple[int, int, int], broadcast: str) -> tuple[int, int, int]:
    """The shape of the second input."""
    return {"": shape, "pixel": (1, 1, shape[2]), "channel": (*shape[:2], 1)}[broadcast]


def gate(
    harness: Harness, function: str, shape: tuple[int, int, int], gaps: tuple[Margin, ...], rng: np.random.Generator
) -> None:
    """The logistic function or the hyperbolic tangent, between entries of a table as TFLite Micro takes them."""
    x, shift = small_and_large(rng, shape), int(rng.choice([0, 3, 12, 17, 31]))
    multiplier = int(rng.integers(1, 7) if shift == 0 else rng.integers(2**14, 2**15))
    table = np.rint(65535 / (1 + np.exp(-np.arange(256) / 24))).astype(np.int64)
    place = (x.astype(np.int64) * multiplier + ((1 << shift) >> 1)) >> shift
    outputs = gate_of(function, place, table)
    words = np.array([multiplier, shift], "<i4").view(np.uint8)
    computes(
        harness,
        function,
        elements(shape),
        x,
        outputs.astype(np.int16),
        gaps,
        (0, 0),
        parameters=np.concatenate([words, table.astype("<u2").view(np.uint8)]),
    )


def lstm(
    harness: Harness,
    sizes: tuple[int, int, int, int],
    gaps: tuple[Margin, ...],
    clip: tuple[int, int],
    rng: np.random.Generator,
) -> None:
    """All steps of a layer, of so many steps, sequences, features and units."""
    steps, sequences, features, units = sizes
    x, layer = small_and_large(rng, (steps, sequences, features)), LstmInt16.random(rng, features, units)
    weights, parameters = layer.packed()
    computes(
        harness,
        "lstm",
        Geometry(features, units, (steps, sequences), (1, 1), (1, 1), (1, 1), (0, 0, 0, 0), (0, 0)),
        x,
        layer(x.astype(np.int64), clip).astype(np.int16),
        gaps,
        clip,
        weights=weights,
        parameters=parameters,
        scratch=align4(2 * sequences * units),
    )


def softmax(harness: Harness, shape: tuple[int, int, int], gaps: tuple[Margin, ...], rng: np.random.Generator) -> None:
    """Rows of a softmax: what TFLite Micro's kernel does to a row, with tables of smooth functions."""
    x = small_and_large(rng, shape)
    if rng.random() < 0.5:
        x //= 64
    by = Scaling.drawn(rng, 6, 4)
    places = np.arange(513) / 512
    tables = [np.rint(32767 * np.exp(10 * places - 10)), np.rint(32767 / (1 + places))]
    exponentials, reciprocals = (table.astype(np.int64) for table in tables)
    wide = x.astype(np.int64)
    exponential = _between(exponentials, by(wide - wide.max(axis=2, keepdims=True)) + 32767)
    total = exponential.sum(axis=2, keepdims=True)
    bits = np.floor(np.log2(total)).astype(np.int64) + 1
    reciprocal = _between(reciprocals, (((total << 31 - bits) + (1 << 13)) >> 14) - (3 << 15))
    outputs = (exponential * reciprocal + (np.int64(1) << bits - 2)) >> (bits - 1)
    parameters = [np.array(by.words, "<i4").view(np.uint8)]
    parameters += [np.append(table, 0).astype("<i2").view(np.uint8) for table in (exponentials, reciprocals)]
    computes(
        harness,
        "softmax",
        elements(shape),
        x,
        outputs.clip(0, 32767).astype(np.int16),
        gaps,
        (0, 32767),
        parameters=np.concatenate(parameters),
    )


def _between(table: Ints, x: Ints) -> Ints:
    """Between two of 513 entries, for numbers clipped to 16 bits."""
    place, rest = np.divmod(x.clip(-(2**15), 2**15 - 1) + 2**15, 128)
    return table[place] + (((table[place + 1] - table[place]) * rest + 64) >> 7)


def maxima(harness: Harness, geometry: Geometry, gaps: tuple[Margin, Margin], rng: np.random.Generator) -> None:
    """A tile of max pooling, extremes among its values."""
    x = rng.integers(-(2**15), 2**15, (*geometry.input, geometry.channels_in)).astype(np.int16)
    x[rng.random(x.shape) < 0.5] = -(2**15)
    expected = windows(x, geometry, -(1 << 16)).max(axis=(2, 3))
    computes(
        harness,
        "max_pool2d",
        geometry,
        x,
        expected.astype(np.int16),
        gaps,
        (0, 0),
    )
