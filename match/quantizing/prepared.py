"""Float ONNX models as the quantizer takes them: a batch of 1, a recent opset, constants and normalizations folded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
from google.protobuf.message import DecodeError

from match.errors import ModelError
from match.frontend.failures import reason
from match.frontend.file import model_bytes
from match.frontend.onnx_batch import is_open, with_batch_of_one
from match.frontend.onnx_graph import is_integer_dialect, opset_of, read_by, type_name, with_fields
from match.frontend.other_formats import is_tflite
from match.frontend.tflite.file import read_file
from match.interrupt.unfinished import scratch_folder
from match.quantizing.libraries import library, quiet
from match.quantizing.same_operators import with_depthwise_normalization, with_leaky_relus
from match.quantizing.tensor import Tensor
from match.quantizing.tflite import onnx_of_tflite
from match.target.arguments import path_of
from match.validation.exact_session import exact_session

_OPSET = 13
"""The first version of ONNX's operators whose quantize operators have a scale for each channel."""

_QUANTIZED = ("QuantizeLinear", "DequantizeLinear", "FakeQuantize", "QLinear", "DynamicQuantize", "MatMulNBits")
_ON_INTEGERS = ("MatMulInteger", "ConvInteger", "MatMulIntegerToFloat")


@dataclass(frozen=True, eq=False)
class Prepared:
    """A float model that is ready to be quantized.

    Attributes:
        name: what the file is called, without its ending.
        proto: the model with a batch of 1, as onnxruntime's optimizations leave it.
        inputs: its inputs.
        notes: sentences on what was decided about it.
    """

    name: str
    proto: onnx.ModelProto
    inputs: tuple[Tensor, ...]
    notes: tuple[str, ...]


def prepare(model: Any) -> Prepared:
    """A float model, from its path or as an `onnx.ModelProto`.

    Raises:
        ModelError: the file cannot be read, its network is quantized already or has open dimensions, or onnxruntime
            cannot run it.
        ToolchainError: onnxruntime is not installed, or for TFLite files tf2onnx.
    """
    library("onnxruntime")
    library("onnxruntime.quantization")
    if isinstance(model, onnx.ModelProto):
        path = Path(f"{model.graph.name or 'model'}.onnx")
        proto = _checked(model, path)
    else:
        path = path_of(model, "a model")
        proto = _read(path)
    proto, opened = with_batch_of_one(proto)
    _check_shapes(proto, path)
    notes = ()
    if opened:
        notes = (f"{path} leaves the batch open at {' and '.join(opened)}: it is 1 in the quantized network.",)
    before = opset_of(proto)
    if before < _OPSET:
        proto = _raised(proto, path)
        notes += (f"{path} uses version {before} of ONNX's operators; the quantized network uses {_OPSET}.",)
    proto = _optimized(proto, path)
    inputs = tuple(_tensor(value) for value in _inputs(proto))
    return Prepared(path.stem, proto, inputs, notes)


def _read(path: Path) -> onnx.ModelProto:
    data = model_bytes(path)
    if is_tflite(data):
        if any(tensor.dtype in ("int8", "uint8", "int16") for tensor in read_file(data, path).tensors):
            raise ModelError(f"{path} is quantized already; give it to `match compile`.")
        return _checked(onnx_of_tflite(path), path)
    try:
        proto = onnx.load_model_from_string(data)
        onnx.load_external_data_for_model(proto, str(path.parent))
    except (DecodeError, UnicodeDecodeError) as error:
        raise ModelError(f"{path} is truncated or corrupt; export or download the model again.") from error
    except (OSError, ValueError, onnx.checker.ValidationError) as error:
        raise ModelError(f"{path} keeps its weights in a file that cannot be read: {reason(error)}.") from error
    return _checked(proto, path)


def _checked(proto: onnx.ModelProto, path: Path) -> onnx.ModelProto:
    """The model, if it is valid and float."""
    quantized = next((node.op_type for node in proto.graph.node if _is_quantized(node.op_type)), None)
    if quantized is not None:
        raise ModelError(
            f"{path} is quantized already ({quantized}); give it to `match compile`, or give the float model here."
        )
    if is_integer_dialect(proto.graph):
        raise ModelError(
            f"{path} is quantized already, to integers; give it to `match compile`, or give the float model here."
        )
    try:
        onnx.checker.check_model(proto)
    except (onnx.checker.ValidationError, ValueError) as error:
        raise ModelError(f"{path} is not a valid ONNX model: {reason(error)}; export it again.") from error
    if not _inputs(proto) or not proto.graph.output:
        raise ModelError(f"{path} has no {'output' if _inputs(proto) else 'input'}; export the model again.")
    for value in (*_inputs(proto), *proto.graph.output):
        kind = value.type.tensor_type.elem_type
        if kind not in (onnx.TensorProto.FLOAT, onnx.TensorProto.INT32, onnx.TensorProto.INT64):
            raise ModelError(
                f"{path} has {value.name!r} of type {type_name(kind)}, and inputs and outputs are float32 or integers; "
                "export the model in float32."
            )
    return proto


