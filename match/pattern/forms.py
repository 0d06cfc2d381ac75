"""Reads each operator of the integer form into a `Match`."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from match.hardware import LayerConstants
from match.layer import Layer, Op, Padding
from match.pattern.parts import (
    ACTIVATIONS,
    Cover,
    MismatchError,
    array,
    pair,
    per_channel,
    requantized,
    saturated_sum,
    scalar,
    widened,
)
from match.pattern.types import Match, Rejection
from match.relay import relay
from match.requantize import Requantization
from match.step_function import reachable_sums
from match.transform.rewrite import dtype as dtype_of
from match.transform.rewrite import is_call, value_range
from match.transform.rewrite import shape as shape_of


def read(root: relay.Expr) -> Match | Rejection | None:
    """The layer that ends in `root`, the reason why it cannot be expressed, or None if nothing like one ends there."""
    for reader in (_max_pool2d, _add, _conv2d, _dense, _avg_pool2d):
        cover = Cover()
        try:
            return reader(cover, root)
        except MismatchError:
            continue
        except _RejectedError as rejected:
            outputs = math.prod(shape_of(root))
            return Rejection(root, cover.calls, rejected.op, rejected.macs, outputs, rejected.reason)
    return None


class _RejectedError(Exception):
    """The expression is of the form, but a layer cannot express it."""

    def __init__(self, op: Op, reason: str, macs: int = 0) -> None:
        super().__init__(reason)
        self.op = op
        self.reason = reason
        self.macs = macs


def _conv2d(cover: Cover, root: relay.Expr) -> Match:
    req = requantized(cover, root)
    conv = cover.call(req.accumulator, "nn.conv2d")
    attrs = conv.attrs
    x, pad, pad_value = _padding(cover, conv.args[0], Padding(*(int(side) for side in attrs.padding)))
    layout = str(attrs.kernel_layout)
    if str(attrs.data_layout) != "NHWC" or sorted(layout) != sorted("OHWI"):
        raise MismatchError
    weights = array(conv.args[1], "int8").transpose([layout.index(axis) for axis in "OHWI"])
    batch, _, _, channels = shape_of(x)
    _, oy, ox, k = shape_of(conv)
    groups = int(attrs.groups)
    depthwise = groups > 1 and groups == channels
    op = Op.DEPTHWISE_CONV2D if depthwise else Op.CONV2D
    fy, fx, c = weights.shape[1], weights.shape[2], weights.shape[3]
    macs = batch * oy * ox * k * fy * fx * (channels // groups)
    if groups > 1 and not depthwise:
        raise _RejectedError(op, f"it has {groups} groups of channels, not one or one per channel", macs)
    if depthwise and k != channels:
        raise _RejectedError(op, f"it has {k // groups} outputs per input channel, not one", macs)
    _check_activation(op, x, macs)
    layer = _window_layer(
        op, x, root, (fy, fx), pair(attrs.strides), pair(attrs.dilation), pad, pad_value, req.saturated.clip
    )
    layer = replace(layer, c=1 if depthwise else c, weight_dtype="int8")
    low, high = reachable_sums(weights, value_range(layer.input_dtype))
    constants = LayerConstants(np.ascontiguousarray(weights), req.parameters(low, high))
    return Match(root, (x,), cover.calls, layer, constants, (low, high))


def _dense(cover: Cover, root: relay.Expr) -> Match:
    req = requantized(cover, root)
    dense = cover.call(req.accumulator, "nn.dense")
    x = dense.args[0]
    weights = array(dense.args[1], "int8")
    rows, c = shape_of(x)
    k = len(weights)
    _check_dtype(Op.DENSE, x, rows * k * c)
    layer = Layer(
        name=Op.DENSE.value,
        op=Op.DENSE,
        k=k,
        c=c,
        oy=1,
        ox=rows,
        iy=1,
        ix=rows,
        input_dtype=dtype_of(x),
        output_dtype=dtype_of(root),
        clip=req.saturated.clip,
    )
    low, high = reachable_sums(weights, value_range(layer.input_dtype))
    constants = LayerConstants(weights.reshape(k, 1, 1, c), req.parameters(low, high))
    return Match(root, (x,), cover.calls, layer, constants, (low, high))


def _avg_pool2d(cover: Cover, root: relay.Expr) -> Match:
    req = requantized(cover, root)
    accumulator = req.accumulator
    if is_call(accumulator, "sum"):
        total = cover.call(accumulator, "sum")
        axes = sorted(int(axis) for axis in total.attrs.axis or ())
        if axes != [1, 2] or not total.attrs.keepdims or total.attrs.exclude:
            raise MismatchError
        x = widened(cover, total.args[0], "int32")
        _check_activation(Op.AVG_POOL2D, x)
        window, strides = pair(shape_of(x)[1:3]), (1, 1)
    else:
        pool = cover.call(accumulator, "nn.avg_pool2d")
        window, strides = pair(pool.attrs.pool_size), pair(pool.attrs.strides)
        product = cover.call(pool.args[0], "multiply")
        if scalar(product.args[1], "int32") != math.prod(window):
            raise MismatchError
        if str(pool.attrs.layout) != "NHWC" or any(int(side) for side in pool.attrs.padding):
            raise MismatchError
        if pair(pool.attrs.dilation) != (1, 1):
            raise MismatchError
        x = widened(cover, product.args[0], "int32")
        _check_activation(Op.AVG_POOL2D, x)
    layer = _window_layer(Op.AVG_POOL2D, x, root, window, strides, (1, 1), Padding(), 0, req.saturated.clip)
    if any(layer.padding):
        raise MismatchError  # ceil_mode: windows that hang over the border sum fewer values
    ones = np.ones((layer.k, math.prod(window)), np.int8)
    low, high = reachable_sums(ones, value_range(layer.input_dtype))
    return Match(root, (x,), cover.calls, layer, LayerConstants(None, req.parameters(low, high)), (low, high))


def _max_pool2d(cover: Cover, root: relay.Expr) -> Match:
    pool = cover.call(root, "nn.max_pool2d")
    attrs = pool.attrs
    x = pool.args[0]
    if str(attrs.layout) != "NHWC":
        raise MismatchError
    _check_activation(Op.MAX_POOL2D, x)
    dtype = dtype_of(x)
    pad = Padding(*(int(side) for side in attrs.padding))
    layer = _window_layer(
        Op.MAX_POOL2D,
        x,
        root,
        pair(attrs.pool_size),
        pair(attrs.strides),
        pair(attrs.dilation),
        pad,
        value_range(dtype)[0],
        value_range(dtype),
    )
    return Match(root, (x,), cover.calls, layer, LayerConstants(None, None), None)


def _add(cover: Cover, root: relay.Expr) -> Match:
    saturated = saturated_sum(cover, root)
    products = cover.call(saturated.total.args[0], "add")
    inputs: list[relay.Expr] = []
    multipliers: list[int] = []
    for operand in products.args:
        product = cover.call(operand, "multiply")
        inputs.append(widened(cover, product.args[0], "int64"))
        multipliers.append(scalar(product.args[1]))
    a, b = inputs
    for x in inputs:
        _check_dtype(Op.ADD, x)
    if shape_of(a) != shape_of(b):
        raise _RejectedError(Op.ADD, "its operands have different shapes")
    if dtype_of(a) != dtype_of(b):
        raise _RejectedError(Op.ADD, "its operands have different types")
    shape = shape_of(a)
    if shape[0] != 1 or len(shape) not in (2, 4):
        raise _RejectedError(Op.ADD, f"its operands have shape {shape}, not (1, rows, columns, channels)")
    oy, ox = shape[1:3] if len(shape) == 4 else (1, 1)
    low, high = (np.zeros(1, np.int64), np.zeros(1, np.int64))
    for multiplier in multipliers:
        ends = [multiplier * end for end in value_range(dtype_of(a))]
        low, high = low + min(ends), high + max(ends)
    requantization = Requantization(
        np.ones(1, np.int64),
        per_channel(saturated.total.args[1], 1),
        per_channel(saturated.shift, 1),
        saturated.clip,
    )
    layer = Layer(
        name=Op.ADD.value,
        op=Op.ADD,
        k=shape[-1],
        c=1,
        oy=oy,
        ox=ox,
        iy=oy,
        ix=ox,
        input_dtype=dtype_of(a),
        weight_dtype="",
        output_dtype=saturated.dtype,
        clip=saturated.clip,
    )
    constants = LayerConstants(None, requantization, (multipliers[0], multipliers[1]))
    return Match(root, (a, b), cover.calls, layer, constants, (low, high))


def _padding(cover: Cover, expr: relay.Expr, padding: Padding) -> tuple[relay.Expr, Padding, int]:
    """The input of a convolution without the `nn.pad` in front, all its padding, and the value that padding holds."""
    if not is_call(expr, "nn.pad"):
        return expr, padding, 0
    value_expr = expr.args[1]
    widths = [pair(width) for width in expr.attrs.pad_width]
    around_map = len(widths) == 4 and widths[0] == widths[3] == (0, 0) and min(*widths[1], *widths[2]) >= 0
    constant = str(expr.attrs.pad_mode) == "constant" and isinstance(value_expr, relay.Constant)
    if not (around_map and constant):
        return expr, padding, 0
    value = int(value_expr.data.numpy().reshape(-1)[0])
    if any(padding) and value != 0:
        return expr, padding, 0  # two paddings of different values: the outer one stays an operator of its own
    (top, bottom), (left, right) = widths[1], widths[2]
    both = Padding(padding.top + top, padding.left + left, padding.bottom + bottom, padding.right + right)
    return cover.call(expr, "nn.pad").args[0], both, value


def _window_layer(
    op: Op,
    x: relay.Expr,
    root: relay.Expr,
    window: tuple[int, int],
    stride: tuple[int, int],
    dilation: tuple[int, int],
    padding: Padding,
    pad_value: int,
    clip: tuple[int, int],
) -> Layer:
    """A channelwise layer that slides a window over an NHWC input; padding that no window reaches is dropped."""
    _, iy, ix, _ = shape_of(x)
    _, oy, ox, k = shape_of(root)
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
        pad_value=pad_value,
        input_dtype=dtype_of(x),
        weight_dtype="",
        output_dtype=dtype_of(root),
        clip=clip,
    )
    rows, columns = layer.window
    bottom = max(0, (oy - 1) * stride[0] + rows - padding.top - iy)
    right = max(0, (ox - 1) * stride[1] + columns - padding.left - ix)
    layer = replace(layer, padding=Padding(padding.top, padding.left, bottom, right))
    return layer if any(layer.padding) else replace(layer, pad_value=0)


def _check_activation(op: Op, x: relay.Expr, macs: int = 0) -> None:
    _check_dtype(op, x, macs)
    shape = shape_of(x)
    if len(shape) != 4 or shape[0] != 1:
        raise _RejectedError(op, f"its input has shape {shape}, not (1, rows, columns, channels)", macs)


def _check_dtype(op: Op, x: relay.Expr, macs: int = 0) -> None:
    if dtype_of(x) not in ACTIVATIONS:
        raise _RejectedError(op, f"its input is {dtype_of(x)}, not an 8-bit integer", macs)
