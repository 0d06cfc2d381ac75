"""Groups of dequantize, a function of a row, and quantize, as ONNX files have them, become operators on integers.

The reference computes the function in floating point. The outputs are within one step of the reference's.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from match.arithmetic import onnxruntime
from match.arithmetic.interface import QuantizedType
from match.arithmetic.parts_of_functions import Reals, in_parts, in_steps
from match.graph.rows import LONGEST_REAL_ROW, ProbabilityScale, log_tables
from match.ir.dtypes import value_range
from match.passes.element_functions import ElementFunction, function_behind
from match.passes.parts_added import added
from match.passes.quantized_groups.activations import without_activations
from match.quantized.normalized_rows import NormalizedRow, Steps
from match.relay import relay, tvm
from match.relay.log_softmax import log_softmax
from match.relay.normalization import normalization
from match.relay.qnn import dequantized, quantized, real_constant
from match.relay.rewrite import New, is_call, named, reached, rewrite, scalar, shape
from match.relay.softmax import softmax

_MOST_PARTS = 64
"""The most rows with gains of their own: each becomes an operator."""


_OfRows = Callable[[relay.Expr, QuantizedType, int], relay.Expr | None]
"""What becomes of rows of an 8-bit tensor, with its quantization and the number of the first; None for some."""


@dataclass(frozen=True)
class FuseRowFunctions:
    """Softmax along an axis, its logarithm and normalization become integers, exponentials of distances a table."""

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, self._rule)

    def _rule(self, call: relay.Call, new: New) -> relay.Expr | None:
        output = quantized(call)
        if output is None:
            return _log_softmax(call, new) or _exponentials(call, new)
        levels = onnxruntime.softmax_levels(output.scale)
        return _softmax(call, output, levels, new) or _normalization(call, output, new)


def _softmax(call: relay.Call, output: QuantizedType, levels: float, new: New) -> relay.Expr | None:
    """The softmax that a call quantizes, `levels` steps for 1. An axis that is not the last one is moved to the end."""
    expr = call.args[0]
    if not is_call(expr, "nn.softmax"):
        return None
    scores, rank = dequantized(expr.args[0]), len(shape(expr))
    axis = int(expr.attrs.axis) % rank
    width, scale = shape(expr)[axis], ProbabilityScale.of(levels)
    if scores is None or scale is None or width > LONGEST_REAL_ROW:
        return None
    exponentials = onnxruntime.softmax_exponentials(scores.quantization.scale)
    x, order = new(scores.x), [*(other for other in range(rank) if other != axis), axis]
    if axis == rank - 1:
        return softmax(x, width, exponentials, output.dtype, output.zero_point, scale)
    rows = softmax(relay.transpose(x, order), width, exponentials, output.dtype, output.zero_point, scale)
    return relay.transpose(named(rows, call), [order.index(other) for other in range(rank)])


def _log_softmax(call: relay.Call, new: New) -> relay.Expr | None:
    """The logarithm of a softmax, one operator or written out; its axis as of `_softmax`. It stays float32."""
    found = _logarithm_of(call)
    source = None if found is None else dequantized(found[0])
    if found is None or source is None:
        return None
    axis, rank, scale = found[1], len(shape(call)), source.quantization.scale
    tables = log_tables(scale, onnxruntime.softmax_exponentials(scale))
    width = shape(call)[axis]
    if tables is None or width > LONGEST_REAL_ROW:
        return None
    x, order = new(source.x), [*(other for other in range(rank) if other != axis), axis]
    if axis == rank - 1:
        return log_softmax(x, width, tables)
    rows = log_softmax(relay.transpose(x, order), width, tables)
    return relay.transpose(named(rows, call), [order.index(other) for other in range(rank)])


def _logarithm_of(call: relay.Call) -> tuple[relay.Expr, int] | None:
    """What a logarithm of a softmax is of, and its axis."""
    if is_call(call, "nn.log_softmax"):
        return call.args[0], int(call.attrs.axis) % len(shape(call))
    distance = reached(call, ("subtract", 1), "log", "sum", "exp")
    if distance is None or distance != call.args[0] or not is_call(distance, "subtract"):
        return None
    x, largest = distance.args
    total = call.args[1].args[0]
    if not is_call(largest, "max") or largest.args[0] != x or shape(largest) != shape(total):
        return None
    axes = [axis for axis, (one, all_) in enumerate(zip(shape(total), shape(x), strict=True)) if one != all_]
    return (x, axes[0]) if len(axes) == 1 else None


def _exponentials(call: relay.Call, new: New) -> relay.Expr | None:
    """The exponentials of distances to the largest of 8-bit numbers, from a table of as many as there are distances.

    They stay in floating point, as in a logarithm of their sum.
    """
    distance = reached(call, "exp")
    if distance is None or not is_call(distance, "subtract") or not is_call(distance.args[1], "max"):
        return None
    x, largest = distance.args
    source = dequantized(x.args[0] if is_call(x, "reshape") else x)
    if source is None or largest.args[0] != x or not largest.attrs.keepdims or largest.attrs.exclude:
        return None
    levels = relay.reshape(new(source.x), shape(x)) if is_call(x, "reshape") else new(source.x)
    highest = relay.max(levels, largest.attrs.axis, keepdims=True)
    steps = relay.subtract(relay.cast(highest, "int32"), relay.cast(levels, "int32"))
    numbers = np.exp(-float(source.quantization.scale) * np.arange(256))
    return relay.take(relay.const(numbers.astype(np.float32)), steps)


@dataclass(frozen=True, eq=False)
class _Normal:
    """``(x - mean) / sqrt(variance + epsilon)`` of rows, or if not `centred` ``x / sqrt(mean of squares + epsilon)``.

    Of sums of squares in the place of means, `gain` is the root of their quotient. Rows are of `width` elements along
    the last axes, or along one other axis.
    """

    x: relay.Expr
    epsilon: float
    width: int
    centred: bool
    gain: float = 1.0
    axis: int | None = None


@dataclass(frozen=True, eq=False)
class _Normalized:
    """A `_Normal` of rows of a dequantized tensor, times a gain, with a bias.

    gain and bias are of shape (1, n), or (rows, n) where each row has its own.
    """

    x: relay.Expr
    epsilon: float
    centred: bool
    axis: int | None
    gain: Reals
    bias: Reals


def _normalization(call: relay.Call, output: QuantizedType, new: New) -> relay.Expr | None:
    """The normalization that a call quantizes, with activations or any function of each element after it."""
    expr, clip = without_activations(call.args[0], output)
    found = _normalized(expr)
    if found is not None:
        steps = Steps(float(output.scale), output.zero_point, clip, output.dtype)
        return _by_rows(call, found, partial(_rows, found, steps), new)
    found, function = function_behind(call.args[0], _normalized) or (None, None)
    if found is None or function is None:
        return None
    of_rows = _function(found, function, output)
    return None if of_rows is None else _by_rows(call, found, of_rows, new)


def _function(found: _Normalized, function: ElementFunction, output: QuantizedType) -> _OfRows | None:
    """A function of a normalization: of one tensor of 8 bits, or the sum of what it is of two."""
    low, high = value_range(output.dtype)
    gain, bias = (float(np.abs(values).max()) for values in (found.gain, found.bias))
    parted = in_parts(in_steps(function, output), output, gain * found.gain.shape[1] ** 0.5 + bias)
    if parted is None:
        return None

    def of_rows(x: relay.Expr, own: QuantizedType, row: int) -> relay.Expr | None:
        levels = [Steps(part.step, low - part.low / part.step, (low, high), output.dtype) for part in parted.parts]
        maps = [normal for part in levels if (normal := _rows(found, part, x, own, row)) is not None]
        return added(parted, maps, output.dtype) if len(maps) == len(levels) else None

    return of_rows


def _by_rows(call: relay.Call, found: _Normalized, of_rows: _OfRows, new: New) -> relay.Expr | None:
    """What becomes of a normalization's rows. It has the place in the model of the call that it stands for."""
    source, extents = dequantized(found.x), list(shape(call))
    if source is None or not np.isfinite([found.epsilon, *found.gain.flat, *found.bias.flat]).all():
        return None
    count, width = found.gain.shape
    rows, parts = new(source.x), list[relay.Expr]()
    order = [*range(len(extents))]
    if found.axis is not None:
        order.append(order.pop(found.axis))
        extents.append(extents.pop(found.axis))
        rows = relay.transpose(rows, order)
    if count > 1:
        rows = relay.reshape(rows, (count, width))
    elif extents[-1] != width:
        rows = relay.reshape(rows, (-1, width))
    starts = _changes(found.gain, found.bias)
    if len(starts) > _MOST_PARTS:
        return None
    for start, end in itertools.pairwise([*starts, count]):
        part = rows if count == 1 else relay.strided_slice(rows, [start], [end], axes=[0])
        made = of_rows(part, source.quantization, start)
        if made is None:
            return None
        parts.append(named(made, call))
    result = relay.reshape(parts[0] if len(parts) == 1 else relay.concatenate(parts, 0), extents)
    return result if found.axis is None else relay.transpose(result, [order.index(axis) for axis in range(len(order))])


