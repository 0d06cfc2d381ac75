"""Transpositions of maps to channels first and back go: what is between them computes with channels last.

ONNX has maps (N, C, H, W), and the graph's layers (N, H, W, C). A transposition remains where such a map meets the
network's inputs or outputs or an operator that needs the order of its axes. One in front of a dense layer, after a
flattening, goes into the weights; one of a map with a single pixel or channel is a reshape. Sequences (N, C, W) are
maps of one row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeGuard

import numpy as np

from match.graph import moves
from match.graph.constants import is_constant, reshaped_constant, transposed_constant
from match.graph.integers import Place
from match.graph.make import reshaped, transposed
from match.graph.maps import TO_FIRST, TO_LAST
from match.graph.moves import Columns, Concatenate, Move
from match.graph.operator import Operator
from match.graph.rewrite import rewrite
from match.graph.sums import Dense
from match.graph.value import Graph, Value, computed

_OF_MATRICES = (0, 2, 1, 3, 4)
"""The transposition of the channels of a map with channels first, seen as a matrix."""
_RANK = 4
_ROW = 1
"""The axis of the one row that a sequence has as a map with channels last."""


def with_channels_last(graph: Graph) -> Graph:
    """The graph with as few transpositions of maps as it can do with."""
    return rewrite(graph, _Maps().rule)


class _Maps:
    """Which tensors of the graph that is made are others in another order.

    `_last` has for maps and sequences with channels first the map with channels last, `_flat` for matrices (N, C·H·W)
    the map with channels last whose elements they are. `_wide` has for numbers of more bytes than what they are
    computed from the same with channels last. `_orders` has the transpositions of each tensor.
    """

    def __init__(self) -> None:
        self._last: dict[Value, Value] = {}
        self._flat: dict[Value, Value] = {}
        self._wide: dict[Value, Value] = {}
        self._orders: dict[tuple[Value, tuple[int, ...], tuple[int, ...], tuple[int, ...]], Value] = {}

    def rule(self, value: Value, original: Value) -> Value:
        """What becomes of a tensor on inputs that are replaced already."""
        del original
        operator = value.operator
        if isinstance(operator, Move):
            return self._moved(value, operator)
        if isinstance(operator, Dense) and value.inputs[0] in self._flat:
            return self._dense(value, operator)
        if _of_elements(operator):
            if len(value.inputs) == 1 and value.inputs[0] in self._flat:
                self._flat[value] = replace(computed(operator, self._flat[value.inputs[0]]), exact=value.exact)
            return self._elements(value, operator)
        if isinstance(operator, Place) and operator.axis == 1 and len(value.inputs[0].shape) == _RANK:
            return self._place(value, operator) if self._reads_a_map(value) else value
        if isinstance(operator, Concatenate) and self._reads_a_map(value):
            parts = tuple(map(self._with_channels_last, value.inputs))
            return self._first(value, Concatenate(axis=_place_of(operator.axis, len(value.shape))), parts)
        return value

    def _reads_a_map(self, value: Value) -> bool:
        """Whether a tensor is computed from a map that is known with channels last."""
        return any(x in self._last for x in value.inputs)

    def _first(self, value: Value, operator: Operator, inputs: tuple[Value, ...]) -> Value:
        """A map with channels first, whose place an operator on maps with channels last takes."""
        tensor = operator.result(*(x.tensor for x in inputs))
        last = replace(value, tensor=tensor, operator=operator, inputs=inputs)
        first = value if _is_widened(value) else _permuted(last, TO_FIRST)
        self._last[first] = last
        if len(value.shape) < _RANK and first is not value:
            first = reshaped(_in_order(first), value.shape)
            self._last[first] = last
        return first

    def _with_channels_last(self, x: Value) -> Value:
        """A map or a sequence with channels first as a map with channels last."""
        if x in self._last:
            return self._last[x]
        if x in self._wide:
            return self._wide[x]
        if x.operator is not None and _is_widened(x) and (inputs := self._operands(x)) is not None:
            tensor = x.operator.result(*(one.tensor for one in inputs))
            return self._wide.setdefault(x, replace(x, tensor=tensor, inputs=inputs))
        last = _permuted(x if len(x.shape) == _RANK else reshaped(_in_order(x), _as_map(x.shape)), TO_LAST)
        return self._once(last, last.operator) if isinstance(last.operator, Move) else last

    def _elements(self, value: Value, operator: Operator) -> Value:
        """A function of elements of maps, of which constants may be broadcast to the others."""
        if not self._reads_a_map(value) or len(value.shape) not in (_RANK - 1, _RANK):
            return value
        inputs = self._operands(value)
        return value if inputs is None else self._first(value, operator, inputs)

    def _place(self, value: Value, place: Place) -> Value:
        """The place of an extreme among channels, which are last then; the other axes stay in their order."""
        last, along = self._last[value.inputs[0]], replace(place, axis=_RANK - 1)
        return self._first(value, along, (last,)) if place.keepdims else replace(value, operator=along, inputs=(last,))

    def _operands(self, value: Value) -> tuple[Value, ...] | None:
        """What a function of elements has for maps with channels last; None if it has no such form."""
        operands = [self._operand(x, len(value.shape)) for x in value.inputs]
        inputs = tuple(operand for operand in operands if operand is not None)
        return inputs if len(inputs) == len(operands) else None

    def _operand(self, x: Value, rank: int) -> Value | None:
        """An operand of a function of elements for maps with channels last; None if it has no such form."""
        if x.tensor.elements == 1:
            return x
        if not is_constant(x):
            return self._with_channels_last(x) if len(x.shape) == rank else None
        whole = reshaped_constant(x, _as_map((*[1] * (rank - len(x.shape)), *x.shape)))
        turned = transposed_constant(whole, TO_LAST)
        return reshaped_constant(turned, turned.shape[-1:]) if x.tensor.elements == turned.shape[-1] else turned

    def _moved(self, value: Value, move: Move) -> Value:
        """A move, of a map with channels last if it has the same elements."""
        if any(columns is not None for columns in move.columns):
            return self._taken(value, move)
        if not move.keeps_order:
            return self._once(self._turned(value, move), move)
        (x,), made = value.inputs, self._reshaped(value)
        if move.axes == TO_FIRST and move.split == x.shape and made is not x:
            self._last.setdefault(made, x)
        return made

    def _once(self, value: Value, move: Move) -> Value:
        """A tensor, or what is the same transposition of the same tensor already."""
        if move.keeps_order or value.operator is not move:
            return value
        key = _in_order(value.inputs[0]), move.split, move.axes, move.shape
        return self._orders.setdefault(key, value)

    def _turned(self, value: Value, move: Move) -> Value:
        """A transposition."""
        (x,) = value.inputs
        if move.split != x.shape or move.shape != tuple(x.shape[axis] for axis in move.axes):
            return value
        if x in self._last:
            axes = [_place_of(axis, len(x.shape)) for axis in move.axes]
            if len(axes) < _RANK:
                return reshaped(_permuted(self._last[x], [_ROW, *axes]), value.shape)
            return _permuted(self._last[x], axes)
        if move.axes == TO_FIRST:
            self._last[value] = x
        return value

    def _reshaped(self, value: Value) -> Value:
        """A reshape, of what other reshapes read, too."""
        (x,) = value.inputs
        source = _in_order(x)
        last = self._last.get(source)
        if source.shape == value.shape:
            return source
        if (shuffled := self._shuffled(value, source)) is not None:
            return shuffled
        if source is not x:
            value = replace(value, operator=moves.reshape(source.tensor, value.shape), inputs=(source,))
        if last is not None and value.shape == (source.shape[0], source.tensor.elements // source.shape[0]):
            self._flat[value] = last
        elif last is not None and _as_map(value.shape) == source.shape:
            self._last[value] = last
        return value

    def _shuffled(self, value: Value, turned: Value) -> Value | None:
        """The channels of a map, as a matrix, transposed; None of other tensors that a reshape reads."""
        move = turned.operator
        if not isinstance(move, Move) or move.axes != _OF_MATRICES or move.split != turned.inputs[0].shape:
            return None
        x, (_, groups, channels, *pixels) = _in_order(turned.inputs[0]), move.split
        if x not in self._last or x.shape != value.shape or [*x.shape[2:]] != pixels:
            return None
        last = self._last[x]
        matrix = reshaped(last, (*last.shape[:3], groups, channels))
        made = reshaped(replace(transposed(matrix, (0, 1, 2, 4, 3)), source=value.source), last.shape)
        first = _permuted(made, TO_FIRST)
        self._last[first] = made
        return first

    def _taken(self, value: Value, move: Move) -> Value:
        """Indices along axes of a map, and what fills around them."""
        (x,) = value.inputs
        if x not in self._last or move.split != x.shape or move.turns or move.shape != move.taken:
            return value
        columns: list[Columns | None] = [None] * _RANK
        for axis, own in enumerate(move.columns):
            columns[_place_of(axis, len(x.shape))] = own
        return self._first(value, moves.take(self._last[x].tensor, columns, move.fill), (self._last[x],))

    def _dense(self, value: Value, dense: Dense) -> Value:
        """A dense layer of a flattened map, whose order goes into the weights."""
        (x,) = value.inputs
        _, rows, columns, channels = self._flat[x].shape
        ordered = dense.weights.reshape(-1, channels, rows, columns).transpose(TO_LAST)
        weights = np.ascontiguousarray(ordered.reshape(dense.weights.shape))
        flat = replace(reshaped(self._flat[x], x.shape), source=x.source)
        return replace(value, operator=replace(dense, weights=weights), inputs=(flat,))


def _of_elements(operator: Operator | None) -> TypeGuard[Operator]:
    """Whether an operator is a function of elements, for whose operands other moves do as well."""
    return operator is not None and operator.elementwise


def _is_widened(value: Value) -> bool:
    """Whether numbers are each computed from one element of a tensor of fewer bytes, which is turned in their place."""
    operator, wide = value.operator, value.tensor.bytes
    while _of_elements(operator):
        sources = [x for x in value.inputs if not is_constant(x)]
        if len(sources) != 1 or sources[0].shape != value.shape:
            return False
        (value,) = sources
        if value.tensor.bytes < wide:
            return True
        operator = value.operator
    return False


def _as_map(shape: Sequence[int]) -> tuple[int, ...]:
    """The shape of a map with channels first, or of a sequence as a map of one row."""
    return tuple(shape) if len(shape) == _RANK else (*shape[:2], 1, *shape[2:])


def _place_of(axis: int, rank: int) -> int:
    """Where an axis of a map or a sequence with channels first is in the map with channels last."""
    return TO_LAST.index(axis if rank == _RANK or axis < _RANK - 2 else axis + 1)


def _in_order(x: Value) -> Value:
    """The tensor whose elements a value has, in their order."""
    while isinstance(x.operator, Move) and x.operator.keeps_order:
        (x,) = x.inputs
    return x


def _permuted(x: Value, axes: Sequence[int]) -> Value:
    """A transposition, as a reshape where only extents of 1 change their places."""
    turned = transposed(x, axes)
    if not isinstance(turned.operator, Move) or not turned.operator.keeps_order or turned is x:
        return turned
    return reshaped(_in_order(x), turned.shape)
