"""Relay computed by NumPy from the operators' definitions: nothing here is compiled.

For networks in integer form and their border in float32, which TVM would take a second or more to build.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from match.relay import relay, tvm
from match.relay.graph import post_order
from match.relay.rewrite import dtype, operator_name

Array = npt.NDArray[Any]


def knows(module: tvm.IRModule) -> bool:
    """Whether NumPy can compute every operator of "main": no sums of floats, whose order matters, and no functions."""
    return all(map(_known, post_order(module["main"])))


def _known(expr: relay.Expr) -> bool:
    if isinstance(expr, relay.Call):
        name, attrs = operator_name(expr), expr.attrs
        if name == "nn.conv2d" and (str(attrs.data_layout), str(attrs.kernel_layout)) not in CONVOLUTIONS:
            return False
        if "_pool2d" in name and str(attrs.layout) != "NHWC":
            return False
        return name in OPERATORS and not (name in SUMMING and dtype(expr).startswith("float"))
    return isinstance(expr, (relay.Constant, relay.Var, relay.Tuple, relay.TupleGetItem, tvm.ir.Op))


def outputs(module: tvm.IRModule, inputs: Mapping[str, Array]) -> list[Array]:
    """The outputs of "main"; no integer may leave the range of its type."""
    main = module["main"]
    found: dict[relay.Expr, Any] = {parameter: inputs[parameter.name_hint] for parameter in main.params}

    def visit(node: Any) -> None:
        if isinstance(node, relay.Constant):
            found[node] = node.data.numpy()
        elif isinstance(node, relay.Tuple):
            found[node] = tuple(found[field] for field in node.fields)
        elif isinstance(node, relay.TupleGetItem):
            found[node] = found[node.tuple_value][node.index]
        elif isinstance(node, relay.Call):
            found[node] = _computed(node, [found[argument] for argument in node.args])

    relay.analysis.post_order_visit(main.body, visit)
    result = found[main.body]
    return list(result) if isinstance(result, tuple) else [result]


def _computed(call: relay.Call, arguments: list[Any]) -> Any:
    name = operator_name(call)
    if name == "cast":
        return arguments[0].astype(str(call.attrs.dtype))
    if isinstance(call.checked_type, tvm.ir.TupleType):
        return tuple(OPERATORS[name](call.attrs, *arguments))
    wanted = np.dtype(str(call.checked_type.dtype))
    if name not in MOVING:
        arguments = [_wide(argument) for argument in arguments]
    result = np.asarray(OPERATORS[name](call.attrs, *arguments))
    if wanted.kind in "iu":
        assert np.array_equal(result, result.astype(wanted)), f"{name} does not fit {wanted}"
    else:
        assert result.dtype == wanted, f"{name} has {result.dtype} instead of {wanted}"
    assert result.shape == tuple(map(int, call.checked_type.shape)), name
    return result.astype(wanted)


def _wide(x: Array) -> Array:
    """Integers in 64 bits, so that none wraps unseen."""
    return x.astype(np.int64) if x.dtype.kind in "iu" else x


def _numbers(values: Any) -> tuple[int, ...]:
    return tuple(int(value) for value in values)


def _convolution(attrs: Any, x: Array, weights: Array) -> Array:
    """NHWC by HWIO, or by HWOI of one input channel per group."""
    top, left, bottom, right = _numbers(attrs.padding)
    wide = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)))
    (fy, fx), (down, across), groups = weights.shape[:2], _numbers(attrs.strides), int(attrs.groups)
    hole, other = _numbers(attrs.dilation)
    rows = (wide.shape[1] - (fy - 1) * hole - 1) // down + 1
    columns = (wide.shape[2] - (fx - 1) * other - 1) // across + 1
    total: Array = np.zeros((1, 1, 1, 1), np.int64)
    for i, j in np.ndindex(fy, fx):
        seen = wide[:, i * hole :: down, j * other :: across][:, :rows, :columns]
        tap = weights[i, j]
        if str(attrs.kernel_layout) == "HWOI":
            assert len(tap) == groups
            total = total + (seen[..., None] * tap).reshape(*seen.shape[:3], -1)
        else:
            pairs = zip(np.split(seen, groups, axis=3), np.split(tap, groups, axis=1), strict=True)
            total = total + np.concatenate([part @ filters for part, filters in pairs], axis=3)
    return total


def _windows(attrs: Any, x: Array, outside: int | float) -> Array:
    """All windows of x (N, H, W, C), the axes of a window last; `outside` stands where there is nothing."""
    sides = _numbers(attrs.padding)
    pads, seen, steps = [(0, 0)], [], []
    for axis, (size, step, hole) in enumerate(
        zip(*map(_numbers, (attrs.pool_size, attrs.strides, attrs.dilation)), strict=True), 1
    ):
        before, after, reach = sides[axis - 1], sides[axis + 1], (size - 1) * hole + 1
        more = -(x.shape[axis] + before + after - reach) % step if attrs.ceil_mode else 0
        pads.append((before, after + more))
        seen.append(reach)
        steps.append((step, hole))
    wide = np.pad(x, [*pads, (0, 0)], constant_values=outside)
    windows = np.lib.stride_tricks.sliding_window_view(wide, seen, axis=(1, 2))
    (down, hole), (across, other) = steps
    return windows[:, ::down, ::across, :, ::hole, ::other]


def _max_pool(attrs: Any, x: Array) -> Array:
    return _windows(attrs, x, np.iinfo(x.dtype).min if x.dtype.kind == "i" else -np.inf).max(axis=(-2, -1))


def _avg_pool(attrs: Any, x: Array) -> Array:
    """The means of integers that are multiples of the window's size: any division gives the same."""
    assert not any(attrs.padding)
    size = math.prod(_numbers(attrs.pool_size))
    sums = _windows(attrs, x, 0).sum(axis=(-2, -1))
    assert not np.any(sums % size)
    return sums // size


