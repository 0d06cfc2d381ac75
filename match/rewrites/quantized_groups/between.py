"""Moves between two operators of a group."""

from __future__ import annotations

from match.graph.moves import Move
from match.graph.value import Value, computed


def without_moves(x: Value) -> tuple[Value, list[Move]]:
    """The tensor before moves that fill nothing, and these, the first one first."""
    moves: list[Move] = []
    while isinstance(x.operator, Move) and x.operator.padding_value is None:
        moves.insert(0, x.operator)
        (x,) = x.inputs
    return x, moves


def moved(x: Value, move: Move) -> Value:
    """A tensor, moved."""
    return computed(move, x)
