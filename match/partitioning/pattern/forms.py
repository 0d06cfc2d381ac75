"""Turns what is read from the integer form into layers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from match.ir.constants import LayerConstants
from match.ir.dtypes import value_range
from match.ir.layer import Broadcast, Layer, Op, Padding
from match.ir.requantization import Int64Array, Requantization
from match.partitioning.pattern.layers import byte_table, covered, element_wise
from match.partitioning.pattern.movement import concatenation, slicing, transposition
from match.partitioning.pattern.types import Match, Rejection
from match.relay import readers, relay
from match.relay.integer_form import NO_PADDING, Int8Array
from match.relay.operators import (
    Addition,
    Average,
    Convolution,
    Dense,
    Dequantize,
    Lookup,
    Matrices,
    Multiplication,
    Quantize,
    SquaredDifference,
)
from match.relay.resize import Between, Resize, read_resize
from match.relay.rewrite import dtype, is_8bit, is_call, shape
from match.relay.softmax import Softmax, read_softmax
from match.relay.value_ranges import Range, accumulator_range

WORD = 4
"""Channels of 8 bits that kernels multiply at once."""

Table = npt.NDArray[Any]

Ranges = Mapping[relay.Expr, Range]
"""Values that each channel of a tensor can have."""


def read(root: relay.Expr, ranges: Ranges) -> Match | Rejection | None:
    """The layer that ends in `root`, the reason why it cannot be expressed, or None if nothing like one ends there."""
    if is_call(root, "nn.max_pool2d"):
        return _max_pool2d(root)
    addition = readers.read_addition(root)
    if addition is not None:
        return _add(root, addition, ranges)
    difference = readers.read_squared_difference(root)
    if difference is not None:
        return _squared_difference(root, difference)
    multiplication = readers.read_multiplication(root)
    if multiplication is not None:
        return _multiply(root, multiplication, ranges)
    matrices = readers.read_matrices(root)
    if matrices is not None:
        return _matrices(root, matrices)
    lookup = readers.read_lookup(root)
    if lookup is not None:
        return _lookup(root, lookup)
    moved = concatenation(root) or slicing(root) or transposition(root)
    if moved is not None:
        return moved
    quantize = readers.read_quantize(root)
    if quantize is not None:
        return _quantize(root, quantize)
    dequantize = readers.read_dequantize(root)
    if dequantize is not None:
        return _dequantize(root, dequantize)
    layer = readers.read_layer(root) or readers.read_sums(root)
    if isinstance(layer, Convolution):
        return _conv2d(root, layer, ranges)
    if isinstance(layer, Dense):
        return _dense(root, layer, ranges)
    if isinstance(layer, Average):
        return _avg_pool2d(root, layer, ranges)
    softmax = read_softmax(root)
    if softmax is not None:
        return _softmax(root, softmax)
    resize = read_resize(root)
    return None if resize is None else _resize(root, resize)


def _conv2d(root: relay.Expr, conv: Convolution, ranges: Ranges) -> Match | Rejection:
    batch, oy, ox, k = shape(root)
    c = shape(conv.x)[3] // conv.groups
    fy, fx = conv.weights.shape[:2]
    op = _convolution_op(conv, k)
    macs = batch * oy * ox * k * c * fy * fx
    if batch != 1:
        return _rejected(root, (conv.x,), op, _not_one_map(conv.x), macs)
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
    """How many groups of so many input channels become one, with zeros in its filters: a word of channels, if possible.

    Kernels take a word of channels as quickly as one, and fetch windows group by group.
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
        return _rejected(root, (pool.x,), Op.AVG_POOL2D, _not_one_map(pool.x))
    layer = _windowed(Op.AVG_POOL2D, pool.x, root, pool.window, pool.strides)
    layer = replace(layer, clip=pool.requantization.clip)
    return _match(root, (pool.x,), layer, None, pool, ranges)


