"""Bytes of constants as GAP9's kernels read them: kernels/include/match_tile.h and kernels/ne16/match_ne16.h."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from match.hardware import LayerConstants
from match.layer import Dim
from match.requantize import Requantization, Requantizer

REQUANT = np.dtype([("bias", "<i8"), ("multiplier", "<i4"), ("shift", "<i4")])
REQUANT_SIGNED = np.dtype([*REQUANT.descr, ("negative_below", "<i4"), ("reserved", "<i4")])
REQUANT_ADD = np.dtype(
    [
        ("bias", "<i8"),
        ("input_multiplier", "<i4"),
        ("addend_multiplier", "<i4"),
        ("shift", "<i4"),
        ("reserved", "<i4"),
    ]
)

NE16_GROUP = 16
_NE16_WEIGHT_BITS = 8
_NE16_WEIGHT_OFFSET = 128

Spans = Mapping[Dim, tuple[int, int]]


def rows(weights: npt.NDArray[np.int8], spans: Spans) -> bytes:
    """The filters of a range of output channels and one of input channels, (K, FY, FX, C).

    Channelwise filters have C = 1.
    """
    start, extent = spans[Dim.C]
    return _channels(weights, spans)[..., start : start + extent].tobytes()


def bit_planes(weights: npt.NDArray[np.int8], spans: Spans) -> bytes:
    """The filters of a range of output channels as bit planes of weight + 128, in groups of 16 input channels.

    From (K, FY, FX, C) to (K, ceil(C / 16), bit 8, FY * FX, 2 bytes), channel c of a group in bit c % 8 of byte c // 8.
    """
    part = _channels(weights, spans)
    k, fy, fx, c = part.shape
    groups = -(-c // NE16_GROUP)
    filled = np.zeros((k, fy * fx, groups * NE16_GROUP), np.uint8)
    filled[..., :c] = part.reshape(k, fy * fx, c).astype(np.int16) + _NE16_WEIGHT_OFFSET
    grouped = filled.reshape(k, fy * fx, groups, NE16_GROUP).transpose(0, 2, 1, 3)
    bits = np.arange(_NE16_WEIGHT_BITS, dtype=np.uint8)[:, None, None]
    planes = (grouped[:, :, None] >> bits) & 1
    return np.packbits(planes, axis=-1, bitorder="little").tobytes()


def depthwise_bit_planes(weights: npt.NDArray[np.int8], spans: Spans) -> bytes:
    """The same for (K, FY, FX, 1): the channels themselves make the groups, (ceil(K / 16), bit 8, FY * FX, 2 bytes)."""
    part = _channels(weights, spans)
    return bit_planes(part.transpose(3, 1, 2, 0), {Dim.K: (0, 1)})


def requantization(constants: LayerConstants, requantizer: Requantizer, spans: Spans) -> bytes:
    """Array of match_requant_add_t (one), match_requant_signed_t or match_requant_t (one per output channel)."""
    parameters = _parameters(constants)
    if constants.addend_multipliers is not None:
        first, second = constants.addend_multipliers
        entry = (int(parameters.bias[0]), first, second, int(parameters.shift[0]), 0)
        return np.array([entry], REQUANT_ADD).tobytes()
    start, extent = spans[Dim.K]
    part = slice(start, start + extent)
    entries = np.zeros(extent, REQUANT_SIGNED if requantizer.negative_step else REQUANT)
    entries["bias"] = parameters.bias[part]
    entries["multiplier"] = parameters.multiplier[part]
    entries["shift"] = parameters.shift[part]
    if requantizer.negative_step and parameters.negative_below is not None:
        entries["negative_below"] = parameters.negative_below[part]
    return entries.tobytes()


def norm_quant(constants: LayerConstants, requantizer: Requantizer, spans: Spans) -> bytes:
    """NE16's parameters: int32 biases, unsigned multipliers, uint8 shifts, one array after another without gaps."""
    parameters = _parameters(constants)
    start, extent = spans[Dim.K]
    part = slice(start, start + extent)
    multiplier = np.dtype(f"<u{requantizer.multiplier_bits // 8}")
    arrays = (
        parameters.bias[part].astype("<i4"),
        parameters.multiplier[part].astype(multiplier),
        parameters.shift[part].astype(np.uint8),
    )
    return b"".join(array.tobytes() for array in arrays)


def _channels(weights: npt.NDArray[np.int8], spans: Spans) -> npt.NDArray[np.int8]:
    start, extent = spans[Dim.K]
    return weights[start : start + extent]


def _parameters(constants: LayerConstants) -> Requantization:
    if constants.requantization is None:
        raise ValueError("this layer has no requantization to pack")
    return constants.requantization
