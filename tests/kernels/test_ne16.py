"""NE16's kernels, through driver, registers and model, against NumPy on random tiles."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.kernels.harness import Bytes, Harness, HarnessError, TileFields, View, embed
from tests.kernels.reference import (
    Geometry,
    Ints,
    conv2d,
    depthwise_conv2d,
    geometries,
    margins,
    output_strides_of,
    random_requantization,
    requantization_of,
    strides_of,
)

pytestmark = pytest.mark.cc

EXAMPLES = settings(max_examples=60)
seeds = st.integers(0, 2**32 - 1)
widths = st.sampled_from([8, 16, 32])
weight_bits = st.sampled_from([0, *range(2, 9)])


def of_3x3(stride: int, **limits: Any) -> st.SearchStrategy[Geometry]:
    """Tiles of the array's 3x3 filter."""
    filters, strides = st.just((3, 3)), st.just((stride, stride))
    return geometries(filters=filters, strides=strides, most_dilation=1, most_padding=2, **limits)


strided = of_3x3(2, most_channels=36, most_output=5)
filters_3x3 = of_3x3(1, most_channels=70, most_output=8) | strided
depthwise_3x3 = of_3x3(1, most_channels=50, channelwise=True) | of_3x3(2, most_channels=50, channelwise=True)
filters_1x1 = geometries(
    filters=st.just((1, 1)), strides=st.tuples(st.integers(1, 3), st.integers(1, 3)), most_dilation=1, most_channels=70
)


@st.composite
def any_filter(draw: st.DrawFn) -> Geometry:
    """Any that the cluster lays out: no dilation of columns; some tiles have several parts, some many channels."""
    filters = st.tuples(st.integers(1, 5), st.integers(1, 5))
    small = geometries(filters=filters, most_dilation=2, most_channels=40, most_output=5)
    large = geometries(filters=filters, most_dilation=1, most_channels=12, most_output=15)
    geometry = draw(st.one_of(small, large))
    assume(geometry.dilation[1] == 1 or geometry.filter[1] == 1)
    return geometry


GROUPED = {
    "conv2d_3x3": of_3x3(1, most_channels=36, most_output=5) | strided,
    "conv2d_1x1": geometries(filters=st.just((1, 1)), most_dilation=1, most_channels=36, most_output=5),
}
"""Layers of a group of channels, by kind of kernel."""

GEOMETRIES = {
    "conv2d_3x3": filters_3x3,
    "conv2d_1x1": filters_1x1,
    "conv2d_laid_out": any_filter(),
    "depthwise_3x3": depthwise_3x3,
}
"""Layers that a job computes, by kind of kernel."""