def _changes(*parameters: npt.NDArray[np.float64]) -> list[int]:
    """The rows that have other parameters than the row before, the first one among them."""
    changed = np.logical_or.reduce([np.any(values[1:] != values[:-1], axis=1) for values in parameters])
    return [0, *(np.flatnonzero(changed) + 1).tolist()]


def _rows(found: _Normalized, steps: Steps, x: relay.Expr, own: QuantizedType, row: int) -> relay.Expr | None:
    """Rows along the last axis of an 8-bit tensor, normalized, with the gains and biases of a row."""
    normal = NormalizedRow(found.epsilon, found.centred, found.gain[row], found.bias[row]).of(own, steps)
    if normal is None:
        return None
    return normalization(x, found.gain.shape[1], normal.normalization, normal.requantization, steps.dtype)


def _normalized(expr: relay.Expr) -> _Normalized | None:
    """A normalization along the last axes, as TVM imports it, or as exporters write it out.

    Between the normalization and its gains, and in front of it, reshapes may stand.
    """
    whole = expr
    expr, bias = _beside(expr, "add", np.zeros(()))
    expr, gain = _beside(expr, "multiply", np.ones(()))
    expr = expr.args[0] if is_call(expr, "reshape") else expr
    found = next((one for read in (_imported, _written_out, _uncentred) if (one := read(expr)) is not None), None)
    if found is None:
        return None
    axis = -1 if found.axis is None else found.axis
    gain, bias = (
        np.moveaxis(np.broadcast_to(values.astype(np.float64), shape(whole)), axis, -1).reshape(-1, found.width)
        for values in (gain * found.gain, bias)
    )
    if len(_changes(gain, bias)) == 1:
        gain, bias = gain[:1], bias[:1]
    x = found.x.args[0] if is_call(found.x, "reshape") else found.x
    return _Normalized(x, found.epsilon, found.centred, found.axis, gain, bias)