def _is_quantized(op: str) -> bool:
    return op.startswith(_QUANTIZED) or op in _ON_INTEGERS


def _inputs(proto: Any) -> list[Any]:
    constants = {tensor.name for tensor in proto.graph.initializer}
    return [value for value in proto.graph.input if value.name not in constants]


def _check_shapes(proto: Any, path: Path) -> None:
    for value in _inputs(proto):
        kind = value.type.tensor_type
        if not kind.HasField("shape") or any(map(is_open, kind.shape.dim)):
            free = [dim.dim_param or "?" for dim in kind.shape.dim if is_open(dim)]
            raise ModelError(
                f"{path} leaves more than the batch open at {value.name!r} ({', '.join(free) or 'no shape'}); fix "
                "these dimensions, for instance with python -m onnxruntime.tools.make_dynamic_shape_fixed."
            )


def _raised(proto: onnx.ModelProto, path: Path) -> onnx.ModelProto:
    try:
        return onnx.version_converter.convert_version(proto, _OPSET)
    except Exception as error:  # the converter's C++ raises RuntimeError and others
        raise ModelError(
            f"{path} uses version {opset_of(proto)} of ONNX's operators, which cannot be brought to {_OPSET}: "
            f"{reason(error)}; export the model again for version {_OPSET} or later."
        ) from error


def _optimized(proto: onnx.ModelProto, path: Path) -> onnx.ModelProto:
    """The model with its constants computed, its normalizations folded and its shapes written down.

    Raises:
        ModelError: onnxruntime cannot run it.
    """
    shapes = library("onnxruntime.quantization.shape_inference")
    with scratch_folder("match-") as folder, quiet():
        source, result = folder / "model.onnx", folder / "prepared.onnx"
        onnx.save(proto, source)
        session(source, str(path))
        shapes.quant_pre_process(str(source), str(result), skip_symbolic_shape=True)
        prepared = with_leaky_relus(with_depthwise_normalization(onnx.load(result)))
    for position, node in enumerate(prepared.graph.node):
        node.name = f"{node.op_type}_{position}"  # by which what becomes of it is found
    return without_unread(prepared)


def without_unread(proto: onnx.ModelProto) -> onnx.ModelProto:
    """A model without the constants that nothing reads: onnxruntime warns of each."""
    read = {*read_by(proto.graph.node), *(output.name for output in proto.graph.output)}
    return with_fields(proto, initializer=[tensor for tensor in proto.graph.initializer if tensor.name in read])


def session(model: Path | bytes, name: str, *, optimize: bool = True) -> Any:
    """A session of onnxruntime's on the CPU that computes a model; `name` is what errors call it.

    Args:
        model: the file, or its bytes.
        name: of the model.
        optimize: whether operators may be fused.

    Raises:
        ModelError: onnxruntime cannot run it.
    """
    given = model if isinstance(model, bytes) else str(model)
    try:
        return exact_session(given, fused=optimize)
    except Exception as error:  # pybind11 classes of onnxruntime's own, which share no public base
        message = " ".join(str(error).rpartition("Status Message: ")[2].split())[:160].rstrip(" .")
        raise ModelError(f"onnxruntime cannot run {name}: {message}; export the model again.") from error


def _tensor(value: Any) -> Tensor:
    kind = value.type.tensor_type
    shape = tuple(dim.dim_value for dim in kind.shape.dim)
    return Tensor(value.name, shape, onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type).name)


def weighted(proto: Any) -> Iterator[tuple[Any, str, int]]:
    """Each operator with constant weights, the name of these, and the axis of their output channels."""
    constants = {tensor.name: len(tensor.dims) for tensor in proto.graph.initializer}
    for node in proto.graph.node:
        if node.op_type in _CHANNEL_AXES and len(node.input) > 1 and node.input[1] in constants:
            turned = any(each.name == "transB" and each.i for each in node.attribute)
            axis = 0 if node.op_type == "Conv" or turned else 1
            yield node, node.input[1], axis


_CHANNEL_AXES = ("Conv", "ConvTranspose", "Gemm", "MatMul")
