"""Functions of each element, however many operators compute them: a table of the outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from match.arithmetic.interface import Float32Array, QuantizedType
from match.arithmetic.onnxruntime import quantize
from match.ir.dtypes import levels, value_range
from match.passes.element_functions import ElementFunction, function_of
from match.passes.functions_of_two import function_of_two
from match.relay import integer_form, relay
from match.relay.qnn import dequantized, real_constant
from match.relay.rewrite import New, dtype, is_8bit, is_call, shape


def table(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """Any function of one value, computed for all 256 of them, or of two, for all pairs.

    Of one it may have constants for each channel, and so a table for each. Of two it is the plane that gives the same
    outputs if there is one, else what `function_of_two` has for it; the two may be broadcast.
    """
    return _table(expr, output, new, exact=True)


def close_table(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """The same; of two values a plane within one step, too, before tables."""
    return _table(expr, output, new, exact=False)


def _table(expr: relay.Expr, output: QuantizedType, new: New, *, exact: bool) -> relay.Expr | None:
    function = function_of(expr)
    if function is None or len(function.tensors) > 2:
        return None
    tensors = [tensor for tensor in map(_tensor, function.tensors) if tensor is not None]
    if len(tensors) < len(function.tensors):
        return None
    if len(tensors) == 1:
        return _of_one(expr, function, tensors[0], output, new) if shape(tensors[0].x) == shape(expr) else None
    if function.axis is not None:
        return None
    clip, pairs = value_range(output.dtype), (tensors[0].numbers[:, None], tensors[1].numbers[None, :])
    with np.errstate(divide="ignore", invalid="ignore"):
        smooth = function(*pairs)
    outputs, middle = quantize(smooth, output, clip), np.divide(smooth[127:129, 127:129], output.scale)
    middle = np.where(np.isfinite(middle), middle, 0)  # a divisor may be 0 there
    slopes = float(middle[1, 0] - middle[0, 0]), float(middle[0, 1] - middle[0, 0])
    a, b = (new(tensor.x) for tensor in tensors)
    real = _may_differ(function, pairs, output)
    dtypes = dtype(tensors[0].x), dtype(tensors[1].x)
    return function_of_two(a, b, outputs, dtypes, slopes, clip, output.dtype, exact=exact, real=real)


@dataclass(frozen=True, eq=False)
class _Tensor:
    """An 8-bit tensor, and what operators read of it for its values in ascending order (256,).

    These are real numbers after a dequantize, else the integers.
    """

    x: relay.Expr
    numbers: npt.NDArray[Any]


def _tensor(source: relay.Expr) -> _Tensor | None:
    """The 8-bit tensor that a source of a function is, or is dequantized from; None for others."""
    real = dequantized(source)
    if real is not None:
        return _Tensor(real.x, real.quantization.numbers)
    return _Tensor(source, levels(dtype(source)).astype(dtype(source))) if is_8bit(source) else None


def _of_one(
    expr: relay.Expr, function: ElementFunction, tensor: _Tensor, output: QuantizedType, new: New
) -> relay.Expr | None:
    """The table, or one for each channel."""
    outputs = quantize(function(tensor.numbers), output, value_range(output.dtype))
    real, own = _may_differ(function, (tensor.numbers,), output), dtype(tensor.x)
    if function.axis is None:
        return integer_form.lookup(new(tensor.x), outputs, own, output.dtype, real=real)
    if len(outputs) != shape(expr)[function.axis]:
        return None
    behind = len(shape(expr)) - 1 - function.axis
    return integer_form.channel_lookup(new(tensor.x), outputs, own, output.dtype, behind, real=real)


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
    values = own.numbers
    outputs = quantize(np.where(values > 0, values, values * slope), output, value_range(output.dtype))
    behind = len(shape(expr)) - 1 - int(expr.attrs.axis) % len(shape(expr))
    return integer_form.channel_lookup(new(real.x), outputs, own.dtype, output.dtype, behind)
