"""Functions of each element that Relay's operators compute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar

from match.arithmetic import element_functions
from match.arithmetic.element_functions import FUNCTIONS, Step, Values
from match.relay import relay
from match.relay.objects import operands
from match.relay.qnn import real_constant
from match.relay.rewrite import dtype, is_call, operator_name, shape

_Source = TypeVar("_Source")

_NAMES = MappingProxyType({"relu": "nn.relu", "leaky_relu": "nn.leaky_relu"})
"""Relay's names of functions that it calls otherwise."""

_FUNCTIONS = MappingProxyType({_NAMES.get(name, name): name for name in FUNCTIONS if name != "round_half_to_even"})

ELEMENTWISE = frozenset(_FUNCTIONS)
"""Operators whose elements depend on the elements of their operands at the same place."""


@dataclass(frozen=True, eq=False)
class ElementFunction(element_functions.ElementFunction):
    """What operators compute of the elements of tensors.

    tensors: the sources.
    """

    tensors: tuple[relay.Expr, ...]


def function_of(expr: relay.Expr, source: relay.Expr | None = None) -> ElementFunction | None:
    """The operators that end in `expr` as a function of each element; None if they are no such function.

    A `source` is a tensor that they read, whatever computes it.
    """
    order, sources, numbers = _operators(expr, source)
    if not sources or not order:
        return None
    constants: list[Values] = []
    axes: set[int] = set()
    for array in numbers.values():
        longer = [axis for axis, extent in enumerate(array.shape, len(shape(expr)) - array.ndim) if extent > 1]
        if len(longer) > 1:
            return None
        axes.update(longer)
        constants.append(array.reshape((-1, 1) if longer else ()))
    if len(axes) > 1:
        return None
    places = {value: place for place, value in enumerate((*sources, *numbers, *order))}
    steps = tuple(_step(call, tuple(places[operand] for operand in operands(call))) for call in order)
    return ElementFunction(len(sources), tuple(constants), steps, axes.pop() if axes else None, tuple(sources))


def _step(call: relay.Call, places: tuple[int, ...]) -> Step:
    parameters: tuple[float, ...] = ()
    if is_call(call, "clip"):
        parameters = float(call.attrs.a_min), float(call.attrs.a_max)
    elif is_call(call, "nn.leaky_relu"):
        parameters = (float(call.attrs.alpha),)
    return Step(_FUNCTIONS[operator_name(call)], places, parameters, dtype(call))


def function_behind(
    expr: relay.Expr, read: Callable[[relay.Expr], _Source | None]
) -> tuple[_Source, ElementFunction] | None:
    """What `read` finds of the one tensor that an expression is a function of, element by element, and the function.

    All its constants are single numbers. The tensor nearest to the result comes first.
    """
    pending, seen = [expr], {expr}
    for one in pending:
        found = read(one)
        if found is not None:
            function = function_of(expr, one)
            if function is not None and function.tensors == (one,) and function.axis is None:
                return found, function
        if is_call(one, *ELEMENTWISE):
            pending += [operand for operand in operands(one) if operand not in seen]
            seen.update(operands(one))
    return None


def _operators(
    expr: relay.Expr, source: relay.Expr | None
) -> tuple[list[relay.Call], list[relay.Expr], dict[relay.Expr, Values]]:
    """The functions that end in `expr`, in order of computation, the tensors and the constants that they read."""
    order: list[relay.Call] = []
    sources: list[relay.Expr] = []
    constants: dict[relay.Expr, Values] = {}
    seen: set[relay.Expr] = set()
    pending = [(expr, False)]
    while pending:
        current, complete = pending.pop()
        if complete and isinstance(current, relay.Call):
            order.append(current)
        elif current not in seen:
            seen.add(current)
            if current != source and is_call(current, *ELEMENTWISE):
                pending += [(current, True), *((operand, False) for operand in operands(current))]
            elif (values := real_constant(current)) is not None:
                constants[current] = values
            else:
                sources.append(current)
    return order, sources, constants
