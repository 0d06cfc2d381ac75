"""int8 activations become uint8, and B makes up for it in the sums.

Values and zero points become 128 larger. A tensor after a ReLU may have no value below the middle of its type. It is
stored 128 lower than other tensors, so that its smallest value is 0: many forms of requantization can clip only at 0.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from match.graph.elements import DequantizeSums, Lookup
from match.graph.integers import Elementwise
from match.graph.moves import Concatenate, Move
from match.graph.opaque import Constant
from match.graph.operator import Operator, Stored
from match.graph.rewrite import replacements
from match.graph.sums import SUMS, Accumulation
from match.graph.value import Graph, Value, computed
from match.ir.dtypes import levels, value_range
from match.ir.requantization import Int64Array

_MIDDLE = 128
_NARROW = "int8", "uint8"

_Pair = tuple[Value, Value]
"""What a value became, and the value as it was."""


def with_unsigned_activations(graph: Graph) -> Graph:
    """The graph with every int8 activation stored as uint8, for machines whose multipliers take unsigned activations.

    The network's inputs and outputs keep their types: a conversion, which is a table, stands at the border. So it does
    around operators that have no unsigned form; those whose results can be converted for nothing convert themselves.
    """
    return unsigned(graph).graph


class Unsigned(NamedTuple):
    """A graph whose activations are unsigned, and what each value of the graph as it was became in it."""

    graph: Graph
    became: Mapping[Value, Value]


def unsigned(graph: Graph, kept: Collection[Value] = ()) -> Unsigned:
    """The same but for the operators that compute `kept`, which stay as they are; conversions stand around them."""
    conversion = _Conversion(_handed_out(graph), kept)
    changed = replacements(graph, conversion.rule)
    outputs = tuple(conversion.as_it_was(changed[value], value) for value in graph.outputs)
    again = replacements(replace(graph, outputs=outputs), _without_idle)
    became = {value: again[now] for value, now in changed.items() if now in again}
    return Unsigned(replace(graph, outputs=tuple(again[value] for value in outputs)), became)


def _without_idle(value: Value, original: Value) -> Value:
    """What a table reads that changes no number, as one that turns uint8 into int8 does once both are uint8."""
    del original
    if isinstance(value.operator, Lookup) and value.dtype == value.inputs[0].dtype == "uint8":
        return value.inputs[0] if np.array_equal(value.operator.outputs, levels("uint8")) else value
    return value


@dataclass(frozen=True, eq=False)
class _Grown:
    """int32 sums that nothing requantizes, larger by `growth`, shape (channels,), than they were."""

    sums: Value
    growth: Int64Array


class _Conversion:
    """What has been converted so far, by original value."""

    def __init__(self, handed_out: Collection[Value], kept: Collection[Value]) -> None:
        self._handed_out = handed_out
        self._kept = kept
        self._more: dict[Value, int] = {}  # of values that are not stored as they are
        self._sums: dict[Value, _Grown] = {}
        self._signed: dict[Value, Value] = {}
        self._unsigned: dict[Value, Value] = {}
        self._wholes: dict[Value, Value] = {}

    def rule(self, value: Value, original: Value) -> Value:
        """What a value becomes."""
        operator, pairs = original.operator, list(zip(value.inputs, original.inputs, strict=True))
        assert operator is not None, "only what is computed is converted"
        if original in self._kept:
            return _on(value, [self.as_it_was(*pair) for pair in pairs])
        if isinstance(operator, DequantizeSums) and original.inputs[0] in self._sums:
            grown = self._sums[original.inputs[0]]
            offset = operator.offset - grown.growth.astype(np.int32)
            return replace(value, operator=replace(operator, offset=offset), inputs=(grown.sums,))
        converted = self._converted(value, original, operator, pairs)
        return converted or _on(value, [self.as_it_was(*pair) for pair in pairs])

    def as_it_was(self, value: Value, original: Value) -> Value:
        """What became of a value, with the numbers that it had."""
        if original not in self._more:
            return value
        if original not in self._signed:
            itself = self._again(value, original, None)
            numbers = np.minimum(levels("uint8") - self._more[original], value_range(original.dtype)[1])
            self._signed[original] = itself or computed(Lookup(outputs=numbers, dtype=original.dtype), value)
        return self._signed[original]

    def _converted(self, value: Value, original: Value, operator: Operator, pairs: Sequence[_Pair]) -> Value | None:
        """An operator in its unsigned form; None if it has none, or nothing of 8 bits."""
        if original.dtype not in _NARROW and not any(self._changes(x) for _, x in pairs):
            return None
        if original in self._handed_out and _moves(operator) and not any(x in self._more for _, x in pairs):
            return value
        inputs, stored = self._inputs(operator, pairs)
        more = None
        if original.dtype in _NARROW and (original not in self._handed_out or _moves(operator)):
            more = stored[0].more if operator.hands_on else _least_more(original, operator)
        if all(x.as_it_is for x in stored) and not more and original.dtype != "int8":
            return _on(value, inputs)
        changed = operator.unsigned(stored, more)
        if changed is None:
            return None
        result = changed.result(*(x.tensor for x in inputs))
        made = replace(value, tensor=result, operator=changed, inputs=tuple(inputs))
        if isinstance(operator, Accumulation) and operator.dtype == SUMS:
            return self._less_growth(made, original, stored[0].more * operator.growth)
        if more is not None and result.dtype == "uint8" and (more or original.dtype == "int8"):
            self._more[original] = more
        return made

    def _inputs(self, operator: Operator, pairs: Sequence[_Pair]) -> tuple[list[Value], list[Stored]]:
        """What an operator in its unsigned form reads, and how that is stored."""
        if operator.converts:
            return [value for value, _ in pairs], [self._stored(x) for _, x in pairs]
        if operator.alike or operator.hands_on or operator.padding_value is not None:
            inputs, more = self._alike(pairs, operator.padding_value)
            return inputs, [Stored(x.dtype, "uint8", more) for _, x in pairs]
        return [self._as_unsigned(*pair) for pair in pairs], [self._as_stored(x) for _, x in pairs]

    def _less_growth(self, sums: Value, original: Value, growth: Int64Array) -> Value:
        """Sums as they were, of larger inputs."""
        self._sums[original] = _Grown(sums, growth)
        excess = computed(Constant(array=growth.astype(np.int32)))
        return computed(Elementwise(function="subtract", dtype=SUMS), sums, excess, exact=sums.exact)

    def _changes(self, original: Value) -> bool:
        return original.dtype == "int8" or original in self._more

    def _stored(self, original: Value) -> Stored:
        """How a value is stored now."""
        more = self._more.get(original)
        return Stored(original.dtype, original.dtype) if more is None else Stored(original.dtype, "uint8", more)

    def _as_stored(self, original: Value) -> Stored:
        """How a value is stored as `_as_unsigned` has it."""
        if original.dtype not in _NARROW:
            return Stored(original.dtype, original.dtype)
        return Stored(original.dtype, "uint8", self._more.get(original, _whole(original)))

    def _as_unsigned(self, value: Value, original: Value) -> Value:
        """What became of a value, as uint8 if it has 8 bits."""
        if original.dtype != "int8" or original in self._more:
            return value
        if original not in self._unsigned:
            if isinstance(original.operator, Constant):
                numbers = (original.operator.array.astype(np.int16) + _MIDDLE).astype(np.uint8)
                self._unsigned[original] = computed(Constant(array=numbers))
            else:
                table = Lookup(outputs=levels("uint8"), dtype="uint8")
                source = original.source if original.operator is not None else ""
                self._unsigned[original] = computed(table, value, source=source)
        return self._unsigned[original]

    def _alike(self, pairs: Sequence[_Pair], padding: int | None) -> tuple[list[Value], int]:
        """Values of one type as uint8, all as much larger, and how much; an integer that pads is not negative then."""
        stored = {self._as_stored(x).more for _, x in pairs}
        if len(stored) == 1 and (padding is None or padding + min(stored) >= 0):
            return [self._as_unsigned(*pair) for pair in pairs], min(stored)
        return [self._wholly(*pair) for pair in pairs], _whole(pairs[0][1])

    def _wholly(self, value: Value, original: Value) -> Value:
        """What became of a value, as uint8 that can have any number."""
        if self._as_stored(original).more == _whole(original):
            return self._as_unsigned(value, original)
        if original not in self._wholes:
            itself = self._again(value, original, _whole(original))
            larger = Lookup(outputs=np.minimum(levels("uint8") + _MIDDLE, 255), dtype="uint8")
            self._wholes[original] = itself or computed(larger, value)
        return self._wholes[original]

    def _again(self, value: Value, original: Value, more: int | None) -> Value | None:
        """A value computed again and stored in another way, where that costs nothing; None for others."""
        operator = original.operator
        if operator is None or not operator.converts:
            return None
        changed = operator.unsigned([self._stored(x) for x in original.inputs], more)
        assert changed is not None, "what converts its result has an unsigned form"
        return computed(changed, *value.inputs, exact=value.exact)


def _handed_out(graph: Graph) -> set[Value]:
    """What may keep its type at no cost, and leaves the network as it is, or moved, and is read by nothing else."""
    free: set[Value] = set()
    for value in graph.values:
        operator = value.operator
        moved = _moves(operator) and all(x in free for x in value.inputs)
        if operator is None or operator.of_either_type or operator.converts or moved:
            free.add(value)
    found, inside = free.intersection(graph.outputs), set[Value]()
    for value in reversed(graph.values):
        if value in found and value not in inside and _moves(value.operator):
            found.update(value.inputs)
        else:
            inside.update(value.inputs)
    return found - inside


def _moves(operator: Operator | None) -> bool:
    return isinstance(operator, (Move, Concatenate))


def _whole(original: Value) -> int:
    """How much larger a value of 8 bits is stored as uint8 if it can have any number of its type."""
    return _MIDDLE if original.dtype == "int8" else 0


def _on(value: Value, inputs: Sequence[Value]) -> Value:
    """The operator of a value on other inputs; the value itself if they are those that it has."""
    same = all(now is before for now, before in zip(inputs, value.inputs, strict=True))
    return value if same else replace(value, inputs=tuple(inputs))


def _least_more(original: Value, operator: Operator) -> int:
    """How much larger a result of 8 bits is stored, whose values are not less than the operator's lowest."""
    whole, lowest = _whole(original), operator.lowest
    return whole - _MIDDLE if lowest is not None and lowest + whole >= _MIDDLE else whole
