"""Weights and parameters as the kernels of kernels/cortex_m read them (match_arm.h)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from match.ir.requantization import UNREACHED, WORD, Int64Array, Requantization

WORDS = np.dtype(
    [("addend", "<i4"), ("multiplier", "<i4"), ("bias", "<i4"), ("shift", "u1"), ("times", "u1"), ("reserved", "<u2")]
)
"""match_arm_requant_t."""

LONG = np.dtype(
    [
        ("addend", "<i4"),
        ("multiplier", "<i4"),
        ("bias_low", "<u4"),
        ("bias_high", "<i4"),
        ("stepped_low", "<u4"),
        ("stepped_high", "<i4"),
        ("negative_below", "<i4"),
        ("shift", "<i4"),
    ]
)
"""match_arm_requant_long_t."""

Addends = Int64Array | int
"""What is added to the accumulator of each channel, or of all of them."""

PAIR_CHANNELS = 2
PAIR_VALUES = 4
"""Output channels and values of their filters that the DSP extension's loops take at once."""

VECTOR_CHANNELS = 4
VECTOR_BYTES = 16
"""The same of MVE's."""

VECTOR_LANES = 8
"""Channels of a depthwise convolution that MVE's loop takes at once."""

SIGN = 128
"""What MVE's loops take off activations, which makes them signed."""


def pairs(weights: npt.NDArray[np.int8]) -> bytes:
    """Filters (K, ...) by two channels and two values, for the DSP extension."""
    padded = _padded(weights.reshape(len(weights), -1), PAIR_CHANNELS, PAIR_VALUES)
    blocks = padded.reshape(len(padded) // PAIR_CHANNELS, PAIR_CHANNELS, -1, PAIR_VALUES // 2, 2)
    return blocks.transpose(0, 2, 4, 3, 1).tobytes()


def paired_rows(weights: npt.NDArray[np.int8]) -> bytes:
    """Depthwise filters (K, FY, FX) by columns and pairs of rows, for the DSP extension."""
    channels, height, width = weights.shape
    words = pair_words(height)
    padded = np.pad(weights, ((0, 0), (0, 4 * words - height), (0, 0)))
    blocks = padded.transpose(0, 2, 1).reshape(channels, width, words, 2, 2)
    return blocks.transpose(0, 1, 2, 4, 3).tobytes()


def pair_words(height: int) -> int:
    """Words of a column of a depthwise filter of so many rows."""
    return (height // 2 + 2) // 2


def vectors(weights: npt.NDArray[np.int8]) -> bytes:
    """Filters (K, ...) by four channels and 16 values, for MVE."""
    padded = _padded(weights.reshape(len(weights), -1), VECTOR_CHANNELS, VECTOR_BYTES)
    blocks = padded.reshape(len(padded) // VECTOR_CHANNELS, VECTOR_CHANNELS, -1, VECTOR_BYTES)
    return blocks.transpose(0, 2, 1, 3).tobytes()


def lanes(weights: npt.NDArray[np.int8]) -> bytes:
    """Depthwise filters (K, FY, FX) by eight channels, whose weights lie side by side, for MVE."""
    padded = _padded(weights.reshape(len(weights), -1), VECTOR_LANES, 1)
    return padded.reshape(len(padded) // VECTOR_LANES, VECTOR_LANES, -1).transpose(0, 2, 1).tobytes()


def by_lanes(parameters: bytes, parameter_bytes: int) -> bytes:
    """Parameters of a multiple of eight channels as MVE's lanes have them: of each eight the even ones come first."""
    groups = np.frombuffer(parameters, np.uint8).reshape(-1, VECTOR_LANES // 2, 2, parameter_bytes)
    return groups.swapaxes(1, 2).tobytes()


def shifted_addends(weights: npt.NDArray[np.int8]) -> Int64Array:
    """What accumulators of filters (K, ...) lack where activations are less by `SIGN`."""
    return SIGN * weights.reshape(len(weights), -1).sum(axis=1, dtype=np.int64)


def words(line: Requantization, addends: Addends, multiple: int) -> bytes:
    """match_arm_requant_t of each channel of a line with addends, and zeros up to a multiple of channels."""
    if line.addend is None:
        raise ValueError("this line has no addends")
    entries = np.zeros(_rounded(line.channels, multiple), WORDS)
    own = entries[: line.channels]
    own["addend"] = line.addend + addends
    own["times"] = line.multiplier >> WORD - 1
    own["multiplier"] = line.multiplier - (own["times"].astype(np.int64) << WORD)
    own["bias"], own["shift"] = line.word, line.shift - WORD
    return entries.tobytes()


def long(line: Requantization, addends: Addends, multiple: int) -> bytes:
    """match_arm_requant_long_t of each channel, and zeros up to a multiple of channels."""
    entries = np.zeros(_rounded(line.channels, multiple), LONG)
    own = entries[: line.channels]
    own["addend"], own["multiplier"], own["shift"] = addends, line.multiplier, line.shift
    own["negative_below"] = UNREACHED if line.negative_below is None else line.negative_below
    step = np.int64(0) if line.negative_step is None else line.negative_step
    for name, bias in (("bias", line.bias), ("stepped", line.bias - step)):
        own[f"{name}_low"], own[f"{name}_high"] = bias & 0xFFFFFFFF, bias >> WORD
    return entries.tobytes()


def _rounded(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple


def _padded(rows: npt.NDArray[np.int8], channels: int, values: int) -> npt.NDArray[np.int8]:
    """Rows with zeros behind them, and rows of zeros behind all."""
    more = [_rounded(size, multiple) - size for size, multiple in zip(rows.shape, (channels, values), strict=True)]
    return np.pad(rows, ((0, more[0]), (0, more[1])))
