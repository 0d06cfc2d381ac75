"""Random layers for the kernels of kernels/cortex_m, with what NumPy makes of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from match.ir import requantization as ir
from match.targets.cortex_m import packing
from tests.kernels.arm import Call, expected_in
from tests.kernels.harness import Bytes, View, embed
from tests.kernels.pulp_tiles import fields_of, random_input, random_weights
from tests.kernels.reference import (
    Geometry,
    Ints,
    Requantization,
    UpperWords,
    conv2d,
    depthwise_conv2d,
    output_strides_of,
    requantization_of,
    strides_of,
    windows,
)

FORMS = ("high", "int64", "int64_signed")
FAMILIES = ("arm", "mve")
"""What the names of kernels begin with: those that read weights as the DSP extension does, and as MVE does."""

Margin = tuple[int, int, int, int]
CLOSE: Margin = (0, 0, 0, 0)


@dataclass(frozen=True)
class Shape:
    """What a layer is beside its geometry: how its tensors lie, and what its outputs are clipped to.

    whole_words: whether all its sums are shifted by 32 bits at least, as those of networks are.
    """

    form: str = "high"
    clip: tuple[int, int] = (0, 255)
    before: Margin = CLOSE
    behind: Margin = CLOSE
    whole_words: bool = False


def random_shape(rng: np.random.Generator) -> Shape:
    """Any form; half of the layers have gaps between their pixels, half of them a clip of their own."""
    margins = [cast("Margin", tuple(int(gap) for gap in rng.integers(0, 4, 4))) for _ in range(2)]
    before, behind = margins if rng.random() < 0.5 else (CLOSE, CLOSE)
    low = int(rng.integers(0, 40))
    clips = (0, 255), (low, low + int(rng.integers(1, 200))), (0, int(rng.integers(1, 255)))
    clip = clips[rng.integers(3)] if rng.random() < 0.5 else (0, 255)
    return Shape(FORMS[rng.integers(3)], clip, before, behind, bool(rng.random() < 0.5))


def random_geometry(rng: np.random.Generator, *, channelwise: bool = False) -> Geometry:
    """Any filter, stride, dilation and padding that leave an input pixel; many channels are a multiple of 4."""
    while True:
        sizes = tuple(int(size) for size in rng.integers(1, 6, 2))
        dilation = tuple(int(step) for step in rng.choice([1, 1, 1, 2, 3], 2))
        reach = [(size - 1) * step for size, step in zip(sizes, dilation, strict=True)]
        pad = tuple(int(rng.integers(0, reach[side % 2] + 1)) for side in range(4))
        inputs, outputs = (int(rng.integers(1, 20)) * int(rng.choice([1, 4])) for _ in range(2))
        spare = tuple(int(rng.integers(0, 2)) if pad[2 + axis] == 0 else 0 for axis in range(2))
        geometry = Geometry(
            channels_in=inputs,
            channels_out=inputs if channelwise else outputs,
            output=(int(rng.integers(1, 7)), int(rng.integers(1, 9))),
            filter=(sizes[0], sizes[1]),
            stride=(int(rng.integers(1, 4)), int(rng.integers(1, 4))),
            dilation=(dilation[0], dilation[1]),
            pad=(pad[0], pad[1], pad[2], pad[3]),
            spare=(spare[0], spare[1]),
        )
        if min(geometry.input) >= 1:
            return geometry


def parameters(requantization: Requantization, addends: Ints | int, multiple: int, groups: int) -> tuple[bytes, str]:
    """Packed parameters, and what ends the names of kernels that read them."""
    line = ir.Requantization(
        requantization.multiplier,
        requantization.bias,
        requantization.shift,
        requantization.clip,
        requantization.negative_below,
        np.full_like(requantization.bias, requantization.negative_step),
    )
    pack, suffix = packing.long, "_long"
    if isinstance(requantization, UpperWords):
        bias = requantization.addend * requantization.multiplier + (requantization.bias << 32)
        line = replace(line, bias=bias, shift=requantization.shift + 32, addend=requantization.addend)
        pack, suffix = packing.words, ""
    own = np.broadcast_to(addends, line.channels)
    parts = np.split(np.arange(line.channels), groups)
    return b"".join(pack(line.take(part), own[part], multiple) for part in parts), suffix


def finished(
    family: str,
    kernel: str,
    geometry: Geometry,
    source: View,
    acc: Ints,
    weights: tuple[np.ndarray[tuple[int, ...], np.dtype[np.int8]], bytes],
    multiple: int,
    scratch: int,
    rng: np.random.Generator,
    shape: Shape,
    pad_value: int,
    groups: int = 1,
) -> Call:
    """The call of a kernel that makes outputs of accumulators; weights, and how they are packed."""
    requantization = requantization_of(rng, acc, shape.form, shape.clip)
    if shape.whole_words and not isinstance(requantization, UpperWords):
        requantization = replace(requantization, shift=np.maximum(requantization.shift, 32))
    target = embed(np.zeros(acc.shape, np.uint8), shape.behind)
    shifted = family == "mve" and kernel != "depthwise_conv2d"
    addends = packing.shifted_addends(weights[0]) if shifted else 0
    packed, suffix = parameters(requantization, addends, multiple, groups)
    if family == "mve" and kernel == "depthwise_conv2d":
        packed = packing.by_lanes(packed, (packing.LONG if suffix else packing.WORDS).itemsize)
    return Call(
        f"match_{family}_{kernel}{suffix}",
        fields_of(geometry, source, target, requantization, pad_value),
        input=source.block,
        weights=weights[1],
        parameters=packed,
        output=target.block,
        expected=expected_in(target, requantization(acc)),
        scratch=scratch,
        negative_step=requantization.negative_step,
    )


def conv2d_call(rng: np.random.Generator, family: str, geometry: Geometry, shape: Shape) -> Call:
    """A convolution."""
    source = embed(random_input(rng, geometry), shape.before)
    weights = random_weights(rng, (geometry.channels_out, *geometry.filter, geometry.channels_in))
    pad_value = int(rng.integers(256))
    acc = conv2d(source.tile, weights, geometry, pad_value)
    packed = weights, packing.pairs(weights) if family == "arm" else packing.vectors(weights)
    multiple = packing.PAIR_CHANNELS if family == "arm" else packing.VECTOR_CHANNELS
    length = geometry.filter[0] * geometry.filter[1] * geometry.channels_in
    scratch = scratch_of_conv2d(family, length, geometry.channels_in)
    return finished(family, "conv2d", geometry, source, acc, packed, multiple, scratch, rng, shape, pad_value)


def scratch_of_conv2d(family: str, length: int, channels: int) -> int:
    """As match_arm.h says."""
    if family == "mve":
        return 2 * align(length, 16)
    return 8 * align(length, 4) + (align(length, 4) + 4 if channels % 4 else 0)


def grouped_call(rng: np.random.Generator, family: str, geometry: Geometry, groups: int, shape: Shape) -> Call:
    """A convolution in groups, each of which has the channels of the geometry."""
    inputs, outputs = geometry.channels_in, geometry.channels_out
    whole = replace(geometry, channels_in=groups * inputs, channels_out=groups * outputs)
    source = embed(random_input(rng, whole), shape.before)
    weights = random_weights(rng, (groups, outputs, *geometry.filter, inputs))
    pad_value = int(rng.integers(256))
    seen = np.split(source.tile, groups, axis=2)
    acc = [conv2d(part, own, geometry, pad_value) for part, own in zip(seen, weights, strict=True)]
    pack, multiple = (packing.pairs, 2) if family == "arm" else (packing.vectors, 4)
    scratch = scratch_of_conv2d(family, geometry.filter[0] * geometry.filter[1] * inputs, inputs)
    call = finished(
        family,
        "grouped_conv2d",
        whole,
        source,
        np.concatenate(acc, axis=2),
        (weights.reshape(groups * outputs, -1), b"".join(map(pack, weights))),
        multiple,
        scratch,
        rng,
        shape,
        pad_value,
        groups,
    )
    return replace(call, fields=replace(call.fields, channels_in=inputs, channels_out=outputs), groups=groups)


def dense_call(
    rng: np.random.Generator, family: str, inputs: int, outputs: int, rows: tuple[int, int], shape: Shape
) -> Call:
    """A dense layer, whose tile has no window."""
    geometry = Geometry(inputs, outputs, rows, (1, 1), (1, 1), (1, 1), (0, 0, 0, 0), (0, 0))
    source = embed(random_input(rng, geometry), shape.before)
    weights = random_weights(rng, (outputs, 1, 1, inputs))
    acc = conv2d(source.tile, weights, geometry, 0)
    packed = weights, packing.pairs(weights) if family == "arm" else packing.vectors(weights)
    multiple = packing.PAIR_CHANNELS if family == "arm" else packing.VECTOR_CHANNELS
    kernel = "dense" if rows == (1, 1) else "dense_rows"
    scratch = 0 if rows == (1, 1) else scratch_of_conv2d(family, inputs, inputs)
    call = finished(family, kernel, geometry, source, acc, packed, multiple, scratch, rng, shape, 0)
    names = "filter_height", "filter_width", "stride_y", "stride_x", "dilation_y", "dilation_x"
    return replace(call, fields=replace(call.fields, **dict.fromkeys(names, 0)))


def depthwise_call(rng: np.random.Generator, family: str, geometry: Geometry, shape: Shape) -> Call:
    """A depthwise convolution."""
    source = embed(random_input(rng, geometry), shape.before)
    weights = random_weights(rng, (geometry.channels_out, *geometry.filter))
    pad_value = int(rng.integers(256))
    acc = depthwise_conv2d(source.tile, weights, geometry, pad_value)
    packed = weights, packing.paired_rows(weights) if family == "arm" else packing.lanes(weights)
    multiple = 1 if family == "arm" else packing.VECTOR_LANES
    scratch = scratch_of_depthwise(family, geometry)
    return finished(family, "depthwise_conv2d", geometry, source, acc, packed, multiple, scratch, rng, shape, pad_value)


def average_call(rng: np.random.Generator, geometry: Geometry, shape: Shape) -> Call:
    """Average pooling."""
    source = embed(random_input(rng, geometry), shape.before)
    pad_value = int(rng.integers(256))
    acc = windows(source.tile, geometry, pad_value).sum(axis=(2, 3))
    nothing = np.zeros((geometry.channels_out, 1), np.int8), b""
    return finished("arm", "avg_pool2d", geometry, source, acc, nothing, 1, 0, rng, shape, pad_value)


def maximum_call(rng: np.random.Generator, geometry: Geometry, shape: Shape) -> Call:
    """Max pooling."""
    source = embed(random_input(rng, geometry), shape.before)
    target = embed(np.zeros((*geometry.output, geometry.channels_out), np.uint8), shape.behind)
    seen = windows(source.tile.astype(np.int64), geometry, -1).max(axis=(2, 3))
    outputs: Bytes = np.clip(np.maximum(seen, 0), *shape.clip).astype(np.uint8)
    return Call(
        "match_arm_max_pool2d",
        geometry.fields(
            **strides_of(source), **output_strides_of(target), clip_low=shape.clip[0], clip_high=shape.clip[1]
        ),
        input=source.block,
        output=target.block,
        expected=expected_in(target, outputs),
    )


def scratch_of_depthwise(family: str, geometry: Geometry) -> int:
    """As match_arm.h says."""
    height, width = geometry.filter
    if family == "mve":
        return 4 * 8 * height * width + geometry.channels_out
    window, outputs = height // 2 + 1, align(geometry.output[1], 2)
    columns = (outputs - 1) * geometry.stride[1] + (width - 1) * geometry.dilation[1] + 1
    rows = 2 if geometry.stride[0] == geometry.dilation[0] == 1 else 1
    strip = max(1, min(-(-geometry.output[0] // rows), 32 // columns))
    return 4 * (4 * strip * columns * window + 8 * width * window + strip * rows * outputs)


def align(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple
