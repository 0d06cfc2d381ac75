"""Recurrent operators as layers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from match.arithmetic.tflite_functions import logistic_of_16_bits
from match.ir.constants import LayerConstants
from match.ir.dtypes import value_range
from match.ir.layer import Op
from match.partitioning.pattern.layers import covered, element_wise
from match.partitioning.pattern.types import Match
from match.relay import relay
from match.relay.lstm import Lstm, tanh_shift
from match.relay.rewrite import dtype, shape

_BITS = 32
"""Bits of the numbers that kernels multiply with a mantissa."""


def fits(found: Lstm) -> bool:
    """Whether all sums that can occur fit 32 bits after scaling, as kernels need."""
    sums = zip((found.input_weights, found.state_weights), found.offsets, (found.x_dtype, found.dtype), strict=True)
    largest: list[int] = []
    for weights, offsets, kind in sums:
        low, high = value_range(kind)
        ends = weights.astype(np.int64) * low, weights.astype(np.int64) * high
        most, least = np.maximum(*ends).sum(axis=2) + offsets, np.minimum(*ends).sum(axis=2) + offsets
        largest += np.maximum(np.abs(most), np.abs(least)).max(axis=1).tolist()
    largest += [(1 << 30) - 1] * 2  # products of two functions
    left = np.maximum(found.scales[:, 1], 0).tolist()
    return all(most << shift + 1 < 1 << (_BITS - 1) for most, shift in zip(largest, left, strict=True))


def lstm(root: relay.Expr, found: Lstm) -> Match:
    """All steps of an LSTM."""
    layer = element_wise(Op.LSTM, shape(root), dtype(found.x), found.dtype)
    layer = replace(layer, c=shape(found.x)[2], weight_dtype="int8")
    constants = LayerConstants(None, None, table=_table(found), units=_units(found))
    return Match(root, (found.x,), covered(root, (found.x,)), layer, constants, None)


def _units(found: Lstm) -> npt.NDArray[np.int8]:
    """match_lstm_unit_t of each unit, shape (units, bytes)."""
    offsets = np.ascontiguousarray(found.offsets.transpose(2, 0, 1), "<i4").reshape(found.units, -1)
    weights = (each.transpose(1, 0, 2).reshape(found.units, -1) for each in (found.input_weights, found.state_weights))
    return np.concatenate([offsets.view(np.int8), *weights], axis=1)


def _table(found: Lstm) -> npt.NDArray[np.int32]:
    """match_lstm_t as words."""
    mantissas, exponents = found.scales.T
    right = np.maximum(-exponents, 0)
    scales = np.stack([mantissas, np.maximum(exponents, 0) + 1, right, (1 << right) >> 1], axis=1)
    left = tanh_shift(found.power)
    logistic = logistic_of_16_bits().astype("<u2").view("<i4")
    numbers = np.array([max(left, 0), max(-left, 0), found.limit, found.zero])
    return np.concatenate([scales.reshape(-1), numbers, logistic]).astype(np.int32)