def _match(
    root: relay.Expr,
    inputs: tuple[relay.Expr, ...],
    layer: Layer,
    weights: Int8Array | None,
    read: Convolution | Dense | Average,
    ranges: Ranges,
) -> Match:
    """The match of a layer that accumulates and, if its outputs have 8 bits, requantizes."""
    values = _range(inputs[0], layer.input_channels, ranges)
    layer = replace(layer, input_range=(int(values.low.min()), int(values.high.max())))
    if layer.output_dtype == "int32":
        return Match(root, inputs, covered(root, inputs), layer, LayerConstants(weights, None), None)
    accumulator = accumulator_range(read, values)
    constants = LayerConstants(weights, _without_idle_parts(read.requantization, *accumulator))
    reference = not (isinstance(read, Convolution) and read.real)
    return Match(root, inputs, covered(root, inputs), layer, constants, accumulator, reference)


def _without_idle_parts(requantization: Requantization, low: Int64Array, high: Int64Array) -> Requantization:
    """Without a correction of negative values, or exceptions, that no accumulator from `low` to `high` meets."""
    below, exceptions = requantization.negative_below, requantization.exceptions
    if below is not None and not np.any(low < below):
        requantization = replace(requantization, negative_below=None, negative_step=0)
    if exceptions is not None and not np.any((exceptions >= low[:, None]) & (exceptions <= high[:, None])):
        requantization = replace(requantization, exceptions=None)
    return requantization


def _max_pool2d(root: relay.Call) -> Match | Rejection | None:
    x, attrs = root.args[0], root.attrs
    if str(attrs.layout) != "NHWC" or not is_8bit(x):
        return None
    if shape(x)[0] != 1:
        return _rejected(root, (x,), Op.MAX_POOL2D, _not_one_map(x))
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


def _add(root: relay.Expr, addition: Addition, ranges: Ranges) -> Match | Rejection:
    meeting = _meeting(root, Op.ADD, addition.operands, addition.multipliers)
    if isinstance(meeting, Rejection):
        return meeting
    (a, b), multipliers = meeting.operands, meeting.numbers
    low, high = 0, 0
    spans = [_ends(x, shape(x)[-1], ranges) for x in (a, b)]
    for span, multiplier in zip(spans, multipliers, strict=True):
        low, high = low + int((multiplier * span).min()), high + int((multiplier * span).max())
    layer = replace(
        element_wise(Op.ADD, shape(root), dtype(a), addition.dtype),
        clip=addition.clip,
        input_range=(int(min(span[0] for span in spans)), int(max(span[1] for span in spans))),
    )
    layer = _met(layer, meeting.broadcast)
    one, bias, shift = (np.array([value], np.int64) for value in (1, addition.bias, addition.shift))
    constants = LayerConstants(None, Requantization(one, bias, shift, addition.clip), multipliers)
    accumulator = np.array([low], np.int64), np.array([high], np.int64)
    return Match(root, (a, b), covered(root, (a, b)), layer, constants, accumulator)


@dataclass(frozen=True, eq=False)
class _Meeting:
    """Two operands in the order that a layer has them in, a number of each, and what one of them has too little of."""

    operands: tuple[relay.Expr, relay.Expr]
    numbers: tuple[int, int]
    broadcast: Broadcast


def _meeting(
    root: relay.Expr, op: Op, operands: tuple[relay.Expr, relay.Expr], numbers: tuple[int, int]
) -> _Meeting | Rejection:
    """How two operands with a number each make a result, element by element, in whichever order they are."""
    a, b = operands
    if dtype(a) != dtype(b):
        return _rejected(root, operands, op, "its operands have different types")
    for meeting in (operands, numbers), ((b, a), (numbers[1], numbers[0])):
        broadcast = _broadcast(root, *meeting[0])
        if broadcast is not None:
            return _Meeting(*meeting, broadcast)
    return _rejected(root, operands, op, "its operands differ in more than one having a single pixel or channel")


