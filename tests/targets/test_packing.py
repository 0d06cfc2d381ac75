"""Packed constants read back by an unpacker written from the headers, byte by byte."""

from __future__ import annotations

import struct
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from match.ir.constants import Addends, LayerConstants
from match.ir.layer import Dim
from match.ir.requantization import UNREACHED, Products, Requantization, Requantizer
from match.target import tile_constants
from match.targets.gap9 import packing as ne16_packing

pytestmark = pytest.mark.unit

RNG = np.random.default_rng(4)


def weights(*shape: int, bits: int = 8) -> npt.NDArray[np.int8]:
    return RNG.integers(-(2 ** (bits - 1)), 2 ** (bits - 1), shape).astype(np.int8)


def form(multiplier_bits: int, *, bias_bits: int = 32, negative_step: bool = False) -> Requantizer:
    return Requantizer("form", multiplier_bits, False, bias_bits, bias_bits, (0, 31), True, negative_step, 0)


def parameters(channels: int, bits: int) -> Requantization:
    return Requantization(
        RNG.integers(0, 1 << bits, channels),
        RNG.integers(-(1 << 31), 1 << 31, channels),
        RNG.integers(0, 32, channels),
        (0, 255),
        RNG.integers(-1000, 1000, channels),
        np.full(channels, 1 << 31),
    )


def unpack_group(data: bytes, positions: int, bits: int = 8) -> npt.NDArray[np.int64]:
    """One group of 16 channels, (positions, 16), from planes of `positions` little-endian halfwords."""
    group = np.zeros((positions, 16), np.int64)
    for bit in range(bits):
        for position in range(positions):
            at = (bit * positions + position) * 2
            halfword = data[at] | data[at + 1] << 8
            for channel in range(16):
                group[position, channel] |= (halfword >> channel & 1) << bit
    return group - 2 ** (bits - 1)


