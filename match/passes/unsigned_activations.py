"""int8 activations become uint8: every value and zero point is 128 more, and B makes up for it in the sums."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from match.ir.constants import LOOKUP_LINE_FRACTION, LOOKUP_SUM_FRACTION
from match.ir.requantization import Int64Array, Requantization
from match.relay import integer_form, relay, tvm
from match.relay.float_averages import read_float_average
from match.relay.normalization import RowNormalization, read_normalization
from match.relay.operators import (
    AbsoluteDifference,
    Accumulation,
    Addition,
    Average,
    ChannelLookup,
    Convolution,
    Dense,
    Lookup,
    LookupLine,
    LookupSum,
    Matrices,
    Multiplication,
    SquaredDifference,
)
from match.relay.readers import (
    read_absolute_difference,
    read_addition,
    read_channel_lookup,
    read_layer,
    read_lookup,
    read_lookup_line,
    read_lookup_sum,
    read_matrices,
    read_multiplication,
    read_squared_difference,
    read_sums,
)
from match.relay.recurrent import read_recurrent
from match.relay.recurrent_layer import RecurrentLayer
from match.relay.resize import Resize, read_resize
from match.relay.rewrite import New, constant, dtype, is_call, named, operator_name, rebuild, rewrite, scalar, shape

_OFFSET = 128
_SIGNED = np.arange(-128, 128, dtype=np.int64)
_MOVES = frozenset(
    {"reshape", "transpose", "squeeze", "expand_dims", "nn.batch_flatten", "strided_slice", "copy"}
    | {"nn.max_pool2d", "max", "min", "tile", "reverse", "broadcast_to", "take", "annotation.stop_fusion"}
)

_Read = Callable[[relay.Expr], Any]
"""Reads an operator of the integer form; None for what is another one."""
_Written = Callable[[Any, New], relay.Expr]
"""Writes what was read, with uint8 in place of int8."""


@dataclass(frozen=True)
class UnsignedActivations:
    """Stores every int8 activation as uint8, for machines whose multipliers take unsigned activations.

    The network's inputs and outputs keep their types: a conversion, which is a table, stands at the border. So it does
    around operators that this pass does not know; quantize, dequantize and other tables are made to convert themselves.
    """

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """The module, whose "main" is in integer form; quantize and dequantize may still be QNN operators."""
        conversion = _Conversion()
        return rewrite(module, conversion.rule, conversion.signed)


class _Conversion:
    """What has been converted so far, by original expression."""

    def __init__(self) -> None:
        self._shifted: set[relay.Expr] = set()
        self._converted: dict[relay.Expr, relay.Expr] = {}
        self._operators: tuple[tuple[_Read, _Written], ...] = (
            (read_layer, self._layer),
            (read_addition, self._addition),
            (read_squared_difference, self._squared_difference),
            (read_lookup_sum, self._lookup_sum),
            (read_lookup_line, self._lookup_line),
            (read_absolute_difference, self._absolute_difference),
            (read_multiplication, self._product),
            (read_matrices, self._product),
            (read_lookup, self._unsigned_lookup),
            (read_channel_lookup, self._unsigned_lookup),
            (read_normalization, self._normalization),
            (read_resize, self._resize),
            (read_recurrent, self._recurrent),
        )

    def rule(self, call: relay.Call, new: New) -> relay.Expr | None:
        for read, written in self._operators:
            found = read(call)
            if found is not None:
                return self._mark(call, written(found, new))
        sums = read_sums(call)
        if sums is not None and dtype(sums.x) == "int8":
            return self._sums(sums, new)
        pooled = read_float_average(call)
        if pooled is not None and dtype(pooled.x) == "int8":  # outputs stay, as float32 rounds with their zero point
            return pooled.build(self._unsigned(pooled.x, new), pooled.zero + _OFFSET)
        moved = self._moved(call, new)
        if moved is not None:
            return self._mark(call, moved)
        dequantized = self._dequantized(call, new)
        if dequantized is not None:
            return dequantized
        if self._is_place(call):
            wide = relay.cast(new(call.args[0].args[0]), dtype(call.args[0]))
            return relay.Call(call.op, [wide], call.attrs, span=call.span)
        if self._is_difference(call):
            return relay.subtract(*(relay.cast(self._unsigned(x.args[0], new), dtype(x)) for x in call.args))
        if any(tensor in self._shifted for argument in call.args for tensor in (argument, *_fields(argument))):
            arguments = [self.signed(argument, new) for argument in call.args]
            return relay.Call(call.op, arguments, call.attrs, call.type_args, call.span)
        return None

    def signed(self, expr: relay.Expr, new: New) -> relay.Expr:
        """The replacement of `expr` with the values it had."""
        if isinstance(expr, relay.Tuple):
            return rebuild(expr, lambda field: self.signed(field, new))
        if expr not in self._shifted:
            return new(expr)
        if expr not in self._converted:
            lookup = read_lookup(expr) or read_channel_lookup(expr)
            self._converted[expr] = (
                self._lookup(lookup, new) if lookup else integer_form.lookup(new(expr), _SIGNED, "uint8", "int8")
            )
        return self._converted[expr]

    def _unsigned(self, expr: relay.Expr, new: New) -> relay.Expr:
        """The replacement of an 8-bit `expr` as uint8."""
        if dtype(expr) == "uint8" or expr in self._shifted:
            return new(expr)
        if isinstance(expr, relay.Constant):
            return relay.const((expr.data.numpy().astype(np.int16) + _OFFSET).astype(np.uint8))
        if expr not in self._converted:
            converted = (
                _unsigned_quantize(expr, new)
                or _unsigned_saturation(expr, new)
                or integer_form.lookup(new(expr), _SIGNED + _OFFSET, "int8", "uint8")
            )
            self._converted[expr] = named(converted, expr)
        return self._converted[expr]

    def _mark(self, call: relay.Call, result: relay.Expr) -> relay.Expr:
        if dtype(call) == "int8":
            self._shifted.add(call)
        return result

    def _layer(self, layer: Accumulation, new: New) -> relay.Expr:
        requantization = layer.requantization
        if dtype(layer.x) == "int8":
            requantization = requantization.moved(_OFFSET * _weight_sums(layer))
        if layer.dtype == "int8":
            requantization = _shifted_outputs(requantization)
        x = self._unsigned(layer.x, new)
        if isinstance(layer, Convolution):
            pad_value = layer.pad_value + (_OFFSET if layer.x_dtype == "int8" else 0)
            converted = replace(layer, pad_value=pad_value, x_dtype="uint8")
        else:
            converted = layer
        return replace(converted, requantization=requantization, dtype="uint8").build(x)

    def _sums(self, sums: Convolution | Dense, new: New) -> relay.Expr:
        """Sums of 32 bits that nothing requantizes, less what they grow by."""
        x, excess = self._unsigned(sums.x, new), relay.const((_OFFSET * _weight_sums(sums)).astype(np.int32))
        if isinstance(sums, Convolution):
            more = replace(sums, pad_value=sums.pad_value + _OFFSET, x_dtype="uint8").sums(x)
        else:
            more = integer_form.product(x, np.ascontiguousarray(sums.weights))
        return relay.subtract(more, excess)

    def _addition(self, addition: Addition, new: New) -> relay.Expr:
        bias, clip = addition.bias, addition.clip
        for operand, multiplier in zip(addition.operands, addition.multipliers, strict=True):
            bias -= _OFFSET * multiplier if dtype(operand) == "int8" else 0
        if addition.dtype == "int8":
            bias += _OFFSET << addition.shift
            clip = (clip[0] + _OFFSET, clip[1] + _OFFSET)
        a, b = (self._unsigned(operand, new) for operand in addition.operands)
        return replace(addition, bias=bias, clip=clip, dtype="uint8").build(a, b)

    def _product(self, product: Multiplication | Matrices, new: New) -> relay.Expr:
        """The zero points move with what they are of."""
        requantization = product.requantization
        if product.dtype == "int8":
            requantization = _shifted_outputs(requantization)
        first, second = (
            zero + (_OFFSET if dtype(operand) == "int8" else 0)
            for operand, zero in zip(product.operands, product.zero_points, strict=True)
        )
        a, b = (self._unsigned(operand, new) for operand in product.operands)
        return replace(product, zero_points=(first, second), requantization=requantization, dtype="uint8").build(a, b)

    def _squared_difference(self, difference: SquaredDifference, new: New) -> relay.Expr:
        requantization = difference.requantization
        if difference.dtype == "int8":
            requantization = _shifted_outputs(requantization)
        a, b = (self._unsigned(operand, new) for operand in difference.operands)
        converted = replace(difference, requantization=requantization, x_dtypes=("uint8", "uint8"), dtype="uint8")
        return converted.build(a, b)

    def _lookup_sum(self, lookups: LookupSum, new: New) -> relay.Expr:
        """The second table's numbers make up for larger outputs."""
        more = _OFFSET if lookups.dtype == "int8" else 0
        tables = lookups.tables + np.array([[0], [more << LOOKUP_SUM_FRACTION]])
        low, high = lookups.clip
        a, b = (self._unsigned(operand, new) for operand in lookups.operands)
        types = "uint8", "uint8"
        converted = replace(lookups, x_dtypes=types, tables=tables, clip=(low + more, high + more), dtype="uint8")
        return converted.build(a, b)

    def _lookup_line(self, line: LookupLine, new: New) -> relay.Expr:
        """The biases make up for larger values of the first tensor, and for larger outputs."""
        slopes, biases = line.lines
        more = _OFFSET if line.dtype == "int8" else 0
        before = _OFFSET if line.x_dtypes[0] == "int8" else 0
        lines = np.stack([slopes, biases - before * slopes + (more << LOOKUP_LINE_FRACTION)])
        low, high = line.clip
        a, b = (self._unsigned(operand, new) for operand in line.operands)
        types = "uint8", "uint8"
        converted = replace(line, x_dtypes=types, lines=lines, clip=(low + more, high + more), dtype="uint8")
        return converted.build(a, b)

    def _absolute_difference(self, distances: AbsoluteDifference, new: New) -> relay.Expr:
        """Outputs begin where they are clipped from below."""
        more = _OFFSET if distances.dtype == "int8" else 0
        low, high = distances.clip
        a, b = (self._unsigned(operand, new) for operand in distances.operands)
        types = "uint8", "uint8"
        return replace(distances, x_dtypes=types, clip=(low + more, high + more), dtype="uint8").build(a, b)

    def _normalization(self, found: RowNormalization, new: New) -> relay.Expr:
        """Distances from the mean are what they were; another value that they are from moves with the input."""
        requantization, own = found.requantization, found.normalization
        if own.centre is not None and dtype(found.x) == "int8":
            own = replace(own, centre=own.centre + _OFFSET)
        if found.dtype == "int8":
            requantization = _shifted_outputs(requantization)
        converted = replace(found, normalization=own, requantization=requantization, dtype="uint8")
        return converted.build(self._unsigned(found.x, new), shape(found.x)[-1])

    def _resize(self, resize: Resize, new: New) -> relay.Expr:
        zero = resize.zero + (_OFFSET if resize.dtype == "int8" else 0)
        return replace(resize, zero=zero, dtype="uint8").build(self._unsigned(resize.x, new))

    def _recurrent(self, found: RecurrentLayer, new: New) -> relay.Expr:
        """States are activations, too."""
        inputs, states = (
            weights.sum(axis=2, dtype=np.int64) * (_OFFSET if kind == "int8" else 0)
            for weights, kind in ((found.input_weights, found.x_dtype), (found.state_weights, found.dtype))
        )
        zero = found.zero + (_OFFSET if found.dtype == "int8" else 0)
        converted = replace(found, offsets=found.offsets - np.stack([inputs, states]), zero=zero, dtype="uint8")
        return converted.build(self._unsigned(found.x, new))

    def _unsigned_lookup(self, lookup: Lookup | ChannelLookup, new: New) -> relay.Expr:
        offset = _OFFSET if lookup.dtype == "int8" else 0
        return self._lookup(replace(lookup, outputs=lookup.outputs + offset, dtype="uint8"), new)

    def _lookup(self, lookup: Lookup | ChannelLookup, new: New) -> relay.Expr:
        """The table on its input as that is stored, which needs no conversion of its own."""
        x_dtype = "uint8" if lookup.x in self._shifted else lookup.x_dtype
        return replace(lookup, x_dtype=x_dtype).build(new(lookup.x))

    def _is_place(self, call: relay.Call) -> bool:
        """Whether a call finds the largest or smallest of a widened int8 tensor that is 128 more now."""
        if not is_call(call, "argmax", "argmin") or not is_call(call.args[0], "cast"):
            return False
        return call.args[0].args[0] in self._shifted

    def _is_difference(self, call: relay.Call) -> bool:
        """Whether a call subtracts two widened int8 tensors, and at least one of them is 128 more now."""
        if not is_call(call, "subtract") or not all(
            is_call(x, "cast") and dtype(x.args[0]) == "int8" for x in call.args
        ):
            return False
        return any(x.args[0] in self._shifted for x in call.args)

    def _dequantized(self, call: relay.Call, new: New) -> relay.Expr | None:
        """A dequantize of what is now 128 more, or of a quantize, which can make that."""
        if not is_call(call, "qnn.dequantize") or dtype(call.args[0]) != "int8":
            return None
        x, scale, zero_point = call.args
        moved = _moved_zero_point(zero_point)
        if moved is None or not (x in self._shifted or is_call(x, "qnn.quantize")):
            return None
        return relay.Call(call.op, [self._unsigned(x, new), new(scale), moved], call.attrs)

    def _moved(self, call: relay.Call, new: New) -> relay.Expr | None:
        """Operators that pass values on, or compare them among themselves; None for others and other types."""
        name = operator_name(call)
        if not isinstance(call.checked_type, tvm.ir.TensorType) or dtype(call) != "int8":
            return None
        if name in _MOVES:
            return relay.Call(call.op, [self._unsigned(call.args[0], new), *map(new, call.args[1:])], call.attrs)
        if name == "clip":
            low, high = call.attrs.a_min + _OFFSET, call.attrs.a_max + _OFFSET
            return relay.clip(self._unsigned(call.args[0], new), low, high)
        if name in ("concatenate", "stack") and isinstance(call.args[0], relay.Tuple):
            fields = [self._unsigned(field, new) for field in call.args[0].fields]
            return relay.Call(call.op, [relay.Tuple(fields)], call.attrs)
        if name == "nn.pad" and scalar(call.args[1]) is not None:
            value = relay.const(int(scalar(call.args[1])) + _OFFSET, "uint8")
            return relay.Call(call.op, [self._unsigned(call.args[0], new), value], call.attrs)
        return None


