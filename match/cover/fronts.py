"""Least sums of one cost within a bound of another: variable elimination as in `elimination`, with fronts for costs.

Where that keeps the cheapest value of a variable for each row of the others, this keeps all that no other is as cheap
as in both costs (the Pareto front), each with the values that it stands for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from match.cover.elimination import Pair, elimination_order

Trace = Any
"""The values that a point stands for: (variable, value), two traces, or None."""


class _Point(NamedTuple):
    first: int
    second: int
    trace: Trace


class _Table(NamedTuple):
    """Fronts by the values of some variables; what has no row is not allowed."""

    scope: tuple[int, ...]
    rows: dict[tuple[int, ...], list[_Point]]


class TooManyPointsError(Exception):
    """There are more points than may be made."""


class BoundedSum:
    """The least sum of first costs with second costs of at most `most` in all, which are not negative."""

    def __init__(self, most: int, points: int) -> None:
        """Make at most `points` points."""
        self._most, self._left = most, points

    def least(
        self,
        alone: Sequence[Sequence[Mapping[int, int]]],
        pairs: Sequence[Mapping[Pair, Mapping[Pair, int]]],
    ) -> dict[int, int] | None:
        """The value of each variable; None if no sum is within the bound.

        Args:
            alone: as of `elimination.marginals`, of each of the two costs, with the same keys.
            pairs: the same.

        Raises:
            TooManyPointsError: more points would be made than may be.
        """
        (first, second), (both, other) = alone, pairs
        held: list[list[_Table]] = [
            [_Table((n,), {(value,): [_Point(cost, second[n][value], (n, value))] for value, cost in own.items()})]
            for n, own in enumerate(first)
        ]
        for pair, rows in both.items():
            table = _Table(pair, {row: [_Point(cost, other[pair][row], None)] for row, cost in rows.items()})
            for variable in pair:
                held[variable].append(table)
        whole = [_Point(0, 0, None)]
        for variable in elimination_order([len(own) for own in first], both):
            message = self._message(variable, held[variable])
            for table in held[variable]:
                for place in table.scope:
                    if place != variable:
                        held[place] = [one for one in held[place] if one is not table]
            for place in message.scope:
                held[place].append(message)
            if not message.scope:
                whole = self._front(self._sums(whole, message.rows.get((), [])))
        return dict(_values(whole[0].trace)) if whole else None

    def _message(self, variable: int, tables: Sequence[_Table]) -> _Table:
        """The sum of tables that all have the variable, with the front over its values for each row of the others."""
        joined = _Table((), {(): [_Point(0, 0, None)]})
        for table in sorted(tables, key=lambda table: len(table.rows)):
            joined = self._sum(joined, table)
        scope = tuple(other for other in joined.scope if other != variable)
        places = [joined.scope.index(other) for other in scope]
        rows: dict[tuple[int, ...], list[_Point]] = {}
        for row, points in joined.rows.items():
            rows.setdefault(tuple([row[place] for place in places]), []).extend(points)
        return _Table(scope, {row: front for row, points in rows.items() if (front := self._front(points))})

    def _sum(self, left: _Table, right: _Table) -> _Table:
        """Rows that agree in the variables that both tables have, with the sums of their fronts."""
        common = [variable for variable in left.scope if variable in right.scope]
        added = [place for place, variable in enumerate(right.scope) if variable not in common]
        ours = [left.scope.index(variable) for variable in common]
        theirs = [right.scope.index(variable) for variable in common]
        matching: dict[tuple[int, ...], list[tuple[tuple[int, ...], list[_Point]]]] = {}
        for row, points in right.rows.items():
            key = tuple([row[place] for place in theirs])
            matching.setdefault(key, []).append((tuple([row[place] for place in added]), points))
        rows: dict[tuple[int, ...], list[_Point]] = {}
        for row, points in left.rows.items():
            for rest, more in matching.get(tuple([row[place] for place in ours]), ()):
                rows[row + rest] = self._front(self._sums(points, more))
        return _Table((*left.scope, *(right.scope[place] for place in added)), rows)

    def _sums(self, some: Sequence[_Point], others: Sequence[_Point]) -> list[_Point]:
        self._left -= len(some) * len(others)
        if self._left < 0:
            raise TooManyPointsError
        return [
            _Point(one.first + other.first, one.second + other.second, _both(one.trace, other.trace))
            for one in some
            for other in others
        ]

    def _front(self, points: list[_Point]) -> list[_Point]:
        """The points within the bound that no other is as good as, least first cost first; of equals the first."""
        if len(points) == 1:
            return points if points[0].second <= self._most else []
        front: list[_Point] = []
        least = self._most + 1
        for point in sorted(points, key=lambda point: (point.first, point.second)):
            if point.second < least:
                front.append(point)
                least = point.second
        return front


def _both(one: Trace, other: Trace) -> Trace:
    return other if one is None else one if other is None else (one, other)


def _values(trace: Trace) -> Iterator[tuple[int, int]]:
    """The variables and values of a trace."""
    waiting: list[Trace] = [trace] if trace else []
    while waiting:
        one, other = waiting.pop()
        if isinstance(one, int):
            yield one, other
        else:
            waiting += [one, other]
