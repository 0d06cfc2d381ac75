"""Quantized networks as ONNX models in QDQ form, named and arranged as by onnxruntime's static quantization.

There, too, no ReLU is written out: the zero point and the scale of what it bounds say the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from match.arithmetic.interface import QuantizedType
from match.devtools.zoo.forward import HARD_SLOPE, LEAKY_SLOPE
from match.devtools.zoo.layers import (
    Add,
    Channels,
    Concat,
    Conv,
    Enlarge,
    FullyConnected,
    Function,
    GlobalAveragePool,
    Input,
    MaxPool,
    Multiply,
    Shuffle,
    ZooLayer,
    ZooNetwork,
)
from match.devtools.zoo.quantize import Parameters, Weights

_OPSET = 13
_IR_VERSION = 8
_SLOPES = {"HardSigmoid": {"alpha": HARD_SLOPE}, "LeakyRelu": {"alpha": LEAKY_SLOPE}}


def write(network: ZooNetwork, parameters: Parameters) -> onnx.ModelProto:
    """The model; its input and output are float32 and have a batch of 1."""
    graph = _Graph()
    for layer in network.layers:
        if layer.name in parameters.weights:
            input_scale = parameters.outputs[layer.inputs[0].name].scale
            graph.weights(layer.name, parameters.weights[layer.name], input_scale)
    for layer in network.layers:
        last = layer is network.output
        result = f"{layer.name}_QuantizeLinear_Input" if last else layer.name
        scale = graph.quantization(layer.name, parameters.outputs[layer.name])
        _operator(graph, layer, result, scale)
        graph.quantized(result, layer.name, scale, layer.name if last else _real(layer.name))
    proto = helper.make_model(
        helper.make_graph(
            graph.nodes, network.name, [_value(network.input)], [_value(network.output)], graph.initializers
        ),
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR_VERSION,
        producer_name="match.devtools.zoo",
    )
    onnx.checker.check_model(proto, full_check=True)
    return proto


def _operator(graph: _Graph, layer: ZooLayer, result: str, scale: list[str]) -> None:
    """The operator between the dequantized inputs of a layer and its `result`."""
    inputs = [_real(source.name) for source in layer.inputs]
    match layer:
        case Input():
            pass
        case Conv():
            graph.node(
                "Conv",
                [*inputs, _real(f"{layer.name}_weight"), f"{layer.name}_bias"],
                result,
                group=layer.shape[0] if layer.depthwise else 1,
                kernel_shape=list(layer.kernel),
                pads=list(layer.pads),
                strides=[layer.stride, layer.stride],
            )
        case FullyConnected():
            graph.node("Gemm", [*inputs, _real(f"{layer.name}_weight"), f"{layer.name}_bias"], result, transB=1)
        case Add():
            graph.node("Add", inputs, result)
        case Multiply():
            graph.node("Mul", inputs, result)
        case Function():
            graph.node(layer.function, inputs, result, **_SLOPES.get(layer.function, {}))
        case Concat():
            graph.node("Concat", inputs, result, axis=1)
        case Channels():
            ends = layer.first, layer.first + layer.shape[0]
            bounds = [
                graph.constant(f"{layer.name}_{end}", np.array([value], np.int64))
                for end, value in zip(("first", "end", "axis"), (*ends, 1), strict=True)
            ]
            graph.node("Slice", [*inputs, *bounds], result)
        case Shuffle():
            _shuffle(graph, layer, inputs[0], result, scale)
        case Enlarge():
            factors = np.array([1, 1, layer.factor, layer.factor], np.float32)
            scales = graph.constant(f"{layer.name}_factors", factors)
            modes = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
            graph.node("Resize", [*inputs, "", scales], result, **modes)
        case MaxPool():
            window = [layer.window, layer.window]
            graph.node("MaxPool", inputs, result, kernel_shape=window, strides=[layer.stride, layer.stride])
        case GlobalAveragePool() if len(layer.shape) == 3:
            graph.node("GlobalAveragePool", inputs, result)
        case GlobalAveragePool():
            pooled = f"{layer.name}_map"
            graph.node("GlobalAveragePool", inputs, pooled)
            graph.quantized(pooled, pooled, scale, _real(pooled))
            graph.node("Flatten", [_real(pooled)], result)
        case _:
            graph.node("Softmax", inputs, result, axis=1)


def _shuffle(graph: _Graph, layer: Shuffle, x: str, result: str, scale: list[str]) -> None:
    """As PyTorch writes it: channels as a matrix (groups, channels of each), transposed, and back to one axis."""
    channels, rows, columns = layer.shape
    grouped, turned = f"{layer.name}_grouped", f"{layer.name}_turned"
    matrix = 1, layer.groups, channels // layer.groups, rows, columns
    graph.node("Reshape", [x, graph.constant(f"{grouped}_shape", np.array(matrix, np.int64))], grouped)
    graph.quantized(grouped, grouped, scale, _real(grouped))
    graph.node("Transpose", [_real(grouped)], turned, perm=[0, 2, 1, 3, 4])
    graph.quantized(turned, turned, scale, _real(turned))
    shape = graph.constant(f"{layer.name}_shape", np.array((1, *layer.shape), np.int64))
    graph.node("Reshape", [_real(turned), shape], result)


def _value(layer: ZooLayer) -> Any:
    return helper.make_tensor_value_info(layer.name, TensorProto.FLOAT, [1, *layer.shape])


def _real(name: str) -> str:
    return f"{name}_DequantizeLinear_Output"


class _Graph:
    """ONNX nodes and initializers under construction."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []

    def constant(self, name: str, values: npt.NDArray[Any]) -> str:
        self.initializers.append(numpy_helper.from_array(values, name))
        return name

    def node(self, op: str, inputs: Sequence[str], output: str, **attributes: Any) -> None:
        self.nodes.append(helper.make_node(op, inputs, [output], name=f"{output}_{op}", **attributes))

    def quantization(self, name: str, quantization: QuantizedType) -> list[str]:
        """Names of the scale and zero point of a tensor."""
        zero_point = np.array(quantization.zero_point, quantization.dtype)
        return [
            self.constant(f"{name}_scale", np.array(quantization.scale)),
            self.constant(f"{name}_zero_point", zero_point),
        ]

    def quantized(self, source: str, name: str, scale: Sequence[str], result: str) -> None:
        """`source` to 8 bits and back."""
        integers = f"{name}_QuantizeLinear_Output"
        self.node("QuantizeLinear", [source, *scale], integers)
        self.node("DequantizeLinear", [integers, *scale], result)

    def weights(self, layer: str, weights: Weights, input_scale: np.float32) -> None:
        """Weights and bias of a layer, each with a scale per output channel."""
        bias_scales = input_scale * weights.scales
        for name, result, values, scales in (
            (f"{layer}_bias", f"{layer}_bias", weights.biases, bias_scales),
            (f"{layer}_weight", _real(f"{layer}_weight"), weights.values, weights.scales),
        ):
            inputs = [
                self.constant(f"{name}_quantized", values),
                self.constant(f"{name}_scale", scales),
                self.constant(f"{name}_zero_point", np.zeros(len(scales), values.dtype)),
            ]
            self.node("DequantizeLinear", inputs, result, axis=0)
