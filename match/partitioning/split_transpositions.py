"""Splits transpositions of three groups of axes or more into several that exchange two groups, as modules take them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from match.graph.moves import axis_groups
from match.ir.layer import Op
from match.relay import relay, tvm
from match.relay.rewrite import New, is_call, is_narrow, permutation, rewrite, shape
from match.target.hardware import MatchTarget

_MOST = 6
"""Groups of axes of a transposition that is taken apart, into four at most: each takes a fifth of one of TVM's."""


def split_transpositions(module: tvm.IRModule, target: MatchTarget) -> tvm.IRModule:
    """The network with transpositions of 8 or 16 bits that exchange two groups of axes each, if a module takes some.

    A transposition of more than `_MOST` groups stays as it is.
    """
    taken = any(Op.TRANSPOSE in pattern.ops for pattern in target.patterns)
    return rewrite(module, _rule) if taken else module


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    if not is_call(call, "transpose") or not is_narrow(call):
        return None
    before = shape(call.args[0])
    groups = axis_groups([axis for axis in permutation(call) if before[axis] > 1], before)
    places = sorted(groups)
    order = tuple(places.index(group) for group in groups)
    turns = _turns(order) if len(order) <= _MOST else ()
    if len(turns) < 2:
        return None
    x, extents = new(call.args[0]), [extent for _, extent in places]
    for first, middle, last in turns:
        parts = extents[:first], extents[first:middle], extents[middle:last], extents[last:]
        x = relay.transpose(relay.reshape(x, [math.prod(part) for part in parts]), (0, 2, 1, 3))
        extents = [*parts[0], *parts[2], *parts[1], *parts[3]]
    return relay.reshape(x, shape(call))


_Turn = tuple[int, int, int]
"""Places first to middle change theirs with those from middle to last."""


def _turns(wanted: tuple[int, ...]) -> tuple[_Turn, ...]:
    """The fewest turns that bring 0, 1, 2, ... into this order, of equally many those with the most places behind.

    What lies behind both groups moves together, which is cheaper than element by element.
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
