"""Answers of cost models, checked: each is a finite number of at least zero, or an error that says who is at fault."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Real

from match.errors import CostModelError, in_a_line

SLACK = 1e-9
"""Relative difference up to which two sums of cycles are equal: the order of additions decides nothing."""

MOST = 1e300
"""Up to this number, answers need no further look."""


def call_text(cost_model: object, layer: str, method: str, arguments: Sequence[object]) -> str:
    """A call of a cost model as errors show it; the layer is named, not shown among the arguments."""
    words = ", ".join(str(argument) for argument in arguments)
    return f"cost model {type(cost_model).__name__}, layer {layer}: {method}({words})"


def number(ask: Callable[[], object], call: Callable[[], str]) -> float:
    """What `ask` returns; `call` describes it in errors.

    Raises:
        CostModelError: if it raises, or returns what is not a finite number of at least 0.
    """
    try:
        value = ask()
    except Exception as error:
        raise failure(call(), error) from error
    return checked(value, call)


def failure(call: str, error: Exception, advice: str = "") -> CostModelError:
    """Says that a call raised an error, and what to do about it."""
    return CostModelError(f"{call} raised {in_a_line(error)}{advice}.")


def checked(value: object, call: Callable[[], str]) -> float:
    """The number that a call returned.

    Raises:
        CostModelError: if it is not a finite number of at least 0.
    """
    if isinstance(value, (float, int)) and 0 <= value <= MOST:  # nearly every answer, and a search asks for thousands
        return float(value)
    if not isinstance(value, Real):
        raise CostModelError(
            f"{call()} returned {value!r} of type {type(value).__name__}; it must return a finite number of at least 0."
        )
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if not 0 <= result < math.inf:
        raise CostModelError(f"{call()} returned {value}; it must return a finite number of at least 0.")
    return result
