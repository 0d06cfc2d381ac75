"""Tiles of 16 bits, and the layers on them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tests.kernels.harness import Harness, View, embed
from tests.kernels.pulp_tiles import expect
from tests.kernels.reference import Geometry, Ints, conv2d, depthwise_conv2d, output_strides_of, strides_of, windows

Halves = npt.NDArray[np.int16]
Margin = tuple[int, int, int, int]

REQUANT = np.dtype([("bias", "<i8"), ("multiplier", "<i4"), ("shift", "<i4")])


def embed_halves(halves: Halves, margin: Margin) -> View:
    """An HWC array in a block with margins; strides of the view count bytes."""
    left, right, front, back = margin
    height, width, channels = halves.shape
    return embed(halves.view(np.uint8).reshape(height, width, 2 * channels), (left, right, 2 * front, 2 * back))


def in_halves(strides: dict[str, int]) -> dict[str, int]:
    """As a tile has those of elements of two bytes."""
    return {name: stride // 2 for name, stride in strides.items()}


def lines_of(rng: np.random.Generator, acc: Ints) -> npt.NDArray[np.void]:
    """Parameters for each channel, with shifts on both sides of 32.

    Most outputs have 16 bits, those of some channels more than 32; some channels are constant.
    """
    lines = np.zeros(acc.shape[-1], REQUANT)
    lines["shift"] = rng.integers(20, 46, len(lines))
    slope = rng.uniform(0.2, 2) * 2.0**15 / (np.abs(acc).max(axis=(0, 1)) + 1)
    slope[rng.random(len(lines)) < 0.1] *= 2.0**24
    lines["multiplier"] = np.minimum(slope * 2.0 ** lines["shift"], 2.0**31 - 1)
    lines["multiplier"][rng.random(len(lines)) < 0.1] = 0
    lines["bias"] = rng.integers(-(2**12), 2**12, len(lines)) << lines["shift"]
    lines["bias"] += np.int64(1) << (lines["shift"] - 1).astype(np.int64)
    return lines


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
    acc = (depthwise_conv2d if kernel == "depthwise_conv2d" else conv2d)(x, weights, geometry, 0)
    lines = lines_of(rng, acc)
    expected = np.clip((acc * lines["multiplier"] + lines["bias"]) >> lines["shift"], *clip).astype(np.int16)
    source, target = embed_halves(x, gaps[0]), embed_halves(np.zeros(acc.shape, np.int16), gaps[1])
    fields = geometry.fields(
        **in_halves(strides_of(source)), **in_halves(output_strides_of(target)), clip_low=clip[0], clip_high=clip[1]
    )
    if kernel == "dense":  # which has no window
        names = ("filter_height", "filter_width", "stride_y", "stride_x", "dilation_y", "dilation_x")
        fields = replace(fields, **dict.fromkeys(names, 0))
    output = harness.kernel(
        f"match_pulp_{kernel}_int16",
        fields,
        input=source.block,
        weights=weights.view(np.uint8),
        parameters=lines.view(np.uint8),
        output=target.block,
    )
    expect(output, target, expected.view(np.uint8).reshape(target.tile.shape))


def maxima(harness: Harness, geometry: Geometry, gaps: tuple[Margin, Margin], rng: np.random.Generator) -> None:
    """A tile of max pooling, extremes among its values."""
    x = rng.integers(-(2**15), 2**15, (*geometry.input, geometry.channels_in)).astype(np.int16)
    x[rng.random(x.shape) < 0.5] = -(2**15)
    expected = windows(x, geometry, -(1 << 16)).max(axis=(2, 3))
    source, target = embed_halves(x, gaps[0]), embed_halves(np.zeros(expected.shape, np.int16), gaps[1])
    output = harness.kernel(
        "match_pulp_max_pool2d_int16",
        geometry.fields(**in_halves(strides_of(source)), **in_halves(output_strides_of(target))),
        input=source.block,
        output=target.block,
    )
    expect(output, target, expected.astype(np.int16).view(np.uint8).reshape(target.tile.shape))
