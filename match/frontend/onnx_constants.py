"""Constants of an ONNX graph as its layers read them: computed where operators compute them, 4 bits as 8.

Networks that were trained quantized have their weights in floating point, a QuantizeLinear and often a Clip behind
them. Both are computed here, as is what exporters put in front, and what follows from shapes. A DequantizeLinear is
kept: it says what integers mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx.reference import ReferenceEvaluator

from match.errors import ModelError
from match.frontend.failures import reason

Array = npt.NDArray[Any]

_COMPUTED = (
    *("QuantizeLinear", "Clip", "Min", "Max", "Relu", "Cast", "Identity", "Add", "Sub", "Mul", "Div"),
    *("Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Gather", "Slice", "Concat"),
)
_BYTES = {onnx.TensorProto.INT4: np.int8, onnx.TensorProto.UINT4: np.uint8}


def with_constants(proto: Any, path: object) -> Any:
    """A copy of a model whose constants are initializers of 8 bits and more.

    Raises:
        ModelError: activations have 4 bits, or a constant cannot be computed.
    """
    graph = proto.graph
    constants = {initializer.name: initializer for initializer in graph.initializer}
    numbers: dict[str, Any] = {}  # of tensors that are constant, too, and are left to operators
    outputs = {output.name for output in graph.output}
    shapes = _shapes(proto) if any(node.op_type == "Shape" for node in graph.node) else {}
    nodes: list[Any] = []
    for node in graph.node:
        (name, *_) = node.output
        if name in outputs:
            nodes.append(node)
        elif node.op_type == "Shape" and node.input[0] in shapes:
            attributes = {attribute.name: attribute.i for attribute in node.attribute}
            extents = shapes[node.input[0]][attributes.get("start") : attributes.get("end")]
            constants[name] = onnx.numpy_helper.from_array(np.array(extents, np.int64), name)
        elif node.op_type == "Constant" and [attribute.name for attribute in node.attribute] == ["value"]:
            constants[name] = _named(node.attribute[0].t, name)
        elif _is_computed(node) and constants.keys() | numbers.keys() >= set(node.input) - {""}:
            computed = _computed(proto, node, constants | numbers, path)
            if node.op_type == "QuantizeLinear" or constants.keys() >= set(node.input) - {""}:
                constants[name] = computed
            else:
                numbers[name] = computed
                nodes.append(node)
        else:
            if node.op_type == "DequantizeLinear" and constants.keys() >= set(node.input):
                numbers[name] = _real(node, constants, path)
            nodes.append(node)
    _check_activations(nodes, constants, path)
    read = set(_read(nodes))
    initializers = [_in_bytes(tensor) for name, tensor in constants.items() if name in read | outputs]
    inputs = [value for value in graph.input if value.name not in constants or value.name in read]
    known = [value for value in graph.value_info if value.name not in constants]
    folded = onnx.ModelProto()
    folded.CopyFrom(proto)
    for field, values in (("node", nodes), ("initializer", initializers), ("input", inputs), ("value_info", known)):
        folded.graph.ClearField(field)
        getattr(folded.graph, field).extend(values)
    return folded


def _is_computed(node: Any) -> bool:
    """Whether an operator on constants is computed; of others' domains none is, whatever its name."""
    return node.op_type in _COMPUTED and node.domain in ("", "ai.onnx")


def _real(node: Any, constants: dict[str, Any], path: object) -> Any:
    """The output of a DequantizeLinear on constants."""
    try:
        real = dequantized(node, [onnx.numpy_helper.to_array(constants[name]) for name in node.input])
    except (IndexError, ValueError) as error:
        raise _misfit(node, path, error) from error
    return onnx.numpy_helper.from_array(real, node.output[0])


def _misfit(node: Any, path: object, error: Exception) -> ModelError:
    name = node.name or node.output[0]
    return ModelError(f"{path} has {node.op_type} ({name}) on constants that it does not fit: {reason(error)}")


def dequantized(node: Any, inputs: Sequence[Array]) -> Array:
    """What a DequantizeLinear makes of constants: of integers, with one scale or one for each place along its axis."""
    integers, scale, *zero_points = inputs
    axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 1)
    extents = [1] * integers.ndim
    if scale.size > 1:
        extents[axis] = -1
    levels = integers.astype(np.int64)
    if zero_points:
        levels = levels - zero_points[0].astype(np.int64).reshape(extents)
    return levels.astype(np.float32) * scale.reshape(extents)


def _shapes(proto: Any) -> dict[str, list[int]]:
    """The shapes of tensors of which all extents are known, whatever the file says about them."""
    bare = onnx.ModelProto()
    bare.CopyFrom(proto)
    del bare.graph.value_info[:]
    inferred = onnx.shape_inference.infer_shapes(bare, data_prop=True).graph
    shapes: dict[str, list[int]] = {}
    for value in (*inferred.input, *inferred.value_info):
        dimensions = list(value.type.tensor_type.shape.dim)
        if value.type.tensor_type.HasField("shape") and all(dim.dim_value > 0 for dim in dimensions):
            shapes[value.name] = [dim.dim_value for dim in dimensions]
    return shapes


def _read(nodes: Iterable[Any]) -> Iterator[str]:
    """The names of tensors that operators read, those in branches and loops included."""
    for node in nodes:
        yield from node.input
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                yield from _read(graph.node)
                yield from (output.name for output in graph.output)


def _named(tensor: Any, name: str) -> Any:
    """A copy of a tensor under another name."""
    copy = onnx.TensorProto()
    copy.CopyFrom(tensor)
    copy.name = name
    return copy


def _computed(model: Any, node: Any, constants: dict[str, Any], path: object) -> Any:
    """The output of an operator on constants."""
    inputs = {name: onnx.numpy_helper.to_array(constants[name]) for name in node.input if name}
    values = [
        onnx.helper.make_tensor_value_info(name, constants[name].data_type, constants[name].dims) for name in inputs
    ]
    output = onnx.helper.make_empty_tensor_value_info(node.output[0])
    graph = onnx.helper.make_graph([node], "constant", values, [output])
    alone = onnx.helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    try:
        evaluator: Any = ReferenceEvaluator(alone)
        (result,) = evaluator.run(None, inputs)
    except (ArithmeticError, IndexError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
        raise _misfit(node, path, error) from error
    return onnx.numpy_helper.from_array(result, node.output[0])


def _check_activations(nodes: list[Any], constants: dict[str, Any], path: object) -> None:
    """Refuse what makes 4 bits of something that is not constant."""
    for node in nodes:
        zero_point = constants.get(node.input[2]) if node.op_type == "QuantizeLinear" and len(node.input) > 2 else None
        if zero_point is not None and zero_point.data_type in _BYTES:
            name = node.name or node.output[0]
            raise ModelError(
                f"{path} has QuantizeLinear ({name}) to 4 bits; activations of 8 bits can be compiled, and weights of 4"
            )


def _in_bytes(tensor: Any) -> Any:
    """A tensor, or one of 8 bits in the place of one of 4."""
    dtype = _BYTES.get(tensor.data_type)
    if dtype is None:
        return tensor
    return onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor).astype(dtype), tensor.name)
