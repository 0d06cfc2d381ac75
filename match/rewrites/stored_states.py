"""States are kept as they are read, where what reads them undoes what has made them.

Such are a state of real numbers that the network quantizes first and dequantizes last, one of int8 in a network whose
activations are unsigned, and one whose axes are turned on both ways.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from match.graph.elements import Dequantize, Lookup, Quantize
from match.graph.moves import Move
from match.graph.rewrite import replacements
from match.graph.value import Graph, Value, computed, readers
from match.ir.dtypes import levels

_NARROW = "int8", "uint8"


def with_stored_states(graph: Graph) -> Graph:
    """The graph with what alone reads a state put behind what it becomes, where both together are less than each."""
    number = 0
    while number < len(graph.states):
        stored = _stored(graph, number)
        graph, number = (graph, number + 1) if stored is None else (stored, number)
    return graph


def _stored(graph: Graph, number: int) -> Graph | None:
    """The graph with a state as it is read; None where that is not less."""
    state = graph.inputs[len(graph.given) + number]
    place = len(graph.handed_out) + number
    reading = readers(graph)[state]
    reader = reading[0] if len(reading) == 1 else None
    if reader is None or reader.operator is None or len(reader.inputs) != 1 or reader is graph.outputs[place]:
        return None
    after = _joined(reader, graph.outputs[place])
    if after is None:
        return None
    kept = Value(reader.tensor, source=state.source)
    inputs = tuple(kept if x is state else x for x in graph.inputs)
    outputs = (*graph.outputs[:place], after, *graph.outputs[place + 1 :])
    states = list(graph.states)
    states[number] = reader.operator.compute(states[number])
    replaced = replacements(Graph(graph.inputs, outputs), lambda value, original: kept if original is reader else value)
    return Graph(inputs, tuple(replaced[x] for x in outputs), tuple(states))


def _joined(reader: Value, made: Value) -> Value | None:
    """What a state's reader makes of what the state became, by one operator or none; None if it takes both."""
    reads, makes = reader.operator, made.operator
    if reads is None or makes is None or len(made.inputs) != 1:
        return None
    (source,) = made.inputs
    if isinstance(reads, Move) and isinstance(makes, Move) and reads.padding_value is makes.padding_value is None:
        elements = np.arange(source.tensor.elements).reshape(source.shape)
        turned = reads.compute(makes.compute(elements))
        return source if turned.shape == elements.shape and np.array_equal(turned, elements) else None
    if not isinstance(reads, Lookup | Quantize) or not isinstance(makes, Lookup | Dequantize):
        return None
    if source.dtype not in _NARROW or reader.dtype not in _NARROW:
        return None
    table = reads.compute(makes.compute(levels(source.dtype).astype(source.dtype)))
    if source.dtype == reader.dtype and np.array_equal(table, levels(source.dtype)):
        return source
    lookup = Lookup(outputs=table.astype(np.int64), dtype=reader.dtype)
    return replace(computed(lookup, source, exact=reader.exact and made.exact), source=made.source)
