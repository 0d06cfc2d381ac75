"""One QuantizeLinear and one DequantizeLinear where a quantizer wrote the same for each reader of a tensor.

onnxruntime's does so with DedicatedQDQPair, which TensorRT wants. Each pair would bring a copy of the layer whose
output it quantizes.
"""

from __future__ import annotations

from typing import Any

import onnx

from match.frontend.onnx_graph import read_inside, with_fields


def without_repeated_pairs(proto: Any) -> Any:
    """A copy of a model in which no two of these operators read the same tensor with equal parameters.

    An operator stays if it makes an output of the network, or if a branch or a loop reads what it makes; other readers
    get the tensor of the first such operator. Operators on constants stay, too.
    """
    graph = proto.graph
    constants = {tensor.name: tensor for tensor in graph.initializer}
    kept = {output.name for output in graph.output} | {name for node in graph.node for name in read_inside(node)}
    first: dict[tuple[Any, ...], str] = {}
    sources: dict[str, str] = {}
    nodes: list[Any] = []
    for node in graph.node:
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        copy.input[:] = [sources.get(name, name) for name in node.input]
        if node.op_type in ("QuantizeLinear", "DequantizeLinear") and copy.input[0] not in constants:
            made = first.setdefault(_meaning(copy, constants), copy.output[0])
            if made != copy.output[0]:
                sources[copy.output[0]] = made
                if copy.output[0] not in kept:
                    continue
        nodes.append(copy)
    known = [value for value in graph.value_info if value.name not in sources]
    return with_fields(proto, node=nodes, value_info=known)


def _meaning(node: Any, constants: dict[str, Any]) -> tuple[Any, ...]:
    """What an operator computes: its kind, its attributes, its tensor, and its parameters by their values."""
    attributes = sorted(attribute.SerializeToString(deterministic=True) for attribute in node.attribute)
    tensor, *parameters = node.input
    values = [_value(constants[name]) if name in constants else name for name in parameters]
    return (node.op_type, node.domain, tensor, *attributes, *values)


def _value(constant: Any) -> tuple[Any, ...]:
    return constant.data_type, tuple(constant.dims), onnx.numpy_helper.to_array(constant).tobytes()
