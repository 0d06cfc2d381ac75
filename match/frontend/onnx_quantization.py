"""Scales and zero points of an ONNX graph's integer inputs and outputs, as the operators beside them say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import onnx

from match.errors import ModelError
from match.frontend.model import ModelTensor, Quantization
from match.frontend.onnx_canonical import constant_tensors
from match.frontend.onnx_graph import type_name

_QLINEAR_INPUTS = {"QLinearConv": ((0, 1),), "QLinearMatMul": ((0, 1),), "QGemm": ((0, 1),)}
"""For operators on quantized tensors: positions of activations among the inputs, and of their scales."""

_QLINEAR_OUTPUTS = {"QLinearConv": 6, "QLinearMatMul": 6, "QGemm": 7, "QuantizeLinear": 1}
"""Position of the output's scale among the inputs."""


def with_quantization(
    graph: Any, inputs: Sequence[ModelTensor], outputs: Sequence[ModelTensor]
) -> tuple[tuple[ModelTensor, ...], tuple[ModelTensor, ...]]:
    """The tensors with what their readers and writers say of them; zero points stand after scales."""
    constants = constant_tensors(graph)
    found: dict[str, Quantization] = {}
    for node in graph.node:
        if node.op_type == "DequantizeLinear":
            _take(found, node.input[0], node, 1, constants)
        for tensor, scale in _QLINEAR_INPUTS.get(node.op_type, ()):
            _take(found, node.input[tensor], node, scale, constants)
        if node.op_type in _QLINEAR_OUTPUTS:
            _take(found, node.output[0], node, _QLINEAR_OUTPUTS[node.op_type], constants)
    return tuple(_quantized(t, found) for t in inputs), tuple(_quantized(t, found) for t in outputs)


def check_scales(graph: Any, path: object) -> None:
    """Refuse a model with scales that say nothing, or that are not of float32, and one that quantizes to float8.

    Raises:
        ModelError: a constant scale of a QuantizeLinear, which divides by it, is not a positive, finite number; or one
            of a DequantizeLinear, where a pruned channel may have 0, is not a finite one; or types are others.
    """
    constants = constant_tensors(graph)
    for position, node in enumerate(graph.node):
        if node.op_type not in ("QuantizeLinear", "DequantizeLinear") or node.input[1] not in constants:
            continue
        what = f"{node.op_type} ({node.name or f'number {position}'})"
        kind = constants[node.input[1]].data_type
        if kind != onnx.TensorProto.FLOAT:
            raise ModelError(
                f"{path} has {what} with a scale of type {type_name(kind)}; export the network in float32, then "
                "quantize it"
            )
        levels = next((each.i for each in node.attribute if each.name == "output_dtype"), 0)
        if len(node.input) > 2 and node.input[2] in constants:
            levels = constants[node.input[2]].data_type
        if levels and levels != onnx.TensorProto.FLOAT and not type_name(levels).startswith(("int", "uint")):
            raise ModelError(f"{path} has {what} of type {type_name(levels)}; quantize the model to int8 or uint8")
        scales = np.ravel(onnx.numpy_helper.to_array(constants[node.input[1]])).astype(np.float64)
        wrong = scales[~np.isfinite(scales) | ((scales <= 0) & (node.op_type == "QuantizeLinear"))]
        if wrong.size:
            raise ModelError(
                f"{path} has {what} with a scale of {wrong[0]:g}; scales "
                "must be positive, finite numbers, so quantize the model again"
            )


def _take(found: dict[str, Quantization], tensor: str, node: Any, at: int, constants: dict[str, Any]) -> None:
    given = [constants.get(name) for name in node.input[at : at + 2]]
    if not given or given[0] is None:
        return
    scale = np.ravel(onnx.numpy_helper.to_array(given[0]))
    zero = np.ravel(onnx.numpy_helper.to_array(given[1])) if len(given) > 1 and given[1] is not None else np.zeros(1)
    if scale.size == 1 and zero.size == 1:
        found[tensor] = Quantization(float(np.float32(scale[0])), int(zero[0]))


def _quantized(tensor: ModelTensor, found: dict[str, Quantization]) -> ModelTensor:
    known = tensor.dtype in ("int8", "uint8") and tensor.name in found
    return replace(tensor, quantization=found[tensor.name]) if known else tensor
