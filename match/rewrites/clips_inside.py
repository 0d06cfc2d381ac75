"""A clip becomes a part of the operator in front of it, if that clips its outputs and nothing else reads them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from match.graph.integers import Clip
from match.graph.operator import Operator
from match.graph.pairs import (
    Addition,
    FunctionOfTwo,
    LookupLine,
    LookupSum,
    Matrices,
    Multiplication,
    SquaredDifference,
)
from match.graph.rewrite import rewrite
from match.graph.sums import SUMS, Accumulation
from match.graph.value import Graph, Value


def with_clips_inside(graph: Graph) -> Graph:
    """The graph without such clips."""
    read = Counter(source for value in graph.values for source in value.inputs)
    read.update(graph.outputs)

    def rule(value: Value, original: Value) -> Value:
        if not isinstance(value.operator, Clip) or read[original.inputs[0]] > 1:
            return value
        source = value.inputs[0]
        operator = _clipped(source.operator, *value.operator.limits)
        if operator is None:
            return value
        return replace(source, operator=operator, source=source.source or value.source)

    return rewrite(graph, rule)


def _clipped(operator: Operator | None, low: int, high: int) -> Operator | None:
    """An operator whose outputs are clipped to `low` .. `high`; None if it has no clip."""
    match operator:
        case Accumulation() if operator.dtype != SUMS:
            return replace(operator, requantization=operator.requantization.clipped(low, high))
        case Multiplication() | SquaredDifference() | Matrices():
            return replace(operator, requantization=operator.requantization.clipped(low, high))
        case FunctionOfTwo():
            least, most = operator.clip
            clip = min(max(least, low), high), max(min(most, high), low)
            return replace(operator, clip=clip, outputs=operator.outputs.clip(*clip))
        case Addition() | LookupSum() | LookupLine():
            least, most = operator.clip
            return replace(operator, clip=(min(max(least, low), high), max(min(most, high), low)))
        case _:
            return None
