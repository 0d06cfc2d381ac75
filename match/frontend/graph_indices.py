"""Which values the inputs of a graph may have that choose elements of tensors, such as words of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from match.frontend.bounds import EVERY, Bounds, clipped, with_bounds
from match.frontend.model import ModelTensor
from match.graph.gathers import Gather, GatherElements, GatherPoints
from match.graph.integers import Clip, Elementwise
from match.graph.make import array_of
from match.graph.moves import Concatenate, Move
from match.graph.operator import Array
from match.graph.value import Graph, Value

_FIRST = "subtract", "add", "maximum", "minimum"


def with_indices(tensors: Sequence[ModelTensor], graph: Graph) -> tuple[ModelTensor, ...]:
    """The inputs of a network, each with the range of its indices if it has some."""
    accepted: dict[Value, Bounds] = {}
    for value in reversed(graph.values):
        for operand, bounds in _demands(value, accepted.get(value)):
            low, high = accepted.get(operand, EVERY)
            accepted[operand] = max(low, bounds[0]), min(high, bounds[1])
    return tuple(with_bounds(tensor, accepted.get(x)) for tensor, x in zip(tensors, graph.given, strict=True))


def _demands(value: Value, own: Bounds | None) -> Iterator[tuple[Value, Bounds]]:
    """What a tensor asks of those that it is computed from; its own users take values in `own` only, None: any."""
    match value.operator:
        case Gather(axis=axis, from_end=from_end):
            x, indices = value.inputs
            yield indices, (-x.shape[axis] if from_end else 0, x.shape[axis] - 1)
        case GatherElements(axis=axis):
            x, indices = value.inputs
            yield indices, (-x.shape[axis], x.shape[axis] - 1)
        case GatherPoints():
            x, points = value.inputs
            yield points, (0, min(x.shape[: points.shape[-1]]) - 1)
        case _:
            pass
    if own is None:
        return
    match value.operator:
        case Move() | Concatenate():
            yield from ((x, own) for x in value.inputs)
        case Clip(limits=(low, high)):
            yield value.inputs[0], clipped(own, low, high)
        case Elementwise(function="cast"):
            yield value.inputs[0], own
        case Elementwise(function=function) if function in _FIRST and (by := array_of(value.inputs[1])) is not None:
            yield from ((value.inputs[0], bounds) for bounds in _before(function, by, own))
        case Gather() | GatherElements() | GatherPoints():
            yield value.inputs[0], own
        case _:
            pass


def _before(function: str, by: Array, own: Bounds) -> Iterator[Bounds]:
    """The values that are within `own` after a function with constants."""
    numbers = by.astype(np.int64)
    if function in ("maximum", "minimum"):
        if numbers.size == 1:
            bound = int(numbers.reshape(-1)[0])
            yield clipped(own, *((bound, None) if function == "maximum" else (None, bound)))
        return
    offsets = numbers if function == "add" else -numbers
    yield own[0] - int(offsets.min()), own[1] - int(offsets.max())
