"""Networks in integer form, computed by NumPy from the operators' definitions: nothing here is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from match.relay import relay, tvm
from match.relay.rewrite import operator_name

Array = npt.NDArray[Any]


def outputs(module: tvm.IRModule, x: Array) -> Array:
    """The output of a network with one input and one output."""
    main = module["main"]
    found: dict[relay.Expr, Array] = {main.params[0]: x}

    def visit(node: Any) -> None:
        if isinstance(node, relay.Constant):
            found[node] = node.data.numpy()
        elif isinstance(node, relay.Call):
            name, arguments = operator_name(node), [found[argument] for argument in node.args]
            result = OPERATORS[name](node.attrs, *arguments)
            wanted = str(node.checked_type.dtype)
            assert np.array_equal(result, result.astype(wanted)), f"{name} does not fit {wanted}"
            found[node] = result.astype(wanted)

    relay.analysis.post_order_visit(main.body, visit)
    return found[main.body]


def _convolution(attrs: Any, x: Array, weights: Array) -> Array:
    """NHWC by HWIO, or by HWOI of one input channel per group."""
    top, left, bottom, right = (int(side) for side in attrs.padding)
    wide = np.pad(x.astype(np.int64), ((0, 0), (top, bottom), (left, right), (0, 0)))
    (fy, fx), (down, across) = weights.shape[:2], (int(stride) for stride in attrs.strides)
    rows, columns = (wide.shape[1] - fy) // down + 1, (wide.shape[2] - fx) // across + 1
    total: Array = np.zeros((1, 1, 1, 1), np.int64)
    for i, j in np.ndindex(fy, fx):
        seen = wide[:, i : i + down * rows : down, j : j + across * columns : across][:, :rows, :columns]
        tap = weights[i, j].astype(np.int64)
        if str(attrs.kernel_layout) == "HWOI":
            assert tap.shape == (int(attrs.groups), 1)
            total = total + seen * tap[:, 0]
        else:
            assert int(attrs.groups) == 1
            total = total + seen @ tap
    return total


def _pad(attrs: Any, x: Array, value: Array) -> Array:
    return np.pad(x, [tuple(map(int, sides)) for sides in attrs.pad_width], constant_values=value)


def _strided_slice(attrs: Any, x: Array) -> Array:
    return x[tuple(slice(int(begin), int(end)) for begin, end in zip(attrs.begin, attrs.end, strict=True))]


def _clip(attrs: Any, x: Array) -> Array:
    return np.clip(x, int(attrs.a_min), int(attrs.a_max))


def _divide(_: Any, x: Array, y: Array) -> Array:
    return x / y


def _axes(attrs: Any) -> tuple[int, ...]:
    return tuple(int(axis) for axis in attrs.axis)


OPERATORS: dict[str, Callable[..., Array]] = {
    "nn.conv2d": _convolution,
    "nn.dense": lambda _, x, weights: x.astype(np.int64) @ weights.T.astype(np.int64),
    "nn.pad": _pad,
    "strided_slice": _strided_slice,
    "clip": _clip,
    "cast": lambda attrs, x: x.astype(str(attrs.dtype)),
    "add": lambda _, x, y: x + y,
    "subtract": lambda _, x, y: x - y,
    "multiply": lambda _, x, y: x * y,
    "minimum": lambda _, x, y: np.minimum(x, y),
    "divide": _divide,
    "right_shift": lambda _, x, y: x >> y,
    "left_shift": lambda _, x, y: x << y,
    "greater_equal": lambda _, x, y: x >= y,
    "annotation.stop_fusion": lambda _, x: x,
    "sum": lambda attrs, x: x.sum(axis=_axes(attrs), keepdims=bool(attrs.keepdims), dtype=x.dtype),
    "max": lambda attrs, x: x.max(axis=_axes(attrs), keepdims=bool(attrs.keepdims)),
    "take": lambda _, x, index: x[index],
    "reshape": lambda attrs, x: x.reshape([int(extent) for extent in attrs.newshape]),
    "transpose": lambda attrs, x: x.transpose([int(axis) for axis in attrs.axes]),
}
