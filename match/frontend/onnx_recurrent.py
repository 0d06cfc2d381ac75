"""ONNX's LSTM and GRU as one operator each, where they are plain cells; TVM's importer writes out the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from match.arithmetic.interface import Float32Array
from match.arithmetic.recurrent import ONNX_GATES
from match.graph.cells import RealCells
from match.relay import relay
from match.relay.float_cells import FloatCells

_Constants = tuple[Float32Array, Float32Array, Float32Array]
"""Weights of inputs and of states, and biases, as ONNX has them, of all directions."""


def lstm(inputs: Any, attributes: Any) -> relay.Expr | None:
    """All steps' states, and the last ones, of an LSTM; None where it is no plain one."""
    constants = _constants(inputs)
    functions = (b"Sigmoid", b"Tanh", b"Tanh")
    shows_cells = attributes["tvm_custom"]["num_outputs"] == 3
    plain = not attributes.get("input_forget", 0) and inputs[7] is None and _is_zero(inputs[6])
    if constants is None or shows_cells or not plain or not _is_usual(inputs, attributes, functions):
        return None
    return _all_directions(inputs[0], constants, ONNX_GATES["LSTM"], attributes)


def gru(inputs: Any, attributes: Any) -> relay.Expr | None:
    """All steps' states, and the last ones, of a GRU; None where it is no plain one."""
    constants = _constants(inputs)
    if constants is None or not _is_usual(inputs, attributes, (b"Sigmoid", b"Tanh")):
        return None
    reset_first = not attributes.get("linear_before_reset", 0)
    return _all_directions(inputs[0], constants, ONNX_GATES["GRU"], attributes, reset_first)


def _is_usual(inputs: Any, attributes: Any, functions: tuple[bytes, ...]) -> bool:
    """Whether sequences have all steps, states begin at zero, functions are the usual ones, and nothing is clipped."""
    given = attributes.get("activations", ())
    usual = tuple(given) in ((), functions, functions * 2)
    return (
        usual
        and not attributes.get("clip")
        and not attributes.get("layout", 0)
        and inputs[4] is None
        and (_is_zero(inputs[5]))
    )


def _is_zero(expr: relay.Expr | None) -> bool:
    return expr is None or (isinstance(expr, relay.Constant) and not expr.data.numpy().any())


def _constants(inputs: Any) -> _Constants | None:
    """Those of the layer; None where weights are computed."""
    given = inputs[1], inputs[2], inputs[3]
    if not all(isinstance(expr, relay.Constant) or expr is None for expr in given):
        return None
    weights, states, biases = (None if expr is None else expr.data.numpy() for expr in given)
    assert weights is not None, "the operator's definition asks for weights"
    assert states is not None, "the operator's definition asks for weights"
    if biases is None:
        biases = np.zeros((len(weights), 2 * weights.shape[1]), np.float32)
    return weights, states, biases


def _all_directions(
    x: relay.Expr, constants: _Constants, order: Sequence[int], attributes: Any, reset_first: bool = False
) -> relay.Expr:
    """The operators of one direction or two, after them the outputs that ONNX defines."""
    count, gates = len(constants[0]), len(order)
    ways = [attributes.get("direction", b"forward") == b"reverse"] if count == 1 else [False, True]
    steps = int(relay.transform.InferTypeLocal(x).shape[0])
    states: list[relay.Expr] = []
    last: list[relay.Expr] = []
    for at, backwards in enumerate(ways):
        weights, recurrent, biases = (each[at] for each in constants)
        units = weights.shape[0] // gates
        layer = RealCells(
            input_weights=_by_gate(weights, (gates, units), order),
            state_weights=_by_gate(recurrent, (gates, units), order),
            biases=np.ascontiguousarray(biases.reshape(2, gates, units)[:, list(order)]),
            backwards=backwards,
            reset_first=reset_first,
        )
        cells = FloatCells(x, layer).build()
        first = 0 if backwards else steps - 1
        final = relay.strided_slice(cells, [first], [first + 1], axes=[0])
        states.append(relay.expand_dims(cells, 1))
        last.append(final)
    together = [each[0] if count == 1 else relay.concatenate(each, axis) for each, axis in ((states, 1), (last, 0))]
    return relay.expr.TupleWrapper(relay.Tuple(together), len(together))


def _by_gate(weights: Float32Array, shape: tuple[int, int], order: Sequence[int]) -> Float32Array:
    return np.ascontiguousarray(weights.reshape(*shape, -1)[list(order)])
