"""Activations as modules compute them: at the end of the layer in front, within the bounds that they can clip to."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from match.frontend.onnx_graph import with_fields
from match.quantizing.prepared import without_unread


def with_plain_relus(proto: onnx.ModelProto) -> tuple[onnx.ModelProto, int]:
    """A model whose clips from 0 to a number are ReLUs, and how many they were: 8 bits end somewhere as well."""
    constants = {tensor.name: tensor for tensor in proto.graph.initializer}
    nodes: list[Any] = []
    changed = 0
    for node in proto.graph.node:
        if node.op_type == "Clip" and len(node.input) == 3 and set(node.input[1:]) <= constants.keys():
            low, high = (float(np.asarray(numpy_helper.to_array(constants[name])).item()) for name in node.input[1:])
            if low == 0 < high:
                node = onnx.helper.make_node("Relu", node.input[:1], node.output, name=node.name)  # noqa: PLW2901
                changed += 1
        nodes.append(node)
    return (without_unread(with_fields(proto, node=nodes)), changed) if changed else (proto, 0)


def with_joined_activations(proto: onnx.ModelProto) -> onnx.ModelProto:
    """A network in QDQ form in which nothing is quantized between a layer and a ReLU or Clip that alone reads it.

    What is quantized after the activation has the same scale, or one that fits its numbers better.
    """
    graph: Any = proto.graph
    makers = {name: node for node in graph.node for name in node.output}
    readers = Counter(name for node in graph.node for name in node.input)
    readers.update(output.name for output in graph.output)
    dropped: set[str] = set()
    inputs: dict[str, str] = {}
    for node in graph.node:
        if node.op_type not in ("Relu", "Clip"):
            continue
        pair = _pair(makers, node.input[0])
        if pair is None or any(readers[each.output[0]] > 1 for each in pair) or pair[0].input[0] not in makers:
            continue
        dropped |= {each.name for each in pair}
        inputs[node.name] = pair[0].input[0]
    nodes = [_reading(node, inputs.get(node.name)) for node in graph.node if node.name not in dropped]
    return with_fields(proto, node=nodes) if dropped else proto


def _pair(makers: dict[str, Any], name: str) -> tuple[Any, Any] | None:
    """The quantize and the dequantize operator that a tensor comes from, if it does."""
    back = makers.get(name)
    if back is None or back.op_type != "DequantizeLinear":
        return None
    there = makers.get(back.input[0])
    return (there, back) if there is not None and there.op_type == "QuantizeLinear" else None


def _reading(node: Any, name: str | None) -> Any:
    if name is None:
        return node
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    copy.input[0] = name
    return copy
