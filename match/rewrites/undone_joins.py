"""Slices that are joined again are their tensor, and a slice of one part of a concatenation is a slice of that part."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from match.graph.elements import Lookup
from match.graph.moves import Columns, Concatenate, Move
from match.graph.rewrite import rewrite
from match.graph.value import Graph, Value


def without_undone_joins(graph: Graph) -> Graph:
    """The graph with tensors in place of all their slices in a row, and with slices of parts in place of those of all.

    So a block that computes with one half of a map, and hands on both halves and the result, hands on the map. Slices
    that are not all of a tensor stay apart: if others read them, too, one of all would be a copy more.
    """
    return rewrite(rewrite(graph, _whole), _part)


def _whole(value: Value, original: Value) -> Value:
    """A concatenation of fewer tensors, or the one that is left."""
    del original
    if not isinstance(value.operator, Concatenate):
        return value
    operands = tuple(_put_together(value.inputs, value.operator.axis))
    if len(operands) == len(value.inputs):
        return value
    return operands[0] if len(operands) == 1 else replace(value, inputs=operands)


def _put_together(operands: Sequence[Value], axis: int) -> Iterator[Value]:
    """The operands of a concatenation, with a tensor in place of neighbours that together are all of it.

    Neighbours through one table, which brings them to the scale of the others, are that table of the tensor.
    """
    for (source, table), group in itertools.groupby(operands, lambda operand: _origin(operand, axis)):
        parts = list(group)
        if source is not None:
            columns = [_taken(part if table is None else part.inputs[0], axis) for part in parts]
            taken = np.concatenate([one for one in columns if one is not None])
            if np.array_equal(taken, np.arange(source.shape[axis])):
                first, exact = parts[0], all(part.exact for part in parts)
                tensor = replace(source.tensor, dtype=first.dtype)
                parts = [source if table is None else replace(first, tensor=tensor, inputs=(source,), exact=exact)]
        yield from parts


def _origin(value: Value, axis: int) -> tuple[Value | None, bytes | None]:
    """The tensor that a value has some indices of along an axis, or None, and the table that they go through."""
    operator = value.operator
    if isinstance(operator, Lookup) and _taken(value.inputs[0], axis) is not None:
        return value.inputs[0].inputs[0], operator.outputs.tobytes()
    return (None if _taken(value, axis) is None else value.inputs[0]), None


def _taken(value: Value, axis: int) -> Columns | None:
    """The indices of one axis, and of no other, that a value has of its operand; None if it is made otherwise."""
    move = value.operator
    if not isinstance(move, Move) or move.split != value.inputs[0].shape:
        return None
    cut = [own for own, columns in enumerate(move.columns) if columns is not None]
    in_order = move.axes == tuple(range(len(move.axes))) and move.shape == move.taken
    return move.columns[axis] if in_order and cut == [axis] else None


def _part(value: Value, original: Value) -> Value:
    """A move of one of the tensors that are concatenated, or that tensor, in place of a move of all of them."""
    del original
    while (own := _of_one_part(value)) is not None:
        value = own
    return value


def _of_one_part(value: Value) -> Value | None:
    """The move of what it takes elements of, if that is one tensor of a concatenation."""
    move = value.operator
    if not isinstance(move, Move):
        return None
    (whole,) = value.inputs
    if not isinstance(whole.operator, Concatenate) or move.split != whole.shape:
        return None
    axis, first = whole.operator.axis, 0
    columns = move.columns[axis]
    if columns is None:
        return None
    for part in whole.inputs:
        extent = part.shape[axis]
        if np.all((columns >= first) & (columns < first + extent)):
            own = None if np.array_equal(columns - first, np.arange(extent)) else columns - first
            taken = (*move.columns[:axis], own, *move.columns[axis + 1 :])
            inside = replace(move, split=part.shape, columns=taken)
            same = inside.keeps_order and inside.shape == part.shape
            return part if same else replace(value, operator=inside, inputs=(part,))
        first += extent
    return None
