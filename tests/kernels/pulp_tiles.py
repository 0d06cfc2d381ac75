"""What the tests of cluster kernels share: random tiles inside larger blocks, their fields, kernels called on them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from tests.kernels.harness import Bytes, Harness, TileFields, View, embed
from tests.kernels.reference import (
    FORMS,
    WIDE_FORMS,
    Geometry,
    Ints,
    Requantization,
    conv2d,
    depthwise_conv2d,
    geometries,
    margins,
    output_strides_of,
    requantization_of,
    strides_of,
    windows,
)

CORES = 8
"""The cores of the cluster whose harness is the fixture `harness`."""

Gaps = tuple[tuple[int, int, int, int], ...]
"""Margins of two inputs and an output."""

EXAMPLES = settings(max_examples=60)
seeds = st.integers(0, 2**32 - 1)
forms = st.sampled_from(FORMS)
wide_forms = st.sampled_from(WIDE_FORMS)
clips = st.sampled_from([(0, 255), (3, 200), (-128, 127), (-100, 90)])
shared_parts = st.sampled_from(["", "pixel", "channel", "outer"])
"""What two inputs have one of for all elements (`operand_shapes`)."""

before_pixels = st.one_of(margins, st.tuples(st.integers(0, 2), st.integers(0, 2), st.just(0), st.just(0)))
"""Margins, half of them without gaps between pixels."""

pointwise = geometries(filters=st.just((1, 1)), strides=st.just((1, 1)), most_channels=33)


def align4(size: int) -> int:
    return -(-size // 4) * 4


def conv2d_scratch(geometry: Geometry, cores: int) -> int:
    """As match_pulp.h gives it."""
    column = align4(geometry.filter[0] * geometry.filter[1] * geometry.channels_in) + 4
    return cores * min(16 * column, max(512, 2 * column))


def depthwise_scratch(geometry: Geometry, cores: int) -> int:
    """As match_pulp.h gives it."""
    rows = (geometry.output[0] - 1) * geometry.stride[0] + (geometry.filter[0] - 1) * geometry.dilation[0] + 1
    return cores * align4(geometry.filter[1] * rows)


def widened_scratch(geometry: Geometry, cores: int) -> int:
    """As match_pulp.h gives it."""
    size = 3 if max(geometry.filter) <= 3 else 5
    strides = {stride for stride, outputs in zip(geometry.stride, geometry.output, strict=True) if outputs > 1}
    lone = (geometry.filter[1], geometry.input[1], geometry.output[1], geometry.pad[1]) == (1, 1, 1, 0)
    some = (size == 5 or not strides <= {1, 3}) and not lone
    narrow = 5 * geometry.input[0] * geometry.channels_in if some else 0
    return depthwise_scratch(geometry, cores) + align4(size * size * geometry.channels_in) + narrow


SCRATCHES = {
    "conv2d": conv2d_scratch,
    "depthwise_conv2d": depthwise_scratch,
    "depthwise_widened": widened_scratch,
}
"""Scratch in bytes, of kernels that need some."""


def random_input(rng: np.random.Generator, geometry: Geometry) -> Bytes:
    return rng.integers(0, 256, (*geometry.input, geometry.channels_in), np.uint8)


def random_weights(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray[tuple[int, ...], np.dtype[np.int8]]:
    return rng.integers(-128, 128, shape, np.int8)


def by_columns(weights: np.ndarray[tuple[int, ...], np.dtype[np.int8]]) -> Bytes:
    """A convolution's filters as match_pulp.h has them: column by column, zeros behind each up to whole words."""
    rows = weights.transpose(0, 2, 1, 3).reshape(len(weights), -1)
    return np.pad(rows, ((0, 0), (0, align4(rows.shape[1]) - rows.shape[1]))).view(np.uint8)


def fields_of(
    geometry: Geometry, source: View, target: View, requantization: Requantization, pad_value: int = 0
) -> TileFields:
    """The tile's fields for these views and parameters."""
    return geometry.fields(
        **strides_of(source),
        **output_strides_of(target),
        pad_value=pad_value,
        clip_low=requantization.clip[0],
        clip_high=requantization.clip[1],
    )


def kernel_of(kernel: str, requantization: Requantization) -> str:
    """The kernel of match_pulp.h that has these parameters."""
    return kernel + requantization.suffix


def empty_output(geometry: Geometry, margin: tuple[int, int, int, int]) -> View:
    return embed(np.zeros((*geometry.output, geometry.channels_out), np.uint8), margin)


def embed_words(words: np.ndarray[tuple[int, ...], np.dtype[np.float32]], margins: tuple[int, int, int, int]) -> View:
    """An HWC array of float32 in a block with `margins`; strides of the view count bytes."""
    left, right, front, back = margins
    height, width, channels = words.shape
    return embed(words.view(np.uint8).reshape(height, width, 4 * channels), (left, right, 4 * front, 4 * back))


