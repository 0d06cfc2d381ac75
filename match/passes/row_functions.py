"""dequantize → function of a row → quantize groups, as ONNX writes them, in integers.

The reference computes them in floating point; outputs are within one step of its.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from match.arithmetic import onnxruntime
from match.arithmetic.interface import QuantizedType
from match.ir.dtypes import value_range
from match.ir.normalization import Normalization
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
from match.relay.qnn import quantization
from match.relay.rewrite import New, constant, dtype, is_8bit, is_call, rewrite, scalar, shape
from match.relay.softmax import LONGEST_REAL_ROW, Steps, softmax

_FAR = 1 << 16
"""Steps of an output beyond which a bias alone clips it."""


@dataclass(frozen=True)
class FuseRowFunctions:
    """Softmax and layer normalization along the last axis become operators on integers."""

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, _rule)


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    if not is_call(call, "qnn.quantize") or not is_8bit(call):
        return None
    output = quantization(call.args[1], call.args[2], dtype(call))
    if output is None:
        return None
    return _softmax(call.args[0], output, new) or _normalization(call.args[0], output, new)


def _softmax(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    if not is_call(expr, "nn.softmax"):
        return None
    scores, last = expr.args[0], len(shape(expr)) - 1
    if int(expr.attrs.axis) % (last + 1) != last or not is_call(scores, "qnn.dequantize"):
        return None
    x, width = scores.args[0], shape(expr)[last]
    inputs = quantization(scores.args[1], scores.args[2], dtype(x)) if is_8bit(x) else None
    steps = Steps.of(onnxruntime.softmax_levels(output.scale))
    if inputs is None or steps is None or width > LONGEST_REAL_ROW:
        return None
    exponentials = onnxruntime.softmax_exponentials(inputs.scale)
    return softmax(new(x), width, exponentials, output.dtype, output.zero_point, steps)


@dataclass(frozen=True, eq=False)
class _Normalized:
    """``(x - mean) / sqrt(variance + epsilon) * gain + bias`` of a dequantized tensor (..., n); both of shape (n,)."""

    x: relay.Expr
    epsilon: float
    gain: npt.NDArray[np.float64]
    bias: npt.NDArray[np.float64]


def _normalization(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    found = _normalized(expr)
    if found is None or not is_call(found.x, "qnn.dequantize") or not is_8bit(found.x.args[0]):
        return None
    x, width = found.x.args[0], len(found.gain)
    inputs = quantization(found.x.args[1], found.x.args[2], dtype(x))
    largest = np.abs(found.gain).max() or 1.0
    if inputs is None or not SHORTEST_ROW <= width <= LONGEST_ROW or largest > MOST_STEPS * output.scale:
        return None
    spread = max(1, round(found.epsilon * (width / float(inputs.scale)) ** 2 * (1 << SPREAD_FRACTION)))
    if spread > MOST_SPREAD:
        return None
    gains = np.rint(found.gain / largest * GAIN_ONE).astype(np.int16)
    factor = largest / (float(output.scale) * GAIN_ONE * (1 << DEVIATION_FRACTION))
    scaled = _line(factor, found.bias / float(output.scale) + output.zero_point, output.dtype)
    return normalization(new(x), width, Normalization(spread, gains), scaled, output.dtype)


def _line(factor: float, offsets: npt.NDArray[np.float64], dtype: str) -> Requantization:
    """``sum * factor + offset`` of each channel, rounded half up, with 24 bits of the factor."""
    shift = 24 - math.frexp(factor)[1]
    ones = np.ones(len(offsets), np.int64)
    bias = np.rint(np.ldexp(offsets.clip(-_FAR, _FAR) + 0.5, shift)).astype(np.int64)
    return Requantization(ones * round(math.ldexp(factor, shift)), bias, ones * shift, value_range(dtype))


def _normalized(expr: relay.Expr) -> _Normalized | None:
    """A layer normalization along the last axis, as TVM imports it."""
    width = shape(expr)[-1]
    gain, bias = np.ones(width), np.zeros(width)
    if is_call(expr, "add"):
        expr, bias = expr.args[0], _reals(expr.args[1], width)
    if is_call(expr, "multiply") and (scale := _reals(expr.args[1], width)) is not None:
        expr, gain = expr.args[0], scale
    if bias is None or not is_call(expr, "multiply") or not is_call(expr.args[0], "subtract"):
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


def _along_rows(reduction: relay.Call) -> bool:
    attrs, last = reduction.attrs, len(shape(reduction.args[0])) - 1
    return [int(axis) % (last + 1) for axis in attrs.axis or ()] == [last] and bool(
        attrs.keepdims and not attrs.exclude
    )


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
