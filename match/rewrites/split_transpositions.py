"""Splits transpositions of three groups of axes or more into several that exchange two groups, as modules take them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

from match.graph import moves
from match.graph.moves import NARROW, Move, axis_groups
from match.graph.rewrite import rewrite
from match.graph.value import Graph, Value, computed
from match.ir.layer import Op
from match.target.hardware import MatchTarget

_MOST = 6
"""Groups of axes of a transposition that is taken apart, into four at most: each takes a fifth of one of TVM's."""


def split_transpositions(graph: Graph, target: MatchTarget) -> Graph:
    """The graph with transpositions of 8 or 16 bits that exchange two groups of axes each, if a module takes some.

    A transposition of more than `_MOST` groups stays as it is.
    """
    return rewrite(graph, _rule) if Op.TRANSPOSE in target.taken else graph


def _rule(value: Value, original: Value) -> Value:
    del original
    move = value.operator
    if not isinstance(move, Move) or not move.turns or any(columns is not None for columns in move.columns):
        return value
    if value.dtype not in NARROW:
        return value
    groups = axis_groups([axis for axis in move.axes if move.split[axis] > 1], move.split)
    places = sorted(groups)
    order = tuple(places.index(group) for group in groups)
    turns = _turns(order) if len(order) <= _MOST else ()
    if len(turns) < 2:
        return value
    (x,), extents = value.inputs, [extent for _, extent in places]
    for first, middle, last in turns:
        parts = extents[:first], extents[first:middle], extents[middle:last], extents[last:]
        x = computed(moves.reshape(x.tensor, tuple(math.prod(part) for part in parts)), x)
        x = computed(moves.transpose(x.tensor, (0, 2, 1, 3)), x)
        extents = [*parts[0], *parts[2], *parts[1], *parts[3]]
    x = replace(x, source=value.source, exact=value.exact)
    return replace(value, operator=moves.reshape(x.tensor, value.shape), inputs=(x,))


_Turn = tuple[int, int, int]
"""Places first to middle change theirs with those from middle to last."""


def _turns(wanted: tuple[int, ...]) -> tuple[_Turn, ...]:
    """The fewest turns that bring 0, 1, 2, ... into this order, of equally many those with the most places after.

    What lies after both groups moves together, which is cheaper than element by element.
    """
    start = tuple(range(len(wanted)))
    found: dict[tuple[int, ...], tuple[_Turn, ...]] = {start: ()}
    reached = found
    while wanted not in found:
        further: dict[tuple[int, ...], tuple[_Turn, ...]] = {}
        for places, turns in reached.items():
            for turn in itertools.combinations(range(len(wanted) + 1), 3):
                after, longer = _after(places, turn), (*turns, turn)
                if after not in found and (after not in further or _ends(longer) < _ends(further[after])):
                    further[after] = longer
        found |= further
        reached = further
    return found[wanted]


def _ends(turns: Sequence[_Turn]) -> int:
    return sum(last for _, _, last in turns)


def _after(places: tuple[int, ...], turn: _Turn) -> tuple[int, ...]:
    first, middle, last = turn
    return (*places[:first], *places[middle:last], *places[first:middle], *places[last:])