def _beside(expr: relay.Expr, name: str, nothing: npt.NDArray[Any]) -> tuple[relay.Expr, npt.NDArray[Any]]:
    """The tensor and the constant that an operator takes, in either order; `nothing` where it is another operator."""
    if is_call(expr, name):
        left, right = expr.args
        for tensor, other in ((left, right), (right, left)):
            if (numbers := real_constant(other)) is not None:
                return tensor, numbers
    return expr, nothing


def _uncentred(expr: relay.Expr) -> _Normal | None:
    """``x / root``, or x times its reciprocal, where the root is that of a mean or a sum of the squares of x."""
    if is_call(expr, "divide"):
        x, root = expr.args
    elif is_call(expr, "multiply") and (inverse := next(filter(_is_reciprocal, expr.args), None)) is not None:
        x, root = next(operand for operand in expr.args if operand != inverse), inverse.args[1]
    else:
        return None
    least = 0.0
    if is_call(root, "broadcast_to"):
        root = root.args[0]
    if is_call(root, "maximum") and (bound := scalar(root.args[1])) is not None:
        root, least = root.args[0], float(bound)
    total = reached(root, "sqrt")
    if total is None:
        return None
    total, epsilon = _beside(total, "add", np.zeros(()))
    squares = total.args[0] if is_call(total, "mean", "sum") else None
    if squares is None or not isinstance(total, relay.Call):
        return None
    width, axis = _row(total), None if is_call(x, "reshape") else _other_axis(total)
    if axis is not None:
        width = shape(x)[axis]
    if width is None or not is_call(squares, "multiply") or list(squares.args) != [x, x]:
        return None
    source = dequantized(x.args[0] if is_call(x, "reshape") else x)
    if epsilon.size != 1 or source is None or least > source.quantization.scale:  # which is the least root but 0
        return None
    summed = is_call(total, "sum")
    of_mean = float(epsilon.item()) / (width if summed else 1)
    return _Normal(x, of_mean, width, centred=False, gain=width**-0.5 if summed else 1.0, axis=axis)