def _pad(attrs: Any, x: Array, value: Array) -> Array:
    mode: Any = str(attrs.pad_mode)
    own: dict[str, Any] = {"constant_values": value} if mode == "constant" else {}
    return np.pad(x, [_numbers(sides) for sides in attrs.pad_width], mode, **own)


def _strided_slice(attrs: Any, x: Array) -> Array:
    assert str(attrs.slice_mode) == "end"
    begins, ends = _numbers(attrs.begin), _numbers(attrs.end)
    axes = range(len(begins)) if attrs.axes is None else _numbers(attrs.axes)
    steps = _numbers(attrs.strides or [1])
    steps = steps if len(steps) > 1 else steps * len(begins)
    for axis, begin, end, step in zip(axes, begins, ends, steps, strict=True):
        extent = x.shape[axis]
        lowest, highest = (0, extent) if step > 0 else (-1, extent - 1)
        first, last = (int(np.clip(own + extent if own < 0 else own, lowest, highest)) for own in (begin, end))
        x = x.take(np.arange(first, last, step), axis)
    return x


def _clip(attrs: Any, x: Array) -> Array:
    low, high = float(attrs.a_min), float(attrs.a_max)
    return np.clip(x, x.dtype.type(low), x.dtype.type(high))


def _reduced(function: Callable[..., Array]) -> Callable[..., Array]:
    def reduced(attrs: Any, x: Array) -> Array:
        assert not attrs.exclude
        axes = None if attrs.axis is None else _numbers(attrs.axis)
        return function(x, axis=axes, keepdims=bool(attrs.keepdims))

    return reduced


def _round(_: Any, x: Array) -> Array:
    """To the nearest integer, halves away from zero."""
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.sign(x), whole)


def _take(attrs: Any, x: Array, index: Array) -> Array:
    if attrs.axis is None:
        return np.take(x, index)
    axis, shared = int(attrs.axis) % x.ndim, int(attrs.batch_dims) % max(index.ndim, 1)
    if shared == 0:
        return np.take(x, index, axis=axis)
    parts = [
        np.take(part, places, axis=axis - shared)
        for part, places in zip(x.reshape(-1, *x.shape[shared:]), index.reshape(-1, *index.shape[shared:]), strict=True)
    ]
    return np.stack(parts).reshape(*x.shape[:axis], *index.shape[shared:], *x.shape[axis + 1 :])


