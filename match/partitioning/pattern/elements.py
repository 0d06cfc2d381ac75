"""Operators of one activation without sums, as layers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from match.arithmetic.tflite_functions import exponentials_of_16_bits, logistic_of_16_bits, reciprocals_of_16_bits
from match.ir.constants import LayerConstants
from match.ir.dtypes import value_range
from match.ir.layer import Layer, Op
from match.partitioning.pattern.layers import (
    UNSCALED,
    byte_table,
    covered,
    element_wise,
    fitting_words,
    rejected,
    without_idle_parts,
    words_of_line,
)
from match.partitioning.pattern.types import Match, Rejection
from match.relay import relay
from match.relay.int16_gates import Int16Gate
from match.relay.int16_leaky_relu import Int16LeakyRelu
from match.relay.int16_softmax import Int16Softmax
from match.relay.log_softmax import IntegerLogSoftmax
from match.relay.normalization import DEVIATION_FRACTION, RowNormalization
from match.relay.operators import ChannelLookup, Dequantize, DequantizeSums, Lookup, Quantize, Requantize
from match.relay.resize import Between, Resize
from match.relay.rewrite import dtype, shape
from match.relay.softmax import FACTOR_ONE, SHIFT, IntegerSoftmax

_HALF = 16
"""Bits of an element that is requantized."""


def lookup(root: relay.Expr, found: Lookup) -> Match:
    """A table."""
    table = byte_table(found)
    plain = element_wise(Op.LOOKUP, shape(found.x), found.x_dtype, found.dtype)
    layer = replace(plain, turns_signs=np.array_equal(table, np.arange(256) ^ 128))
    match = _alone(root, found.x, layer, LayerConstants(None, None, table=table))
    return replace(match, reference=not found.real)


def channel_lookup(root: relay.Expr, found: ChannelLookup) -> Match:
    """A table for each channel."""
    layer = element_wise(Op.CHANNEL_LOOKUP, shape(found.x), found.x_dtype, found.dtype)
    match = _alone(root, found.x, layer, LayerConstants(None, None, channel_tables=byte_table(found)))
    return replace(match, reference=not found.real)


def quantize(root: relay.Expr, found: Quantize) -> Match:
    """float32 numbers as 8 bits."""
    layer = element_wise(Op.QUANTIZE, shape(root), dtype(found.x), dtype(root))
    return _alone(root, found.x, layer, LayerConstants(None, None, quantization=found.function))


def requantize(root: relay.Expr, found: Requantize) -> Match | Rejection:
    """16 bits in another scale."""
    line, x = found.requantization, found.x
    table = words_of_line(line, _HALF)
    if table is None:
        return rejected(root, (x,), Op.REQUANTIZE, UNSCALED)
    layer = replace(element_wise(Op.REQUANTIZE, shape(root), dtype(x), dtype(root)), clip=line.clip)
    return _alone(root, x, layer, LayerConstants(None, None, table=table))


def dequantize(root: relay.Expr, found: Dequantize) -> Match:
    """8 bits as float32 numbers."""
    x_dtype = dtype(found.x)
    table = np.roll(found.outputs, 128) if x_dtype == "int8" else found.outputs
    layer = element_wise(Op.DEQUANTIZE, shape(root), x_dtype, dtype(root))
    return _alone(root, found.x, layer, LayerConstants(None, None, table=table))


def dequantize_sums(root: relay.Expr, found: DequantizeSums) -> Match:
    """int32 sums as float32 numbers."""
    layer = element_wise(Op.DEQUANTIZE_SUMS, shape(root), "int32", dtype(root))
    lines = np.stack([found.offset, found.scale.view(np.int32), found.bias.view(np.int32)], axis=1)
    return replace(_alone(root, found.x, layer, LayerConstants(None, None, lines=lines)), reference=False)


def softmax(root: relay.Expr, found: IntegerSoftmax) -> Match:
    """A softmax over each pixel."""
    layer = element_wise(Op.SOFTMAX, shape(root), found.x_dtype, found.dtype)
    factor, exponent = (found.scale.factor, found.scale.exponent) if found.scale else (FACTOR_ONE, 0)
    table = np.concatenate([[factor, SHIFT - exponent, found.zero], found.exponentials]).astype(np.int32)
    match = _alone(root, found.x, layer, LayerConstants(None, None, table=table))
    return replace(match, reference=found.scale is None)


def int16_softmax(root: relay.Expr, found: Int16Softmax) -> Match | Rejection:
    """A softmax of 16 bits over each pixel."""
    scaling = fitting_words(found.mantissa, found.exponent, _HALF + 1)
    if scaling is None:
        return replace(rejected(root, (found.x,), Op.SOFTMAX, "its input's scale is too coarse"), reference=True)
    layer = replace(element_wise(Op.SOFTMAX, shape(found.x), "int16", "int16"), clip=(0, value_range("int16")[1]))
    tables = (
        np.append(table, 0).astype("<i2").view("<i4") for table in (exponentials_of_16_bits(), reciprocals_of_16_bits())
    )
    return _alone(root, found.x, layer, LayerConstants(None, None, table=np.concatenate([scaling, *tables])))


def int16_leaky_relu(root: relay.Expr, found: Int16LeakyRelu) -> Match | Rejection:
    """16 bits in another scale from 0 on, and in a third one below."""
    tables = [fitting_words(int(mantissa), int(exponent), _HALF) for mantissa, exponent in found.scales]
    words = [table for table in tables if table is not None]
    if len(words) < len(tables):
        return rejected(root, (found.x,), Op.LEAKY_RELU, UNSCALED)
    layer = replace(element_wise(Op.LEAKY_RELU, shape(root), "int16", "int16"), clip=value_range("int16"))
    return _alone(root, found.x, layer, LayerConstants(None, None, table=np.concatenate(words)))


def int16_gate(root: relay.Expr, found: Int16Gate) -> Match:
    """The logistic function or the hyperbolic tangent of 16 bits."""
    layer = element_wise(Op(found.function), shape(root), "int16", "int16")
    logistic = logistic_of_16_bits().astype("<u2").view("<i4")
    table = np.concatenate([[found.multiplier, found.shift], logistic]).astype(np.int32)
    return _alone(root, found.x, layer, LayerConstants(None, None, table=table))


def log_softmax(root: relay.Expr, found: IntegerLogSoftmax) -> Match:
    """The logarithm of a softmax over each pixel, float32."""
    layer = element_wise(Op.LOG_SOFTMAX, shape(root), dtype(found.x), dtype(root))
    own = found.tables
    table = np.concatenate([[own.fraction], own.exponentials, own.distances]).astype(np.int32)
    match = _alone(root, found.x, layer, LayerConstants(None, None, table=table))
    return replace(match, reference=False)


def normalize(root: relay.Expr, found: RowNormalization) -> Match:
    """A normalization of each pixel."""
    constants, width = found.normalization, shape(root)[-1]
    layer = element_wise(Op.NORMALIZE, shape(root), dtype(found.x), found.dtype)
    layer = replace(layer, clip=found.requantization.clip)
    farthest = math.isqrt(width << 2 * DEVIATION_FRACTION) + 1  # from the mean, in deviations
    high = farthest * np.abs(constants.gains.astype(np.int64))
    parameters = without_idle_parts(found.requantization, -high, high)
    layer_constants = LayerConstants(None, parameters, normalization=constants)
    return Match(root, (found.x,), covered(root, (found.x,)), layer, layer_constants, (-high, high), reference=False)


def resize(root: relay.Expr, found: Resize) -> Match:
    """An interpolation."""
    _, rows, columns, _ = shape(found.x)
    layer = element_wise(Op.RESIZE, shape(root), dtype(found.x), found.dtype)
    layer = replace(layer, iy=rows, ix=columns, pad_value=found.zero)
    positions = _positions(found.rows), _positions(found.columns)
    match = _alone(root, found.x, layer, LayerConstants(None, None, positions=positions))
    return replace(match, reference=not found.real)


def _positions(between: Between) -> npt.NDArray[np.int32]:
    """Shape (outputs, 3). An output with one input only, as before the first input, has the whole weight there."""
    weight = np.where(between.below == between.above, 0, between.weight)
    return np.stack([between.below, between.above, weight], axis=1).astype(np.int32)


def _alone(root: relay.Expr, x: relay.Expr, layer: Layer, constants: LayerConstants) -> Match:
    """A layer of one input that accumulates nothing."""
    return Match(root, (x,), covered(root, (x,)), layer, constants, None)
