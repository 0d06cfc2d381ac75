"""What a front end reads of an ONNX network: checked, its constants folded, what may be left out written out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import onnx

from match.errors import ModelError
from match.frontend import onnx_problems
from match.frontend.model import ModelTensor
from match.frontend.onnx_attributes import (
    check_attributes,
    check_inputs,
    check_reshapes,
    zero_points_left_out,
)
from match.frontend.onnx_biases import with_held_biases
from match.frontend.onnx_canonical import canonical, without_unread_cells
from match.frontend.onnx_constants import with_constants
from match.frontend.onnx_fusions import Fusions
from match.frontend.onnx_graph import opset_of, type_name
from match.frontend.onnx_quantization import check_scales, with_quantization
from match.frontend.onnx_repeated_pairs import without_repeated_pairs
from match.frontend.onnx_shapes import check_shapes
from match.frontend.onnx_windows import write_pads
from match.frontend.reasons import reason

_FLOAT = onnx.TensorProto.FLOAT
_NARROW = {onnx.TensorProto.INT8: "int8", onnx.TensorProto.UINT8: "uint8"}
_DTYPES = {_FLOAT: "float32", onnx.TensorProto.INT32: "int32", onnx.TensorProto.INT64: "int64", **_NARROW}

_ZERO = "match_zero_point"


@dataclass(frozen=True, eq=False)
class OnnxNetwork:
    """A network with quantization operators.

    written: the `onnx.ModelProto` that is read, padding and zero points written out.
    fusions: what onnxruntime computes in integers of it.
    inputs, outputs: with their quantizations; outputs without shapes.
    data: the bytes of the model that a reference computes.
    """

    written: Any
    fusions: Fusions
    inputs: tuple[ModelTensor, ...]
    outputs: tuple[ModelTensor, ...]
    data: bytes

    @property
    def graph(self) -> Any:
        """Its nodes and constants."""
        return self.written.graph

    @property
    def opset(self) -> int:
        """The version of ONNX's operators that it uses."""
        return opset_of(self.written)


def network_of(proto: Any, inputs: tuple[ModelTensor, ...], open_shapes: Sequence[str], path: Path) -> OnnxNetwork:
    """The network of a valid model; `open_shapes` are the reasons against its inputs.

    Raises:
        ModelError: something in it cannot be compiled, whoever reads it.
    """
    try:
        proto = canonical(proto)
    except ValueError as error:
        raise ModelError(f"{path} has functions that cannot be written out: {reason(error)}; inline them") from error
    graph = proto.graph
    onnx_problems.check(graph, open_shapes, partial(_importable, opset_of(proto)), path)
    outputs = tuple(typed(value, path) for value in graph.output)
    check_inputs(graph, path)
    inputs, outputs = with_quantization(graph, inputs, outputs)
    check_scales(graph, path)
    check_attributes(proto, path)
    _check_types(proto, path)
    proto = with_held_biases(without_repeated_pairs(with_constants(proto, path)))
    check_reshapes(proto, path)
    written, fusions = _written_out(proto, path)
    return OnnxNetwork(written, fusions, inputs, outputs, proto.SerializeToString())


def typed(value: Any, path: Path) -> ModelTensor:
    """An input or output whose shape is not asked."""
    kind = value.type.tensor_type
    if kind.elem_type not in _DTYPES:
        dtype = type_name(kind.elem_type)
        raise ModelError(f"{path} has {value.name!r} of type {dtype}; inputs and outputs must be float32 or integers")
    return ModelTensor(value.name, (), _DTYPES[kind.elem_type])


def _check_types(proto: Any, path: Path) -> None:
    """Refuse operators whose attributes or inputs do not fit together, as ONNX defines them.

    What the file says about the shapes of its own tensors is not asked: an edit of the inputs makes it stale.
    """
    bare = onnx.ModelProto()
    bare.CopyFrom(proto)
    del bare.graph.value_info[:]
    for output in bare.graph.output:
        output.type.tensor_type.ClearField("shape")
    try:
        inferred = onnx.shape_inference.infer_shapes(bare, check_type=True, strict_mode=True)
    except onnx.shape_inference.InferenceError as error:
        said = re.sub(r"\[\w+Error\] |Inference error\(s\): ", "", reason(error))
        raise ModelError(f"{path} is not a valid ONNX model: {said}; export it again") from error
    check_shapes(inferred, path)


def _written_out(proto: Any, path: Path) -> tuple[Any, Fusions]:
    """The model with padding and zero points written out, and what onnxruntime computes in integers of it."""
    inferred = onnx.shape_inference.infer_shapes(proto)
    without_unread_cells(inferred.graph)
    values = [*inferred.graph.input, *inferred.graph.output, *inferred.graph.value_info]
    shapes = {value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in values}
    shapes |= {initializer.name: list(initializer.dims) for initializer in inferred.graph.initializer}
    graph = inferred.graph
    graph.initializer.append(onnx.helper.make_tensor(_ZERO, onnx.TensorProto.UINT8, [], [0]))
    for node in graph.node:
        for at in zero_points_left_out(node):
            node.input.extend([""] * (at + 1 - len(node.input)))
            node.input[at] = _ZERO
    fusions = Fusions(graph, opset_of(proto), shapes)
    write_pads(inferred, shapes, path)
    return inferred, fusions


def _importable(opset: int) -> Iterable[str]:
    """The operators of a version of ONNX's that are read as the graph's, or by TVM's importer."""
    from match.frontend.onnx_importer import known_operators
    from match.frontend.qdq.handlers import HANDLERS

    return {*known_operators(opset), *HANDLERS}
