"""Normalizations and logarithms of softmax that exporters write out, operator by operator, become one operator."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from match.graph.integers import Extreme
from match.graph.make import array_of
from match.graph.moves import Move
from match.graph.real_functions import is_function, number, real, softmax
from match.graph.reals import RealClip
from match.graph.reductions import RealNormalization, RealReduction
from match.graph.rewrite import rewrite
from match.graph.value import Graph, Value, computed
from match.rewrites.quantized_groups.element_functions import with_constant
from match.rewrites.quantized_groups.quantities import dequantized


def with_normalizations(graph: Graph) -> Graph:
    """The graph with a normalization in the place of what computes one."""
    return rewrite(graph, _rule)


def _rule(value: Value, original: Value) -> Value:
    del original
    if (logarithm := _log_softmax(value)) is not None:
        return logarithm
    quotient = _quotient(value)
    if quotient is None:
        return value
    distance, root = quotient
    found = _root_of(root)
    if found is None:
        return value
    squares, epsilon, least = found
    operator, square = squares.operator, squares.inputs[0]
    if not isinstance(operator, RealReduction) or not operator.keepdims or operator.function == "prod":
        return value
    if not is_function(square, "multiply") or not all(_is_same(x, distance) for x in square.inputs):
        return value
    x, centred = distance, False
    if is_function(distance, "subtract") and _is_mean(distance.inputs[1], distance.inputs[0], operator.axes):
        x, centred = distance.inputs[0], True
    if not _is_never_less(x, least):
        return value
    count, summed = operator.count(x.tensor), operator.function == "sum"
    normal = RealNormalization(axes=operator.axes, epsilon=epsilon / (count if summed else 1), centred=centred)
    made = computed(normal, x, exact=False)
    if summed:
        made = real("multiply", made, number(count**-0.5), exact=False)
    return replace(made, source=value.source)


def _log_softmax(value: Value) -> Value | None:
    """The logarithm of a softmax: distances to the largest number less the logarithm of their exponentials' sum."""
    if not is_function(value, "subtract"):
        return None
    distance, logarithm = value.inputs
    total = logarithm.inputs[0] if is_function(logarithm, "log") else None
    reduction = None if total is None else total.operator
    if total is None or not isinstance(reduction, RealReduction) or not is_function(distance, "subtract"):
        return None
    exponentials, (x, largest) = total.inputs[0], distance.inputs
    is_sum = reduction.function == "sum" and reduction.keepdims and len(reduction.axes) == 1
    if not is_sum or not is_function(exponentials, "exp") or not _is_same(exponentials.inputs[0], distance):
        return None
    if not _is_largest(largest, x, reduction.axes):
        return None
    (axis,) = reduction.axes
    return replace(softmax(x, axis, logarithm=True), source=value.source)


def _is_largest(largest: Value, x: Value, axes: tuple[int, ...]) -> bool:
    """Whether a tensor has the largest numbers of another one along axes, found among its integers or not."""
    pairs = [(largest, x)]
    integers, own = dequantized(largest), dequantized(x)
    if integers is not None and own is not None and integers.quantization == own.quantization:
        pairs.append((integers.value, own.value))
    return any(
        isinstance(one.operator, Extreme)
        and (one.operator.largest, one.operator.keepdims, one.operator.axes) == (True, True, axes)
        and one.inputs == (other,)
        for one, other in pairs
    )


def _quotient(value: Value) -> tuple[Value, Value] | None:
    """The dividend and the divisor of a division, or of a product with a reciprocal."""
    if is_function(value, "divide"):
        return value.inputs[0], value.inputs[1]
    if not is_function(value, "multiply"):
        return None
    for x, inverse in (value.inputs, value.inputs[::-1]):
        if is_function(inverse, "divide") and _number(inverse.inputs[0]) == 1:
            return x, inverse.inputs[1]
    return None


def _root_of(root: Value) -> tuple[Value, float, float] | None:
    """What a root is of, without the number that is added to it, that number, and the least number of the root."""
    least = 0.0
    if isinstance(root.operator, Move) and root.operator.padding_value is None and root.inputs[0].shape != root.shape:
        (root,) = root.inputs  # which is repeated
    if isinstance(root.operator, RealClip) and np.isinf(root.operator.high):
        root, least = root.inputs[0], root.operator.low
    elif (bounded := with_constant(root, "maximum")) is not None and bounded[1].size == 1:
        root, least = bounded[0], float(bounded[1].item())
    if not is_function(root, "sqrt"):
        return None
    (total,), epsilon = root.inputs, 0.0
    if (added := with_constant(total, "add")) is not None and added[1].size == 1:
        total, epsilon = added[0], float(added[1].item())
    return total, epsilon, least


def _is_mean(mean: Value, x: Value, axes: tuple[int, ...]) -> bool:
    operator = mean.operator
    if not isinstance(operator, RealReduction) or (operator.function, operator.keepdims) != ("mean", True):
        return False
    return operator.axes == axes and mean.inputs == (x,)


def _is_never_less(x: Value, least: float) -> bool:
    """Whether no length of a row is below a number but that of zeros: the shortest other one is one step long."""
    if least <= 0:
        return True
    source = dequantized(x)
    return source is not None and least <= float(source.quantization.scale)


def _is_same(a: Value, b: Value) -> bool:
    """Whether two tensors are one, or differences of the same two."""
    return a is b or (is_function(a, "subtract") and is_function(b, "subtract") and a.inputs == b.inputs)


def _number(x: Value) -> float | None:
    array = array_of(x)
    return float(array.item()) if array is not None and array.size == 1 else None