def _fields(expr: relay.Expr) -> tuple[relay.Expr, ...]:
    return tuple(expr.fields) if isinstance(expr, relay.Tuple) else ()


def _unsigned_quantize(expr: relay.Expr, new: New) -> relay.Expr | None:
    """A quantize to int8 as one to uint8."""
    if not is_call(expr, "qnn.quantize"):
        return None
    x, scale, zero_point = expr.args
    moved = _moved_zero_point(zero_point)
    return None if moved is None else relay.qnn.op.quantize(new(x), new(scale), moved, expr.attrs.axis, "uint8")


def _unsigned_saturation(expr: relay.Expr, new: New) -> relay.Expr | None:
    """int32 numbers that are saturated to int8, to uint8 instead."""
    if not is_call(expr, "cast") or not is_call(expr.args[0], "clip") or dtype(expr.args[0]) != "int32":
        return None
    clip, x, offset = expr.args[0], expr.args[0].args[0], _OFFSET
    if is_call(x, "add") and scalar(x.args[1]) is not None:  # a zero point of -128 and this are nothing
        x, offset = x.args[0], offset + int(scalar(x.args[1]))
    moved = relay.add(new(x), relay.const(offset, "int32"))
    return integer_form.saturate(moved, (int(clip.attrs.a_min) + _OFFSET, int(clip.attrs.a_max) + _OFFSET), "uint8")


def _moved_zero_point(zero_point: relay.Expr) -> relay.Expr | None:
    """A constant zero point, 128 more."""
    value = constant(zero_point)
    return None if value is None else relay.const((value + np.int32(_OFFSET)).astype(np.int32), "int32")


def _weight_sums(layer: Accumulation) -> Int64Array:
    """What each channel's accumulator grows by when every input grows by one."""
    if isinstance(layer, Convolution):
        return layer.weights_by_output.sum(axis=1, dtype=np.int64)
    if isinstance(layer, Average):
        return np.full(layer.requantization.channels, layer.window[0] * layer.window[1], np.int64)
    return layer.weights.sum(axis=1, dtype=np.int64)


def _shifted_outputs(requantization: Requantization) -> Requantization:
    """The outputs, 128 larger."""
    low, high = requantization.clip
    return replace(
        requantization,
        bias=requantization.bias + (np.int64(_OFFSET) << requantization.shift),
        clip=(low + _OFFSET, high + _OFFSET),
    )
