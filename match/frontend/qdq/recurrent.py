"""LSTM and GRU, where they are plain cells."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np

from match.arithmetic.recurrent import ONNX_GATES
from match.frontend.onnx_graph import attribute_of
from match.frontend.qdq.reader import Handler, QdqReader, Unread
from match.graph.cells import RealCells
from match.graph.make import concatenated, cut, reshaped
from match.graph.reals import REAL
from match.graph.value import Value, computed
from match.ir.model_names import tensor_of

_FUNCTIONS = MappingProxyType({"LSTM": (b"Sigmoid", b"Tanh", b"Tanh"), "GRU": (b"Sigmoid", b"Tanh")})
_CELLS = 2
"""The place of an LSTM's output that has its cells."""


def layer(read: QdqReader, node: Any) -> tuple[Value, Value]:
    """All steps' states, and the last ones, of all directions."""
    x = read.input(node)
    if x.dtype != REAL or not _is_usual(read, node):
        raise Unread
    weights, recurrent = read.numbers(node, 1), read.numbers(node, 2)
    count, rows = len(weights), weights.shape[1]
    biases = read.numbers(node, 3) if read.has(node, 3) else np.zeros((count, 2 * rows), np.float32)
    order = list(ONNX_GATES[node.op_type])
    gates = len(order), rows // len(order)
    ways = [attribute_of(node, "direction", b"forward") == b"reverse"] if count == 1 else [False, True]
    steps, batch, _ = x.shape
    states: list[Value] = []
    last: list[Value] = []
    for at, backwards in enumerate(ways):
        cells = RealCells(
            input_weights=np.ascontiguousarray(weights[at].reshape(*gates, -1)[order]),
            state_weights=np.ascontiguousarray(recurrent[at].reshape(*gates, -1)[order]),
            biases=np.ascontiguousarray(biases[at].reshape(2, *gates)[:, order]),
            backwards=backwards,
            reset_first=node.op_type == "GRU" and not attribute_of(node, "linear_before_reset", 0),
        )
        every = computed(cells, x, exact=False, source=tensor_of(node.name or node.output[0]))
        first = 0 if backwards else steps - 1
        states.append(reshaped(every, (steps, 1, batch, cells.units)))
        last.append(cut(every, 0, first, first + 1))
    return concatenated(states, 1), concatenated(last, 0)


def _is_usual(read: QdqReader, node: Any) -> bool:
    """Whether sequences have all steps, states begin at zero, functions are the usual ones, and nothing is clipped."""
    functions = _FUNCTIONS[node.op_type]
    given = tuple(attribute_of(node, "activations", ()))
    unusual = [attribute_of(node, name, 0) for name in ("clip", "layout", "input_forget")]
    shows_cells = len(node.output) > _CELLS and bool(node.output[_CELLS])
    if given not in ((), functions, functions * 2) or any(unusual) or shows_cells:
        return False
    if any(read.has(node, place) for place in (4, 7)):  # lengths of sequences, peepholes
        return False
    return not any(np.any(read.numbers(node, place)) for place in (5, 6) if read.has(node, place))


HANDLERS: MappingProxyType[str, Handler] = MappingProxyType({"GRU": layer, "LSTM": layer})