def _split(attrs: Any, x: Array) -> list[Array]:
    sections = attrs.indices_or_sections
    whole = isinstance(sections, (int, tvm.tir.IntImm))
    return np.split(x, int(sections) if whole else _numbers(sections), axis=int(attrs.axis))


def _expand_dims(attrs: Any, x: Array) -> Array:
    axis, count = int(attrs.axis), int(attrs.num_newaxis)
    assert axis >= 0
    return x.reshape(*x.shape[:axis], *[1] * count, *x.shape[axis:])


def _batch_matmul(attrs: Any, x: Array, y: Array) -> Array:
    return (x.swapaxes(1, 2) if attrs.transpose_a else x) @ (y.swapaxes(1, 2) if attrs.transpose_b else y)


def _bias_add(attrs: Any, x: Array, bias: Array) -> Array:
    axis = int(attrs.axis) % x.ndim
    return x + bias.reshape([-1 if place == axis else 1 for place in range(x.ndim)])


def _new_shape(attrs: Any, x: Array) -> Array:
    wanted = [x.shape[place] if extent == 0 else extent for place, extent in enumerate(_numbers(attrs.newshape))]
    return x.reshape(wanted)


def _transpose(attrs: Any, x: Array) -> Array:
    return x.transpose(None if attrs.axes is None else _numbers(attrs.axes))


def _squeeze(attrs: Any, x: Array) -> Array:
    return np.squeeze(x, None if attrs.axis is None else _numbers(attrs.axis))


MOVING: dict[str, Callable[..., Any]] = {
    "annotation.stop_fusion": lambda _, x: x,
    "concatenate": lambda attrs, parts: np.concatenate(parts, axis=int(attrs.axis)),
    "expand_dims": _expand_dims,
    "nn.pad": _pad,
    "reshape": _new_shape,
    "split": _split,
    "squeeze": _squeeze,
    "stack": lambda attrs, parts: np.stack(parts, axis=int(attrs.axis)),
    "strided_slice": _strided_slice,
    "take": _take,
    "tile": lambda attrs, x: np.tile(x, _numbers(attrs.reps)),
    "transpose": _transpose,
    "where": lambda _, condition, x, y: np.where(condition, x, y),
}
"""Operators that hand on elements as they are."""

OPERATORS: dict[str, Callable[..., Any]] = MOVING | {
    "abs": lambda _, x: np.abs(x),
    "add": lambda _, x, y: x + y,
    "bitwise_and": lambda _, x, y: x & y,
    "cast": lambda attrs, x: x.astype(str(attrs.dtype)),
    "clip": _clip,
    "divide": lambda _, x, y: np.trunc(x / y) if x.dtype.kind == "i" else x / y,
    "equal": lambda _, x, y: x == y,
    "greater": lambda _, x, y: x > y,
    "greater_equal": lambda _, x, y: x >= y,
    "left_shift": lambda _, x, y: x << y,
    "less": lambda _, x, y: x < y,
    "less_equal": lambda _, x, y: x <= y,
    "logical_or": lambda _, x, y: x | y,
    "max": _reduced(np.max),
    "maximum": lambda _, x, y: np.maximum(x, y),
    "min": _reduced(np.min),
    "minimum": lambda _, x, y: np.minimum(x, y),
    "multiply": lambda _, x, y: x * y,
    "negative": lambda _, x: -x,
    "nn.avg_pool2d": _avg_pool,
    "nn.batch_matmul": _batch_matmul,
    "nn.bias_add": _bias_add,
    "nn.conv2d": _convolution,
    "nn.dense": lambda _, x, weights: x @ weights.T,
    "nn.max_pool2d": _max_pool,
    "not_equal": lambda _, x, y: x != y,
    "right_shift": lambda _, x, y: x >> y,
    "round": _round,
    "subtract": lambda _, x, y: x - y,
    "sum": _reduced(np.sum),
}

CONVOLUTIONS = (("NHWC", "HWIO"), ("NHWC", "HWOI"))
"""Layouts of maps and filters that NumPy computes."""

SUMMING = ("nn.avg_pool2d", "nn.batch_matmul", "nn.conv2d", "nn.dense", "sum")