def bit_planes(weights: npt.NDArray[np.int8], bits: int = 8) -> Bytes:
    """Weights (rows, positions, channels) by row, group of 16 channels, bit, position and channel."""
    rows, positions, channels = weights.shape
    groups = -(-channels // 16)
    packed = np.zeros((rows, groups, bits, positions, 2), np.uint8)
    for row, position, channel in np.ndindex(rows, positions, channels):
        unsigned = int(weights[row, position, channel]) + 2 ** (bits - 1)
        for bit in range(bits):
            if unsigned >> bit & 1:
                packed[row, channel // 16, bit, position, channel % 16 // 8] |= 1 << channel % 8
    return packed.reshape(-1)


def wrapped(values: Ints) -> Ints:
    """The lower 32 bits, as a signed number."""
    return (values + 2**31) % 2**32 - 2**31


class NormQuant:
    """NE16's requantization with random parameters for accumulators (..., channels); some sums leave 32 bits."""

    def __init__(self, rng: np.random.Generator, acc: Ints, width: int) -> None:
        channels = acc.shape[-1]
        flat = acc.reshape(-1, channels)
        span = (flat.max(axis=0) - flat.min(axis=0) + 1).astype(float)
        largest = np.minimum(2.0**width - 1, 2.0**31 / span)
        self.width = width
        self.multiplier = np.maximum(1, rng.uniform(0, 1, channels) * largest).astype(np.int64)
        self.shift = np.floor(np.log2(np.maximum(1, self.multiplier * span / 300))).astype(np.int64).clip(0, 31)
        self.bias = wrapped(rng.integers(0, 1 << self.shift) * 40 - flat.min(axis=0) * self.multiplier)

    def __call__(self, acc: Ints) -> Bytes:
        return np.clip(wrapped(acc * self.multiplier + self.bias) >> self.shift, 0, 255).astype(np.uint8)

    def packed(self) -> Bytes:
        """All biases, then all multipliers, then all shifts."""
        arrays = (
            self.bias.astype("<i4"),
            self.multiplier.astype(f"<u{self.width // 8}"),
            self.shift.astype(np.uint8),
        )
        return np.concatenate([array.view(np.uint8) for array in arrays])


SUFFIX = {8: "_m8", 16: "_m16", 32: ""}


def exact_scratch(geometry: Geometry, block: int, groups: int = 1) -> int:
    """As match_ne16.h gives it."""
    rows, columns = geometry.output
    each = geometry.channels_out
    row = 4 * columns * max(min(each, block), min(groups, block // each) * each)
    least = 2 if geometry.filter == (3, 3) and geometry.stride[0] == 2 else 3
    part = min(rows * row, max(8192, least * row))
    return min(4 * rows * columns * groups * each, 2 * part)


def laid_out_scratch(geometry: Geometry, *, exact: bool) -> int:
    """As match_ne16.h gives it."""
    rows, columns = geometry.output
    row = ((columns - 1) * geometry.stride[1] + geometry.filter[1]) * geometry.filter[0] * geometry.channels_in
    windows = min(rows * row, 2 * max(8192, 3 * row))
    left = 4 * columns * min(geometry.channels_out, 32)
    accumulators = min(4 * rows * columns * geometry.channels_out, 2 * min(rows * left, max(8192, 3 * left)))
    return -(-windows // 4) * 4 + accumulators if exact else windows


class Problem:
    """One random tile for a kind of kernel: its views, packed weights and accumulators.

    groups: 0 if it is not grouped. bits: of weights that are not depthwise, as the tile gives them.
    """

    def __init__(
        self,
        kind: str,
        geometry: Geometry,
        before: tuple[int, int, int, int],
        pad_value: int,
        rng: np.random.Generator,
        groups: int = 0,
        bits: int = 0,
    ) -> None:
        self.bits = bits
        self.kind = kind
        self.geometry = geometry
        self.pad_value = pad_value
        self.groups = groups
        inputs, outputs = (max(1, groups) * each for each in (geometry.channels_in, geometry.channels_out))
        self.source: View = embed(rng.integers(0, 256, (*geometry.input, inputs), np.uint8), before)
        positions = geometry.filter[0] * geometry.filter[1]
        if kind == "depthwise_3x3":
            weights = rng.integers(-128, 128, (geometry.channels_out, 3, 3), np.int8)
            self.acc = depthwise_conv2d(self.source.tile, weights, geometry, pad_value)
            self.weights = bit_planes(weights.reshape(-1, 9).T[None])
        else:
            end = 2 ** ((bits or 8) - 1)
            weights = rng.integers(-end, end, (outputs, *geometry.filter, geometry.channels_in), np.int8)
            sources, filters = np.split(self.source.tile, max(1, groups), 2), np.split(weights, max(1, groups))
            parts = [conv2d(*of_group, geometry, pad_value) for of_group in zip(sources, filters, strict=True)]
            self.acc = np.concatenate(parts, axis=2)
            if kind == "conv2d_laid_out":
                weights, positions = weights.transpose(0, 2, 1, 3), 1
            self.weights = bit_planes(weights.reshape(outputs, positions, -1), bits or 8)

    def scratch(self, *, exact: bool) -> int:
        """Bytes that the kernel needs."""
        if self.kind == "conv2d_laid_out":
            return laid_out_scratch(self.geometry, exact=exact)
        block = 16 if self.kind == "depthwise_3x3" else 32
        return exact_scratch(self.geometry, block, max(1, self.groups)) if exact else 0

    def fields(self, target: View) -> TileFields:
        return self.geometry.fields(**strides_of(self.source), **output_strides_of(target), pad_value=self.pad_value)

    def target(self, behind: tuple[int, int, int, int]) -> View:
        return embed(np.zeros(self.acc.shape, np.uint8), behind)


def check_norm_quant(
    harness: Harness, problem: Problem, behind: tuple[int, int, int, int], width: int, seed: int
) -> None:
    """Run the kernel with NE16's requantization and compare."""
    requantization = NormQuant(np.random.default_rng(seed), problem.acc, width)
    target = problem.target(behind)
    output = harness.kernel(
        f"match_ne16_{problem.kind}{SUFFIX[width]}",
        problem.fields(target),
        input=problem.source.block,
        weights=problem.weights,
        parameters=requantization.packed(),
        output=target.block,
        scratch=problem.scratch(exact=False),
        groups=problem.groups,
        weight_bits=problem.bits,
    )
    target.tile[...] = requantization(problem.acc)
    np.testing.assert_array_equal(output, target.block)


def check_exact(harness: Harness, problem: Problem, behind: tuple[int, int, int, int], step: bool, seed: int) -> None:
    """Run the kernel with the cluster's requantization and compare."""
    clip = (-128, 127) if seed % 3 == 0 else (0, 250)
    form = f"{'split' if seed % 2 else 'int64'}{'_signed' if step else ''}"
    if seed % 5 == 0:
        form = "split_except" if seed % 2 else "int64_except"
    requantization = requantization_of(np.random.default_rng(seed), problem.acc, form, clip)
    target = problem.target(behind)
    fields = problem.fields(target)
    fields.clip_low, fields.clip_high = requantization.clip
    output = harness.kernel(
        f"match_ne16_{problem.kind}_exact{requantization.suffix}",
        fields,
        input=problem.source.block,
        weights=problem.weights,
        parameters=requantization.packed(),
        output=target.block,
        scratch=problem.scratch(exact=True),
        negative_step=requantization.negative_step,
        lists=requantization.lists(),
        groups=problem.groups,
        weight_bits=problem.bits,
    )
    target.tile[...] = requantization(problem.acc)
    np.testing.assert_array_equal(output, target.block)


@pytest.mark.parametrize("kind", GEOMETRIES)
@EXAMPLES
@given(st.data(), margins, margins, st.integers(0, 255), widths, st.booleans(), seeds)
def test_convolutions(
    kind: str,
    harness: Harness,
    data: st.DataObject,
    before: tuple[int, int, int, int],
    behind: tuple[int, int, int, int],
    pad_value: int,
    width: int,
    step: bool,
    seed: int,
) -> None:
    geometry = data.draw(GEOMETRIES[kind])
    bits = 0 if kind == "depthwise_3x3" else data.draw(weight_bits)
    problem = Problem(kind, geometry, before, pad_value, np.random.default_rng(seed), bits=bits)
    check_norm_quant(harness, problem, behind, width, seed)
    check_exact(harness, problem, behind, step, seed)


@pytest.mark.parametrize("kind", GROUPED)
@EXAMPLES
@given(st.data(), st.integers(1, 6), margins, margins, st.integers(0, 255), widths, st.booleans(), seeds)
def test_grouped_convolutions(
    kind: str,
    harness: Harness,
    data: st.DataObject,
    groups: int,
    before: tuple[int, int, int, int],
    behind: tuple[int, int, int, int],
    pad_value: int,
    width: int,
    step: bool,
    seed: int,
) -> None:
    """Some groups to a part whose accumulators leave NE16, or some parts to a group of more than 32 channels."""
    geometry = data.draw(GROUPED[kind])
    problem = Problem(kind, geometry, before, pad_value, np.random.default_rng(seed), groups, data.draw(weight_bits))
    check_norm_quant(harness, problem, behind, width, seed)
    check_exact(harness, problem, behind, step, seed)


@pytest.mark.parametrize("seed", range(6))
def test_laid_out_in_several_parts(harness: Harness, seed: int) -> None:
    """Parts are rows, and output channels."""
    geometry = Geometry(14, 40, (16, 14), (3, 4), (1, 2), (1, 1), (1, 2, 1, 1), (0, 0))
    problem = Problem("conv2d_laid_out", geometry, (0, 1, 2, 3), 9, np.random.default_rng(seed))
    check_norm_quant(harness, problem, (0, 0, 1, 1), 16, seed)
    check_exact(harness, problem, (0, 0, 1, 1), seed > 3, seed)


@pytest.mark.parametrize("form", ["norm_quant", "exact"])
def test_dense_layer_has_no_window(harness: Harness, form: str) -> None:
    """Tiles of dense layers leave filter, stride and dilation 0."""

    class Dense(Problem):
        def fields(self, target: View) -> TileFields:
            return replace(
                super().fields(target),
                filter_height=0,
                filter_width=0,
                stride_y=0,
                stride_x=0,
                dilation_y=0,
                dilation_x=0,
            )

    geometry = Geometry(40, 37, (1, 5), (1, 1), (1, 1), (1, 1), (0, 0, 0, 0), (0, 0))
    problem = Dense("conv2d_1x1", geometry, (0, 0, 2, 0), 0, np.random.default_rng(4))
    if form == "exact":
        check_exact(harness, problem, (0, 0, 0, 1), False, 4)
    else:
        check_norm_quant(harness, problem, (0, 0, 0, 1), 16, 4)


@pytest.mark.parametrize("kind", ["conv2d_3x3", "conv2d_1x1", "depthwise_3x3"])
def test_sums_wrap_at_32_bits(harness: Harness, kind: str) -> None:
    """A multiplier far too large for the sum: NE16 and NumPy lose the same bits."""
    side = 1 if kind == "conv2d_1x1" else 3
    geometry = Geometry(17, 17, (4, 4), (side, side), (1, 1), (1, 1), (0, 0, 0, 0), (0, 0))
    rng = np.random.default_rng(5)
    problem = Problem(kind, geometry, (0, 0, 0, 0), 0, rng)
    requantization = NormQuant(rng, problem.acc, 32)
    requantization.multiplier[:] = rng.integers(2**20, 2**32, 17)
    requantization.shift[:] = rng.integers(0, 32, 17)
    assert (abs(problem.acc * requantization.multiplier + requantization.bias) > 2**31).any()
    target = problem.target((0, 0, 0, 0))
    output = harness.kernel(
        f"match_ne16_{kind}",
        problem.fields(target),
        input=problem.source.block,
        weights=problem.weights,
        parameters=requantization.packed(),
        output=target.block,
    )
    np.testing.assert_array_equal(output.reshape(target.tile.shape), requantization(problem.acc))


@pytest.mark.parametrize("abandoned", [1, 2])
def test_a_stale_lock_is_cleared(harness: Harness, abandoned: int) -> None:
    """An earlier program was stopped between taking a job and handing it over, with another one in the queue or not."""
    geometry = Geometry(18, 35, (7, 5), (3, 3), (1, 1), (1, 1), (1, 1, 1, 1), (0, 0))
    rng = np.random.default_rng(6)
    problem = Problem("conv2d_3x3", geometry, (0, 0, 0, 0), 7, rng)
    requantization = NormQuant(rng, problem.acc, 32)
    target = problem.target((0, 0, 0, 0))
    output = harness.kernel(
        "match_ne16_conv2d_3x3",
        problem.fields(target),
        input=problem.source.block,
        weights=problem.weights,
        parameters=requantization.packed(),
        output=target.block,
        abandoned=abandoned,
    )
    np.testing.assert_array_equal(output.reshape(target.tile.shape), requantization(problem.acc))


@pytest.mark.parametrize("kind", ["conv2d_3x3", "conv2d_1x1", "depthwise_3x3"])
def test_documented_packing_is_the_one_tested(kind: str) -> None:
    """The NumPy expression in match_ne16.h packs like the loops above."""
    rng = np.random.default_rng(3)
    side = 1 if kind == "conv2d_1x1" else 3
    rows, channels, weight_bits = (1, 21, 8) if kind == "depthwise_3x3" else (6, 21, 5)
    end = 2 ** (weight_bits - 1)
    w = rng.integers(-end, end, (rows, side, side, channels), np.int8)
    groups = -(-channels // 16)
    filled = np.pad(w, ((0, 0), (0, 0), (0, 0), (0, 16 * groups - channels)), constant_values=-end)
    u = (filled.astype(int) + 2 ** (weight_bits - 1)).reshape(rows, side * side, groups, 16)
    planes = (u.transpose(0, 2, 1, 3)[:, :, None] >> np.arange(weight_bits)[:, None, None]) & 1
    documented = np.packbits(planes.astype(np.uint8), axis=-1, bitorder="little").tobytes()
    assert documented == bit_planes(w.reshape(rows, side * side, channels), weight_bits).tobytes()


@pytest.mark.parametrize("short", ["input", "weights", "parameters", "output", "scratch"])
def test_a_byte_too_few_is_caught(harness: Harness, short: str) -> None:
    geometry = Geometry(18, 35, (4, 5), (3, 3), (1, 1), (1, 1), (1, 1, 1, 1), (0, 0))
    problem = Problem("conv2d_3x3", geometry, (0, 0, 0, 0), 7, np.random.default_rng(2))
    requantization = random_requantization(np.random.default_rng(2), problem.acc, step=False)
    target = problem.target((0, 0, 0, 0))
    arrays: dict[str, Any] = {
        "input": problem.source.block,
        "weights": problem.weights,
        "parameters": requantization.packed(),
        "output": target.block,
    }
    scratch = exact_scratch(geometry, 32)
    harness.kernel("match_ne16_conv2d_3x3_exact", problem.fields(target), **arrays, scratch=scratch)
    if short == "scratch":
        scratch -= 1
    else:
        arrays[short] = arrays[short][:-1]
    with pytest.raises(HarnessError, match="AddressSanitizer: use-after-poison"):
        harness.kernel("match_ne16_conv2d_3x3_exact", problem.fields(target), **arrays, scratch=scratch)
