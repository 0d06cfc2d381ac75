"""Moves of elements that follow one another become one, and those that leave all elements in their order go."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeGuard

from match.graph import moves
from match.graph.integers import Elementwise
from match.graph.moves import Move
from match.graph.operator import Operator
from match.graph.rewrite import rewrite
from match.graph.value import Graph, Value, computed

_EXTREMA = "maximum", "minimum"


def join_moves(graph: Graph) -> Graph:
    """The graph with one transposition, or one reshape, in place of several in a row, and without idle ones.

    A transposition is joined with those in front of it if all axes between them are products of the same factors, and
    if nothing else reads what is between: to make the result from the first operand might take more.
    """
    values = graph.values
    read = Counter(source for value in values for source in value.inputs)
    read.update(graph.outputs)
    joined = rewrite(graph, partial(_joined_transposition, read, _names(values)))
    return rewrite(joined, _without_idle)


def _names(values: Sequence[Value]) -> dict[Value, str]:
    """Names for values without one that a reshape with a name hands on: the model may name what it reshapes so."""
    names: dict[Value, str] = {}
    for value in reversed(values):
        name = value.source or names.get(value, "")
        if name and _is_order(value.operator) and value.operator.keeps_order and not value.inputs[0].source:
            names[value.inputs[0]] = name
    return names


def _joined_transposition(
    read: Mapping[Value, int], names: Mapping[Value, str], value: Value, original: Value
) -> Value:
    """A transposition, with what is in front of it, as a reshape, a transposition and a reshape."""
    value = replace(value, source=names[original]) if original in names else value
    if not _is_order(value.operator) or value.operator.keeps_order:
        return value
    joined: _Permutation = value.operator.split, value.operator.axes
    source, before = value.inputs[0], original.inputs[0]
    found: tuple[Value, _Permutation] | None = None
    while _is_order(source.operator) and read[before] == 1:
        together = _joined((source.operator.split, source.operator.axes), joined)
        if not source.operator.keeps_order:
            if together is None:
                break
            joined, found = together, (source.inputs[0], together)
        source, before = source.inputs[0], before.inputs[0]
    if found is None:
        return value
    x, (extents, order) = found
    flat = computed(moves.reshape(x.tensor, extents), x)
    turned = replace(computed(moves.transpose(flat.tensor, order), flat), source=value.source, exact=value.exact)
    return replace(value, operator=moves.reshape(turned.tensor, value.shape), inputs=(turned,))


def _without_idle(value: Value, original: Value) -> Value:
    """A reshape of reshapes as one, or as what they all reshape; an extremum of a tensor and itself as the tensor."""
    del original
    operator = value.operator
    if isinstance(operator, Elementwise) and operator.function in _EXTREMA:
        sources = [_in_order(x) for x in value.inputs]
        whole = all(x.tensor.elements == value.tensor.elements for x in value.inputs)
        return _reshaped(value, sources[0]) if whole and len({*sources}) == 1 else value
    if _is_order(operator) and operator.keeps_order:
        source, idle = _in_order(value), value.inputs[0].shape == value.shape
        return value if source is value.inputs[0] and not idle else _reshaped(value, source)
    return value


def _reshaped(value: Value, source: Value) -> Value:
    if source.shape == value.shape:
        return source
    return replace(value, operator=moves.reshape(source.tensor, value.shape), inputs=(source,))


def _is_order(operator: Operator | None) -> TypeGuard[Move]:
    """Whether an operator hands on all elements, each once, without a gather."""
    return isinstance(operator, Move) and all(columns is None for columns in operator.columns)


def _in_order(value: Value) -> Value:
    """The tensor whose elements a value has, in their order."""
    while _is_order(value.operator) and value.operator.keeps_order:
        (value,) = value.inputs
    return value


_Permutation = tuple[tuple[int, ...], tuple[int, ...]]
"""The extents of a tensor's axes, and for each axis of the result that of the tensor."""


def _joined(first: _Permutation, second: _Permutation) -> _Permutation | None:
    """One permutation that does both, of the factors that axes between them have in common; None if there are none."""
    (before, inner), (between, outer) = first, second
    factors = _factors([before[axis] for axis in inner], between)
    if factors is None:
        return None
    of_first, of_second = _by_axis([before[axis] for axis in inner], factors), _by_axis(between, factors)
    by_source = sorted(range(len(inner)), key=lambda place: inner[place])
    order = [factor for place in by_source for factor in of_first[place]]
    result = [factor for axis in outer for factor in of_second[axis]]
    return tuple(factors[factor] for factor in order), tuple(order.index(factor) for factor in result)


def _factors(before: Sequence[int], after: Sequence[int]) -> list[int] | None:
    """The largest factors that the extents in front of and after a reshape are products of."""
    ends = sorted({math.prod(extents[:end]) for extents in (before, after) for end in range(len(extents) + 1)})
    if any(larger % smaller for smaller, larger in itertools.pairwise(ends)):
        return None
    return [larger // smaller for smaller, larger in itertools.pairwise(ends)]


def _by_axis(extents: Sequence[int], factors: Sequence[int]) -> list[list[int]]:
    """Which factors each axis is the product of: an axis of one element of none."""
    found: list[list[int]] = []
    place = 0
    for extent in extents:
        own: list[int] = []
        while math.prod(factors[factor] for factor in own) < extent:
            own.append(place)
            place += 1
        found.append(own)
    return found
