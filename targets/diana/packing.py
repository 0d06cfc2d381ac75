"""Weights and biases as DIANA's digital accelerator streams them; see kernels/diana/match_diana.h.

Both come in groups of output channels, each group's weights before its biases, in rows of 16 bytes whose groups of
four bytes are reversed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from match.ir.constants import LayerConstants

ARRAY = 16
"""Output channels of a convolution's group, bytes of a row."""

DEPTHWISE_CHANNELS = 4
"""Channels of a depthwise group: each has four bytes of a row and uses the first."""

BYTE_GROUP = 4
"""Bytes that lie last first, of weights and activations alike."""

Bytes = npt.NDArray[np.uint8]


def convolution(weights: npt.NDArray[np.int8], bias: npt.NDArray[np.int64]) -> bytes:
    """From (K, FY, FX, C) and (K,) to groups of 16: rows (C, FY, FX), then 4 rows with a byte of each bias."""
    return _rows(_grouped(weights.transpose(3, 1, 2, 0), ARRAY), _grouped(_bytes(bias).T, ARRAY))


def depthwise(weights: npt.NDArray[np.int8], bias: npt.NDArray[np.int64]) -> bytes:
    """From (K, FY, FX, 1) and (K,) to groups of 4: rows (FY, FX), then 4 rows with a byte of each bias."""
    parts = _grouped(weights.transpose(3, 1, 2, 0), DEPTHWISE_CHANNELS), _grouped(_bytes(bias).T, DEPTHWISE_CHANNELS)
    spread = [np.zeros((*part.shape, ARRAY // DEPTHWISE_CHANNELS), np.uint8) for part in parts]
    for wide, part in zip(spread, parts, strict=True):
        wide[..., 0] = part
    return _rows(*spread)


def fully_connected(weights: npt.NDArray[np.int8], bias: npt.NDArray[np.int64]) -> bytes:
    """From (K, C) and (K,) to groups of 16: each channel's weights in whole rows, then a row with each bias."""
    k, c = weights.shape
    groups = -(-k // ARRAY)
    filled = np.zeros((groups * ARRAY, -(-c // ARRAY) * ARRAY), np.uint8)
    filled[:k, :c] = weights.view(np.uint8)
    biases = np.zeros((groups * ARRAY, ARRAY), np.uint8)
    biases[:k] = np.where(bias < 0, 0xFF, 0)[:, None]
    biases[:k, :BYTE_GROUP] = _bytes(bias)
    return _rows(filled.reshape(groups, -1), biases.reshape(groups, -1))


def biases(constants: LayerConstants) -> npt.NDArray[np.int64]:
    """B of each output channel, shape (K,)."""
    if constants.requantization is None:
        raise ValueError("this layer has no requantization to pack")
    return constants.requantization.bias


def _bytes(bias: npt.NDArray[np.int64]) -> Bytes:
    """int32 numbers as bytes, lowest first: (K, 4)."""
    return bias.astype("<i4").view(np.uint8).reshape(len(bias), -1)


def _grouped(values: npt.NDArray[np.int8] | Bytes, size: int) -> Bytes:
    """The last axis, filled up with zeros, cut into groups of `size`: from (..., K) to (K / size, ..., size)."""
    *outer, k = values.shape
    groups = -(-k // size)
    filled = np.zeros((*outer, groups * size), np.uint8)
    filled[..., :k] = np.ascontiguousarray(values).view(np.uint8)
    return np.moveaxis(filled.reshape(*outer, groups, size), -2, 0)


def _rows(weights: Bytes, bias: Bytes) -> bytes:
    """Each group's weights and biases, groups of four bytes reversed."""
    groups = len(weights)
    rows = np.concatenate([weights.reshape(groups, -1), bias.reshape(groups, -1)], axis=1)
    return rows.reshape(-1, BYTE_GROUP)[:, ::-1].tobytes()
