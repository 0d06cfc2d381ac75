"""Sequences (N, C, W), as ONNX has them, become maps of one row (N, C, 1, W): what the other passes know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from match.ir.moves import RESHAPES
from match.passes.element_functions import ELEMENTWISE
from match.relay import relay, tvm
from match.relay.objects import operands
from match.relay.rewrite import New, constant, is_call, operator_name, rebuild, rewrite, shape

_ELEMENTWISE = ELEMENTWISE | {
    *("round", "nn.bias_add", "qnn.quantize", "qnn.dequantize", "qnn.requantize", "qnn.add", "qnn.mul"),
}
_QUANTIZING = ("qnn.quantize", "qnn.dequantize")


@dataclass(frozen=True)
class OneRow:
    """Computes convolutions and pooling of sequences, and what is between them, in two dimensions.

    Where such a map meets another operator it is reshaped, which costs nothing.
    """

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        maps = _Maps()
        return rewrite(module, maps.rule, maps.original)


class _Maps:
    """Which expressions of the original function have a map of one row as their replacement, and the way back."""

    def __init__(self) -> None:
        self._maps: set[relay.Expr] = set()
        self._converted: dict[relay.Expr, relay.Expr] = {}
        self._original: dict[relay.Expr, relay.Expr] = {}

    def rule(self, call: relay.Call, new: New) -> relay.Expr | None:
        followed = None
        if _has_layout(call, "nn.conv1d", "data_layout"):
            followed = self._convolution(call, new)
        elif _has_layout(call, "nn.conv1d_transpose", "data_layout"):
            followed = self._transposed(call, new)
        elif _is_pool(call):
            followed = self._pool(call, new)
        elif any(tensor in self._maps for argument in call.args for tensor in [argument, *_fields(argument)]):
            followed = self._on_map(call, new)
        return followed if followed is not None else rebuild(call, lambda argument: self.original(argument, new))

    def original(self, expr: relay.Expr, new: New) -> relay.Expr:
        """The replacement of `expr` in its original shape."""
        if isinstance(expr, relay.Tuple):
            return rebuild(expr, lambda field: self.original(field, new))
        if expr not in self._maps:
            return new(expr)
        if expr not in self._original:
            self._original[expr] = relay.reshape(new(expr), shape(expr))
        return self._original[expr]

    def _map(self, expr: relay.Expr, new: New) -> relay.Expr:
        """The replacement of a sequence as a map; a dequantize stays next to the operator that reads it."""
        if expr in self._maps:
            return new(expr)
        if expr not in self._converted:
            if is_call(expr, *_QUANTIZING):
                arguments = [self._map(expr.args[0], new), *map(new, expr.args[1:])]
                self._converted[expr] = relay.Call(expr.op, arguments, expr.attrs, expr.type_args, expr.span)
            else:
                self._converted[expr] = relay.reshape(self.original(expr, new), _with_row(shape(expr)))
        return self._converted[expr]

    def _convolution(self, call: relay.Call, new: New) -> relay.Expr:
        return self._filtered(relay.nn.conv2d, call, new)

    def _transposed(self, call: relay.Call, new: New) -> relay.Expr:
        return self._filtered(
            relay.nn.conv2d_transpose, call, new, output_padding=(0, int(call.attrs.output_padding[0]))
        )

    def _filtered(self, operator: Callable[..., relay.Expr], call: relay.Call, new: New, **own: Any) -> relay.Expr:
        """A convolution of maps, transposed or not, in the place of one of sequences."""
        self._maps.add(call)
        attrs = call.attrs
        before, behind = (int(side) for side in attrs.padding)
        return operator(
            self._map(call.args[0], new),
            _kernel(call.args[1], new),
            strides=(1, int(attrs.strides[0])),
            padding=(0, before, 0, behind),
            dilation=(1, int(attrs.dilation[0])),
            groups=int(attrs.groups),
            channels=shape(call)[1],
            kernel_size=(1, shape(call.args[1])[2]),
            out_dtype=attrs.out_dtype,
            **own,
        )

    def _pool(self, call: relay.Call, new: New) -> relay.Expr:
        self._maps.add(call)
        x, attrs = self._map(call.args[0], new), call.attrs
        if is_call(call, "nn.adaptive_avg_pool1d"):
            return relay.nn.global_avg_pool2d(x)
        before, behind = (int(side) for side in attrs.padding)
        window = (1, int(attrs.pool_size[0])), (1, int(attrs.strides[0])), (1, int(attrs.dilation[0]))
        padding = (0, before, 0, behind)
        if is_call(call, "nn.max_pool1d"):
            return relay.nn.max_pool2d(x, *window, padding, ceil_mode=attrs.ceil_mode)
        return relay.nn.avg_pool2d(
            x, *window, padding, ceil_mode=attrs.ceil_mode, count_include_pad=attrs.count_include_pad
        )

    def _on_map(self, call: relay.Call, new: New) -> relay.Expr | None:
        """An operator on maps of one row, if it can be written for them."""
        name = operator_name(call)
        if name in _ELEMENTWISE and any(shape(call) == shape(each) for each in call.args if each in self._maps):
            arguments = [self._operand(argument, new) for argument in call.args]
            self._maps.add(call)
            return relay.Call(call.op, arguments, call.attrs)
        along: Any = call.attrs.axis if name == "take" else None
        if along is not None and len(shape(call)) == 3:
            self._maps.add(call)
            return relay.take(new(call.args[0]), call.args[1], axis=int(along) % 3 + (int(along) % 3 == 2))
        if name == "concatenate":
            self._maps.add(call)
            axis = int(call.attrs.axis) % 3
            return relay.concatenate([self._map(field, new) for field in operands(call.args[0])], axis + (axis == 2))
        if name == "nn.pad":
            self._maps.add(call)
            batch, channels, columns = call.attrs.pad_width
            widths = [batch, channels, (0, 0), columns]
            return relay.nn.pad(new(call.args[0]), widths, new(call.args[1]), call.attrs.pad_mode)
        if name == "mean" and [int(axis) % 3 for axis in call.attrs.axis or ()] == [2] and not call.attrs.exclude:
            if call.attrs.keepdims:
                self._maps.add(call)
            return relay.mean(new(call.args[0]), (2, 3), keepdims=call.attrs.keepdims)
        if name in RESHAPES and len(shape(call)) == 2:
            return relay.reshape(new(call.args[0]), shape(call))
        return None

    def _operand(self, expr: relay.Expr, new: New) -> relay.Expr:
        """An operand of an elementwise operator on maps: a sequence, or what is broadcast to one."""
        if expr in self._maps:
            return new(expr)
        extents, array = shape(expr), constant(expr)
        if array is not None:
            return relay.const(array.reshape(_with_row(extents))) if len(extents) > 1 else expr
        if len(extents) == 3:
            return self._map(expr, new)
        return relay.reshape(new(expr), _with_row(extents)) if len(extents) == 2 else new(expr)


def _has_layout(call: relay.Call, name: str, attribute: str) -> bool:
    return is_call(call, name) and str(getattr(call.attrs, attribute)) == "NCW"


def _is_pool(call: relay.Call) -> bool:
    if is_call(call, "nn.adaptive_avg_pool1d"):
        return str(call.attrs.layout) == "NCW" and int(call.attrs.output_size[0]) == 1
    return any(_has_layout(call, name, "layout") for name in ("nn.max_pool1d", "nn.avg_pool1d"))


def _fields(argument: relay.Expr) -> list[relay.Expr]:
    return operands(argument) if isinstance(argument, relay.Tuple) else []


def _with_row(extents: tuple[int, ...]) -> tuple[int, ...]:
    return (*extents[:-1], 1, extents[-1])


def _kernel(weights: relay.Expr, new: New) -> relay.Expr:
    """Filters (K, C, W) as (K, C, 1, W)."""
    array: Any = constant(weights)
    if array is not None:
        return relay.const(array.reshape(_with_row(array.shape)))
    if is_call(weights, "qnn.dequantize"):
        return relay.Call(weights.op, [_kernel(weights.args[0], new), *map(new, weights.args[1:])], weights.attrs)
    return relay.reshape(new(weights), _with_row(shape(weights)))
