"""Networks of one operator between quantize nodes, in integer form and in onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from match.frontend import load
from match.graph.value import Graph
from match.ir.layer import Op
from match.partitioning.pattern.types import Match
from match.passes.pipeline import integer_network
from match.relay.plain import qnn_operators
from match.validation.exact_session import exact_session
from tests.layers_of import find
from tests.passes.running import executable, written


def quantized(
    kind: str,
    shape: tuple[int, ...],
    constants: dict[str, Any],
    *,
    more: Sequence[str] | None = None,
    opset: int = 17,
    **attributes: Any,
) -> onnx.ModelProto:
    """An operator on the quantized input, whose output is quantized: parameters are s, z and so, zo.

    Other constants are further inputs of the operator, or those of the names in `more` are.
    """
    dtype = constants["z"].dtype
    if more is None:
        more = [name for name in constants if name not in ("s", "z", "so", "zo")]
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["levels"]),
        helper.make_node("DequantizeLinear", ["levels", "s", "z"], ["real"]),
        helper.make_node(kind, ["real", *more], ["result"], **attributes),
        helper.make_node("QuantizeLinear", ["result", "so", "zo"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        kind,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(dtype), None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model)


def integers(model: onnx.ModelProto, *, exact: bool = True) -> Graph:
    """The network in integer form."""
    return integer_network(load(model), "uint8", exact=exact)


def distances(model: onnx.ModelProto, module: Any, x: Any, *, least: int = 2) -> Any:
    """How far the outputs of the integer form are from onnxruntime's, which have some values at least."""
    assert not qnn_operators(written(module))
    feed = x if isinstance(x, dict) else {"x": x}
    (given,) = executable(module)(feed)
    (expected,) = exact_session(model.SerializeToString(), signed=True).run(None, feed)
    given = given.reshape(expected.shape)  # a single number has one axis in integer form
    assert len(np.unique(expected)) >= least
    return np.abs(given.astype(np.int64) - expected)


def references(module: Any, op: Op) -> list[bool]:
    """Whether each layer of an operator is said to compute the reference's numbers."""
    found = [one for one in find(module) if isinstance(one, Match)]
    return [one.reference for one in found if one.layer.op is op]
