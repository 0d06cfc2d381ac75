"""Turns operators of the integer form into layers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from match.ir.constants import LayerConstants
from match.ir.dtypes import value_range
from match.ir.float_average import FloatAverage
from match.ir.layer import Layer, Op, Padding
from match.partitioning.pattern import elements, pairs, recurrent
from match.partitioning.pattern.layers import Ranges, covered, range_of, rejected, without_idle_parts
from match.partitioning.pattern.movement import concatenation, gathering, slicing, transposition
from match.partitioning.pattern.types import Match, Rejection
from match.relay import readers, relay
from match.relay.float_averages import FloatPooling, read_float_average
from match.relay.int16_addition import read_int16_addition
from match.relay.int16_gates import read_int16_gate
from match.relay.int16_leaky_relu import read_int16_leaky_relu
from match.relay.int16_softmax import read_int16_softmax
from match.relay.integer_form import NO_PADDING, Int8Array
from match.relay.log_softmax import read_log_softmax
from match.relay.normalization import read_normalization
from match.relay.operators import (
    Average,
    Convolution,
    Dense,
)
from match.relay.recurrent import read_recurrent
from match.relay.resize import read_resize
from match.relay.rewrite import dtype, is_call, is_narrow, shape
from match.relay.softmax import read_softmax
from match.relay.value_ranges import accumulator_range

WORD = 4
"""Channels of 8 bits that kernels multiply at once."""

_Reader = Callable[[relay.Expr], Any]
_LayerOf = Callable[[relay.Expr, Any], Match | Rejection]


def read(root: relay.Expr, ranges: Ranges) -> Match | Rejection | None:
    """The layer that ends in `root`, or the reason why it cannot be expressed, or None if there is no such layer."""
    if is_call(root, "nn.max_pool2d"):
        return _max_pool2d(root)
    for reader, layer_of in _forms(ranges):
        found = reader(root)
        if found is not None:
            return layer_of(root, found)
    return None


def _forms(ranges: Ranges) -> tuple[tuple[_Reader, _LayerOf], ...]:
    """What reads each form of an operator, and what makes a layer of it."""
    return (
        (readers.read_addition, partial(pairs.addition, ranges=ranges)),
        (readers.read_squared_difference, pairs.squared_difference),
        (readers.read_lookup_sum, pairs.lookup_sum),
        (readers.read_lookup_line, pairs.lookup_line),
        (readers.read_absolute_difference, pairs.absolute_difference),
        (readers.read_multiplication, partial(pairs.multiplication, ranges=ranges)),
        (readers.read_matrices, pairs.matrices),
        (readers.read_lookup, elements.lookup),
        (readers.read_channel_lookup, elements.channel_lookup),
        (_movement, lambda _, found: found),
        (readers.read_quantize, elements.quantize),
        (readers.read_dequantize, elements.dequantize),
        (readers.read_dequantize_sums, elements.dequantize_sums),
        (readers.read_layer, partial(_accumulation, ranges=ranges)),
        (readers.read_sums, partial(_accumulation, ranges=ranges)),
        (readers.read_int16_layer, partial(_accumulation, ranges=ranges)),
        (readers.read_requantize, elements.requantize),
        (readers.read_int16_multiplication, pairs.int16_multiplication),
        (read_int16_softmax, elements.int16_softmax),
        (read_int16_gate, elements.int16_gate),
        (read_int16_leaky_relu, elements.int16_leaky_relu),
        (read_int16_addition, pairs.int16_addition),
        (read_float_average, _float_average),
        (read_softmax, elements.softmax),
        (read_log_softmax, elements.log_softmax),
        (read_recurrent, recurrent.layer),
        (read_normalization, elements.normalize),
        (read_resize, elements.resize),
    )


def _movement(root: relay.Expr) -> Match | Rejection | None:
    return concatenation(root) or slicing(root) or transposition(root) or gathering(root)


def _accumulation(root: relay.Expr, found: Convolution | Dense | Average, ranges: Ranges) -> Match | Rejection:
    if isinstance(found, Convolution):
        return _conv2d(root, found, ranges)
    return _dense(root, found, ranges) if isinstance(found, Dense) else _avg_pool2d(root, found, ranges)


def _conv2d(root: relay.Expr, conv: Convolution, ranges: Ranges) -> Match | Rejection:
    batch, oy, ox, k = shape(root)
    c = shape(conv.x)[3] // conv.groups
    fy, fx = conv.weights.shape[:2]
    op = _convolution_op(conv, k)
    macs = batch * oy * ox * k * c * fy * fx
    if batch != 1:
        return rejected(root, (conv.x,), op, _not_one_map(conv.x), macs)
    layer = _windowed(op, conv.x, root, (fy, fx), conv.strides, conv.dilation, conv.padding)
    pad_value = conv.pad_value if any(layer.padding) else 0
    clip = conv.requantization.clip
    layer = replace(layer, c=c, weight_dtype="int8", pad_value=pad_value, clip=clip)
    if conv.depthwise:  # (FY, FX, channels, outputs of each)
        weights = conv.weights.transpose(2, 3, 0, 1).reshape(k, fy, fx, 1)
    else:
        weights = conv.weights.transpose(3, 0, 1, 2)
    if op is Op.GROUPED_CONV2D:
        together = _groups_together(conv.groups, c)
        outputs = k // conv.groups * together
        layer = replace(layer, k=conv.groups // together, c=c * together, group_outputs=outputs, group_inputs=c)
        weights = _joined(weights, conv.groups, together)
    return _match(root, (conv.x,), layer, np.ascontiguousarray(weights), conv, ranges)


def _convolution_op(conv: Convolution, outputs: int) -> Op:
    if conv.groups == 1:
        return Op.CONV2D
    return Op.DEPTHWISE_CONV2D if conv.depthwise and outputs == conv.groups else Op.GROUPED_CONV2D


def _groups_together(groups: int, channels: int) -> int:
    """How many groups of `channels` input channels become one, with zeros in its filters: a word, if possible.

    Kernels compute a word of channels as fast as one channel, and fetch windows group by group.
    """
    return min((count for count in range(1, groups) if groups % count == 0 and count * channels >= WORD), default=1)


def _joined(weights: Int8Array, groups: int, together: int) -> Int8Array:
    """Filters (K, FY, FX, C) of groups as those of fewer groups, zeros where a filter has no input channel."""
    outputs, *window, channels = weights.shape
    joined = np.zeros((outputs, *window, together, channels), np.int8)
    filters = np.arange(outputs, dtype=np.intp)
    joined[filters, ..., filters // (outputs // groups) % together, :] = weights
    return joined.reshape(outputs, *window, together * channels)


def _dense(root: relay.Expr, dense: Dense, ranges: Ranges) -> Match:
    rows, c = shape(dense.x)
    k = len(dense.weights)
    layer = Layer(
        name=Op.DENSE.value,
        op=Op.DENSE,
        k=k,
        c=c,
        oy=1,
        ox=rows,
        iy=1,
        ix=rows,
        input_dtype=dtype(dense.x),
        output_dtype=dense.dtype,
        clip=dense.requantization.clip,
    )
    return _match(root, (dense.x,), layer, dense.weights.reshape(k, 1, 1, c), dense, ranges)


def _avg_pool2d(root: relay.Expr, pool: Average, ranges: Ranges) -> Match | Rejection:
    if shape(pool.x)[0] != 1:
        return rejected(root, (pool.x,), Op.AVG_POOL2D, _not_one_map(pool.x))
    layer = _windowed(Op.AVG_POOL2D, pool.x, root, pool.window, pool.strides)
    layer = replace(layer, clip=pool.requantization.clip)
    return _match(root, (pool.x,), layer, None, pool, ranges)


def _float_average(root: relay.Expr, pool: FloatPooling) -> Match | Rejection:
    if shape(pool.x)[0] != 1:
        return rejected(root, (pool.x,), Op.FLOAT_AVG_POOL2D, _not_one_map(pool.x))
    padding = Padding(*pool.before)
    layer = _windowed(Op.FLOAT_AVG_POOL2D, pool.x, root, pool.window, pool.strides, padding=padding)
    layer = replace(layer, clip=value_range(layer.output_dtype))
    zero = pool.zero - value_range(layer.input_dtype)[0]
    average = FloatAverage(pool.scale, zero, pool.function, layer.fy * layer.fx)
    constants = LayerConstants(None, None, average=average)
    return Match(root, (pool.x,), covered(root, (pool.x,)), layer, constants, None, reference=not pool.hanging)


def _match(
    root: relay.Expr,
    inputs: tuple[relay.Expr, ...],
    layer: Layer,
    weights: Int8Array | None,
    read: Convolution | Dense | Average,
    ranges: Ranges,
) -> Match:
    """The match of a layer that accumulates and, if its outputs have 8 bits, requantizes."""
    values = range_of(inputs[0], layer.input_channels, ranges)
    layer = replace(layer, input_range=(int(values.low.min()), int(values.high.max())))
    if layer.output_dtype == "int32":
        return Match(root, inputs, covered(root, inputs), layer, LayerConstants(weights, None), None)
    accumulator = accumulator_range(read, values)
    constants = LayerConstants(weights, without_idle_parts(read.requantization, *accumulator))
    return Match(root, inputs, covered(root, inputs), layer, constants, accumulator, reference=not read.real)


def _max_pool2d(root: relay.Call) -> Match | Rejection | None:
    x, attrs = root.args[0], root.attrs
    if str(attrs.layout) != "NHWC" or not is_narrow(x):
        return None
    if shape(x)[0] != 1:
        return rejected(root, (x,), Op.MAX_POOL2D, _not_one_map(x))
    (fy, fx), strides, dilation = attrs.pool_size, attrs.strides, attrs.dilation
    layer = _windowed(
        Op.MAX_POOL2D,
        x,
        root,
        (int(fy), int(fx)),
        (int(strides[0]), int(strides[1])),
        (int(dilation[0]), int(dilation[1])),
        Padding(*(int(side) for side in attrs.padding)),
    )
    low, high = value_range(dtype(x))
    layer = replace(layer, pad_value=low if any(layer.padding) else 0, clip=(low, high))
    return Match(root, (x,), covered(root, (x,)), layer, LayerConstants(None, None), None)


def _not_one_map(x: relay.Expr) -> str:
    return f"its input has shape {shape(x)}, not (1, rows, columns, channels)"


def _windowed(
    op: Op,
    x: relay.Expr,
    root: relay.Expr,
    window: tuple[int, int],
    stride: tuple[int, int],
    dilation: tuple[int, int] = (1, 1),
    padding: Padding = NO_PADDING,
) -> Layer:
    """A channelwise layer that slides a window over an NHWC input; padding that no window reaches is dropped."""
    _, iy, ix, _ = shape(x)
    _, oy, ox, k = shape(root)
    layer = Layer(
        name=op.value,
        op=op,
        k=k,
        c=1,
        oy=oy,
        ox=ox,
        iy=iy,
        ix=ix,
        fy=window[0],
        fx=window[1],
        stride=stride,
        dilation=dilation,
        input_dtype=dtype(x),
        weight_dtype="",
        output_dtype=dtype(root),
    )
    rows, columns = layer.window
    bottom = max(0, (oy - 1) * stride[0] + rows - padding.top - iy)
    right = max(0, (ox - 1) * stride[1] + columns - padding.left - ix)
    return replace(layer, padding=Padding(padding.top, padding.left, bottom, right))
