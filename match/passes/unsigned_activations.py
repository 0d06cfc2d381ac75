"""int8 activations become uint8, and B makes up for it in the sums.

Values and zero points become 128 larger. A tensor behind ReLU may have no value below the middle of its type. It is
stored 128 lower than other tensors, so that its smallest value is 0: many forms of requantization can clip only at 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from match.ir.constants import LOOKUP_LINE_FRACTION, LOOKUP_SUM_FRACTION
from match.ir.moves import REARRANGEMENTS
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
from match.relay.rewrite import (
    New,
    constant,
    dtype,
    is_8bit,
    is_call,
    named,
    operator_name,
    rebuild,
    rewrite,
    scalar,
    shape,
)

_OFFSET = 128
_STORED = np.arange(256, dtype=np.int64)
_MOVES = frozenset(
    {*REARRANGEMENTS, "strided_slice", "copy", "tile", "reverse", "broadcast_to", "take"}
    | {"nn.max_pool2d", "max", "min", "annotation.stop_fusion"}
)

_Read = Callable[[relay.Expr], Any]
"""Reads an operator of the integer form; None for what is another one."""
_Written = Callable[[relay.Expr, Any, New], relay.Expr]
"""Writes what was read of an expression, with uint8 in place of int8."""


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
        self._offsets: dict[relay.Expr, int] = {}
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
                return written(call, found, new)
        sums = read_sums(call)
        if sums is not None and self._changes(sums.x):
            return self._sums(sums, new)
        pooled = read_float_average(call)
        if pooled is not None and self._changes(pooled.x):  # outputs stay, as float32 rounds with their zero point
            return pooled.build(self._unsigned(pooled.x, new), pooled.zero + self._offset(pooled.x))
        moved = self._moved(call, new)
        if moved is not None:
            return moved
        dequantized = self._dequantized(call, new)
        if dequantized is not None:
            return dequantized
        if self._is_place(call):
            wide = relay.cast(new(call.args[0].args[0]), dtype(call.args[0]))
            return relay.Call(call.op, [wide], call.attrs, span=call.span)
        if self._is_difference(call):
            alike, _ = self._alike([x.args[0] for x in call.args], new)
            return relay.subtract(*(relay.cast(x, dtype(call)) for x in alike))
        if any(tensor in self._offsets for argument in call.args for tensor in (argument, *_fields(argument))):
            arguments = [self.signed(argument, new) for argument in call.args]
            return relay.Call(call.op, arguments, call.attrs, call.type_args, call.span)
        return None

    def signed(self, expr: relay.Expr, new: New) -> relay.Expr:
        """The replacement of `expr` with the values it had."""
        if isinstance(expr, relay.Tuple):
            return rebuild(expr, lambda field: self.signed(field, new))
        if expr not in self._offsets:
            return new(expr)
        if expr not in self._converted:
            lookup = read_lookup(expr) or read_channel_lookup(expr)
            kind = dtype(expr)
            values = np.minimum(_STORED - self._offsets[expr], np.iinfo(kind).max)
            self._converted[expr] = (
                self._lookup(lookup, new) if lookup else integer_form.lookup(new(expr), values, "uint8", kind)
            )
        return self._converted[expr]

    def _unsigned(self, expr: relay.Expr, new: New) -> relay.Expr:
        """The replacement of an 8-bit `expr` as uint8."""
        if dtype(expr) == "uint8" or expr in self._offsets:
            return new(expr)
        if isinstance(expr, relay.Constant):
            return relay.const((expr.data.numpy().astype(np.int16) + _OFFSET).astype(np.uint8))
        if expr not in self._converted:
            converted = (
                _unsigned_quantize(expr, new)
                or _unsigned_saturation(expr, new)
                or integer_form.lookup(new(expr), _STORED, "int8", "uint8")
            )
            self._converted[expr] = named(converted, expr)
        return self._converted[expr]

    def _changes(self, expr: relay.Expr) -> bool:
        """Whether an 8-bit `expr` is stored otherwise than it was."""
        return dtype(expr) == "int8" or expr in self._offsets

    def _offset(self, expr: relay.Expr) -> int:
        """How much more the values of an 8-bit `expr` are as `_unsigned` has them."""
        return self._offsets.get(expr, _whole(expr))

    def _stored(self, call: relay.Expr, lowest: int) -> int:
        """How much more the values of a result, which are not less than `lowest`, are from now on."""
        upper_half = lowest + _whole(call) >= _OFFSET
        return self._store(call, _whole(call) - (_OFFSET if upper_half else 0))

    def _store(self, call: relay.Expr, offset: int) -> int:
        """The offset, by which a result is larger from now on."""
        if offset or dtype(call) == "int8":
            self._offsets[call] = offset
        return offset

    def _alike(self, exprs: Sequence[relay.Expr], new: New, lowest: int | None = None) -> tuple[list[relay.Expr], int]:
        """8-bit tensors of one type as uint8, all as much more, and how much; `lowest` is not negative then either."""
        offsets = {self._offset(expr) for expr in exprs}
        if len(offsets) == 1 and (lowest is None or lowest + min(offsets) >= 0):
            return [self._unsigned(expr, new) for expr in exprs], min(offsets)
        return [self._wholly(expr, new) for expr in exprs], _whole(exprs[0])

    def _wholly(self, expr: relay.Expr, new: New) -> relay.Expr:
        """The replacement of an 8-bit `expr` as uint8 that can have any value."""
        if self._offset(expr) == _whole(expr):
            return self._unsigned(expr, new)
        lookup = read_lookup(expr) or read_channel_lookup(expr)
        if lookup:
            return self._lookup(replace(lookup, outputs=lookup.outputs + _whole(expr), dtype="uint8"), new)
        return integer_form.lookup(new(expr), np.minimum(_STORED + _OFFSET, 255), "uint8", "uint8")

    def _by_stored(self, values: Int64Array, expr: relay.Expr) -> Int64Array:
        """Values by those of a tensor in ascending order, (..., 256), by the tensor's as it is stored."""
        if self._offset(expr) == _whole(expr):
            return values
        return np.concatenate([values[..., 128:], np.repeat(values[..., -1:], 128, axis=-1)], axis=-1)

    def _layer(self, call: relay.Expr, layer: Accumulation, new: New) -> relay.Expr:
        lowest = _padded_with(layer) if isinstance(layer, Convolution) else None
        (x,), offset = self._alike([layer.x], new, lowest)
        converted = layer
        if isinstance(layer, Convolution):
            converted = replace(layer, pad_value=layer.pad_value + offset, x_dtype="uint8")
        requantization = layer.requantization.moved(offset * _weight_sums(layer))
        requantization = _larger(requantization, self._stored(call, layer.requantization.clip[0]))
        return replace(converted, requantization=requantization, dtype="uint8").build(x)

    def _sums(self, sums: Convolution | Dense, new: New) -> relay.Expr:
        """Sums of 32 bits that nothing requantizes, less what they grow by."""
        lowest = _padded_with(sums) if isinstance(sums, Convolution) else None
        (x,), offset = self._alike([sums.x], new, lowest)
        if isinstance(sums, Convolution):
            more = replace(sums, pad_value=sums.pad_value + offset, x_dtype="uint8").sums_of(x)
        else:
            more = integer_form.product(x, np.ascontiguousarray(sums.weights))
        excess = relay.const((offset * _weight_sums(sums)).astype(np.int32))
        return relay.subtract(more, excess) if offset else more

    def _addition(self, call: relay.Expr, addition: Addition, new: New) -> relay.Expr:
        more = self._stored(call, addition.clip[0])
        bias = addition.bias + (more << addition.shift)
        for operand, multiplier in zip(addition.operands, addition.multipliers, strict=True):
            bias -= self._offset(operand) * multiplier
        low, high = addition.clip
        a, b = (self._unsigned(operand, new) for operand in addition.operands)
        return replace(addition, bias=bias, clip=(low + more, high + more), dtype="uint8").build(a, b)

    def _product(self, call: relay.Expr, product: Multiplication | Matrices, new: New) -> relay.Expr:
        """The zero points move with what they are of."""
        requantization = product.requantization
        requantization = _larger(requantization, self._stored(call, requantization.clip[0]))
        first, second = (
            zero + self._offset(operand) for operand, zero in zip(product.operands, product.zero_points, strict=True)
        )
        a, b = (self._unsigned(operand, new) for operand in product.operands)
        return replace(product, zero_points=(first, second), requantization=requantization, dtype="uint8").build(a, b)

    def _tables(self, tables: Int64Array, operands: tuple[relay.Expr, relay.Expr]) -> Int64Array:
        """A table for each of two operands, (2, 256), as `_by_stored`."""
        return np.stack([self._by_stored(values, x) for values, x in zip(tables, operands, strict=True)])

    def _squared_difference(self, call: relay.Expr, difference: SquaredDifference, new: New) -> relay.Expr:
        requantization = difference.requantization
        converted = replace(
            difference,
            requantization=_larger(requantization, self._stored(call, requantization.clip[0])),
            steps=self._tables(difference.steps, difference.operands),
            x_dtypes=("uint8", "uint8"),
            dtype="uint8",
        )
        return converted.build(*(self._unsigned(operand, new) for operand in difference.operands))

    def _lookup_sum(self, call: relay.Expr, lookups: LookupSum, new: New) -> relay.Expr:
        """The second table's numbers make up for larger outputs."""
        low, high = lookups.clip
        more = self._stored(call, low)
        tables = self._tables(lookups.tables, lookups.operands) + np.array([[0], [more << LOOKUP_SUM_FRACTION]])
        a, b = (self._unsigned(operand, new) for operand in lookups.operands)
        types = "uint8", "uint8"
        converted = replace(lookups, x_dtypes=types, tables=tables, clip=(low + more, high + more), dtype="uint8")
        return converted.build(a, b)

    def _lookup_line(self, call: relay.Expr, line: LookupLine, new: New) -> relay.Expr:
        """The biases make up for larger values of the first tensor, and for larger outputs."""
        low, high = line.clip
        more, before = self._stored(call, low), self._offset(line.operands[0])
        slopes, biases = self._by_stored(line.lines, line.operands[1])
        lines = np.stack([slopes, biases - before * slopes + (more << LOOKUP_LINE_FRACTION)])
        a, b = (self._unsigned(operand, new) for operand in line.operands)
        types = "uint8", "uint8"
        converted = replace(line, x_dtypes=types, lines=lines, clip=(low + more, high + more), dtype="uint8")
        return converted.build(a, b)

    def _absolute_difference(self, call: relay.Expr, distances: AbsoluteDifference, new: New) -> relay.Expr:
        """Outputs begin where they are clipped from below."""
        low, high = distances.clip
        more = self._stored(call, low)
        tables = self._tables(distances.tables, distances.operands)
        a, b = (self._unsigned(operand, new) for operand in distances.operands)
        types = "uint8", "uint8"
        converted = replace(distances, x_dtypes=types, tables=tables, clip=(low + more, high + more), dtype="uint8")
        return converted.build(a, b)

    def _normalization(self, call: relay.Expr, found: RowNormalization, new: New) -> relay.Expr:
        """Distances from the mean are what they were; another value that they are from moves with the input."""
        own = found.normalization
        if own.centre is not None:
            own = replace(own, centre=own.centre + self._offset(found.x))
        requantization = _larger(found.requantization, self._stored(call, found.requantization.clip[0]))
        converted = replace(found, normalization=own, requantization=requantization, dtype="uint8")
        return converted.build(self._unsigned(found.x, new), shape(found.x)[-1])

    def _resize(self, call: relay.Expr, resize: Resize, new: New) -> relay.Expr:
        """Between the pixels of a map no value is less than its smallest."""
        offset = self._store(call, self._offset(resize.x))
        return replace(resize, zero=resize.zero + offset, dtype="uint8").build(self._unsigned(resize.x, new))

    def _recurrent(self, call: relay.Expr, found: RecurrentLayer, new: New) -> relay.Expr:
        """States are activations, too; those of 16 bits stay."""
        if found.dtype == "int16":
            return found.build(new(found.x))
        more = self._stored(call, np.iinfo(found.dtype).min)
        inputs, states = (
            weights.sum(axis=2, dtype=np.int64) * offset
            for weights, offset in ((found.input_weights, self._offset(found.x)), (found.state_weights, more))
        )
        offsets = found.offsets - np.stack([inputs, states])
        converted = replace(found, offsets=offsets, zero=found.zero + more, dtype="uint8")
        return converted.build(self._unsigned(found.x, new))

    def _unsigned_lookup(self, call: relay.Expr, lookup: Lookup | ChannelLookup, new: New) -> relay.Expr:
        more = self._stored(call, int(lookup.outputs.min()))
        return self._lookup(replace(lookup, outputs=lookup.outputs + more, dtype="uint8"), new)

    def _lookup(self, lookup: Lookup | ChannelLookup, new: New) -> relay.Expr:
        """The table on its input as that is stored, which needs no conversion of its own."""
        if lookup.x not in self._offsets:
            return lookup.build(new(lookup.x))
        outputs = self._by_stored(lookup.outputs, lookup.x)
        return replace(lookup, outputs=outputs, x_dtype="uint8").build(new(lookup.x))

    def _is_place(self, call: relay.Call) -> bool:
        """Whether a call finds the largest or smallest of a widened tensor whose values this pass changed."""
        if not is_call(call, "argmax", "argmin") or not is_call(call.args[0], "cast"):
            return False
        return call.args[0].args[0] in self._offsets

    def _is_difference(self, call: relay.Call) -> bool:
        """Whether a call subtracts two widened 8-bit tensors of one type, and this pass changed the values of one."""
        if not is_call(call, "subtract") or not all(is_call(x, "cast") and is_8bit(x.args[0]) for x in call.args):
            return False
        first, second = (x.args[0] for x in call.args)
        return dtype(first) == dtype(second) and (first in self._offsets or second in self._offsets)

    def _dequantized(self, call: relay.Call, new: New) -> relay.Expr | None:
        """A dequantize of what is stored otherwise now, or of a quantize to int8, which can make uint8."""
        if not is_call(call, "qnn.dequantize") or not is_8bit(call.args[0]) or not self._changes(call.args[0]):
            return None
        x, scale, zero_point = call.args
        moved = _moved_zero_point(zero_point, self._offset(x))
        if moved is None or not (x in self._offsets or is_call(x, "qnn.quantize")):
            return None
        return relay.Call(call.op, [self._unsigned(x, new), new(scale), moved], call.attrs)

    def _moved(self, call: relay.Call, new: New) -> relay.Expr | None:
        """Operators that pass values on, or compare them among themselves; None for others and other types."""
        name = operator_name(call)
        if not isinstance(call.checked_type, tvm.ir.TensorType) or not is_8bit(call):
            return None
        tensors = (call.args[0], *_fields(call.args[0])) if call.args else ()
        if dtype(call) == "uint8" and not any(tensor in self._offsets for tensor in tensors):
            return None
        if name in _MOVES:
            (x,), offset = self._alike(call.args[:1], new)
            self._store(call, offset)
            return relay.Call(call.op, [x, *map(new, call.args[1:])], call.attrs)
        if name == "clip":
            (x,), offset = self._alike(call.args, new, int(call.attrs.a_min))
            self._store(call, offset)
            return relay.clip(x, call.attrs.a_min + offset, call.attrs.a_max + offset)
        if name in ("concatenate", "stack") and isinstance(call.args[0], relay.Tuple):
            fields, offset = self._alike(call.args[0].fields, new)
            self._store(call, offset)
            return relay.Call(call.op, [relay.Tuple(fields)], call.attrs)
        if name == "nn.pad" and scalar(call.args[1]) is not None:
            value = int(scalar(call.args[1]))
            (x,), offset = self._alike(call.args[:1], new, value)
            self._store(call, offset)
            return relay.Call(call.op, [x, relay.const(value + offset, "uint8")], call.attrs)
        return None