def _met(layer: Layer, broadcast: Broadcast) -> Layer:
    """A layer whose operands meet in some way."""
    one_pixel = broadcast == "outer"
    rows, columns = (1, 1) if one_pixel else (layer.iy, layer.ix)
    return replace(layer, broadcast=broadcast, iy=rows, ix=columns)


def _broadcast(root: relay.Expr, a: relay.Expr, b: relay.Expr) -> Broadcast | None:
    """How two operands meet in a result; None for other ways than a layer's."""
    *pixels, k = shape(root)
    one_pixel, one_channel = _trimmed((k,)), _trimmed((*pixels, 1))
    meeting = _extents(a), _extents(b)
    whole = _extents(root)
    if meeting == (whole, whole):
        return ""
    if meeting == (whole, one_pixel):
        return "pixel"
    if meeting == (whole, one_channel):
        return "channel"
    return "outer" if meeting == (one_pixel, one_channel) else None


def _extents(x: relay.Expr) -> tuple[int, ...]:
    """The shape without the ones in front, which say nothing where operands meet."""
    return _trimmed(shape(x))


def _trimmed(extents: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(itertools.dropwhile(lambda extent: extent == 1, extents))


def _multiply(root: relay.Expr, multiplication: Multiplication, ranges: Ranges) -> Match | Rejection:
    """A product of two tensors, element by element."""
    meeting = _meeting(root, Op.MULTIPLY, multiplication.operands, multiplication.zero_points)
    if isinstance(meeting, Rejection):
        return meeting
    (a, b), zero_points = meeting.operands, meeting.numbers
    products = np.multiply.outer(
        *(_ends(x, shape(x)[-1], ranges) - zero for x, zero in zip((a, b), zero_points, strict=True))
    )
    layer = element_wise(Op.MULTIPLY, shape(root), dtype(a), multiplication.dtype)
    layer = _met(replace(layer, clip=multiplication.requantization.clip), meeting.broadcast)
    accumulator = products.min().reshape(1), products.max().reshape(1)
    parameters = _without_idle_parts(multiplication.requantization, *accumulator)
    constants = LayerConstants(None, parameters, zero_points=zero_points)
    return Match(root, (a, b), covered(root, (a, b)), layer, constants, accumulator)


def _squared_difference(root: relay.Expr, difference: SquaredDifference) -> Match | Rejection:
    meeting = _meeting(root, Op.SQUARED_DIFFERENCE, difference.operands, (0, 1))
    if isinstance(meeting, Rejection):
        return meeting
    steps = difference.steps[list(meeting.numbers)]
    layer = element_wise(Op.SQUARED_DIFFERENCE, shape(root), dtype(meeting.operands[0]), difference.dtype)
    layer = _met(replace(layer, clip=difference.requantization.clip), meeting.broadcast)
    farthest = max(steps[0].max() - steps[1].min(), steps[1].max() - steps[0].min())
    accumulator = np.zeros(1, np.int64), np.array([farthest**2])
    parameters = _without_idle_parts(difference.requantization, *accumulator)
    by_byte = np.roll(steps, 128, axis=1) if layer.input_dtype == "int8" else steps
    constants = LayerConstants(None, parameters, table=by_byte.astype(np.int16))
    return Match(root, meeting.operands, covered(root, meeting.operands), layer, constants, accumulator)


def _ends(x: relay.Expr, channels: int, ranges: Ranges) -> Int64Array:
    """The smallest and the largest value of a tensor."""
    values = _range(x, channels, ranges)
    return np.array([values.low.min(), values.high.max()])


def _matrices(root: relay.Expr, matrices: Matrices) -> Match | Rejection:
    a, b = matrices.operands
    (batch, rows, c), (_, columns, _) = shape(a), shape(b)
    macs = batch * rows * columns * c
    if dtype(a) != dtype(b):
        return _rejected(root, (a, b), Op.MATRICES, "its operands have different types", macs)
    layer = Layer(
        name=Op.MATRICES.value,
        op=Op.MATRICES,
        k=columns,
        c=c,
        oy=batch,
        ox=rows,
        iy=batch,
        ix=rows,
        input_dtype=dtype(a),
        weight_dtype="",
        output_dtype=matrices.dtype,
        clip=matrices.requantization.clip,
    )
    ends = (np.array(value_range(dtype(x))) - zero for x, zero in zip((a, b), matrices.zero_points, strict=True))
    products = c * np.multiply.outer(*ends).astype(np.int64)
    accumulator = products.min().reshape(1), products.max().reshape(1)
    parameters = _without_idle_parts(matrices.requantization, *accumulator)
    constants = LayerConstants(None, parameters, zero_points=matrices.zero_points)
    return Match(root, (a, b), covered(root, (a, b)), layer, constants, accumulator)


def _lookup(root: relay.Expr, lookup: Lookup) -> Match:
    """A table."""
    layer = element_wise(Op.LOOKUP, shape(lookup.x), lookup.x_dtype, lookup.dtype)
    return _alone(root, lookup.x, layer, LayerConstants(None, None, table=byte_table(lookup)))


def _quantize(root: relay.Expr, quantize: Quantize) -> Match:
    layer = element_wise(Op.QUANTIZE, shape(root), dtype(quantize.x), dtype(root))
    return _alone(root, quantize.x, layer, LayerConstants(None, None, quantization=quantize.function))


def _dequantize(root: relay.Expr, dequantize: Dequantize) -> Match:
    x_dtype = dtype(dequantize.x)
    table = np.roll(dequantize.outputs, 128) if x_dtype == "int8" else dequantize.outputs
    layer = element_wise(Op.DEQUANTIZE, shape(root), x_dtype, dtype(root))
    return _alone(root, dequantize.x, layer, LayerConstants(None, None, table=table))


def _softmax(root: relay.Expr, softmax: Softmax) -> Match:
    layer = element_wise(Op.SOFTMAX, shape(root), softmax.x_dtype, softmax.dtype)
    return _alone(root, softmax.x, layer, LayerConstants(None, None, table=softmax.exponentials.astype(np.int32)))


def _resize(root: relay.Expr, resize: Resize) -> Match:
    _, rows, columns, _ = shape(resize.x)
    layer = element_wise(Op.RESIZE, shape(root), dtype(resize.x), resize.dtype)
    layer = replace(layer, iy=rows, ix=columns, pad_value=resize.zero)
    positions = _positions(resize.rows), _positions(resize.columns)
    return _alone(root, resize.x, layer, LayerConstants(None, None, positions=positions))


def _positions(between: Between) -> npt.NDArray[np.int32]:
    """Shape (outputs, 3); where an output has one input only, in front of the first one say, its weight is all."""
    weight = np.where(between.below == between.above, 0, between.weight)
    return np.stack([between.below, between.above, weight], axis=1).astype(np.int32)


def _alone(root: relay.Expr, x: relay.Expr, layer: Layer, constants: LayerConstants) -> Match:
    """A layer of one input that accumulates nothing."""
    return Match(root, (x,), covered(root, (x,)), layer, constants, None)


def _rejected(root: relay.Expr, inputs: tuple[relay.Expr, ...], op: Op, reason: str, macs: int = 0) -> Rejection:
    return Rejection(root, covered(root, inputs), op, macs, math.prod(shape(root)), reason)


def _not_one_map(x: relay.Expr) -> str:
    return f"its input has shape {shape(x)}, not (1, rows, columns, channels)"


def _range(x: relay.Expr, channels: int, ranges: Ranges) -> Range:
    """What is known about a tensor's values; what its type allows if nothing else is."""
    low, high = value_range(dtype(x))
    return ranges.get(x) or Range(np.full(channels, low, np.int64), np.full(channels, high, np.int64))


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
