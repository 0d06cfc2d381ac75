"""Operators of one activation without sums, as layers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from match.ir.constants import LayerConstants
from match.ir.layer import Layer, Op
from match.partitioning.pattern.layers import byte_table, covered, element_wise, without_idle_parts
from match.partitioning.pattern.types import Match
from match.relay import relay
from match.relay.log_softmax import IntegerLogSoftmax
from match.relay.normalization import DEVIATION_FRACTION, RowNormalization
from match.relay.operators import ChannelLookup, Dequantize, DequantizeSums, Lookup, Quantize
from match.relay.resize import Between, Resize
from match.relay.rewrite import dtype, shape
from match.relay.softmax import FACTOR_ONE, SHIFT, IntegerSoftmax


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