def _padded_with(layer: Convolution) -> int | None:
    """What lies around a convolution's input; None if nothing does."""
    return layer.pad_value if any(layer.padding) else None


def _whole(expr: relay.Expr) -> int:
    """How much more the values of an 8-bit tensor are as uint8 that can be any."""
    return _OFFSET if dtype(expr) == "int8" else 0


def _fields(expr: relay.Expr) -> tuple[relay.Expr, ...]:
    return tuple(expr.fields) if isinstance(expr, relay.Tuple) else ()


def _unsigned_quantize(expr: relay.Expr, new: New) -> relay.Expr | None:
    """A quantize to int8 as one to uint8."""
    if not is_call(expr, "qnn.quantize"):
        return None
    x, scale, zero_point = expr.args
    moved = _moved_zero_point(zero_point, _OFFSET)
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


def _moved_zero_point(zero_point: relay.Expr, offset: int) -> relay.Expr | None:
    """A constant zero point, larger by `offset`."""
    value = constant(zero_point)
    return None if value is None else relay.const((value + np.int32(offset)).astype(np.int32), "int32")


def _weight_sums(layer: Accumulation) -> Int64Array:
    """What each channel's accumulator grows by when every input grows by one."""
    if isinstance(layer, Convolution):
        return layer.weights_by_output.sum(axis=1, dtype=np.int64)
    if isinstance(layer, Average):
        return np.full(layer.requantization.channels, layer.window[0] * layer.window[1], np.int64)
    return layer.weights.sum(axis=1, dtype=np.int64)


def _larger(requantization: Requantization, more: int) -> Requantization:
    """The outputs, larger by `more`."""
    low, high = requantization.clip
    bias = requantization.bias + (np.int64(more) << requantization.shift)
    return replace(requantization, bias=bias, clip=(low + more, high + more))
