"""Least sums over variables with few values each, of costs that depend on two of them at most: variable elimination.

A variable is taken out by joining all tables that it is in, and keeping of its values the cheapest for each row of the
others. The joined tables form a tree, and on the way back through it each learns what the rest costs (min-sum message
passing, for instance R. Dechter, "Bucket elimination: a unifying framework for reasoning", 1999). What that takes
depends on how many variables hang together at a time, not on how many there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

Pair = tuple[int, int]


class _Table(NamedTuple):
    """Costs by the values of some variables; what has no row is not allowed."""

    scope: tuple[int, ...]
    rows: dict[tuple[int, ...], int]


class _Bucket(NamedTuple):
    """All that was said of a variable when it was taken out: the variable first, then those that it hung together with.

    message: the same with the cheapest value of the variable.
    """

    joined: _Table
    message: _Table


@dataclass(frozen=True)
class Marginals:
    """For each variable and value the least sum with it; values that no allowed choice has are left out.

    rows: how many rows the joined tables have, the work that was done.
    """

    least: tuple[dict[int, int], ...]
    rows: int


def marginals(alone: Sequence[Mapping[int, int]], pairs: Mapping[Pair, Mapping[Pair, int]]) -> Marginals:
    """The least sums.

    Args:
        alone: for each variable its values and what they cost.
        pairs: for two variables what their values cost together; values of theirs that are not there exclude each
            other.
    """
    tables = [
        _Table((variable,), {(value,): cost for value, cost in own.items()}) for variable, own in enumerate(alone)
    ]
    tables += [_Table(pair, dict(rows)) for pair, rows in pairs.items()]
    held: list[list[_Table]] = [[] for _ in alone]
    for table in tables:
        for variable in table.scope:
            held[variable].append(table)
    buckets: dict[int, _Bucket] = {}
    for variable in elimination_order([len(own) for own in alone], pairs):
        joined = _join(variable, held[variable])
        message = _least(joined, joined.scope[1:])
        for table in held[variable]:
            for other in table.scope:
                if other != variable:
                    held[other] = [one for one in held[other] if one is not table]
        for other in message.scope:
            held[other].append(message)
        buckets[variable] = _Bucket(joined, message)
    return Marginals(_back(buckets), sum(len(bucket.joined.rows) for bucket in buckets.values()))


def elimination_order(sizes: Sequence[int], pairs: Iterable[Pair]) -> list[int]:
    """Next is always the variable whose joined table has least room, of equals the first."""
    near: list[set[int]] = [set() for _ in sizes]
    for one, other in pairs:
        near[one].add(other)
        near[other].add(one)

    def room(variable: int) -> int:
        product = sizes[variable]
        for other in near[variable]:
            product *= sizes[other]
        return product

    rooms = {variable: room(variable) for variable in range(len(sizes))}
    order: list[int] = []
    while rooms:
        variable = min(rooms, key=lambda one: (rooms[one], one))
        del rooms[variable]
        order.append(variable)
        for other in near[variable]:
            near[other] = (near[other] | near[variable]) - {variable, other}
        for other in near[variable]:
            rooms[other] = room(other)
    return order


def _join(variable: int, tables: Sequence[_Table]) -> _Table:
    """The sum of tables that all have the variable, which becomes the first of the scope."""
    result = _Table((variable,), {})
    for number, table in enumerate(sorted(tables, key=lambda table: len(table.rows))):
        result = _sum(result, table) if number else _moved(table, variable)
    return result


def _moved(table: _Table, variable: int) -> _Table:
    """The table with a variable of its scope in front."""
    scope = (variable, *(other for other in table.scope if other != variable))
    places = [table.scope.index(other) for other in scope]
    return _Table(scope, {tuple(row[place] for place in places): cost for row, cost in table.rows.items()})


def _sum(left: _Table, right: _Table) -> _Table:
    """Rows that agree in the variables that both tables have, with the sums of their costs."""
    common = [variable for variable in left.scope if variable in right.scope]
    added = [place for place, variable in enumerate(right.scope) if variable not in common]
    ours = [left.scope.index(variable) for variable in common]
    theirs = [right.scope.index(variable) for variable in common]
    scope = (*left.scope, *(right.scope[place] for place in added))
    matching: dict[tuple[int, ...], list[tuple[tuple[int, ...], int]]] = {}
    for row, cost in right.rows.items():
        key = tuple([row[place] for place in theirs])
        matching.setdefault(key, []).append((tuple([row[place] for place in added]), cost))
    rows: dict[tuple[int, ...], int] = {}
    for row, cost in left.rows.items():
        for rest, more in matching.get(tuple([row[place] for place in ours]), ()):
            rows[row + rest] = cost + more
    return _Table(scope, rows)


def _least(table: _Table, scope: tuple[int, ...]) -> _Table:
    """The cheapest for each row of some of the variables."""
    places = [table.scope.index(variable) for variable in scope]
    rows: dict[tuple[int, ...], int] = {}
    for row, cost in table.rows.items():
        key = tuple([row[place] for place in places])
        if key not in rows or cost < rows[key]:
            rows[key] = cost
    return _Table(scope, rows)


def _back(buckets: dict[int, _Bucket]) -> tuple[dict[int, int], ...]:
    """From the last bucket to the first: what each row costs with the best of all else.

    A bucket's message went to a later bucket, whose rows already have the least cost of the whole. The message is
    subtracted from that. What is left is the cost outside the first bucket, to which its own rows are added.
    """
    turns = {variable: turn for turn, variable in enumerate(buckets)}
    wholes: dict[int, _Table] = {}
    roots = sum(min(message.rows.values(), default=0) for _, message in buckets.values() if not message.scope)
    for variable, (joined, message) in reversed(buckets.items()):
        if message.scope:
            whole = _least(wholes[min(message.scope, key=lambda other: turns[other])], message.scope).rows
        else:
            whole = dict.fromkeys(message.rows, roots)
        outside = {row: cost - message.rows[row] for row, cost in whole.items()}
        rows = {row: cost + outside[row[1:]] for row, cost in joined.rows.items() if row[1:] in outside}
        wholes[variable] = _Table(joined.scope, rows)
    least = {
        variable: {value: cost for (value,), cost in _least(whole, (variable,)).rows.items()}
        for variable, whole in wholes.items()
    }
    return tuple(least[variable] for variable in range(len(buckets)))
