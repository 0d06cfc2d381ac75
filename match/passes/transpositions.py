"""Transpositions of a transposition's result become one, also where reshapes between them take axes apart."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from match.relay import relay, tvm
from match.relay.graph import users
from match.relay.objects import main_function
from match.relay.rewrite import New, is_call, permutation, rewrite, shape


@dataclass(frozen=True)
class JoinTranspositions:
    """Joins each transposition with those in front of it, if all axes between them are products of the same factors.

    What others read, too, stays in front of it: to make the result from the operand might take more.
    """

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        used_by = users(main_function(module))
        return rewrite(module, partial(_rule, used_by))


def _rule(used_by: Mapping[relay.Expr, Sequence[relay.Expr]], call: relay.Call, new: New) -> relay.Expr | None:
    if not is_call(call, "transpose"):
        return None
    source, joined = call.args[0], (shape(call.args[0]), permutation(call))
    found: tuple[relay.Expr, _Permutation] | None = None
    while is_call(source, "transpose", "reshape") and len(used_by[source]) == 1:
        if is_call(source, "transpose"):
            together = _joined((shape(source.args[0]), permutation(source)), joined)
            if together is None:
                break
            joined, found = together, (source.args[0], together)
        source = source.args[0]
    if found is None:
        return None
    x, (extents, order) = found
    return relay.reshape(relay.transpose(relay.reshape(new(x), extents), order), shape(call))


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
    """The largest factors that the extents in front of and behind a reshape are products of."""
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