def _is_reciprocal(expr: relay.Expr) -> TypeGuard[relay.Call]:
    return is_call(expr, "divide") and scalar(expr.args[0]) == 1


def _imported(expr: relay.Expr) -> _Normal | None:
    """``(x - mean) * (1 / sqrt(variance + epsilon))``."""
    if not is_call(expr, "multiply") or not is_call(expr.args[0], "subtract"):
        return None
    (x, mean), inverse = expr.args[0].args, expr.args[1]
    if not _is_reciprocal(inverse) or not is_call(inverse.args[1], "sqrt"):
        return None
    total = inverse.args[1].args[0]
    epsilon = scalar(total.args[1]) if is_call(total, "add") and is_call(total.args[0], "variance") else None
    if epsilon is None or not is_call(mean, "mean") or list(total.args[0].args) != [x, mean] or mean.args[0] != x:
        return None
    width = _row(mean)
    if width is None or width != _row(total.args[0]) or total.args[0].attrs.unbiased:
        return None
    return _Normal(x, float(epsilon), width, centred=True)


def _written_out(expr: relay.Expr) -> _Normal | None:
    """``(x - mean) / sqrt(mean of squares + epsilon)``, each an operator of its own."""
    squares = reached(expr, ("divide", 1), "sqrt", "add", "mean")
    if squares is None or not isinstance(expr, relay.Call):
        return None
    distance = expr.args[0]
    if not is_call(distance, "subtract") or not is_call(squares, "multiply"):
        return None
    total, (x, mean) = expr.args[1].args[0], distance.args
    epsilon = scalar(total.args[1])
    if epsilon is None or list(squares.args) != [distance, distance] or not is_call(mean, "mean") or mean.args[0] != x:
        return None
    width = _row(mean)
    return None if width is None or width != _row(total.args[0]) else _Normal(x, float(epsilon), width, centred=True)


def _other_axis(reduction: relay.Call) -> int | None:
    """The axis of a reduction along one axis that is not the last; None for other reductions."""
    attrs, rank = reduction.attrs, len(shape(reduction.args[0]))
    axes = [int(axis) % rank for axis in attrs.axis or ()]
    return axes[0] if len(axes) == 1 and axes[0] < rank - 1 and attrs.keepdims and not attrs.exclude else None


def _row(reduction: relay.Call) -> int | None:
    """How many elements a reduction along the last axes takes together; None for other reductions."""
    attrs, extents = reduction.attrs, shape(reduction.args[0])
    axes = sorted(int(axis) % len(extents) for axis in attrs.axis or ())
    last = axes == list(range(len(extents) - len(axes), len(extents)))
    return math.prod(extents[axis] for axis in axes) if axes and last and attrs.keepdims and not attrs.exclude else None
