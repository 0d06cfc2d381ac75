"""Moves that take elements of several axes, one axis after the other, as modules take them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from match.graph import moves
from match.graph.moves import NARROW, Columns, Move
from match.graph.rewrite import rewrite
from match.graph.value import Graph, Value, computed


def split_gathers(graph: Graph) -> Graph:
    """The graph with one axis in each gather, slice and pad of 8 or 16 bits.

    What leaves the smallest part is first, so that the others have less to move.
    """
    return rewrite(graph, _rule)


def _rule(value: Value, original: Value) -> Value:
    del original
    move = value.operator
    if not isinstance(move, Move) or move.turns or value.dtype not in NARROW:
        return value
    chosen = {axis: columns for axis, columns in enumerate(move.columns) if columns is not None}
    if len(chosen) < 2 and all(map(_are_neighbours, chosen.values())):
        return value
    (x,) = value.inputs
    if move.split != x.shape:
        x = computed(moves.reshape(x.tensor, move.split), x)
    for axis in sorted(chosen, key=lambda axis: (len(chosen[axis]) / move.split[axis], -axis)):
        columns = [chosen[axis] if own == axis else None for own in range(len(x.shape))]
        x = computed(moves.take(x.tensor, columns, move.fill), x)
    if move.shape != x.shape:
        return replace(value, operator=moves.reshape(x.tensor, move.shape), inputs=(x,))
    return replace(value, operator=x.operator, inputs=x.inputs)  # also of one axis: whatever it was, it is a gather now


def _are_neighbours(columns: Columns) -> bool:
    return bool(columns[0] >= 0 and np.all(np.diff(columns) == 1))
