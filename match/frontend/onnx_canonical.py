"""The canonical form of an ONNX model: of several ways to write the same, the one that the importer reads.

Functions are written out, and numbers of Constant operators are tensors. The output of a QuantizeLinear has the type of
its zero point; blocks with equal scales are one. Maps have channels first. Inputs that are left out at the end of an
operator, and outputs there that nothing reads, are not named.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from typing import Any

import numpy as np
import onnx
import onnx.inliner

from match.frontend.onnx_attributes import drop_attributes
from match.frontend.onnx_blocks import join_equal_blocks
from match.frontend.onnx_channels_last import channels_first
from match.frontend.onnx_contributed import as_standard
from match.frontend.onnx_graph import read_by, type_name, with_fields

_NUMBERS = {"value_float": np.float32, "value_floats": np.float32, "value_int": np.int64, "value_ints": np.int64}
"""Attributes of Constant that hold numbers, and the types of these as ONNX defines them."""

_DEFINED = ("Attention",)
"""Operators that the importer lacks, and that ONNX defines as functions of other operators."""

_ZERO = "match_zero_point_of"


def canonical(proto: Any) -> Any:
    """A copy of a model in canonical form.

    Raises:
        ValueError: functions call one another in a circle, or are called with other inputs or outputs than they have.
    """
    copy: Any = onnx.ModelProto()
    copy.CopyFrom(proto)
    try:
        if copy.functions:
            copy = onnx.inliner.inline_local_functions(copy)
        copy = _with_definitions(copy)
    except RuntimeError as error:
        raise ValueError(str(error)) from error
    for node in copy.graph.node:
        if node.op_type in ("Cast", "CastLike"):
            drop_attributes(node, "saturate", "round_mode")  # they speak of float8
        if node.op_type == "Constant" and [attribute.name in _NUMBERS for attribute in node.attribute] == [True]:
            (attribute,) = node.attribute
            numbers = np.asarray(onnx.helper.get_attribute_value(attribute), _NUMBERS[attribute.name])
            node.attribute[0].CopyFrom(onnx.helper.make_attribute("value", onnx.numpy_helper.from_array(numbers)))
    read = {*read_by(copy.graph.node), *(output.name for output in copy.graph.output)}
    for node in copy.graph.node:
        _end_at_last_name(node, read)
    constants = constant_tensors(copy.graph)
    for node in copy.graph.node:
        if node.op_type == "QuantizeLinear":
            _type_by_zero_point(node, constants, copy.graph)
        if node.op_type in ("QuantizeLinear", "DequantizeLinear"):
            join_equal_blocks(node, constants, copy.graph)
    standard = [one for node in copy.graph.node for one in as_standard(node, constants, copy.graph)]
    nodes = [one for node in standard for one in channels_first(node, constants)]
    return with_fields(copy, node=nodes)


def _end_at_last_name(node: Any, read: Set[str]) -> None:
    """Drop names at the end of an operator's inputs that are empty, and of its outputs that nothing needs.

    `read` has the names that operators and the network's outputs have use for.
    """
    while node.input and not node.input[-1]:
        node.input.pop()
    if not onnx.defs.has(node.op_type, node.domain):
        return
    optional = onnx.defs.OpSchema.FormalParameterOption.Optional
    outputs = onnx.defs.get_schema(node.op_type, node.domain).outputs  # the last one may stand for any number of them
    for place in range(len(node.output) - 1, 0, -1):
        if place >= len(outputs) or outputs[place].option != optional or node.output[place] in read:
            break
        node.output.pop()


def _with_definitions(proto: Any) -> Any:
    """The model with the operators of `_DEFINED` written out as ONNX defines them."""
    defined = sorted({("", node.op_type) for node in proto.graph.node if node.op_type in _DEFINED and not node.domain})
    if not defined:
        return proto
    typed = onnx.shape_inference.infer_shapes(proto)
    typed.graph.value_info.extend(
        onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
        for tensor in typed.graph.initializer
    )
    inlined: Any = onnx.inliner.inline_selected_functions(typed, defined, inline_schema_functions=True)
    del inlined.graph.value_info[:]
    return inlined


def constant_tensors(graph: Any) -> dict[str, Any]:
    """Tensors by name: the initializers, and what Constant operators hold."""
    constants = {initializer.name: initializer for initializer in graph.initializer}
    return constants | {
        node.output[0]: attribute.t
        for node in graph.node
        if node.op_type == "Constant"
        for attribute in node.attribute
        if attribute.name == "value"
    }


def _type_by_zero_point(node: Any, constants: Mapping[str, Any], graph: Any) -> None:
    """Remove the attribute of a QuantizeLinear that says its output's type; a zero point of that type says it instead.

    Without a zero point it gets one, 0. The attribute stays if its type is not an integer's or not the zero point's.
    """
    kind = next((each.i for each in node.attribute if each.name == "output_dtype"), 0)
    if not kind or not type_name(kind).startswith(("int", "uint")):
        return
    if len(node.input) < 3 or not node.input[2]:
        scale = constants.get(node.input[1])
        extents = [] if scale is None else list(scale.dims)
        name = f"{_ZERO}_{node.output[0]}"
        graph.initializer.append(onnx.helper.make_tensor(name, kind, extents, [0] * math.prod(extents)))
        node.input[:] = [*node.input[:2], name]
    elif node.input[2] not in constants or constants[node.input[2]].data_type != kind:
        return
    drop_attributes(node, "output_dtype")


def with_shaped_outputs(proto: Any) -> Any:
    """A copy of a model for `onnx.checker`, which wants a shape for each output.

    onnxruntime writes files without these shapes. In the copy, outputs without a shape get an empty one.
    """
    copy: Any = onnx.ModelProto()
    copy.CopyFrom(proto)
    for output in copy.graph.output:
        if output.type.HasField("tensor_type"):
            output.type.tensor_type.shape.SetInParent()
    return copy


def without_unread_cells(graph: Any) -> None:
    """Take the cells after the last step off the outputs of LSTMs where nothing reads them."""
    read = {name for node in graph.node for name in node.input} | {value.name for value in graph.output}
    for node in graph.node:
        if node.op_type == "LSTM" and len(node.output) == 3 and node.output[2] not in read - {""}:
            del node.output[2:]
