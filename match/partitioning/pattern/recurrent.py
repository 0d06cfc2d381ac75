"""Recurrent operators as layers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from match.arithmetic.tflite import reduced
from match.arithmetic.tflite_functions import logistic_of_16_bits
from match.ir.constants import LayerConstants
from match.ir.dtypes import value_range
from match.ir.layer import Op
from match.partitioning.pattern.layers import covered, element_wise, scaling_words
from match.partitioning.pattern.types import Match
from match.relay import relay
from match.relay.gates import tanh_shift
from match.relay.gru import Gru
from match.relay.lstm import Lstm
from match.relay.rewrite import dtype, shape

_BITS = 32
"""Of the numbers that kernels multiply with a mantissa, and the word of the product that is left."""

_LARGEST_SUM = 1 << 29
"""Of a gate after scaling, half of what a kernel adds two of."""


def fits(found: Lstm | Gru) -> bool:
    """Whether all sums that can occur fit 32 bits before and after scaling, as kernels need."""
    sums = zip((found.input_weights, found.state_weights), found.offsets, (found.x_dtype, found.dtype), strict=True)
    largest: list[int] = []
    for weights, offsets, kind in sums:
        low, high = value_range(kind)
        ends = weights.astype(np.int64) * low, weights.astype(np.int64) * high
        most, least = np.maximum(*ends).sum(axis=2) + offsets, np.minimum(*ends).sum(axis=2) + offsets
        largest += np.maximum(np.abs(most), np.abs(least)).max(axis=1).tolist()
    scales = found.scales.tolist()
    gates = zip(largest, scales, strict=False)
    if any(most * mantissa * 2.0 ** (exponent - 31) > _LARGEST_SUM for most, (mantissa, exponent) in gates):
        return False
    largest += [(1 << 30) - 1] * (len(scales) - len(largest))  # products of two functions
    words = _scalings(found)
    return words is not None and all(
        most << left < 1 << (_BITS - 1) for most, left in zip(largest, words[:, 1].tolist(), strict=True)
    )


def layer(root: relay.Expr, found: Lstm | Gru) -> Match:
    """All steps of a layer."""
    op = Op.LSTM if isinstance(found, Lstm) else Op.GRU_RESET_FIRST if found.reset_first else Op.GRU
    described = element_wise(op, shape(root), dtype(found.x), found.dtype)
    described = replace(described, c=shape(found.x)[2], weight_dtype="int8", clip=value_range(found.dtype))
    constants = LayerConstants(None, None, table=_table(found), units=_units(found))
    inputs = (found.x,)
    return Match(root, inputs, covered(root, inputs), described, constants, None, reference=found.moved is None)


def _units(found: Lstm | Gru) -> npt.NDArray[np.int8]:
    """match_lstm_unit_t or match_gru_unit_t of each unit, shape (units, bytes)."""
    numbers = [found.offsets.transpose(2, 0, 1).reshape(found.units, -1)]
    if isinstance(found, Gru):
        numbers.append(found.biases.reshape(-1, 1))
    words = np.ascontiguousarray(np.concatenate(numbers, axis=1), "<i4")
    kind = np.dtype("<i2" if found.dtype == "int16" else np.int8)
    rows = (each.transpose(1, 0, 2).reshape(found.units, -1) for each in (found.input_weights, found.state_weights))
    weights = (each.astype(kind).view(np.int8) for each in rows)
    whole = (np.pad(each, [(0, 0), (0, -each.shape[1] % 4)]) for each in weights)
    return np.concatenate([words.view(np.int8), *whole], axis=1)


def _table(found: Lstm | Gru) -> npt.NDArray[np.int32]:
    """match_lstm_t or match_gru_t as words."""
    scales = _scalings(found)
    assert scales is not None, "only layers that fit become layers of modules"
    numbers: list[int] = []
    if isinstance(found, Lstm):
        left = tanh_shift(found.power)
        numbers += [max(left, 0), max(-left, 0), found.limit]
    logistic = logistic_of_16_bits().astype("<u2").view("<i4")
    return np.concatenate([scales.reshape(-1), [*numbers, found.zero], logistic]).astype(np.int32)


def _scalings(found: Lstm | Gru) -> npt.NDArray[np.int32] | None:
    """match_scaling_t of each of the layer's scales, shape (scales, 4); None if kernels lack one.

    Sums of 16 bits are multiplied by 15 bits of a mantissa, shifted by at most a word, and rounded once.
    """
    words = scaling_words(*found.scales.T)
    if found.dtype == "int16":
        gates = 2 * found.gates
        multiplier, shift = reduced(*found.scales[:gates].T)
        if np.any(shift > _BITS):
            return None
        left = np.maximum(_BITS // 2 - shift, 0)
        words[:gates] = scaling_words(multiplier << _BITS - shift - left, np.zeros_like(left), left - 1)
    return words
