"""Bytes of constants as NE16 reads them: kernels/ne16/match_ne16.h."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from match.ir.constants import LayerConstants
from match.ir.layer import WIDEST_WEIGHTS, Dim
from match.ir.requantization import Requantizer
from match.target.tile_constants import Spans, channels, parameters_of

GROUP = 16
PLANE_BYTES = GROUP // 8
"""One bit of a group of input channels, at one filter position."""

FEWEST_BITS = 2


def bit_planes(weights: npt.NDArray[np.int8], spans: Spans, bits: int = WIDEST_WEIGHTS) -> bytes:
    """The filters of a range of output channels as bit planes of weight + 2^(bits - 1), by groups of 16 input channels.

    From (K, FY, FX, C) to (K, ceil(C / 16), bit, FY * FX, 2 bytes), channel c of a group in bit c % 8 of byte c // 8.
    """
    part = channels(weights, spans)
    k, fy, fx, c = part.shape
    groups = -(-c // GROUP)
    filled = np.zeros((k, fy * fx, groups * GROUP), np.uint8)
    filled[..., :c] = part.reshape(k, fy * fx, c).astype(np.int16) + (1 << (bits - 1))
    grouped = filled.reshape(k, fy * fx, groups, GROUP).transpose(0, 2, 1, 3)
    planes = (grouped[:, :, None] >> np.arange(bits, dtype=np.uint8)[:, None, None]) & 1
    return np.packbits(planes, axis=-1, bitorder="little").tobytes()


def laid_out_bit_planes(weights: npt.NDArray[np.int8], spans: Spans, bits: int = WIDEST_WEIGHTS) -> bytes:
    """The same for windows that are laid out: their (FX, FY, C) are channels, (K, ceil(FX * FY * C / 16), bit, 2)."""
    part = channels(weights, spans).transpose(0, 2, 1, 3)
    return bit_planes(part.reshape(len(part), 1, 1, -1), {Dim.K: (0, len(part))}, bits)


def depthwise_bit_planes(weights: npt.NDArray[np.int8], spans: Spans) -> bytes:
    """The same of 8 bits for (K, FY, FX, 1): channels themselves make groups, (ceil(K / 16), bit 8, FY * FX, 2)."""
    part = channels(weights, spans)
    return bit_planes(part.transpose(3, 1, 2, 0), {Dim.K: (0, 1)})


def norm_quant(constants: LayerConstants, requantizer: Requantizer, spans: Spans) -> bytes:
    """NE16's parameters: int32 biases, unsigned multipliers, uint8 shifts, one array after another without gaps."""
    parameters = parameters_of(constants)
    start, extent = spans[Dim.K]
    part = slice(start, start + extent)
    multiplier = np.dtype(f"<u{requantizer.multiplier_bits // 8}")
    arrays = (
        parameters.bias[part].astype("<i4"),
        parameters.multiplier[part].astype(multiplier),
        parameters.shift[part].astype(np.uint8),
    )
    return b"".join(array.tobytes() for array in arrays)
