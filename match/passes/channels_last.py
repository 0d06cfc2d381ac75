"""Layouts: maps with channels in axis 1 (NCHW, as ONNX has them) get their channels last (NHWC)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from match.ir.moves import RESHAPES
from match.passes.element_functions import ELEMENTWISE
from match.relay import relay, tvm
from match.relay.fixed_point import inside
from match.relay.graph import post_order
from match.relay.objects import main_function, operands
from match.relay.rewrite import (
    New,
    constant,
    dtype,
    is_8bit,
    is_call,
    keeps_order,
    operator_name,
    permutation,
    rebuild,
    rewrite,
    scalar,
    shape,
)

_TO_LAST = (0, 2, 3, 1)
_TO_FIRST = (0, 3, 1, 2)
_CONVOLUTIONS = ("nn.conv2d", "qnn.conv2d", "qnn.conv2d_transpose")
_POOLS = ("nn.max_pool2d", "nn.avg_pool2d", "qnn.avg_pool2d", "nn.global_avg_pool2d")
_ELEMENTWISE = ELEMENTWISE | {
    *("round", "right_shift", "floor_divide", "take", "annotation.stop_fusion"),
    *("qnn.quantize", "qnn.dequantize", "qnn.requantize", "qnn.add", "qnn.subtract", "qnn.mul", "nn.bias_add"),
}


@dataclass(frozen=True)
class ChannelsLast:
    """Computes convolutions, pooling and what is between them in NHWC.

    A transposition remains where such a map meets the network's inputs or outputs or an operator that needs the order
    of its axes. One in front of a dense layer, after a flattening, goes into the weights; one of a map with a single
    pixel or channel is a reshape. What is in that order already, an input of the network or a product of tokens, and is
    transposed to channels first, is taken as it is.
    """

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        layouts = _Layouts(main_function(module))
        return rewrite(module, layouts.rule, layouts.original)


class _Layouts:
    """Which expressions of the original function have a replacement in another order, and the way back.

    `_last` holds maps whose replacement is NHWC, `_flat` matrices (N, C·H·W) whose replacement is in the order H, W, C,
    with these three extents. `_rows` holds the operators of functions of rows, by the last one; they keep their order.
    """

    def __init__(self, main: relay.Function) -> None:
        self._rows = _row_functions(main)
        self._inside = frozenset[relay.Expr]().union(*self._rows.values())
        self._last: set[relay.Expr] = set()
        self._flat: dict[relay.Expr, tuple[int, int, int]] = {}
        self._converted: dict[relay.Expr, relay.Expr] = {}

    def rule(self, call: relay.Call, new: New) -> relay.Expr | None:
        followed = None
        if is_call(call, *_CONVOLUTIONS, *_POOLS) and dtype(call) == "float32":
            pass  # the graph has those of real numbers in either order
        elif is_call(call, *_CONVOLUTIONS) and str(call.attrs.data_layout) == "NCHW":
            self._last.add(call)
            followed = self._convolution(call, self._channels_last(call.args[0], new), new)
        elif is_call(call, "nn.conv2d", "qnn.conv2d") and _has_other_filters(call):
            followed = self._convolution(call, self.original(call.args[0], new), new)
        elif is_call(call, *_POOLS) and str(call.attrs.layout) == "NCHW":
            followed = self._pool(call, new)
        elif is_call(call, "nn.space_to_depth") and str(call.attrs.layout) == "NCHW":
            followed = self._space_to_depth(call, new)
        elif is_call(call, "nn.depth_to_space") and str(call.attrs.layout) == "NCHW":
            followed = self._depth_to_space(call, new)
        elif call in self._inside:
            pass
        elif is_call(call, "transpose") and call.args[0] not in self._last and permutation(call) == _TO_FIRST:
            self._last.add(call)
            followed = new(call.args[0])
        elif (x := _shuffled(call)) is not None and x in self._last:
            followed = self._shuffle(call, x, new)
        elif any(tensor in self._last for argument in call.args for tensor in [argument, *_fields(argument)]):
            followed = self._on_map(call, new)
        elif any(argument in self._flat for argument in call.args):
            followed = self._on_matrix(call, new)
        return followed if followed is not None else rebuild(call, lambda argument: self.original(argument, new))

    def original(self, expr: relay.Expr, new: New) -> relay.Expr:
        """The replacement of `expr` with its elements in their original order."""
        if isinstance(expr, relay.Tuple):
            return rebuild(expr, lambda field: self.original(field, new))
        if expr not in self._last and expr not in self._flat:
            return new(expr)
        if expr not in self._converted:
            widened = is_call(expr, "cast") and is_8bit(expr.args[0])  # it belongs to the average that reads it
            if widened or is_call(expr, "qnn.dequantize"):  # a quarter of the bytes to move
                result = rebuild(expr, lambda argument: self.original(argument, new))
            elif expr in self._last:
                batch, channels, rows, columns = shape(expr)
                result = _permuted(new(expr), (batch, rows, columns, channels), _TO_FIRST)
            else:
                maps = relay.reshape(new(expr), (shape(expr)[0], *self._flat[expr]))
                result = relay.reshape(relay.transpose(maps, _TO_FIRST), shape(expr))
            self._converted[expr] = result
        return self._converted[expr]

    def _channels_last(self, expr: relay.Expr, new: New) -> relay.Expr:
        """The replacement of a map with its channels last."""
        if expr in self._last:
            return new(expr)
        if expr not in self._converted:
            x = _widened(expr)
            if x is not None and isinstance(expr, relay.Call):  # a fraction of the bytes to move
                arguments = [self._channels_last(x, new) if argument == x else new(argument) for argument in expr.args]
                self._converted[expr] = relay.Call(expr.op, arguments, expr.attrs)
            else:
                self._converted[expr] = _permuted(self.original(expr, new), shape(expr), _TO_LAST)
        return self._converted[expr]

    def _convolution(self, call: relay.Call, x: relay.Expr, new: New) -> relay.Expr:
        """A convolution of `x`, its map with channels last, by filters in the order that the integer form has."""
        attrs = call.attrs
        if is_call(call, "qnn.conv2d_transpose"):
            return relay.qnn.op.conv2d_transpose(
                x,
                *(new(argument) for argument in call.args[1:]),
                strides=attrs.strides,
                padding=attrs.padding,
                groups=attrs.groups,
                channels=attrs.channels,
                kernel_size=attrs.kernel_size,
                output_padding=attrs.output_padding,
                data_layout="NHWC",
                kernel_layout=attrs.kernel_layout,
                out_dtype=attrs.out_dtype,
            )
        groups, layout, before = int(attrs.groups), _filter_layout(call), shape(call.args[1])
        axes = [str(attrs.kernel_layout).index(axis) for axis in layout]
        after = tuple(before[axis] for axis in axes)
        if layout == "HWOI":  # from (outputs, 1): in TVM's HWOI the O counts input channels, the I the outputs of each
            after = (*after[:2], groups, after[2] // groups)
        kernel = _reordered(call.args[1], new, before, axes, after)
        build = relay.nn.conv2d if is_call(call, "nn.conv2d") else relay.qnn.op.conv2d
        return build(
            x,
            kernel,
            *(new(argument) for argument in call.args[2:]),
            strides=attrs.strides,
            padding=attrs.padding,
            dilation=attrs.dilation,
            groups=attrs.groups,
            channels=attrs.channels,
            kernel_size=attrs.kernel_size,
            data_layout="NHWC",
            kernel_layout=layout,
            out_dtype=attrs.out_dtype,
        )

    def _pool(self, call: relay.Call, new: New) -> relay.Expr:
        self._last.add(call)
        attrs, x = call.attrs, self._channels_last(call.args[0], new)
        if is_call(call, "nn.global_avg_pool2d"):
            return relay.nn.global_avg_pool2d(x, "NHWC", "NHWC")
        window, strides, dilation, padding = attrs.pool_size, attrs.strides, attrs.dilation, attrs.padding
        if is_call(call, "nn.max_pool2d"):
            return relay.nn.max_pool2d(x, window, strides, dilation, padding, "NHWC", "NHWC", attrs.ceil_mode)
        rest = attrs.ceil_mode, attrs.count_include_pad
        if is_call(call, "nn.avg_pool2d"):
            return relay.nn.avg_pool2d(x, window, strides, dilation, padding, "NHWC", "NHWC", *rest)
        scales = [new(argument) for argument in call.args[1:]]
        return relay.qnn.op.avg_pool2d(x, *scales, window, strides, padding, dilation, *rest, "NHWC")

    def _depth_to_space(self, call: relay.Call, new: New) -> relay.Expr:
        """Channels of a pixel side by side as pixels: transpositions of what they are seen as."""
        self._last.add(call)
        block, (batch, channels, rows, columns) = int(call.attrs.block_size), shape(call.args[0])
        x, after = self._channels_last(call.args[0], new), channels // block**2
        if str(call.attrs.mode) == "CRD" and after > 1:  # a pixel's channels are (after, block, block)
            x = relay.reshape(x, (batch, rows, columns, after, block**2))
            x = relay.transpose(x, (0, 1, 2, 4, 3))
        x = relay.reshape(x, (batch, rows, columns, block, block, after))
        return relay.reshape(relay.transpose(x, (0, 1, 3, 2, 4, 5)), (batch, rows * block, columns * block, after))

    def _space_to_depth(self, call: relay.Call, new: New) -> relay.Expr:
        """Pixels of a block as channels of one: a transposition of what they are seen as."""
        self._last.add(call)
        block, (batch, channels, rows, columns) = int(call.attrs.block_size), shape(call)
        before = channels // block**2
        x = relay.reshape(self._channels_last(call.args[0], new), (batch, rows, block, columns, block, before))
        return relay.reshape(relay.transpose(x, (0, 1, 3, 2, 4, 5)), (batch, rows, columns, channels))

    def _on_map(self, call: relay.Call, new: New) -> relay.Expr | None:
        """An operator on maps that have their channels last, if it can do without the original order."""
        name = operator_name(call)
        if name == "take" and call.args[0] in self._last:
            if len(shape(call)) != len(_TO_LAST) or call.attrs.batch_dims:
                return None
            self._last.add(call)
            return relay.take(new(call.args[0]), call.args[1], axis=_TO_LAST.index(int(call.attrs.axis) % 4))
        if name in _ELEMENTWISE:
            return self._elementwise(call, new)
        if name == "transpose":
            batch, channels, rows, columns = shape(call.args[0])
            axes = tuple(_TO_LAST.index(axis) for axis in permutation(call))
            return _permuted(new(call.args[0]), (batch, rows, columns, channels), axes)
        if name == "concatenate":
            self._last.add(call)
            fields = [self._channels_last(field, new) for field in operands(call.args[0])]
            return relay.concatenate(fields, _TO_LAST.index(int(call.attrs.axis) % 4))
        if name == "sum" and call.attrs.keepdims and not call.attrs.exclude:
            self._last.add(call)
            axes = [_TO_LAST.index(int(axis) % 4) for axis in call.attrs.axis]
            return relay.sum(new(call.args[0]), sorted(axes), keepdims=True)
        if name == "mean" and len(call.attrs.axis or ()) == 2:
            return self._integer_mean(call, new)
        if name in ("argmax", "argmin") and len(call.attrs.axis or ()) == 1:
            return self._place(call, new)
        if name == "strided_slice":
            self._last.add(call)
            attrs = call.attrs
            axes = range(len(attrs.begin)) if attrs.axes is None else [int(axis) % 4 for axis in attrs.axes]
            moved = [_TO_LAST.index(axis) for axis in axes]
            steps = [int(step) for step in attrs.strides]
            steps += [1] * (len(moved) - len(steps))  # those that are left out
            x = new(call.args[0])
            return relay.strided_slice(x, attrs.begin, attrs.end, steps, moved, attrs.slice_mode)
        if name == "tile" and len(call.attrs.reps) == 4:
            self._last.add(call)
            return relay.tile(new(call.args[0]), [int(call.attrs.reps[axis]) for axis in _TO_LAST])
        if name == "nn.pad":
            self._last.add(call)
            widths = [call.attrs.pad_width[axis] for axis in _TO_LAST]
            return relay.nn.pad(new(call.args[0]), widths, new(call.args[1]), call.attrs.pad_mode)
        if name in RESHAPES and len(shape(call)) == 2:
            batch, channels, rows, columns = shape(call.args[0])
            if shape(call) != (batch, channels * rows * columns):
                return None
            if rows * columns > 1 and channels > 1:
                self._flat[call] = (rows, columns, channels)
            return relay.reshape(new(call.args[0]), shape(call))
        return None

    def _integer_mean(self, call: relay.Call, new: New) -> relay.Expr | None:
        """A mean of integers over two axes, which leaves the images and one axis of each."""
        axes = sorted(_TO_LAST.index(int(axis) % 4) for axis in call.attrs.axis)
        if dtype(call) != "int32" or call.attrs.exclude or 0 in axes:
            return None
        if call.attrs.keepdims:
            self._last.add(call)
        return relay.mean(new(call.args[0]), axes, keepdims=call.attrs.keepdims)

    def _place(self, call: relay.Call, new: New) -> relay.Expr | None:
        """The largest or smallest along an axis of a map; among the channels in the original order, if that goes."""
        attrs, axis = call.attrs, _TO_LAST.index(int(call.attrs.axis[0]) % 4)
        if attrs.exclude or not (attrs.keepdims or axis == len(_TO_LAST) - 1):
            return None
        if attrs.keepdims:
            self._last.add(call)
        build = relay.argmax if is_call(call, "argmax") else relay.argmin
        return build(new(call.args[0]), axis, attrs.keepdims, select_last_index=attrs.select_last_index)

    def _shuffle(self, call: relay.Call, x: relay.Expr, new: New) -> relay.Expr:
        """The channels of a map x, as a matrix, transposed."""
        self._last.add(call)
        groups = shape(call.args[0])[2]
        batch, channels, rows, columns = shape(call)
        matrix = relay.reshape(new(x), (batch, rows, columns, groups, channels // groups))
        return relay.reshape(relay.transpose(matrix, (0, 1, 2, 4, 3)), (batch, rows, columns, channels))

    def _elementwise(self, call: relay.Call, new: New) -> relay.Expr | None:
        parameters = call.args[1:]
        if is_call(call, "nn.bias_add"):
            axis = _TO_LAST.index(int(call.attrs.axis) % 4)
            result = relay.nn.bias_add(new(call.args[0]), new(parameters[0]), axis=axis)
        elif is_call(call, "qnn.requantize"):
            attrs = call.attrs
            arguments = [new(argument) for argument in call.args]
            result = relay.qnn.op.requantize(
                *arguments,
                axis=_TO_LAST.index(int(attrs.axis) % 4),
                rounding=attrs.rounding,
                compute_dtype=attrs.compute_dtype,
                out_dtype=attrs.out_dtype,
            )
        elif is_call(call, "qnn.quantize", "qnn.dequantize") and scalar(parameters[0]) is None:
            return None
        else:
            arguments = [self._operand(argument, call, new) for argument in call.args]
            if None in arguments:
                return None
            result = relay.Call(call.op, arguments, call.attrs)
        self._last.add(call)
        return result

    def _operand(self, expr: relay.Expr, call: relay.Call, new: New) -> relay.Expr | None:
        """An operand of an elementwise operator on maps: a map, or a constant that is broadcast."""
        if expr in self._last:
            return new(expr)
        array = constant(expr)
        if array is None:  # a map, or one number for each channel or pixel
            return self._channels_last(expr, new) if len(shape(expr)) == len(_TO_LAST) else None
        if array.size == 1 or is_call(call, "take"):
            return expr
        if array.ndim not in (3, 4):
            return None
        axes = _TO_LAST if array.ndim == 4 else (1, 2, 0)
        moved = np.ascontiguousarray(array.transpose(axes))
        return relay.const(
            moved.reshape(moved.shape[-1:] if moved.size == moved.shape[-1] else moved.shape), str(moved.dtype)
        )

    def _on_matrix(self, call: relay.Call, new: New) -> relay.Expr | None:
        """An operator on a flattened map: a dense layer takes the order into its weights, elementwise ones keep it."""
        x = call.args[0]
        if is_call(call, "nn.dense", "qnn.dense") and x in self._flat:
            rows, columns, channels = self._flat[x]
            weights = shape(call.args[1])
            kernel = _reordered(call.args[1], new, (weights[0], channels, rows, columns), _TO_LAST, weights)
            return relay.Call(call.op, [new(x), kernel, *map(new, call.args[2:])], call.attrs)
        small = all(scalar(argument) is not None for argument in call.args[1:])
        if operator_name(call) in _ELEMENTWISE and x in self._flat and small:
            self._flat[call] = self._flat[x]
            return rebuild(call, new)
        return None


def _filter_layout(convolution: relay.Call) -> str:
    """The order of a convolution's filters in the integer form."""
    axis = str(convolution.attrs.data_layout).index("C")
    depthwise = 1 < int(convolution.attrs.groups) == shape(convolution.args[0])[axis]
    return "HWOI" if depthwise else "HWIO"


