"""Functions of each element, however many operators compute them: a table of the outputs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from match.arithmetic.element_functions import ElementFunction, Step, Values
from match.arithmetic.interface import Float32Array, QuantizedType
from match.arithmetic.onnxruntime import quantize
from match.graph.elements import ChannelLookup
from match.graph.make import array_of, lookup, transposed
from match.graph.pairs import FunctionOfTwo
from match.graph.reals import REAL, Levels, RealClip, RealFunction
from match.graph.value import Value, computed
from match.rewrites.quantized_groups.quantities import Dequantized, dequantized

LEVELS = 256
"""Values of 8 bits."""


def function_of_elements(real: Value, output: QuantizedType, clip: tuple[int, int]) -> Value | None:
    """Any function of one tensor of 8 bits, computed for all 256 values, or of two, for all pairs.

    Of one it may have constants for each channel, and so a table for each. Of two it has no form yet.
    """
    found = _function_of(real)
    if found is None:
        return None
    function, tensors = found.function, found.tensors
    if len(tensors) == 1:
        return _of_one(found, output, clip, real.shape) if tensors[0].value.shape == real.shape else None
    if len(tensors) > 2 or function.axis is not None or _is_product(real):
        return None
    first, second = (tensor.quantization.numbers for tensor in tensors)
    pairs = first[:, None], second[None, :]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        numbers = function(*pairs)
        middle = np.divide(numbers[127:129, 127:129], output.scale)
    middle = np.where(np.isfinite(middle), middle, 0)  # a divisor may be 0 there
    form = FunctionOfTwo(
        outputs=quantize(numbers, output, clip).astype(np.int16),
        slopes=(float(middle[1, 0] - middle[0, 0]), float(middle[0, 1] - middle[0, 0])),
        clip=clip,
        dtype=output.dtype,
    )
    exact = not _may_differ(function, pairs, output, clip)
    return computed(form, *(tensor.value for tensor in tensors), exact=exact)


def table_of_reals(real: Value) -> Value | None:
    """An approximated function of one 8-bit tensor that nothing quantizes, such as scores after a logistic function.

    It is read from a table of 256 real numbers, if there are as many elements: on the control core an exponential takes
    far longer.
    """
    if real.dtype != REAL or real.tensor.elements < LEVELS:
        return None
    found = _function_of(real)
    if found is None or len(found.tensors) != 1 or found.function.axis is not None or not found.function.approximated:
        return None
    (x,) = found.tensors
    if x.value.shape != real.shape:
        return None
    table = np.ascontiguousarray(found.function(x.quantization.numbers), np.float32)
    return replace(lookup(x.value, table, exact=False), source=real.source)


def _is_product(real: Value) -> bool:
    """Whether a tensor is a product of two dequantized ones, or of tensors of which one is broadcast."""
    if not isinstance(real.operator, RealFunction) or real.operator.function != "multiply":
        return False
    return len({x.shape for x in real.inputs}) > 1 or all(dequantized(x) is not None for x in real.inputs)


@dataclass(frozen=True, eq=False)
class _Found:
    """A function, and the tensors of 8 bits that it is of."""

    function: ElementFunction
    tensors: tuple[Dequantized, ...]


def _function_of(real: Value) -> _Found | None:
    """The operators that end in a tensor as a function of each element; None if they are no such function."""
    order, sources, numbers = _operators(real)
    tensors = [dequantized(source) for source in sources]
    known = tuple(tensor for tensor in tensors if tensor is not None)
    if not known or len(known) < len(tensors):
        return None
    constants: list[Values] = []
    axes: set[int] = set()
    for array in numbers.values():
        longer = [axis for axis, extent in enumerate(array.shape, len(real.shape) - array.ndim) if extent > 1]
        if len(longer) > 1:
            return None
        axes.update(longer)
        constants.append(array.reshape((-1, 1) if longer else ()))
    if len(axes) > 1:
        return None
    places = {value: place for place, value in enumerate((*sources, *numbers, *order))}
    steps = tuple(_step(value, tuple(places[x] for x in value.inputs)) for value in order)
    return _Found(ElementFunction(len(known), tuple(constants), steps, axes.pop() if axes else None), known)


def _step(value: Value, places: tuple[int, ...]) -> Step:
    match value.operator:
        case RealClip(low=low, high=high):
            return Step("clip", places, (low, high), value.dtype)
        case RealFunction(function=function):
            return Step(function, places, (), value.dtype)
        case _:
            raise AssertionError("it is one of both")


def _operators(real: Value) -> tuple[list[Value], list[Value], dict[Value, Values]]:
    """The functions that end in a tensor, in order, the tensors and the constants that they read."""
    order: list[Value] = []
    sources: list[Value] = []
    constants: dict[Value, Values] = {}
    seen: set[Value] = set()
    pending = [(real, False)]
    while pending:
        value, complete = pending.pop()
        if complete:
            order.append(value)
        elif value not in seen:
            seen.add(value)
            array = value.operator.compute() if isinstance(value.operator, Levels) else array_of(value)
            if isinstance(value.operator, RealFunction | RealClip):
                pending += [(value, True), *((x, False) for x in value.inputs)]
            elif array is not None:
                constants[value] = array
            else:
                sources.append(value)
    return order, sources, constants


def _of_one(found: _Found, output: QuantizedType, clip: tuple[int, int], extents: tuple[int, ...]) -> Value | None:
    """The table, or one for each channel, which are put last."""
    function, (x,) = found.function, found.tensors
    numbers = x.quantization.numbers
    outputs = quantize(function(numbers), output, clip)
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
    low, high = (quantize(end, output, clip) for end in function.bounds(*values))
    return bool(np.any(low != high))
