"""Functions of each element, however many operators compute them: a table of the outputs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from match.arithmetic.element_functions import ElementFunction
from match.arithmetic.interface import Float32Array, QuantizedType
from match.arithmetic.onnxruntime import quantize
from match.graph.elements import ChannelLookup
from match.graph.make import lookup, transposed
from match.graph.pairs import FunctionOfTwo
from match.graph.real_functions import is_function
from match.graph.reals import REAL
from match.graph.value import Value, computed
from match.rewrites.quantized_groups.element_functions import FunctionOf, function_of
from match.rewrites.quantized_groups.quantities import Dequantized, dequantized

LEVELS = 256
"""Values of 8 bits."""


def function_of_elements(real: Value, output: QuantizedType, clip: tuple[int, int]) -> Value | None:
    """Any function of one tensor of 8 bits, computed for all 256 values, or of two, for all pairs.

    Of one it may have constants for each channel, and so a table for each. Of two it has no form yet.
    """
    found = function_of(real)
    tensors = None if found is None else _tensors(found)
    if found is None or tensors is None:
        return None
    function = found.function
    if len(tensors) == 1:
        return _of_one(function, tensors[0], output, clip, real.shape) if tensors[0].value.shape == real.shape else None
    if len(tensors) > 2 or function.axis is not None or _is_product(real):
        return None
    first, second = (tensor.quantization.numbers for tensor in tensors)
    pairs = first[:, None], second[None, :]
    numbers = function(*pairs)
    outputs = quantize(numbers, output, clip).astype(np.int16)
    form = FunctionOfTwo(outputs=outputs, slopes=slopes_of(numbers, output), clip=clip, dtype=output.dtype)
    exact = not _may_differ(function, pairs, output, clip)
    return computed(form, *(tensor.value for tensor in tensors), exact=exact)


def slopes_of(numbers: Float32Array, output: QuantizedType) -> tuple[float, float]:
    """Steps of the output by which a function of two tensors, (256, 256), rises in its middle with a level of each."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        middle = np.divide(numbers[127:129, 127:129], output.scale)
    middle = np.where(np.isfinite(middle), middle, 0)  # a divisor may be 0 there
    return float(middle[1, 0] - middle[0, 0]), float(middle[0, 1] - middle[0, 0])


def table_of_reals(real: Value) -> Value | None:
    """An approximated function of one 8-bit tensor that nothing quantizes, such as scores after a logistic function.

    It is read from a table of 256 real numbers, if there are as many elements: on the control core an exponential takes
    far longer.
    """
    if real.dtype != REAL or real.tensor.elements < LEVELS:
        return None
    found = function_of(real)
    tensors = None if found is None else _tensors(found)
    if found is None or tensors is None or len(tensors) > 1:
        return None
    (x,) = tensors
    if found.function.axis is not None or not found.function.approximated or x.value.shape != real.shape:
        return None
    table = np.ascontiguousarray(found.function(x.quantization.numbers), np.float32)
    return replace(lookup(x.value, table, exact=False), source=real.source)


def _is_product(real: Value) -> bool:
    """Whether a tensor is a product of two dequantized ones, or of tensors of which one is broadcast."""
    if not is_function(real, "multiply"):
        return False
    return len({x.shape for x in real.inputs}) > 1 or all(dequantized(x) is not None for x in real.inputs)


def _tensors(found: FunctionOf) -> list[Dequantized] | None:
    """The tensors of 8 bits that a function is of; None if it is of others."""
    tensors = [tensor for source in found.sources if (tensor := dequantized(source)) is not None]
    return tensors if len(tensors) == len(found.sources) else None


def _of_one(
    function: ElementFunction, x: Dequantized, output: QuantizedType, clip: tuple[int, int], extents: tuple[int, ...]
) -> Value | None:
    """The table, or one for each channel, which are put last."""
    numbers = x.quantization.numbers
    values = function(numbers)
    if np.isnan(values).any() and clip != output.limits:  # a clip after it may make a number of what is none
        return None
    outputs = quantize(values, output, clip)
    exact, axis = not _may_differ(function, (numbers,), output, clip), function.axis
    if axis is None:
        return lookup(x.value, outputs.astype(output.dtype), exact=exact)
    if len(outputs) != extents[axis]:
        return None
    order = [*(other for other in range(len(extents)) if other != axis), axis]
    tables = ChannelLookup(outputs=outputs, dtype=output.dtype)
    return transposed(computed(tables, transposed(x.value, order), exact=exact), np.argsort(order).tolist())


def _may_differ(
    function: ElementFunction, values: tuple[Float32Array, ...], output: QuantizedType, clip: tuple[int, int]
) -> bool:
    """Whether onnxruntime's approximations may give another output for some values."""
    if not function.approximated:
        return False
    low, high = (quantize(end, output, clip) for end in function.bounds(*((x, x) for x in values)))
    return bool(np.any(low != high))