def _has_other_filters(convolution: relay.Call) -> bool:
    """Whether a convolution with channels last has its filters in an order that TVM's C lacks."""
    attrs = convolution.attrs
    letters = sorted(str(attrs.kernel_layout)) == sorted("HWIO")
    return str(attrs.data_layout) == "NHWC" and letters and str(attrs.kernel_layout) != _filter_layout(convolution)


def _widened(expr: relay.Expr) -> relay.Expr | None:
    """The map that numbers of more than 8 bits are computed from, each from an element of it and from constants."""
    if is_call(expr, "qnn.dequantize"):
        return expr.args[0] if scalar(expr.args[1]) is not None else None
    if not is_call(expr, "cast", "add", "subtract", "multiply", "take") or is_8bit(expr):
        return None
    *constants, x = expr.args if is_call(expr, "take") else reversed(expr.args)
    table = is_call(expr, "take") and isinstance(expr.args[0], relay.Constant)
    known = table or all(scalar(argument) is not None for argument in constants)
    return x if known and shape(x) == shape(expr) and not isinstance(x, relay.Constant) else None


def _row_functions(main: relay.Function) -> dict[relay.Expr, frozenset[relay.Call]]:
    """The operators of each function along an axis that is written in integers: softmax, normalization."""
    found = {expr: inside(expr) for expr in post_order(main)}
    return {root: calls for root, calls in found.items() if any(is_call(call, "max", "sum") for call in calls)}


