"""BatchNormalization of ONNX with constant statistics as what it is: a multiplication and an addition by channel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx

_DEFAULT_EPSILON = 1e-5
_BROADCASTS = 7
"""The opset since which operands are broadcast."""


def without_batch_normalization(model: Any, shapes: Mapping[str, Sequence[int]]) -> None:
    """Replace each BatchNormalization whose input's rank `shapes` tell, in place, with constants in float32.

    TVM's importer leaves the arithmetic of its constants to TVM, which compiles a program for each operator on them.
    """
    graph = model.graph
    if min(opset.version for opset in model.opset_import if opset.domain in ("", "ai.onnx")) < _BROADCASTS:
        return
    constants = {initializer.name: initializer for initializer in graph.initializer}
    nodes: list[Any] = []
    for node in graph.node:
        parameters = [constants.get(name) for name in node.input[1:]]
        rank = len(shapes.get(node.input[0], ())) if node.input else 0
        if node.op_type != "BatchNormalization" or None in parameters or len(node.output) != 1 or rank < 2:
            nodes.append(node)
            continue
        attributes = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
        extents = -1, *[1] * (rank - 2)
        gamma, beta, mean, variance = (onnx.numpy_helper.to_array(each).reshape(extents) for each in parameters)
        slope = gamma / np.sqrt(variance + np.float32(attributes.get("epsilon", _DEFAULT_EPSILON)))
        x, (output,) = node.input[0], node.output
        for kind, numbers, result in (("Mul", slope, f"{output}_scaled"), ("Add", beta - mean * slope, output)):
            graph.initializer.append(onnx.numpy_helper.from_array(numbers, f"{result}_{kind.lower()}"))
            nodes.append(onnx.helper.make_node(kind, [x, f"{result}_{kind.lower()}"], [result], name=node.name))
            x = result
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    graph.ClearField("node")
    graph.node.extend(copies)
