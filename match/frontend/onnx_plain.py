"""An ONNX model without what its writer may write in another way: own functions, numbers and types in attributes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnx.inliner

from match.frontend.onnx_attributes import drop_attributes
from match.frontend.onnx_channels_last import channels_first
from match.frontend.onnx_graph import with_fields

_NUMBERS = {"value_float": np.float32, "value_floats": np.float32, "value_int": np.int64, "value_ints": np.int64}
"""Attributes of Constant and the types of the tensors that they are, as ONNX defines them."""


_DEFINED = ("Attention",)
"""Operators of ONNX's that the importer lacks, and that ONNX defines by others."""
_ZERO = "match_zero_point_of"


def plain(proto: Any) -> Any:
    """A copy of a model with the operators of functions in their place, and with tensors in Constant operators.

    A QuantizeLinear has a zero point in the place of a type of its output, and all operators have channels first.

    Raises:
        ValueError: functions call one another in a circle, or are not as they are called.
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
    constants = constant_tensors(copy.graph)
    for node in copy.graph.node:
        if node.op_type == "QuantizeLinear":
            _type_by_zero_point(node, constants, copy.graph)
    nodes = [one for node in copy.graph.node for one in channels_first(node, constants)]
    return with_fields(copy, node=nodes)


def _with_definitions(proto: Any) -> Any:
    """A model with the definitions of operators that ONNX defines by others in their place, where it has such."""
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
    """Take the type of the output off a QuantizeLinear; its zero point says it: one of zero, if none is there.

    Types that are no integers, and one that is not the zero point's, stay.
    """
    kind = next((each.i for each in node.attribute if each.name == "output_dtype"), 0)
    if not kind or not onnx.TensorProto.DataType.Name(kind).startswith(("INT", "UINT")):
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
    """A copy of a model, to be checked, whose outputs have a shape each, which `onnx.checker` asks for.

    onnxruntime does not ask for one, and writes files without.
    """
    copy: Any = onnx.ModelProto()
    copy.CopyFrom(proto)
    for output in copy.graph.output:
        if output.type.HasField("tensor_type"):
            output.type.tensor_type.shape.SetInParent()
    return copy
