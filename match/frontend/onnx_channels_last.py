"""Operators on maps with channels last, which onnxruntime writes into the files that it saves, as ONNX's operators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import onnx

from match.frontend.onnx_attributes import drop_attributes

_STANDARD = {"QLinearConv": "QLinearConv", "NhwcMaxPool": "MaxPool"}
"""Operators of the domain com.microsoft, and the names of ONNX's operators that compute the same on channels first."""
_MEANS = ("QLinearAveragePool", "QLinearGlobalAveragePool")
"""Operators of the domain com.microsoft whose maps have either layout."""


def channels_first(node: Any, constants: Mapping[str, Any]) -> Iterator[Any]:
    """The operator itself, or its equal on channels first, between two Transpose if its maps have channels last."""
    if node.domain != "com.microsoft" or node.op_type not in (*_STANDARD, *_MEANS):
        yield node
        return
    attributes = {each.name: each for each in node.attribute}
    last = node.op_type == "NhwcMaxPool" or ("channels_last" in attributes and attributes["channels_last"].i == 1)
    first = onnx.NodeProto()
    first.CopyFrom(node)
    drop_attributes(first, "channels_last")
    if node.op_type in _STANDARD:
        first.domain, first.op_type = "", _STANDARD[node.op_type]
    if not last:
        yield first
        return
    if node.op_type == "QLinearConv" and node.input[3] in constants:
        axes = len(constants[node.input[3]].dims)
    else:
        axes = len(attributes["kernel_shape"].ints) + 2 if "kernel_shape" in attributes else 4
    x, y = f"{node.input[0]}_to_{node.output[0]}", f"{node.output[0]}_channels_first"
    first.input[0], first.output[0] = x, y
    yield onnx.helper.make_node("Transpose", node.input[:1], [x], perm=[0, axes - 1, *range(1, axes - 1)])
    yield first
    yield onnx.helper.make_node("Transpose", [y], node.output[:1], perm=[0, *range(2, axes), 1])