def in_words(strides: dict[str, int]) -> dict[str, int]:
    """As a tile has those of elements of four bytes."""
    return {name: stride // 4 for name, stride in strides.items()}


def expect(output: Bytes, target: View, expected: Bytes) -> None:
    """The tile holds what is expected, and nothing else of its block was written."""
    target.tile[...] = expected
    np.testing.assert_array_equal(output, target.block)


def operand_shapes(shape: tuple[int, int, int], shared: str) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """The shapes of two inputs, of which one has one pixel or channel for all, both or none."""
    pixel, channel = (1, 1, shape[2]), (*shape[:2], 1)
    return {"": (shape, shape), "pixel": (shape, pixel), "channel": (shape, channel), "outer": (pixel, channel)}[shared]


def laid_out(
    rng: np.random.Generator, geometry: Geometry, shared: str, gaps: Sequence[tuple[int, int, int, int]]
) -> tuple[Geometry, View, View, View]:
    """The geometry of an operator of two inputs, both inputs with random bytes, and room for the output."""
    shapes = operand_shapes((*geometry.output, geometry.channels_out), shared)
    first, second = (
        embed(rng.integers(0, 256, own, np.uint8), margin) for own, margin in zip(shapes, gaps, strict=False)
    )
    geometry = replace(geometry, channels_in=second.tile.shape[2])
    return geometry, first, second, empty_output(geometry, gaps[2])


def met_strides(first: View, second: View) -> dict[str, int]:
    """Strides of two inputs, 0 for one of a single pixel."""
    strides: dict[str, int] = {}
    for name, view in (("input", first), ("addend", second)):
        one_pixel = view.tile.shape[:2] == (1, 1)
        strides[f"{name}_row_stride"] = 0 if one_pixel else view.row_stride
        strides[f"{name}_pixel_stride"] = 0 if one_pixel else view.pixel_stride
    return strides


def extremum_on(
    harness: Harness,
    kernel: str,
    geometry: Geometry,
    gaps: Sequence[tuple[int, int, int, int]],
    shared: str,
    seed: int,
) -> None:
    """The larger or the smaller of two inputs, by NumPy's name, compared."""
    geometry, first, second, target = laid_out(np.random.default_rng(seed), geometry, shared, gaps)
    output = harness.kernel(
        f"match_pulp_{kernel}",
        replace(geometry.fields(**strides_of(first), **output_strides_of(target)), **met_strides(first, second)),
        input=first.block,
        addend=second.block,
        output=target.block,
    )
    expect(output, target, getattr(np, kernel)(first.tile, second.tile))


def accumulate_on(
    harness: Harness,
    geometry: Geometry,
    margin: tuple[tuple[int, int, int, int], ...],
    kernel: str,
    form: str,
    parts: list[tuple[int, int]],
    rng: np.random.Generator,
    cores: int = CORES,
) -> None:
    """Input channels a part at a time, compared; margins of input and output.

    The first part overwrites what is where its sums go, only the last one writes the output.
    """
    x = random_input(rng, geometry)
    weights = random_weights(rng, (geometry.channels_out, *geometry.filter, geometry.channels_in))
    acc = conv2d(x, weights, geometry, 11)
    requantization = requantization_of(rng, acc, form)
    target = empty_output(geometry, margin[1])
    sums = rng.integers(-(2**31), 2**31, target.block.size, np.int64).astype(np.int32)
    before_all = sums.copy()
    added, output = np.zeros_like(acc), target.block
    for begin, end in parts:
        part = replace(geometry, channels_in=end - begin)
        source, cut = embed(x[..., begin:end], margin[0]), weights[..., begin:end].copy()
        added += conv2d(source.tile, weights[..., begin:end], part, 11)
        output = harness.kernel(
            kernel_of(f"match_pulp_{kernel}", requantization),
            fields_of(part, source, target, requantization, 11),
            input=source.block,
            weights=by_columns(cut) if kernel == "conv2d" else cut.view(np.uint8),
            parameters=requantization.packed(),
            output=target.block,
            scratch=conv2d_scratch(part, cores),
            negative_step=requantization.negative_step,
            lists=requantization.lists(),
            sums=sums,
            begins=begin == 0,
            ends=end == geometry.channels_in,
        )
        if end < geometry.channels_in:
            expected = before_all.copy()
            strides = [4 * stride for stride in target.tile.strides]
            np.lib.stride_tricks.as_strided(expected, target.tile.shape, strides)[...] = added
            np.testing.assert_array_equal(sums, expected)
            np.testing.assert_array_equal(output, target.block)
    expect(output, target, requantization(acc))


def convolve_on(harness: Harness, geometry: Geometry, kernel: str, scratch: int, form: str) -> Bytes:
    """One tile of a convolution, the same for any number of cores."""
    rng = np.random.default_rng(7)
    channelwise = kernel.startswith("match_pulp_depthwise")
    source = embed(random_input(rng, geometry), (0, 0, 0, 0))
    target = empty_output(geometry, (1, 0, 0, 2))
    shape = (geometry.channels_out, *geometry.filter) + (() if channelwise else (geometry.channels_in,))
    weights = random_weights(rng, shape)
    acc = (depthwise_conv2d if channelwise else conv2d)(source.tile, weights, geometry, 9)
    requantization = requantization_of(rng, acc, form)
    output = harness.kernel(
        kernel_of(kernel, requantization),
        fields_of(geometry, source, target, requantization, 9),
        input=source.block,
        weights=by_columns(weights) if kernel == "match_pulp_conv2d" else weights.view(np.uint8),
        parameters=requantization.packed(),
        output=target.block,
        scratch=scratch,
        negative_step=requantization.negative_step,
        lists=requantization.lists(),
    )
    expect(output, target, requantization(acc))
    return output


def pool_on(harness: Harness, geometry: Geometry, form: str) -> Bytes:
    """One tile of average pooling."""
    rng = np.random.default_rng(8)
    source = embed(random_input(rng, geometry), (0, 0, 0, 0))
    target = empty_output(geometry, (0, 0, 0, 0))
    acc: Ints = windows(source.tile, geometry, 3).sum(axis=(2, 3))
    requantization = requantization_of(rng, acc, form)
    output = harness.kernel(
        kernel_of("match_pulp_avg_pool2d", requantization),
        fields_of(geometry, source, target, requantization, 3),
        input=source.block,
        parameters=requantization.packed(),
        output=target.block,
        negative_step=requantization.negative_step,
        lists=requantization.lists(),
    )
    expect(output, target, requantization(acc))
    return output


def add_on(
    harness: Harness,
    geometry: Geometry,
    margin: tuple[tuple[int, int, int, int], ...],
    clip: tuple[int, int],
    form: str,
    seed: int,
    *,
    shared: str = "",
) -> None:
    """An addition with sums of 32 bits, of more, or by halves of a multiplier, compared.

    Margins are of input, addend and output. The addend has the same shape, or one pixel or channel for all. With the
    form "split" halves go to even outputs, and nothing is clipped but to 8 bits.
    """
    rng = np.random.default_rng(seed)
    geometry, first, second, target = laid_out(rng, geometry, shared, margin)
    if form == "split":
        parameters, expected = _halves_to_even(rng, first.tile.astype(np.int64), second.tile.astype(np.int64))
    else:
        parameters, expected = _shifted_sums(rng, first.tile, second.tile, clip, narrow=form == "int32")
    output = harness.kernel(
        {"int64": "match_pulp_add", "int32": "match_pulp_add_int32", "split": "match_pulp_add_split"}[form],
        geometry.fields(
            **met_strides(first, second),
            **output_strides_of(target),
            clip_low=clip[0],
            clip_high=clip[1],
        ),
        input=first.block,
        addend=second.block,
        parameters=np.frombuffer(parameters, np.uint8),
        output=target.block,
    )
    expect(output, target, expected)


def _shifted_sums(
    rng: np.random.Generator, first: Bytes, second: Bytes, clip: tuple[int, int], *, narrow: bool
) -> tuple[bytes, Bytes]:
    """match_requant_add32_t or match_requant_add_t, and the outputs."""
    shift = int(rng.integers(0, 20 if narrow else 31))
    multipliers = rng.integers(-(2**31), 2**31, 2) >> (30 - shift)
    bias = (int(rng.integers(28, 228)) << shift) - 128 * int(multipliers.sum())  # most outputs are not clipped
    total = first * multipliers[0] + second * multipliers[1] + bias
    parameters = struct.pack("<4i" if narrow else "<q3i4x", bias, *multipliers.tolist(), shift)
    return parameters, np.clip(total >> shift, *clip).astype(np.uint8)


def _halves_to_even(rng: np.random.Generator, first: Ints, second: Ints) -> tuple[bytes, Bytes]:
    """match_requant_add_split_t with which a sum by a power of two is rounded half to even, and the outputs."""
    shift = int(rng.integers(1, 8))
    multipliers = rng.integers(-(1 << shift), (1 << shift) + 1, 2).tolist()
    offset = int(rng.integers(-100 << shift, 300 << shift))
    odd = 1 << 31 - shift
    split = offset + (1 << shift - 1) - 1, 255 << shift, odd, (1 << 31) + odd + 7 + shift, 1 << 24 - shift
    real = (first * multipliers[0] + second * multipliers[1] + offset) / (1 << shift)
    return struct.pack("<2i3I2i", *split, *multipliers), np.clip(np.rint(real), 0, 255).astype(np.uint8)


def lookup_on(harness: Harness, geometry: Geometry, source: View, target: View, table: Bytes) -> Bytes:
    """A tile through a table; the clip of other operators means nothing to it."""
    return harness.kernel(
        "match_pulp_lookup",
        geometry.fields(**strides_of(source), **output_strides_of(target), clip_low=5, clip_high=7),
        input=source.block,
        parameters=table,
        output=target.block,
    )
