"""How TVM computes each operator of the graph: Relay that `match.relay.graph_reader` reads as that operator again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from match.graph.elements import (
    ChannelLookup,
    Dequantize,
    DequantizeSums,
    Gate,
    LeakyRelu,
    Lookup,
    Quantize,
    RealLookup,
    Requantize,
    RequantizeReal,
)
from match.graph.float_average import FloatAverage
from match.graph.integers import Clip, Difference, Elementwise, Entries, Extreme, Once, Place, Saturate, Truth
from match.graph.layouts import FromLayout, ToLayout
from match.graph.maximum import Maximum
from match.graph.moves import FILL, Columns, Concatenate, Move
from match.graph.operator import Operator
from match.graph.pairs import (
    AbsoluteDifference,
    Addition,
    Extremum,
    FunctionOfTwo,
    Int16Addition,
    Int16Multiplication,
    LookupLine,
    LookupSum,
    Matrices,
    Multiplication,
    SquaredDifference,
)
from match.graph.reals import Levels, RealClip, RealFunction
from match.graph.recurrent import Gru, Lstm
from match.graph.resize import Resize
from match.graph.rows import LogSoftmax, Normalization, RealSoftmax, Softmax, Softmax16, SoftmaxOfLevels
from match.graph.sums import SUMS, Accumulation, Average, Convolution, Dense
from match.ir.graph import Tensor
from match.relay import float_arithmetic, integer_form, relay
from match.relay.fixed_point import alone
from match.relay.fixed_point_operators import fixed_point
from match.relay.float_averages import float_average
from match.relay.gathers import gathered
from match.relay.int16_addition import int16_addition
from match.relay.int16_gates import int16_gate
from match.relay.int16_leaky_relu import int16_leaky_relu
from match.relay.int16_softmax import int16_softmax
from match.relay.layouts import from_layout, to_layout
from match.relay.log_softmax import log_softmax
from match.relay.normalization import normalization
from match.relay.real_lowering import real_operator
from match.relay.recurrent import in_steps
from match.relay.resize import resized
from match.relay.softmax import softmax, softmax_of_levels


def lowered(
    operator: Operator, inputs: Sequence[relay.Expr], tensors: Sequence[Tensor], *, exact: bool = True
) -> relay.Expr:
    """The Relay expression of an operator.

    Args:
        operator: of any class but `Opaque`, which is Relay, and those that only modules compute.
        inputs: what it is computed from, typed or not.
        tensors: the shapes and types of the inputs.
        exact: whether the reference is known to compute just these numbers.
    """
    for lower in (_sums, _pair, _element, _row, _place, _of_the_core):
        expr = lower(operator, inputs, tensors, exact)
        if expr is not None:
            return expr
    raise AssertionError(f"{type(operator).__name__} has no form in Relay of its own")


def _sums(
    operator: Operator, inputs: Sequence[relay.Expr], tensors: Sequence[Tensor], exact: bool
) -> relay.Expr | None:
    """Convolutions, dense layers and averages."""
    if not isinstance(operator, Accumulation):
        return None
    (x,), dtype = inputs, tensors[0].dtype
    sums = "int64" if dtype == "int16" and operator.has_wide_sums(dtype) else "int32"
    match operator:
        case Convolution():
            total = integer_form.convolution(
                x,
                np.ascontiguousarray(_weights(operator, dtype)),
                sums=sums,
                x_dtype=dtype,
                strides=operator.strides,
                padding=operator.padding,
                dilation=operator.dilation,
                groups=operator.groups,
                # Of one channel both layouts have the same bytes, and TVM takes the depthwise one in groups alone.
                kernel_layout=operator.kernel_layout if operator.groups > 1 else "HWIO",
                pad_value=operator.pad_value,
            )
        case Dense():
            total = integer_form.product(x, np.ascontiguousarray(_weights(operator, dtype)), sums)
        case Average():
            total = integer_form.window_sum(x, operator.window, operator.strides, operator.whole_map)
        case _:
            return None
    if operator.dtype == SUMS:
        return total
    marked = total if exact else integer_form.real_sums(total)
    return integer_form.requantize(marked, operator.requantization, operator.dtype, sums)


def _weights(operator: Convolution | Dense, x_dtype: str) -> integer_form.Weights:
    """The weights in the type that TVM multiplies numbers of `x_dtype` with."""
    return operator.weights.astype(np.int16) if x_dtype == "int16" else operator.weights


def _pair(
    operator: Operator, inputs: Sequence[relay.Expr], tensors: Sequence[Tensor], exact: bool
) -> relay.Expr | None:
    """Operators of two activations."""
    if len(inputs) != 2:
        return None
    (a, b), dtypes, real = inputs, (tensors[0].dtype, tensors[1].dtype), not exact
    match operator:
        case Addition():
            own = operator.multipliers, operator.bias, operator.shift, operator.clip, operator.dtype
            return integer_form.add(a, b, *own, ties_to_even=operator.ties_to_even, real=real)
        case Multiplication():
            own = operator.zero_points, operator.requantization, operator.dtype
            product = integer_form.multiply(a, b, *own, real=real)
            # A step reads the sum a second time, so that TVM's products of products would double with each.
            return product if operator.requantization.negative_step is None else alone(product)
        case SquaredDifference():
            return integer_form.squared_difference(
                a, b, dtypes, operator.steps, operator.requantization, operator.dtype
            )
        case LookupSum():
            return integer_form.lookup_sum(a, b, dtypes, operator.tables, operator.clip, operator.dtype, real=real)
        case LookupLine():
            return integer_form.lookup_line(a, b, dtypes, operator.lines, operator.clip, operator.dtype, real=real)
        case AbsoluteDifference():
            return integer_form.absolute_difference(a, b, dtypes, operator.tables, operator.clip, operator.dtype)
        case Extremum():
            return relay.maximum(a, b) if operator.largest else relay.minimum(a, b)
        case Matrices():
            requantization = operator.requantization.take(np.zeros(tensors[1].shape[1], np.intp))
            sums = "int64" if dtypes[0] == "int16" else "int32"
            return integer_form.matrices(a, b, operator.zero_points, requantization, operator.dtype, sums, real=real)
        case Int16Addition():
            return int16_addition(operator, a, b)
        case Int16Multiplication():
            product = relay.multiply(relay.cast(a, "int32"), relay.cast(b, "int32"))
            return integer_form.requantize(product, operator.requantization, operator.dtype)
        case FunctionOfTwo():
            outputs = operator.outputs.astype(np.int64)
            return integer_form.lookup_pair(a, b, outputs, dtypes, operator.dtype, real=real)
        case Difference():
            return relay.subtract(relay.cast(a, operator.dtype), relay.cast(b, operator.dtype))
        case _:
            return None


def _element(
    operator: Operator, inputs: Sequence[relay.Expr], tensors: Sequence[Tensor], exact: bool
) -> relay.Expr | None:
    """Functions of each element."""
    if not inputs:
        return None
    x, real = inputs[0], not exact
    match operator:
        case Lookup():
            return integer_form.lookup(x, operator.outputs, tensors[0].dtype, operator.dtype, real=real)
        case RealLookup():
            return integer_form.real_lookup(x, operator.numbers, tensors[0].dtype, real=real)
        case ChannelLookup():
            return integer_form.channel_lookup(x, operator.outputs, tensors[0].dtype, operator.dtype, real=real)
        case Quantize():
            return float_arithmetic.quantized(x, operator.function)
        case Dequantize():
            steps = relay.subtract(relay.cast(x, "int32"), relay.const(operator.zero_point, "int32"))
            return relay.multiply(relay.cast(steps, "float32"), relay.const(operator.scale))
        case DequantizeSums():
            return _real_line(operator, integer_form.real_sums(x) if real else x)
        case RequantizeReal():
            sums = integer_form.real_sums(x) if real else x
            own = operator.offset, operator.factor, operator.zero_point, operator.clip, operator.dtype
            return float_arithmetic.requantize(sums, *own)
        case Requantize():
            return integer_form.requantize(relay.cast(x, "int32"), operator.requantization, operator.dtype)
        case Gate():
            return alone(int16_gate(operator, x))
        case LeakyRelu():
            return alone(int16_leaky_relu(operator, x))
        case Elementwise(function="cast"):
            return relay.cast(x, operator.dtype)
        case Elementwise():
            function: Any = getattr(relay, operator.function)
            return function(*inputs)
        case RealClip(low=low, high=high):
            return _clipped(x, low, high)
        case RealFunction():
            return _real_function(operator, inputs)
        case Once():
            return alone(x)
        case Clip():
            return relay.clip(x, *operator.limits)
        case Saturate():
            more = relay.add(x, relay.const(operator.more, "int32")) if operator.more else x
            return integer_form.saturate(more, operator.clip, operator.dtype)
        case Entries():
            table = relay.const(operator.table, operator.table.dtype.name)
            return relay.take(table, integer_form.real_sums(x) if real else x)
        case _:
            return None


def _clipped(x: relay.Expr, low: float, high: float) -> relay.Expr:
    """Real numbers between two limits."""
    if (low, high) == (0, math.inf):
        return relay.nn.relu(x)
    if np.isfinite([low, high]).all():
        return relay.clip(x, low, high)
    x = relay.maximum(x, relay.const(np.float32(low))) if np.isfinite(low) else x
    return relay.minimum(x, relay.const(np.float32(high))) if np.isfinite(high) else x


def _real_function(operator: RealFunction, inputs: Sequence[relay.Expr]) -> relay.Expr:
    """A function of real numbers, which Relay calls alike."""
    if operator.function == "cast":
        return relay.cast(inputs[0], operator.dtype)
    if operator.function == "round_half_to_even":
        return _rounded(inputs[0])
    function: Any = getattr(relay, operator.function)
    return function(*inputs)


def _rounded(x: relay.Expr) -> relay.Expr:
    """The nearest integers, of halves the even one."""
    half, one, two = (relay.const(np.float32(number)) for number in (0.5, 1, 2))
    nearest = relay.ceil(relay.subtract(x, half))
    is_half = relay.subtract(one, relay.subtract(relay.ceil(relay.add(x, half)), relay.floor(relay.add(x, half))))
    return relay.add(nearest, relay.multiply(is_half, relay.abs(relay.mod(nearest, two))))


def _real_line(line: DequantizeSums, sums: relay.Expr) -> relay.Expr:
    """Sums as real numbers: what is 0 everywhere is not added."""
    total = relay.add(sums, relay.const(line.offset)) if line.offset.any() else sums
    product = relay.multiply(relay.cast(total, "float32"), relay.const(line.scale))
    nothing = not line.bias.any() and np.signbit(line.bias).all()  # 0 + -0 is 0: other zeros change numbers
    return product if nothing else relay.add(product, relay.const(line.bias))


def _row(operator: Operator, inputs: Sequence[relay.Expr], tensors: Sequence[Tensor], exact: bool) -> relay.Expr | None:
    """Functions of rows and of sequences."""
    if len(inputs) != 1 or not tensors[0].shape:
        return None
    (x,), width = inputs, tensors[0].shape[-1]
    match operator:
        case Softmax():
            own = operator.exponentials, operator.dtype, operator.zero, operator.scale
            return softmax(x, width, *own)
        case Softmax16():
            return alone(int16_softmax(operator, x, width))
        case LogSoftmax():
            return log_softmax(x, width, operator.tables)
        case Normalization():
            return normalization(x, width, operator.normalization, operator.requantization, operator.dtype)
        case Lstm() | Gru():
            return in_steps(operator, x, tensors[0])
        case Resize():
            return resized(operator, x, exact=exact)
        case FloatAverage():
            _, rows, columns, channels = tensors[0].shape
            return float_average(operator, x, (rows, columns), channels)
        case _:
            return None


def _place(
    operator: Operator, inputs: Sequence[relay.Expr], tensors: Sequence[Tensor], exact: bool
) -> relay.Expr | None:
    """Operators that hand on elements, or say where they are."""
    del exact
    match operator:
        case Move():
            return _moved(operator, inputs[0], tensors[0])
        case Levels():
            return relay.const(operator.compute())
        case Concatenate():
            return relay.concatenate(list(inputs), operator.axis)
        case Maximum():
            return integer_form.max_pool2d(
                inputs[0],
                window=operator.window,
                strides=operator.strides,
                padding=operator.padding,
                dilation=operator.dilation,
            )
        case Extreme():
            reduce = relay.max if operator.largest else relay.min
            return reduce(inputs[0], operator.axes, operator.keepdims)
        case Place():
            find = relay.argmax if operator.largest else relay.argmin
            # In 32 bits, or TVM would find no element that beats the least of 8.
            wide = inputs[0] if tensors[0].dtype == "float32" else relay.cast(inputs[0], "int32")
            found = find(wide, operator.axis, operator.keepdims, select_last_index=operator.last)
            return found if operator.dtype == "int32" else relay.cast(found, operator.dtype)
        case _:
            return None


def _of_the_core(
    operator: Operator, inputs: Sequence[relay.Expr], tensors: Sequence[Tensor], exact: bool
) -> relay.Expr | None:
    """Operators that only the control core computes."""
    del exact
    match operator:
        case RealSoftmax():
            function = relay.nn.log_softmax if operator.logarithm else relay.nn.softmax
            return function(inputs[0], axis=-1)
        case SoftmaxOfLevels():
            return softmax_of_levels(inputs[0], operator.exponentials)
        case ToLayout():
            return to_layout(inputs[0], operator.layout)
        case FromLayout():
            return from_layout(inputs[0], operator.layout, operator.shape)
        case Truth():
            function = relay.all if operator.every else relay.any
            return function(inputs[0], operator.axes)
        case _:
            return (
                fixed_point(operator, inputs, tensors)
                or gathered(operator, inputs, tensors)
                or real_operator(operator, inputs, tensors)
            )


def _moved(move: Move, x: relay.Expr, tensor: Tensor) -> relay.Expr:
    """A reshape, a transposition, or indices of one axis after the other and what fills around them."""
    if move.keeps_order:
        return relay.reshape(x, move.shape)
    if move.split != tensor.shape:
        x = relay.reshape(x, move.split)
    if any(columns is not None for columns in move.columns):
        x = _taken(move, x, tensor.dtype)
    if move.turns:
        x = relay.transpose(x, move.axes)
    turned = tuple(move.taken[axis] for axis in move.axes)
    return x if turned == move.shape else relay.reshape(x, move.shape)


def _taken(move: Move, x: relay.Expr, dtype: str) -> relay.Expr:
    """The indices of each axis: a slice of all, or the axes in their order."""
    slices = [_slice(columns, extent) for columns, extent in zip(move.columns, move.split, strict=True)]
    if all(one is not None for one in slices):
        begins, ends, steps = zip(*(one for one in slices if one is not None), strict=True)
        return relay.strided_slice(x, begins, ends, steps)
    widths: list[tuple[int, int]] = []
    for axis, columns in enumerate(move.columns):
        before = after = 0
        if columns is not None:
            inside = np.flatnonzero(columns != FILL)
            before, after = int(inside[0]), int(len(columns) - 1 - inside[-1])
            taken = columns[before : len(columns) - after]
            whole = np.arange(move.split[axis])
            if np.any(taken == FILL):  # what fills between elements is taken from after them
                behind = [(0, int(other == axis)) for other in range(len(move.split))]
                x = relay.nn.pad(x, behind, relay.const(move.fill, dtype))
                taken = np.where(taken == FILL, len(whole), taken)
            if np.array_equal(taken, whole[::-1]) and len(whole) > 1:
                x = relay.reverse(x, axis)
            elif not np.array_equal(taken, whole):
                x = relay.take(x, relay.const(taken), axis=axis)
        widths.append((before, after))
    return relay.nn.pad(x, widths, relay.const(move.fill, dtype)) if any(map(any, widths)) else x


def _slice(columns: Columns | None, extent: int) -> tuple[int, int, int] | None:
    """First index, end and step of indices that are one step of 1 or more apart; None for others."""
    if columns is None:
        return 0, extent, 1
    step = int(columns[1] - columns[0]) if len(columns) > 1 else 1
    if columns[0] == FILL or step < 1 or np.any(np.diff(columns) != step):
        return None
    return int(columns[0]), int(columns[-1]) + 1, step
