"""Operators of the graph that together are one function of each element."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from match.arithmetic.element_functions import ElementFunction, Step, Values
from match.graph.constants import numbers_of
from match.graph.real_functions import is_function
from match.graph.reals import RealClip, RealFunction
from match.graph.value import Value

Reals = npt.NDArray[np.float64]

_Source = TypeVar("_Source")


@dataclass(frozen=True, eq=False)
class FunctionOf:
    """A function of each element, and the tensors whose elements it is of."""

    function: ElementFunction
    sources: tuple[Value, ...]


def function_of(real: Value, source: Value | None = None) -> FunctionOf | None:
    """The operators that end in a tensor as a function of each element; None if they are no such function.

    Constants are single numbers, or differ along one axis, which all share. `source` is a tensor that they read,
    whatever computes it.
    """
    order, sources, numbers = _operators(real, source)
    if not order or not sources:
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
    function = ElementFunction(len(sources), tuple(constants), steps, axes.pop() if axes else None)
    return FunctionOf(function, tuple(sources))


def function_after(real: Value, read: Callable[[Value], _Source | None]) -> tuple[_Source, ElementFunction] | None:
    """What `read` finds of the one tensor that another is a function of, element by element, and the function.

    All its constants are single numbers. The tensor nearest to the result comes first.
    """
    pending, seen = [real], {real}
    for value in pending:
        found = read(value)
        if found is not None:
            one = function_of(real, value)
            if one is not None and one.sources == (value,) and one.function.axis is None:
                return found, one.function
        if isinstance(value.operator, RealFunction | RealClip):
            pending += [x for x in dict.fromkeys(value.inputs) if x not in seen]
            seen.update(value.inputs)
    return None


def _step(value: Value, places: tuple[int, ...]) -> Step:
    match value.operator:
        case RealClip(low=0.0, high=math.inf):  # by which what is no number becomes 0
            return Step("relu", places, (), value.dtype)
        case RealClip(low=low, high=high):
            return Step("clip", places, (low, high), value.dtype)
        case RealFunction(function=function):
            return Step(function, places, (), value.dtype)
        case _:
            raise AssertionError("it is one of both")


def _operators(real: Value, source: Value | None) -> tuple[list[Value], list[Value], dict[Value, Values]]:
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
            if value is not source and isinstance(value.operator, RealFunction | RealClip):
                pending += [(value, True), *((x, False) for x in value.inputs)]
            elif (array := numbers_of(value)) is not None:
                constants[value] = array
            else:
                sources.append(value)
    return order, sources, constants


def with_constant(real: Value, function: str) -> tuple[Value, Reals] | None:
    """The tensor and the numbers, in float64, that a function takes in either order; None where it is another one."""
    if is_function(real, function):
        for tensor, other in (real.inputs, real.inputs[::-1]):
            if (numbers := numbers_of(other)) is not None:
                return tensor, numbers.astype(np.float64)
    return None


def joined(real: Value, function: str) -> list[Value]:
    """What functions of a name, one within the other, take together, in order."""
    if not is_function(real, function):
        return [real]
    return [source for x in real.inputs for source in joined(x, function)]
