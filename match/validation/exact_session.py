"""onnxruntime as it computes a quantized network exactly, to compare integers with."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

from match.frontend.onnx_graph import with_fields

_CPU_INFO = Path("/proc/cpuinfo")


def exact_session(
    model: str | bytes | Path, *, signed: bool = False, optimized: Path | None = None, fused: bool = True
) -> Any:
    """An `onnxruntime.InferenceSession` on the CPU whose products do not saturate.

    On x86 without VNNI (AVX2, AVX-512 alone) onnxruntime multiplies uint8 activations by int8 weights with an
    instruction that saturates sums of two products at 16 bits. `session.x64quantprecision` makes it take uint8 weights
    and an exact instruction instead; it changes nothing elsewhere. Of two quantizations in a row it may not make one,
    which would round once where the model rounds twice. Real numbers that quantized weights multiply stay as they are:
    by default onnxruntime rounds them to 8 bits (`session.qdq_matmulnbits_accuracy_level`).

    Args:
        model: path of an ONNX file, or its bytes.
        signed: compute int8 activations as int8; onnxruntime has no exact kernels for them without VNNI. By default
            QDQ networks are computed in uint8 whatever their own type.
        optimized: receives the network as onnxruntime runs it, after its fusions.
        fused: whether onnxruntime may fuse operators; otherwise it computes them one by one, as the model has them.

    Raises:
        ImportError: onnxruntime is not installed.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # errors are exceptions
    options.add_session_config_entry("session.qdqisint8allowed" if signed else "session.x64quantprecision", "1")
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    if not fused:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    if optimized is not None:
        options.optimized_model_filepath = str(optimized)
    return onnxruntime.InferenceSession(
        model, options, providers=["CPUExecutionProvider"], disabled_optimizers=["DoubleQDQPairsRemover"]
    )


def with_own_weights(model: bytes) -> bytes:
    """An ONNX model in which no two operators read the same quantized constant, nor its zero point.

    onnxruntime makes int8 weights uint8 for each operator that reads them, and fails where it has done so.
    """
    import onnx

    proto = onnx.load_from_string(model)
    tensors = {tensor.name: tensor for tensor in proto.graph.initializer}
    integers = onnx.TensorProto.INT8, onnx.TensorProto.UINT8
    outputs = {output.name for output in proto.graph.output}
    initializers = list(proto.graph.initializer)
    constants: dict[str, Any] = {}  # DequantizeLinear operators on constants, by what they make
    nodes: list[Any] = []
    read: set[str] = set()

    def own(name: str, suffix: str) -> str:
        """The name of a copy of a constant."""
        tensor = onnx.TensorProto()
        tensor.CopyFrom(tensors[name])
        tensor.name = name + suffix
        initializers.append(tensor)
        return tensor.name

    for node in proto.graph.node:
        for index, name in enumerate(node.input):
            suffix = f"_of_{node.output[0]}_{index}"
            if name in constants:
                copy = onnx.NodeProto()
                copy.CopyFrom(constants[name])
                copy.name, copy.output[0] = f"{copy.name}{suffix}", f"{name}{suffix}"
                for position, parameter in enumerate(copy.input):
                    copy.input[position] = own(parameter, f"_{position}{suffix}")
                node.input[index] = copy.output[0]
                nodes.append(copy)
            elif name in tensors and tensors[name].data_type in integers:
                if name in read:
                    node.input[index] = own(name, suffix)
                read.add(name)
        is_constant = node.op_type == "DequantizeLinear" and tensors.keys() >= set(node.input)
        if is_constant and node.output[0] not in outputs:
            constants[node.output[0]] = node
        else:
            nodes.append(node)
    return with_fields(proto, node=nodes, initializer=initializers).SerializeToString()


def activation_types(model: bytes) -> frozenset[str]:
    """The types, "int8" and "uint8" among them, to which an ONNX model quantizes something as it runs."""
    import onnx

    graph = onnx.load_from_string(model).graph
    types = {tensor.name: tensor.data_type for tensor in graph.initializer}
    zero_points = (node.input[2] for node in graph.node if node.op_type == "QuantizeLinear" and len(node.input) > 2)
    kinds = {types[name] for name in zero_points if name in types}
    return frozenset(onnx.helper.tensor_dtype_to_np_dtype(kind).name for kind in kinds)


def multiplies_signed_exactly() -> bool:
    """Whether onnxruntime's products of int8 activations do not saturate on this PC: on x86 that takes VNNI."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return True
    return _CPU_INFO.exists() and "vnni" in _CPU_INFO.read_text()
