"""Functions of each element, however many operators compute them: a table of the outputs."""

from __future__ import annotations

import numpy as np

from match.arithmetic.interface import Float32Array, QuantizedType
from match.arithmetic.onnxruntime import quantize
from match.ir.dtypes import value_range
from match.passes.element_functions import ElementFunction, function_of
from match.passes.functions_of_two import function_of_two
from match.relay import integer_form, relay
from match.relay.qnn import dequantized, real_constant
from match.relay.rewrite import New, is_call, shape


def table(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """Any function of one value, computed for all 256 of them, or of two, for all pairs.

    Of one it may have constants for each channel, and so a table for each. Of two it is the plane that gives the same
    outputs if there is one, else a table of 65536 values.
    """
    function = function_of(expr)
    if function is None or len(function.sources) > 2:
        return None
    reals = [real for real in map(dequantized, function.sources) if real is not None]
    if len(reals) < len(function.sources) or any(shape(real.x) != shape(expr) for real in reals):
        return None
    types = [real.quantization for real in reals]
    values = [(own.levels - own.zero_point).astype(np.float32) * own.scale for own in types]
    if len(reals) == 1:
        return _of_one(expr, function, new(reals[0].x), types[0], output)
    if function.axis is not None:
        return None
    clip, pairs = value_range(output.dtype), (values[0][:, None], values[1][None, :])
    smooth = function(*pairs)
    outputs, middle = quantize(smooth, output, clip), np.divide(smooth[127:129, 127:129], output.scale)
    slopes = float(middle[1, 0] - middle[0, 0]), float(middle[0, 1] - middle[0, 0])
    a, b = (new(real.x) for real in reals)
    real = _may_differ(function, pairs, output)
    dtypes = types[0].dtype, types[1].dtype
    return function_of_two(a, b, outputs, dtypes, slopes, clip, output.dtype, real=real)


def _of_one(
    expr: relay.Expr, function: ElementFunction, x: relay.Expr, own: QuantizedType, output: QuantizedType
) -> relay.Expr | None:
    """The table, or one for each channel."""
    values = (own.levels - own.zero_point).astype(np.float32) * own.scale
    outputs = quantize(function(values), output, value_range(output.dtype))
    real = _may_differ(function, (values,), output)
    if function.axis is None:
        return integer_form.lookup(x, outputs, own.dtype, output.dtype, real=real)
    if len(outputs) != shape(expr)[function.axis]:
        return None
    behind = len(shape(expr)) - 1 - function.axis
    return integer_form.channel_lookup(x, outputs, own.dtype, output.dtype, behind, real=real)


def _may_differ(function: ElementFunction, values: tuple[Float32Array, ...], output: QuantizedType) -> bool:
    """Whether onnxruntime's approximations may give another output for some values."""
    if not function.approximated:
        return False
    low, high = (quantize(end, output, value_range(output.dtype)) for end in function.bounds(*values))
    return bool(np.any(low != high))


def prelu(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """Relay's PReLU: a table for each channel."""
    if not is_call(expr, "nn.prelu"):
        return None
    real, slopes = dequantized(expr.args[0]), real_constant(expr.args[1])
    if real is None or slopes is None:
        return None
    own, slope = real.quantization, slopes.reshape(-1, 1)
    values = (own.levels - own.zero_point).astype(np.float32) * own.scale
    outputs = quantize(np.where(values > 0, values, values * slope), output, value_range(output.dtype))
    behind = len(shape(expr)) - 1 - int(expr.attrs.axis) % len(shape(expr))
    return integer_form.channel_lookup(new(real.x), outputs, own.dtype, output.dtype, behind)
