"""Groups of dequantize, a function of a row, and quantize, as ONNX files have them, become operators on integers.

The reference computes the function in floating point. The outputs are within one step of the reference's.
"""

from __future__ import annotations

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
from match.relay.qnn import dequantized, quantized
from match.relay.rewrite import New, constant, is_call, reached, rewrite, scalar, shape
from match.relay.softmax import LONGEST_REAL_ROW, ProbabilityScale, softmax

_FAR = 1 << 16
"""Steps of an output beyond which a bias alone clips it."""

_MOST_SHIFT = 40


@dataclass(frozen=True)
class FuseRowFunctions:
    """Softmax along an axis and layer normalization along the last one become operators on integers."""

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
    """``(x - mean) / sqrt(variance + epsilon) * gain + bias`` of a dequantized tensor (..., n); both of shape (n,)."""

    x: relay.Expr
    epsilon: float
    gain: npt.NDArray[np.float64]
    bias: npt.NDArray[np.float64]


def _normalization(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    found = _normalized(expr)
    source = dequantized(found.x) if found else None
    if found is None or source is None or not np.isfinite([*found.gain, *found.bias, found.epsilon]).all():
        return None
    width, largest = len(found.gain), np.abs(found.gain).max() or 1.0
    if not SHORTEST_ROW <= width <= LONGEST_ROW or largest > MOST_STEPS * output.scale:
        return None
    spread = max(1, round(found.epsilon * (width / float(source.quantization.scale)) ** 2 * (1 << SPREAD_FRACTION)))
    if spread > MOST_SPREAD:
        return None
    gains = np.rint(found.gain / largest * GAIN_ONE).astype(np.int16)
    factor = largest / (float(output.scale) * GAIN_ONE * (1 << DEVIATION_FRACTION))
    scaled = _line(factor, found.bias / float(output.scale) + output.zero_point, output.dtype)
    return normalization(new(source.x), width, Normalization(spread, gains), scaled, output.dtype)


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
    """A layer normalization along the last axis, as TVM imports it, or as exporters write it out."""
    width = shape(expr)[-1]
    gain, bias = np.ones(width), np.zeros(width)
    if is_call(expr, "add"):
        expr, bias = expr.args[0], _reals(expr.args[1], width)
    if is_call(expr, "multiply") and (scale := _reals(expr.args[1], width)) is not None:
        expr, gain = expr.args[0], scale
    if bias is None:
        return None
    if is_call(expr, "divide"):
        written = _written_out(expr)
        return None if written is None else _Normalized(*written, gain, bias)
    if not is_call(expr, "multiply") or not is_call(expr.args[0], "subtract"):
        return None
    (x, mean), inverse = expr.args[0].args, expr.args[1]
    if not is_call(inverse, "divide") or scalar(inverse.args[0]) != 1 or not is_call(inverse.args[1], "sqrt"):
        return None
    total = inverse.args[1].args[0]
    epsilon = scalar(total.args[1]) if is_call(total, "add") and is_call(total.args[0], "variance") else None
    if epsilon is None or not is_call(mean, "mean") or list(total.args[0].args) != [x, mean] or mean.args[0] != x:
        return None
    if not (_along_rows(mean) and _along_rows(total.args[0])) or total.args[0].attrs.unbiased:
        return None
    return _Normalized(x, float(epsilon), gain, bias)


def _written_out(expr: relay.Call) -> tuple[relay.Expr, float] | None:
    """The input and epsilon of ``(x - mean) / sqrt(mean of squares + epsilon)``, each an operator of its own."""
    distance, squares = expr.args[0], reached(expr, ("divide", 1), "sqrt", "add", "mean")
    if squares is None or not is_call(distance, "subtract") or not is_call(squares, "multiply"):
        return None
    total, (x, mean) = expr.args[1].args[0], distance.args
    epsilon = scalar(total.args[1])
    if epsilon is None or list(squares.args) != [distance, distance] or not is_call(mean, "mean") or mean.args[0] != x:
        return None
    return (x, float(epsilon)) if _along_rows(mean) and _along_rows(total.args[0]) else None


def _along_rows(reduction: relay.Call) -> bool:
    attrs, rank = reduction.attrs, len(shape(reduction.args[0]))
    axes = [int(axis) % rank for axis in attrs.axis or ()]
    return axes == [rank - 1] and bool(attrs.keepdims) and not attrs.exclude


def _reals(expr: relay.Expr, width: int) -> npt.NDArray[np.float64] | None:
    """A constant in floating point, or a dequantized one, for each element of a row."""
    values = constant(expr)
    if is_call(expr, "qnn.dequantize"):
        levels, scale, zero_point = (constant(argument) for argument in expr.args)
        if levels is None or scale is None or zero_point is None or scale.size != 1 or zero_point.size != 1:
            return None
        values = (levels.astype(np.float64) - int(zero_point.reshape(-1)[0])) * float(scale.reshape(-1)[0])
    if values is None or values.size not in (1, width) or values.shape[-1:] not in ((), (1,), (width,)):
        return None
    return np.broadcast_to(values.reshape(-1).astype(np.float64), width)
