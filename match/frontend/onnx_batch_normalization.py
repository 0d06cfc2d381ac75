"""BatchNormalization of ONNX with constant statistics as what it is: a multiplication and an addition by channel.

onnxruntime's quantizer leaves it in models that were not prepared for it, and quantizes its parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from match.frontend.onnx_constants import dequantized
from match.frontend.onnx_graph import Array, read_constants, with_fields

_DEFAULT_EPSILON = 1e-5
_PARAMETERS = 4
_BROADCASTS = 7
"""The opset since which operands are broadcast."""


def without_batch_normalization(model: Any, shapes: Mapping[str, Sequence[int]]) -> Any:
    """A copy of a model without each BatchNormalization whose input's rank `shapes` tell; constants are in float32.

    TVM's importer leaves the arithmetic of its constants to TVM, which compiles a program for each operator on them.
    """
    graph = model.graph
    if min(opset.version for opset in model.opset_import if opset.domain in ("", "ai.onnx")) < _BROADCASTS:
        return model
    constants = read_constants(graph)
    dequantizes = {node.output[0]: node for node in graph.node if node.op_type == "DequantizeLinear"}
    nodes: list[Any] = []
    initializers = list(graph.initializer)
    for node in graph.node:
        rank = len(shapes.get(node.input[0], ())) if node.input else 0
        if node.op_type != "BatchNormalization" or len(node.output) != 1 or rank < 2:
            nodes.append(node)
            continue
        parameters = [value for name in node.input[1:] if (value := _real(name, constants, dequantizes)) is not None]
        if len(parameters) < _PARAMETERS:
            nodes.append(node)
            continue
        attributes = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
        gamma, beta, mean, variance = (value.reshape(-1, *[1] * (rank - 2)) for value in parameters)
        slope = gamma / np.sqrt(variance + np.float32(attributes.get("epsilon", _DEFAULT_EPSILON)))
        x, (output,) = node.input[0], node.output
        for kind, numbers, result in (("Mul", slope, f"{output}_scaled"), ("Add", beta - mean * slope, output)):
            initializers.append(onnx.numpy_helper.from_array(numbers, f"{result}_{kind.lower()}"))
            nodes.append(onnx.helper.make_node(kind, [x, f"{result}_{kind.lower()}"], [result], name=node.name))
            x = result
    return with_fields(model, node=nodes, initializer=initializers)


def _real(name: str, constants: Mapping[str, Array], dequantizes: Mapping[str, Any]) -> Array | None:
    """The numbers of a constant, which may be quantized; None for other tensors."""
    node = dequantizes.get(name)
    if node is None:
        return constants.get(name)
    values = [constants[each] for each in node.input if each in constants]
    return dequantized(node, values) if len(values) == len(node.input) else None
