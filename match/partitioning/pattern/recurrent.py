"""Recurrent operators as layers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from match.arithmetic.tflite_functions import logistic_of_16_bits
from match.ir.constants import LayerConstants
from match.ir.layer import Op
from match.partitioning.pattern.layers import covered, element_wise
from match.partitioning.pattern.types import Match
from match.relay import relay
from match.relay.lstm import Lstm, tanh_shift
from match.relay.rewrite import dtype, shape


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
    scales = np.stack([mantissas, np.maximum(exponents, 0), np.maximum(-exponents, 0)], axis=1)
    left = tanh_shift(found.power)
    logistic = logistic_of_16_bits().astype("<u2").view("<i4")
    numbers = np.array([max(left, 0), max(-left, 0), found.limit, found.zero])
    return np.concatenate([scales.reshape(-1), numbers, logistic]).astype(np.int32)
