"""Groups of dequantize, a function of a row, and quantize, as ONNX files have them, become operators on integers.

The reference computes the function in floating point. The outputs are within one step of the reference's.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from match.arithmetic import onnxruntime
from match.arithmetic.interface import QuantizedType
from match.ir.constants import Normalization
from match.ir.dtypes import value_range
from match.ir.requantization import Requantization
from match.relay import relay, tvm
from match.relay.normalization import (
    DEVIATION_FRACTION,
    GAIN_ONE,
    LONGEST_ROW,
    MOST_SPREAD,
    MOST_STEPS,
    SHORTEST_ROW,
    SPREAD_FRACTION,
    normalization,
)
from match.relay.qnn import dequantized, quantized, real_constant
from match.relay.rewrite import New, is_call, reached, rewrite, scalar, shape
from match.relay.softmax import LONGEST_REAL_ROW, ProbabilityScale, softmax

_FAR = 1 << 16
"""Steps of an output beyond which a bias alone clips it."""

_MOST_SHIFT = 40

_MOST_PARTS = 64
"""Rows with gains of their own, each of which becomes an operator."""


@dataclass(frozen=True)
class FuseRowFunctions:
    """Softmax along an axis and normalization along the last ones become operators on integers."""

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, _rule)


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    output = quantized(call)
    if output is None:
        return None
    return _softmax(call.args[0], output, new) or _normalization(call.args[0], output, new)


def _softmax(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """Along another axis than the last one, that axis is moved to the end and back."""
    if not is_call(expr, "nn.softmax"):
        return None
    scores, rank = dequantized(expr.args[0]), len(shape(expr))
    axis = int(expr.attrs.axis) % rank
    width, scale = shape(expr)[axis], ProbabilityScale.of(onnxruntime.softmax_levels(output.scale))
    if scores is None or scale is None or width > LONGEST_REAL_ROW:
        return None
    exponentials = onnxruntime.softmax_exponentials(scores.quantization.scale)
    x, order = new(scores.x), [*(other for other in range(rank) if other != axis), axis]
    if axis == rank - 1:
        return softmax(x, width, exponentials, output.dtype, output.zero_point, scale)
    rows = softmax(relay.transpose(x, order), width, exponentials, output.dtype, output.zero_point, scale)
    return relay.transpose(rows, [order.index(other) for other in range(rank)])


@dataclass(frozen=True, eq=False)
class _Normalized:
    """``(x - mean) / sqrt(variance + epsilon) * gain + bias`` of rows of a dequantized tensor.

    gain and bias are of shape (1, n), or (rows, n) where each row has its own.
    """

    x: relay.Expr
    epsilon: float
    gain: npt.NDArray[np.float64]
    bias: npt.NDArray[np.float64]


def _normalization(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    found = _normalized(expr)
    source = dequantized(found.x) if found else None
    if found is None or source is None or not np.isfinite([found.epsilon, *found.gain.flat, *found.bias.flat]).all():
        return None
    count, width = found.gain.shape
    rows, parts = new(source.x), list[relay.Expr]()
    if count > 1:
        rows = relay.reshape(rows, (count, width))
    elif shape(source.x)[-1] != width:
        rows = relay.reshape(rows, (-1, width))
    starts = _changes(found.gain, found.bias)
    if len(starts) > _MOST_PARTS:
        return None
    for start, end in itertools.pairwise([*starts, count]):
        part = rows if count == 1 else relay.strided_slice(rows, [start], [end], axes=[0])
        normal = _rows(part, source.quantization, found.epsilon, found.gain[start], found.bias[start], output)
        if normal is None:
            return None
        parts.append(normal)
    return relay.reshape(parts[0] if len(parts) == 1 else relay.concatenate(parts, 0), shape(expr))


def _changes(*parameters: npt.NDArray[np.float64]) -> list[int]:
    """The rows that have other parameters than the row before, the first one among them."""
    changed = np.logical_or.reduce([np.any(values[1:] != values[:-1], axis=1) for values in parameters])
    return [0, *(np.flatnonzero(changed) + 1).tolist()]


def _rows(
    x: relay.Expr,
    own: QuantizedType,
    epsilon: float,
    gain: npt.NDArray[np.float64],
    bias: npt.NDArray[np.float64],
    output: QuantizedType,
) -> relay.Expr | None:
    """Rows along the last axis of an 8-bit tensor, normalized, with one gain and bias for each element of a row."""
    width, largest = len(gain), np.abs(gain).max() or 1.0
    if not SHORTEST_ROW <= width <= LONGEST_ROW or largest > MOST_STEPS * output.scale:
        return None
    spread = max(1, round(epsilon * (width / float(own.scale)) ** 2 * (1 << SPREAD_FRACTION)))
    if spread > MOST_SPREAD:
        return None
    gains = np.rint(gain / largest * GAIN_ONE).astype(np.int16)
    factor = largest / (float(output.scale) * GAIN_ONE * (1 << DEVIATION_FRACTION))
    scaled = _line(factor, bias / float(output.scale) + output.zero_point, output.dtype)
    return normalization(x, width, Normalization(spread, gains), scaled, output.dtype)


def _line(factor: float, offsets: npt.NDArray[np.float64], dtype: str) -> Requantization:
    """``sum * factor + offset`` of each channel, rounded half up, with 24 bits of the factor.

    A factor that is so small that biases would not fit 64 bits has fewer; then sums of 31 bits move outputs by less
    than 2**-9 steps.
    """
    shift = min(24 - math.frexp(factor)[1], _MOST_SHIFT)
    ones = np.ones(len(offsets), np.int64)
    bias = np.rint(np.ldexp(offsets.clip(-_FAR, _FAR) + 0.5, shift)).astype(np.int64)
    return Requantization(ones * round(math.ldexp(factor, shift)), bias, ones * shift, value_range(dtype))


def _normalized(expr: relay.Expr) -> _Normalized | None:
    """A normalization along the last axes, as TVM imports it, or as exporters write it out.

    Between the normalization and its gains, and in front of it, reshapes may stand.
    """
    whole = expr
    gain, bias = np.ones(()), np.zeros(())
    if is_call(expr, "add") and (offset := real_constant(expr.args[1])) is not None:
        expr, bias = expr.args[0], offset
    if is_call(expr, "multiply") and (scale := real_constant(expr.args[1])) is not None:
        expr, gain = expr.args[0], scale
    expr = expr.args[0] if is_call(expr, "reshape") else expr
    found = _written_out(expr) if is_call(expr, "divide") else _imported(expr)
    if found is None:
        return None
    x, epsilon, width = found
    gain, bias = (
        np.broadcast_to(values.astype(np.float64), shape(whole)).reshape(-1, width) for values in (gain, bias)
    )
    if len(_changes(gain, bias)) == 1:
        gain, bias = gain[:1], bias[:1]
    return _Normalized(x.args[0] if is_call(x, "reshape") else x, epsilon, gain, bias)


def _imported(expr: relay.Expr) -> tuple[relay.Expr, float, int] | None:
    """The input, epsilon and row length of ``(x - mean) * (1 / sqrt(variance + epsilon))``."""
    if not is_call(expr, "multiply") or not is_call(expr.args[0], "subtract"):
        return None
    (x, mean), inverse = expr.args[0].args, expr.args[1]
    if not is_call(inverse, "divide") or scalar(inverse.args[0]) != 1 or not is_call(inverse.args[1], "sqrt"):
        return None
    total = inverse.args[1].args[0]
    epsilon = scalar(total.args[1]) if is_call(total, "add") and is_call(total.args[0], "variance") else None
    if epsilon is None or not is_call(mean, "mean") or list(total.args[0].args) != [x, mean] or mean.args[0] != x:
        return None
    width = _row(mean)
    if width is None or width != _row(total.args[0]) or total.args[0].attrs.unbiased:
        return None
    return x, float(epsilon), width


def _written_out(expr: relay.Call) -> tuple[relay.Expr, float, int] | None:
    """The same of ``(x - mean) / sqrt(mean of squares + epsilon)``, each an operator of its own."""
    distance, squares = expr.args[0], reached(expr, ("divide", 1), "sqrt", "add", "mean")
    if squares is None or not is_call(distance, "subtract") or not is_call(squares, "multiply"):
        return None
    total, (x, mean) = expr.args[1].args[0], distance.args
    epsilon = scalar(total.args[1])
    if epsilon is None or list(squares.args) != [distance, distance] or not is_call(mean, "mean") or mean.args[0] != x:
        return None
    width = _row(mean)
    return None if width is None or width != _row(total.args[0]) else (x, float(epsilon), width)


def _row(reduction: relay.Call) -> int | None:
    """How many elements a reduction along the last axes takes together; None for other reductions."""
    attrs, extents = reduction.attrs, shape(reduction.args[0])
    axes = sorted(int(axis) % len(extents) for axis in attrs.axis or ())
    last = axes == list(range(len(extents) - len(axes), len(extents)))
    return math.prod(extents[axis] for axis in axes) if axes and last and attrs.keepdims and not attrs.exclude else None