def _shuffled(call: relay.Call) -> relay.Expr | None:
    """The map whose channels a reshape brings together again that were a matrix, transposed; None for other calls."""
    if not is_call(call, "reshape") or not is_call(call.args[0], "transpose"):
        return None
    turned = call.args[0]
    matrix = turned.args[0]
    if not is_call(matrix, "reshape") or len(shape(matrix)) != 5 or permutation(turned) != (0, 2, 1, 3, 4):
        return None
    x = matrix.args[0]
    whole = shape(x) == shape(call) and len(shape(x)) == 4 and shape(x)[2:] == shape(matrix)[3:]
    return x if whole else None


def _fields(expr: relay.Expr) -> list[relay.Expr]:
    return operands(expr) if isinstance(expr, relay.Tuple) else []


def _permuted(expr: relay.Expr, before: tuple[int, ...], axes: tuple[int, ...]) -> relay.Expr:
    """The transposition, as a reshape where only extents of 1 change their places."""
    if keeps_order(before, axes):
        return relay.reshape(expr, [before[axis] for axis in axes])
    return relay.transpose(expr, axes)


def _reordered(
    weights: relay.Expr, new: New, before: tuple[int, ...], axes: Sequence[int], after: tuple[int, ...]
) -> relay.Expr:
    """Weights seen as shape `before`, transposed, seen as shape `after`."""
    array = constant(weights)
    if array is not None:
        return relay.const(array.reshape(before).transpose(axes).reshape(after))
    return relay.reshape(relay.transpose(relay.reshape(new(weights), before), axes), after)
