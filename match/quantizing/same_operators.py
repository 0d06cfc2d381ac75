"""Operators as others that compute the same and that modules have.

Batch normalization that no layer in front could take in is a depthwise convolution, PReLU with one slope a leaky ReLU.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from match.frontend.onnx_graph import attribute_of, with_fields

_MAPS = (3, 4)
"""Numbers of axes of tensors that have a channel for each pixel, or for each sample of a signal."""


def with_leaky_relus(proto: onnx.ModelProto) -> onnx.ModelProto:
    """A model whose PReLUs with one slope for all elements are leaky ReLUs."""
    constants = {tensor.name: tensor for tensor in proto.graph.initializer}
    nodes: list[Any] = []
    for node in proto.graph.node:
        slope = constants.get(node.input[1]) if node.op_type == "PRelu" else None
        if slope is not None and np.prod(slope.dims) == 1:
            alpha = numpy_helper.to_array(slope).item()
            nodes.append(onnx.helper.make_node("LeakyRelu", node.input[:1], node.output, node.name, alpha=alpha))
        else:
            nodes.append(node)
    return with_fields(proto, node=nodes)


def with_depthwise_normalization(proto: onnx.ModelProto) -> onnx.ModelProto:
    """A model whose batch normalizations with constants are depthwise convolutions of one pixel.

    Shapes of its tensors are written down. Modules convolve; the quantizer's own form of a normalization has integers
    for its gains that no layer reads.
    """
    graph: Any = proto.graph
    constants = {tensor.name: tensor for tensor in graph.initializer}
    ranks = {value.name: len(value.type.tensor_type.shape.dim) for value in (*graph.input, *graph.value_info)}
    nodes: list[Any] = []
    made: list[Any] = []
    for node in graph.node:
        rank = ranks.get(node.input[0]) if node.input else None
        if node.op_type != "BatchNormalization" or rank not in _MAPS or not set(node.input[1:]) <= constants.keys():
            nodes.append(node)
            continue
        gains, shifts, means, variances = (
            numpy_helper.to_array(constants[name]).astype(np.float64) for name in node.input[1:]
        )
        slopes = gains / np.sqrt(variances + attribute_of(node, "epsilon", 1e-5))
        names = [f"{node.output[0]}_{what}" for what in ("gains", "shifts")]
        values = slopes.reshape(-1, 1, *[1] * (rank - 2)), shifts - means * slopes
        made += [numpy_helper.from_array(v.astype(np.float32), name) for v, name in zip(values, names, strict=True)]
        window = [1] * (rank - 2)
        nodes.append(
            onnx.helper.make_node(
                "Conv", [node.input[0], *names], node.output, node.name, group=len(slopes), kernel_shape=window
            )
        )
    return with_fields(proto, node=nodes, initializer=[*graph.initializer, *made]) if made else proto
