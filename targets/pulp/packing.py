"""Bytes of constants as the cluster's kernels read them: kernels/include/match_tile.h."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from match.hardware import LayerConstants
from match.layer import Dim
from match.requantize import Requantization, Requantizer

REQUANT = np.dtype([("bias", "<i8"), ("multiplier", "<i4"), ("shift", "<i4")])
REQUANT_SIGNED = np.dtype([*REQUANT.descr, ("negative_below", "<i4"), ("reserved", "<i4")])
REQUANT32 = np.dtype([("bias", "<i4"), ("multiplier", "<i4"), ("shift", "<i4")])
REQUANT_ADD = np.dtype(
    [
        ("bias", "<i8"),
        ("input_multiplier", "<i4"),
        ("addend_multiplier", "<i4"),
        ("shift", "<i4"),
        ("reserved", "<i4"),
    ]
)
REQUANT_ADD32 = np.dtype([("bias", "<i4"), ("input_multiplier", "<i4"), ("addend_multiplier", "<i4"), ("shift", "<i4")])

Spans = Mapping[Dim, tuple[int, int]]


def rows(weights: npt.NDArray[np.int8], spans: Spans) -> bytes:
    """The filters of a range of output channels and one of input channels, (K, FY, FX, C).

    Channelwise filters have C = 1.
    """
    start, extent = spans[Dim.C]
    return channels(weights, spans)[..., start : start + extent].tobytes()


def requantization(constants: LayerConstants, requantizer: Requantizer, spans: Spans) -> bytes:
    """One match_requant_add_t or match_requant_add32_t; of others an entry per output channel.

    That is match_requant_signed_t, match_requant_t or match_requant32_t.
    """
    parameters = parameters_of(constants)
    if constants.addend_multipliers is not None:
        entry = np.zeros(1, REQUANT_ADD if requantizer.bias_bits > 32 else REQUANT_ADD32)
        entry["bias"], entry["shift"] = parameters.bias, parameters.shift
        factors = (factor * parameters.multiplier for factor in constants.addend_multipliers)
        entry["input_multiplier"], entry["addend_multiplier"] = factors
        return entry.tobytes()
    start, extent = spans[Dim.K]
    part = slice(start, start + extent)
    plain = REQUANT if requantizer.bias_bits > 32 else REQUANT32
    entries = np.zeros(extent, REQUANT_SIGNED if requantizer.negative_step else plain)
    entries["bias"] = parameters.bias[part]
    entries["multiplier"] = parameters.multiplier[part]
    entries["shift"] = parameters.shift[part]
    if requantizer.negative_step and parameters.negative_below is not None:
        entries["negative_below"] = parameters.negative_below[part]
    return entries.tobytes()


def channels(weights: npt.NDArray[np.int8], spans: Spans) -> npt.NDArray[np.int8]:
    """The filters of a range of output channels."""
    start, extent = spans[Dim.K]
    return weights[start : start + extent]


def parameters_of(constants: LayerConstants) -> Requantization:
    """The layer's requantization, which must be there."""
    if constants.requantization is None:
        raise ValueError("this layer has no requantization to pack")
    return constants.requantization
