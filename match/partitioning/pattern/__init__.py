"""Finds the layers of a network in its graph.

A layer is one operator of the graph, or a concatenation with the tables in front of it. An operator that cannot be
described as a `Layer` is returned with the reason, for the report.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from match.graph.elements import Lookup, Requantize, byte_table
from match.graph.moves import IDENTITY, Concatenate
from match.graph.operator import Described, Known, Refused
from match.graph.ranges import ranges
from match.graph.sums import SUMS, Convolution, Dense, unchanged
from match.graph.value import Graph, Value, computed, readers
from match.partitioning.pattern.types import Core, Match, Rejection, Row

__all__ = ["Core", "Match", "Rejection", "Row", "find_layers", "unrequantized"]


def find_layers(graph: Graph) -> tuple[Match | Rejection, ...]:
    """All layers of a graph, in the order of computation, named by their operators; no two compute the same tensor."""
    return _Layers(graph).found


class _Layers:
    """The layers of a graph, from the last to the first: a concatenation takes the tables in front of it along."""

    def __init__(self, graph: Graph) -> None:
        values = graph.values
        self._readers, self._ranges = readers(graph), ranges(values)
        taken: set[Value] = set()
        found: list[Match | Rejection] = []
        for value in reversed(values):
            layer = self._layer(value) if value.operator is not None and value not in taken else None
            if layer is not None:
                taken.update(layer.covered)
                found.append(layer)
        self.found = tuple(reversed(found))

    def _layer(self, value: Value) -> Match | Rejection | None:
        operator = value.operator
        assert operator is not None, "inputs are no layers"
        if isinstance(operator, Concatenate):
            layer = self._concatenation(value, operator)
            if layer is not None:
                return layer
        described = operator.layer(value.tensor, [self._known(x) for x in value.inputs])
        if isinstance(described, Refused):
            return Rejection(value, described.op, described.macs, described.reason)
        return None if described is None else _match(value, described)

    def _concatenation(self, value: Value, operator: Concatenate) -> Match | None:
        """A concatenation with tables of its inputs, if there are some that nothing else reads."""
        lookups = [x.operator if isinstance(x.operator, Lookup) else None for x in value.inputs]
        inside = [x for x, lookup in zip(value.inputs, lookups, strict=True) if lookup]
        if not inside or len(lookups) != 2 or any(set(self._readers[x]) != {value} for x in inside):
            return None
        inputs = tuple(x.inputs[0] if own else x for own, x in zip(lookups, value.inputs, strict=True))
        tables = [byte_table(own, x.dtype) if own else IDENTITY for own, x in zip(lookups, inputs, strict=True)]
        described = operator.through_tables(value.tensor, [self._known(x) for x in value.inputs], tables)
        if described is None:
            return None
        described = replace(described, layer=replace(described.layer, input_dtype=inputs[0].dtype))
        whole = _match(replace(value, inputs=inputs), described)
        covered = (*dict.fromkeys(inside), value)
        return replace(whole, root=value, covered=covered, reference=all(one.exact for one in covered))

    def _known(self, x: Value) -> Known:
        return Known(x.tensor, self._ranges.get(x))


def _described(value: Value) -> Match | None:
    """The layer of a tensor, of whose inputs' values nothing is known; None if it is none."""
    assert value.operator is not None, "inputs are no layers"
    described = value.operator.layer(value.tensor, [Known(x.tensor) for x in value.inputs])
    return _match(value, described) if isinstance(described, Described) else None


def unrequantized(match: Match) -> tuple[Match, Core] | None:
    """A convolution or dense layer up to its int32 sums, and the requantization; None for other layers.

    A convolution in groups has no such form, nor one whose weights or inputs have more than 8 bits.
    """
    root, operator = match.root, match.root.operator
    if not isinstance(operator, Convolution | Dense) or operator.dtype not in ("int8", "uint8"):
        return None
    if operator.weights.dtype != np.int8 or match.inputs[0].dtype == "int16":
        return None
    if isinstance(operator, Convolution) and operator.groups != 1:
        return None
    summed = replace(root, tensor=replace(root.tensor, dtype=SUMS), parts=1)
    summed = replace(summed, operator=replace(operator, requantization=unchanged(root.shape[-1]), dtype=SUMS))
    sums = _described(summed)
    if sums is None:
        return None
    rest = computed(Requantize(requantization=operator.requantization, dtype=operator.dtype), summed, exact=root.exact)
    rest = replace(rest, source=root.source)
    layer = replace(sums.layer, input_range=match.layer.input_range)
    return replace(sums, layer=layer), Core((rest,), root)


def _match(value: Value, described: Described) -> Match:
    return Match(
        root=value,
        inputs=tuple(value.inputs[number] for number in described.order),
        covered=(value,),
        layer=described.layer,
        constants=described.constants,
        accumulator=described.accumulator,
        reference=value.exact,
        order=described.order,
    )
