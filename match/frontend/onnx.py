"""ONNX files: QDQ and QOperator form are imported by TVM, integer networks by `match.frontend.integer_onnx`."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx
from google.protobuf.message import DecodeError

from match.errors import ModelError
from match.frontend import onnx_problems
from match.frontend.failures import tvm_failures
from match.frontend.index_ranges import with_index_ranges
from match.frontend.integer_onnx import from_integer_onnx
from match.frontend.model import Model, ModelTensor, Rounding
from match.frontend.onnx_attributes import (
    check_attributes,
    check_axes,
    check_inputs,
    check_kinds,
    check_reshapes,
    zero_points_left_out,
)
from match.frontend.onnx_batch import with_batch_of_one
from match.frontend.onnx_batch_normalization import without_batch_normalization
from match.frontend.onnx_biases import with_held_biases
from match.frontend.onnx_canonical import canonical, with_shaped_outputs
from match.frontend.onnx_constants import with_constants
from match.frontend.onnx_fusions import Fusions, mark_real_numbers
from match.frontend.onnx_graph import is_integer_dialect, opset_of, type_name
from match.frontend.onnx_importer import ScaleError, import_onnx, known_operators
from match.frontend.onnx_order import in_order
from match.frontend.onnx_quantization import check_scales, with_quantization
from match.frontend.onnx_recurrent import without_unread_cells
from match.frontend.onnx_repeated_pairs import without_repeated_pairs
from match.frontend.onnx_stored import check_other_files, check_tensors, with_dense_constants
from match.frontend.onnx_windows import write_pads
from match.frontend.reasons import reason, sentence
from match.frontend.relay import bind, check_quantized
from match.relay import relay, tvm

_FLOAT = onnx.TensorProto.FLOAT
_NARROW = {onnx.TensorProto.INT8: "int8", onnx.TensorProto.UINT8: "uint8"}
_DTYPES = {_FLOAT: "float32", onnx.TensorProto.INT32: "int32", onnx.TensorProto.INT64: "int64", **_NARROW}
_ZERO = "match_zero_point"


def from_proto(proto: onnx.ModelProto) -> Model:
    """The network of an `onnx.ModelProto`, called as its graph is: what its file of that name would be.

    Raises:
        ModelError: as `match.frontend.load`; also if it is no `onnx.ModelProto`.
    """
    if not isinstance(proto, onnx.ModelProto):
        kinds = "a path or an ONNX model (onnx.ModelProto), to match.compile also a Relay module or relay.Function"
        raise ModelError(f"a model is {kinds}, not {type(proto).__name__}.")
    path = Path(f"{proto.graph.name or 'model'}.onnx")
    with tvm_failures(str(path)):
        return from_onnx(proto.SerializeToString(), path)


def from_onnx(data: bytes, path: Path) -> Model:
    """The network in the bytes of an ONNX file; `path` is what errors call it.

    Raises:
        ModelError: as `match.frontend.load`.
    """
    try:
        proto = onnx.load_model_from_string(data)
        _check_names(proto)
        check_other_files(proto, path)
        onnx.load_external_data_for_model(proto, str(path.parent))
        check_tensors(proto, path)
        _write_out_sparse(proto, path)
        dialect = is_integer_dialect(proto.graph)
        proto, opened = with_batch_of_one(in_order(proto))
        if dialect:  # which has attributes and operators of its own, which its importer checks
            check_kinds(proto.graph, path)
        else:
            onnx.checker.check_model(with_shaped_outputs(proto))
    except (DecodeError, UnicodeDecodeError) as error:
        raise ModelError(f"{path} is truncated or corrupt; export or download the model again") from error
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} keeps its weights in a file that cannot be read: {reason(error)}") from error
    except onnx.checker.ValidationError as error:
        raise ModelError(f"{path} is not a valid ONNX model: {reason(error)}; export it again") from error
    _check_version(proto, path)
    graph = proto.graph
    constants = {initializer.name: initializer for initializer in graph.initializer}
    inputs = tuple(_tensor(value, path) for value in graph.input if value.name not in constants)
    if not inputs or not graph.output:
        lacking = "output" if inputs else "input"
        raise ModelError(f"{path} has no {lacking}, so that there is nothing to compute; export the model again")
    digest = hashlib.sha256(data).hexdigest()
    where = " and ".join(opened)
    notes = (f"{path} leaves the batch open at {where}: the network is compiled for a batch of 1.",) if opened else ()
    open_shapes = onnx_problems.open_shapes_of(value for value in graph.input if value.name not in constants)
    if dialect and open_shapes:
        raise ModelError(sentence(path, open_shapes))
    if dialect:
        module, inputs, outputs = from_integer_onnx(graph, inputs, path)
        kept = proto.SerializeToString() if opened else data
        return Model(path.stem, digest, module, inputs, outputs, Rounding.INTEGER, kept, notes=notes)
    try:
        proto = canonical(proto)
    except ValueError as error:
        raise ModelError(f"{path} has functions that cannot be written out: {reason(error)}; inline them") from error
    graph = proto.graph
    onnx_problems.check(graph, open_shapes, known_operators(opset_of(proto)), path)
    outputs = tuple(_typed(value, path) for value in graph.output)
    check_inputs(graph, path)
    inputs, outputs = with_quantization(graph, inputs, outputs)
    check_scales(graph, path)
    check_attributes(proto, path)
    _check_types(proto, path)
    proto = with_held_biases(without_repeated_pairs(with_constants(proto, path)))
    check_reshapes(proto, path)
    module, params = _imported(proto, path)
    bound = bind(_in_order(module, inputs), params, str(path))
    check_quantized(bound, str(path), onnx_problems.QUANTIZE)
    inputs, outputs = with_index_ranges(inputs, bound), _as_computed(outputs, bound)
    kept = proto.SerializeToString()
    return Model(path.stem, digest, bound, inputs, outputs, Rounding.ONNXRUNTIME, kept, notes=notes)


def _imported(proto: Any, path: Path) -> tuple[tvm.IRModule, Any]:
    """What TVM's importer makes of a model: Relay and its parameters.

    Raises:
        ModelError: the importer cannot read it.
    """
    try:
        return import_onnx(_written_out(proto, path))
    except tvm.error.OpNotImplemented as error:
        operators = str(error).strip().splitlines()[-1].rpartition(":")[2].split(",")
        named = sorted(name.strip() for name in operators if name.strip())
        raise ModelError(sentence(path, onnx_problems.uses(named or ["an operator"]))) from error
    except ScaleError as error:
        raise ModelError(f"{path} has {error}; export it again") from error
    except tvm.error.DiagnosticError:
        raise  # `tvm_failures` knows what was said
    except (AssertionError, ValueError, KeyError, NotImplementedError, tvm.TVMError) as error:
        raise ModelError(f"{path} has something TVM's ONNX importer does not support: {reason(error)}") from error


def _write_out_sparse(proto: Any, path: Path) -> None:
    try:
        with_dense_constants(proto)
    except (ValueError, IndexError, TypeError) as error:
        raise ModelError(f"{path} is not a valid ONNX model: {reason(error)}; export it again") from error


def _check_names(proto: onnx.ModelProto) -> None:
    """Raise DecodeError if a name in the graph is no UTF-8: it is read as bytes."""
    names: list[Any] = [
        name for node in proto.graph.node for name in (node.name, node.op_type, *node.input, *node.output)
    ]
    names += [value.name for value in (*proto.graph.initializer, *proto.graph.input, *proto.graph.output)]
    if any(isinstance(name, bytes) for name in names):
        raise DecodeError


def _tensor(value: Any, path: Path) -> ModelTensor:
    kind = value.type.tensor_type
    if not value.type.HasField("tensor_type"):
        form = str(value.type.WhichOneof("value")).removesuffix("_type")
        raise ModelError(f"{path} has the input {value.name!r}, which is no tensor ({form}); inputs must be tensors")
    dimensions = list(kind.shape.dim)
    if any(dim.HasField("dim_value") and dim.dim_value == 0 for dim in dimensions):
        raise ModelError(f"{path} has the input {value.name!r} with a dimension of 0; nothing is in such a tensor")
    layout = "NCHW" if len(dimensions) == 4 else ""
    return replace(_typed(value, path), shape=tuple(dim.dim_value for dim in dimensions), layout=layout)


def _typed(value: Any, path: Path) -> ModelTensor:
    """An input or output whose shape is not asked."""
    kind = value.type.tensor_type
    if kind.elem_type not in _DTYPES:
        dtype = type_name(kind.elem_type)
        raise ModelError(f"{path} has {value.name!r} of type {dtype}; inputs and outputs must be float32 or integers")
    return ModelTensor(value.name, (), _DTYPES[kind.elem_type])


def _as_computed(outputs: tuple[ModelTensor, ...], module: tvm.IRModule) -> tuple[ModelTensor, ...]:
    """Outputs with the shapes that the network gives them: those in a file are stale once its inputs were edited."""
    returned = module["main"].ret_type
    types = [returned] if len(outputs) == 1 else returned.fields
    shapes = [tuple(int(extent) for extent in kind.shape) for kind in types]
    return tuple(
        replace(tensor, shape=shape, layout="NCHW" if len(shape) == 4 else "")
        for tensor, shape in zip(outputs, shapes, strict=True)
    )


def _check_version(proto: onnx.ModelProto, path: Path) -> None:
    known = onnx.defs.onnx_opset_version()
    newest = max((opset.version for opset in proto.opset_import if opset.domain in ("", "ai.onnx")), default=0)
    if newest > known:
        raise ModelError(
            f"{path} uses version {newest} of ONNX's operators, and version {known} is the last one known here; export "
            "it for that version, or install a newer onnx"
        )


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
    check_axes(inferred, path)


def _written_out(proto: Any, path: Path) -> Any:
    """The model as TVM's importer takes it, which needs zero points also where they may be left out."""
    inferred = onnx.shape_inference.infer_shapes(proto)
    without_unread_cells(inferred.graph)
    values = [*inferred.graph.input, *inferred.graph.output, *inferred.graph.value_info]
    shapes = {value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in values}
    shapes |= {initializer.name: list(initializer.dims) for initializer in inferred.graph.initializer}
    inferred = without_batch_normalization(inferred, shapes)
    graph = inferred.graph
    graph.initializer.append(onnx.helper.make_tensor(_ZERO, onnx.TensorProto.UINT8, [], [0]))
    for node in graph.node:
        for at in zero_points_left_out(node):
            node.input.extend([""] * (at + 1 - len(node.input)))
            node.input[at] = _ZERO
    fusions = Fusions(graph, opset_of(proto), shapes)
    write_pads(inferred, shapes, path)
    mark_real_numbers(graph, fusions)
    return inferred


def _in_order(module: tvm.IRModule, inputs: tuple[ModelTensor, ...]) -> tvm.IRModule:
    """The module with the parameters of "main" in the order of the graph's inputs, then weights left as parameters."""
    main = module["main"]
    position = {tensor.name: index for index, tensor in enumerate(inputs)}
    parameters = sorted(main.params, key=lambda parameter: position.get(parameter.name_hint, len(position)))
    return tvm.IRModule.from_expr(relay.Function(parameters, main.body))