@pytest.mark.parametrize(
    ("k", "size", "c", "bits"), [(3, 3, 16, 8), (2, 3, 5, 3), (5, 1, 37, 8), (1, 1, 1, 2), (4, 1, 17, 7)]
)
def test_bit_planes(k: int, size: int, c: int, bits: int) -> None:
    w = weights(k + 4, size, size, c, bits=bits)
    data = ne16_packing.bit_planes(w, {Dim.K: (2, k)}, bits)
    groups, positions = -(-c // 16), size * size
    step = 2 * bits * positions
    assert len(data) == k * groups * step
    for channel_out in range(k):
        for group in range(groups):
            at = (channel_out * groups + group) * step
            got = unpack_group(data[at : at + step], positions, bits)
            expected = w[channel_out + 2, :, :, group * 16 : group * 16 + 16].reshape(positions, -1)
            assert np.array_equal(got[:, : expected.shape[1]], expected)


@pytest.mark.parametrize("bits", [4, 8])
def test_laid_out_bit_planes(bits: int) -> None:
    """A window's columns, each (FY, C), are channels of one pixel."""
    w = weights(7, 3, 5, 2, bits=bits)
    data = ne16_packing.laid_out_bit_planes(w, {Dim.K: (2, 4)}, bits)
    step = 2 * bits
    assert len(data) == 4 * 2 * step
    for channel_out in range(4):
        channels = np.array([w[channel_out + 2, fy, fx, c] for fx in range(5) for fy in range(3) for c in range(2)])
        parts = [data[step * group : step * (group + 1)] for group in (2 * channel_out, 2 * channel_out + 1)]
        got = np.concatenate([unpack_group(part, 1, bits)[0] for part in parts])
        assert np.array_equal(got[:30], channels)


@pytest.mark.parametrize(("start", "k"), [(0, 16), (16, 16), (32, 7)])
def test_depthwise_bit_planes(start: int, k: int) -> None:
    w = weights(39, 3, 3, 1)
    data = ne16_packing.depthwise_bit_planes(w, {Dim.K: (start, k)})
    assert len(data) == 144
    expected = w[start : start + k, :, :, 0].reshape(k, 9).T
    assert np.array_equal(unpack_group(data, 9)[:, :k], expected)


def test_rows() -> None:
    w = weights(6, 3, 2, 5)
    data = tile_constants.rows(w, {Dim.K: (1, 4), Dim.C: (0, 5)})
    assert data[(2 * 6 + 1 * 2 + 1) * 5 + 3] == np.uint8(w[3, 1, 1, 3])
    assert len(data) == 4 * 30
    data = tile_constants.rows(w, {Dim.K: (1, 4), Dim.C: (2, 3)})
    assert data[(2 * 6 + 1 * 2 + 1) * 3 + 1] == np.uint8(w[3, 1, 1, 3])
    assert len(data) == 4 * 18


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_norm_quant_is_three_arrays(bits: int) -> None:
    requantization = parameters(7, bits)
    data = ne16_packing.norm_quant(LayerConstants(None, requantization), form(bits), {Dim.K: (2, 4)})
    code = {8: "B", 16: "H", 32: "I"}[bits]
    assert len(data) == 4 * (5 + bits // 8)
    values = struct.unpack(f"<4i4{code}4B", data)
    wanted = requantization.bias, requantization.multiplier, requantization.shift
    assert values == tuple(int(value) for array in wanted for value in array[2:6])


@pytest.mark.parametrize(("bias_bits", "signed", "size"), [(32, False, 12), (64, False, 16), (64, True, 24)])
def test_requantization_entries(bias_bits: int, signed: bool, size: int) -> None:
    requantization = parameters(5, 31)
    requantizer = form(32, bias_bits=bias_bits, negative_step=signed)
    data = tile_constants.requantization(LayerConstants(None, requantization), requantizer, {Dim.K: (1, 3)})
    assert len(data) == 3 * size
    for index, channel in enumerate((1, 2, 3)):
        bias, multiplier, shift = struct.unpack_from("<iii" if bias_bits == 32 else "<qii", data, index * size)
        assert (bias, multiplier, shift) == (
            requantization.bias[channel],
            requantization.multiplier[channel],
            requantization.shift[channel],
        )
        if signed:
            assert requantization.negative_below is not None
            assert struct.unpack_from("<ii", data, index * size + 16) == (requantization.negative_below[channel], 0)


def test_words_of_upper_halves() -> None:
    multiplier, addend, word = np.array([3 << 30, 5, 0]), np.array([-70, 80, 9]), np.array([-32 * 4 + 7, 37, 5])
    line = Requantization(multiplier, addend * multiplier + (word << 32), 32 + word % 32, (0, 255), addend=addend)
    requantizer = replace(form(32), products=Products.UPPER)
    data = tile_constants.requantization(LayerConstants(None, line), requantizer, {Dim.K: (0, 3)})
    assert list(struct.iter_unpack("<iIi", data)) == [(-70, 3 << 30, -121), (80, 5, 37), (9, 0, 5)]


@pytest.mark.parametrize("signed", [False, True])
def test_words_of_split_multipliers(signed: bool) -> None:
    """A border of negatives moves with its accumulators, unless nothing reaches it; a constant is its highest byte."""
    multiplier, addend = np.array([(77 << 13) + 9, (5 << 16) + 65535, 0]), np.array([-70, 80, 1 << 30])
    shift, bias = np.array([24 + 13, 24 + 16, 24]), np.array([32 * 4 + 13, 32 * 70 + 16, 200 << 24])
    below, step = np.array([1000, UNREACHED, UNREACHED]), np.array([6 << 13, 1, 1])
    whole = np.where(multiplier > 0, addend * multiplier, 0) + bias
    largest = np.array([60_000, 900, 1])
    line = Requantization(multiplier, whole, shift, (0, 255), below, step, addend=addend, largest=largest)
    requantizer = replace(form(32, negative_step=signed), products=Products.SPLIT)
    data = tile_constants.requantization(LayerConstants(None, line), requantizer, {Dim.K: (0, 3)})
    entries = list(struct.iter_unpack("<iiIIIiI" if signed else "<iiIII", data))
    wanted = [
        (-70, 60_000, 9, 141, 77, 930, 2**32 - 6),
        (80, 900, 65535, 2256, 5, 0, 0),
        (1 << 30, 1, 0, 0, 200 << 24, 0, 0),
    ]
    assert entries == [entry if signed else entry[:5] for entry in wanted]


@pytest.mark.parametrize(("bias_bits", "layout"), [(32, "<4i"), (64, "<q3i4x")])
def test_addition_is_one_entry(bias_bits: int, layout: str) -> None:
    bias = -(1 << bias_bits - 4)
    requantization = Requantization(np.array([1]), np.array([bias]), np.array([20]), (0, 255))
    constants = LayerConstants(Addends(123456, 654321), requantization)
    data = tile_constants.requantization(constants, form(32, bias_bits=bias_bits), {Dim.K: (8, 8)})
    assert struct.unpack(layout, data) == (bias, 123456, 654321, 20)


def test_constant_addition_multiplies_by_nothing() -> None:
    """What a fitted line multiplies the sum of both products by, it multiplies each by."""
    requantization = Requantization(np.array([0]), np.array([77 << 20]), np.array([20]), (0, 255))
    constants = LayerConstants(Addends(123456, 654321), requantization)
    data = tile_constants.requantization(constants, form(32), {Dim.K: (8, 8)})
    assert struct.unpack("<4i", data) == (77 << 20, 0, 0, 20)
