"""Constants of an ONNX graph as its layers read them: computed where operators compute them, 4 bits as 8.

Networks that were trained quantized have their weights in floating point, a QuantizeLinear and often a Clip after
them. Both are computed here, as is what exporters put in front, and what follows from shapes. A DequantizeLinear is
kept, as it says what integers mean, and so is what reads it up to the next QuantizeLinear, which is computed. Bounds
of a Clip become plain numbers where a file has them as a DequantizeLinear of constants.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from match.errors import ModelError
from match.frontend.onnx_graph import Array, read_by, read_inside, with_fields
from match.frontend.reasons import reason

_COMPUTED = (
    *("QuantizeLinear", "Clip", "Min", "Max", "Relu", "Cast", "Add", "Sub", "Mul", "Div", "Neg", "Abs", "Sqrt", "Pow"),
    *("Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Gather", "Slice", "Split", "Concat", "Expand"),
    *("Tile", "ConstantOfShape", "Range", "Equal", "Less", "Greater", "Not", "And", "Or", "Where"),
    *("ScatterND", "ScatterElements", "ReduceMax", "ReduceMin", "Round", "Floor", "Ceil", "Sign", "Reciprocal"),
)
_BYTES = {onnx.TensorProto.INT4: np.int8, onnx.TensorProto.UINT4: np.uint8}


def with_constants(proto: Any, path: object) -> Any:
    """A copy of a model whose constants are initializers of 8 bits and more, and that has no Identity.

    Raises:
        ModelError: activations have 4 bits, or a constant cannot be computed.
    """
    graph = proto.graph
    outputs = {output.name for output in graph.output}
    constants = _Constants(proto, path)
    nodes: list[Any] = []
    for node in _without_identities(graph, outputs):
        (name, *_) = node.output
        computed = None if name in outputs else constants.of(node)
        if computed is None:
            nodes.append(constants.with_bounds(node))
        else:
            constants.tensors[name] = computed
    _check_activations(nodes, constants.tensors, path)
    read = set(read_by(nodes))
    initializers = [_in_bytes(tensor) for name, tensor in constants.tensors.items() if name in read | outputs]
    inputs = [value for value in graph.input if value.name not in constants.tensors or value.name in read]
    known = [value for value in graph.value_info if value.name not in constants.tensors]
    return with_fields(proto, node=nodes, initializer=initializers, input=inputs, value_info=known)


class _Constants:
    """Constant tensors by name, to which the model's operators add theirs, one after the other."""

    def __init__(self, proto: Any, path: object) -> None:
        self.tensors = {initializer.name: initializer for initializer in proto.graph.initializer}
        self._proto, self._path = proto, path
        self._shapes = _shapes(proto) if any(node.op_type == "Shape" for node in proto.graph.node) else {}
        self._left: dict[str, Any] = {}  # operators on constants that are left to the network, by what they make

    def of(self, node: Any) -> Any | None:
        """The output of an operator, under its name; None if it is not constant, or is left to the operator."""
        (name, *_) = node.output
        read = set(node.input) - {""}
        if node.op_type == "DequantizeLinear" and self.tensors.keys() >= read:
            self._check_scales(node)
            self._left[name] = node
            return None
        if node.op_type == "Shape" and node.input[0] in self._shapes:
            attributes = {attribute.name: attribute.i for attribute in node.attribute}
            extents = self._shapes[node.input[0]][attributes.get("start") : attributes.get("end")]
            return onnx.numpy_helper.from_array(np.array(extents, np.int64), name)
        if node.op_type == "Constant" and [attribute.name for attribute in node.attribute] == ["value"]:
            return _named(node.attribute[0].t, name)
        if node.op_type not in _COMPUTED or node.domain not in ("", "ai.onnx"):
            return None
        if not read <= self._left.keys() | self.tensors.keys():
            return None
        if node.op_type != "QuantizeLinear" and (read & self._left.keys() or len(node.output) > 1):
            self._left |= dict.fromkeys(node.output, node)
            return None
        return onnx.numpy_helper.from_array(self._computed(node)[0], name)

    def with_bounds(self, node: Any) -> Any:
        """An operator, whose bounds are initializers now if it is a Clip of what is not constant.

        ONNX has the upper bound of those that are the wrong way round, TVM the lower one.
        """
        if node.op_type == "Clip" and node.input[0] not in self._left:
            ends = [self._value(name) for name in node.input[1:] if name in self._left or name in self.tensors]
            if len(ends) == 2 and np.any(ends[0] > ends[1]):
                node.input[1] = node.input[2]
            for place, name in enumerate(node.input):
                if name in self._left:
                    node.input[place] = f"{name}_bound"
                    self.tensors[node.input[place]] = onnx.numpy_helper.from_array(self._value(name), f"{name}_bound")
        return node

    def _value(self, name: str) -> Array:
        """A constant, or what an operator that is left makes of some."""
        if name in self.tensors:
            return onnx.numpy_helper.to_array(self.tensors[name])
        node = self._left[name]
        if node.op_type == "DequantizeLinear":
            return dequantized(node, [onnx.numpy_helper.to_array(self.tensors[name]) for name in node.input])
        return self._computed(node)[list(node.output).index(name)]

    def _computed(self, node: Any) -> list[Array]:
        """The outputs of an operator on constants."""
        values = {name: self._value(name) for name in node.input if name}
        known = [
            onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
            for name, value in values.items()
        ]
        outputs = [onnx.helper.make_empty_tensor_value_info(name) for name in node.output]
        graph = onnx.helper.make_graph([node], "constant", known, outputs)
        version = self._proto.ir_version
        alone = onnx.helper.make_model(graph, opset_imports=self._proto.opset_import, ir_version=version)
        try:
            evaluator: Any = ReferenceEvaluator(alone)
            results: list[Array] = evaluator.run(None, values)
        except (ArithmeticError, IndexError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
            raise _misfit(node, self._path, error) from error
        return results

    def _check_scales(self, node: Any) -> None:
        """Refuse a DequantizeLinear of constants unless it has one scale, or one for each element of its axis."""
        extents, scales = (list(self.tensors[name].dims) for name in node.input[:2])
        axis = _axis(node)
        if np.prod(scales) > 1 and not (-len(extents) <= axis < len(extents) and scales == [extents[axis]]):
            raise _misfit(node, self._path, ValueError(f"scales {scales} along axis {axis} of {extents}"))


def _without_identities(graph: Any, outputs: set[str]) -> Iterator[Any]:
    """Copies of the operators, which read what was handed on by Identity operators themselves."""
    kept = outputs | {name for node in graph.node for name in read_inside(node)}
    sources: dict[str, str] = {}
    for node in graph.node:
        if node.op_type == "Identity" and node.output[0] not in kept:
            source: str = node.input[0]
            sources[node.output[0]] = sources.get(source, source)
            continue
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        for index, name in enumerate(node.input):
            if name in sources:
                copy.input[index] = sources[name]
        yield copy


def _misfit(node: Any, path: object, error: Exception) -> ModelError:
    name = node.name or node.output[0]
    return ModelError(
        f"{path} has {node.op_type} ({name}) on constants that it does not fit: {reason(error)}; export it again"
    )


def dequantized(node: Any, inputs: Sequence[Array]) -> Array:
    """What a DequantizeLinear makes of constants: of integers, with one scale or one for each place along its axis."""
    integers, scale, *zero_points = inputs
    extents = [1] * integers.ndim
    if scale.size > 1:
        extents[_axis(node)] = -1
    levels = integers.astype(np.int64)
    if zero_points:
        levels = levels - zero_points[0].astype(np.int64).reshape(extents)
    return levels.astype(np.float32) * scale.reshape(extents)


def _axis(node: Any) -> int:
    """The axis of a DequantizeLinear's scales."""
    return next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 1)


def _shapes(proto: Any) -> dict[str, list[int]]:
    """The shapes of tensors whose extents are all known, whatever the file says about them."""
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


def _named(tensor: Any, name: str) -> Any:
    """A copy of a tensor under another name."""
    copy = onnx.TensorProto()
    copy.CopyFrom(tensor)
    copy.name = name
    return copy


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
