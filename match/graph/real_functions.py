"""Functions of real numbers, made of the graph's operators: by every reader of models that has them."""

from __future__ import annotations

import numpy as np

from match.graph.make import arithmetic, constant, transposed
from match.graph.reals import RealFunction
from match.graph.rows import RealSoftmax
from match.graph.value import Value, computed


def number(value: float) -> Value:
    """A constant of one real number, of shape ()."""
    return constant(np.float32(value))


def real(function: str, *operands: Value, exact: bool = True) -> Value:
    """Real numbers that a function of `match.arithmetic.element_functions` has, element by element."""
    return computed(RealFunction(function=function), *operands, exact=exact)


def truth(function: str, *operands: Value) -> Value:
    """Truth values that a comparison or a logical function has, element by element."""
    return computed(RealFunction(function=function, dtype="bool"), *operands)


def is_function(value: Value, *names: str) -> bool:
    """Whether an operator is a function of elements that has one of these names."""
    return isinstance(value.operator, RealFunction) and value.operator.function in names


def sloped(x: Value, slope: Value) -> Value:
    """What is positive of a tensor, and the rest times slopes: a PReLU or a leaky ReLU."""
    return real("where", truth("greater", x, number(0)), x, real("multiply", slope, x))


def softmax(x: Value, axis: int, *, logarithm: bool = False) -> Value:
    """Softmax along an axis, which is put last for it, or its logarithm."""
    order = [*(other for other in range(len(x.shape)) if other != axis), axis]
    rows = computed(RealSoftmax(logarithm=logarithm), transposed(x, order), exact=False)
    return transposed(rows, np.argsort(order).tolist())


def marks(place: Value, axis: int, count: int, on: float = 1.0, off: float = 0.0) -> Value:
    """A number at places along an axis of so many elements, of which there is one in `place`, another one elsewhere."""
    along = [-1 if other == axis else 1 for other in range(len(place.shape))]
    there = arithmetic("equal", place, constant(np.arange(count).reshape(along), place.dtype), dtype="bool")
    return real("where", there, number(on), number(off))
