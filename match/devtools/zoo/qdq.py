"""Networks as ONNX models: in QDQ form, named and arranged as by onnxruntime's static quantization, and in float.

In QDQ form no ReLU is written out, as there: the zero point and the scale of what it bounds say the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from match.arithmetic.interface import QuantizedType
from match.devtools.zoo.forward import EPSILON, HARD_SLOPE, LEAKY_SLOPE
from match.devtools.zoo.layers import (
    LINEAR,
    RELU,
    Add,
    Cells,
    Channels,
    Concat,
    Conv,
    Enlarge,
    FullyConnected,
    Function,
    GlobalAveragePool,
    Input,
    Interleave,
    MatMul,
    MaxPool,
    Multiply,
    Normalize,
    Offset,
    Project,
    Range,
    Reorder,
    Shuffle,
    Softmax,
    Spread,
    TokenMean,
    ZooLayer,
    ZooNetwork,
)
from match.devtools.zoo.quantize import Parameters, Weights

_OPSET = 17
_IR_VERSION = 8
_NODES: Mapping[type[ZooLayer], tuple[str, Mapping[str, Any]]] = MappingProxyType(
    {
        Add: ("Add", {}),
        Concat: ("Concat", {"axis": 1}),
        MatMul: ("MatMul", {}),
        Multiply: ("Mul", {}),
        Softmax: ("Softmax", {"axis": -1}),
        TokenMean: ("ReduceMean", {"axes": [1], "keepdims": 0}),
    }
)
"""Operator and attributes of layers that are one operator without constants."""

_SLOPES = {"HardSigmoid": {"alpha": HARD_SLOPE}, "LeakyRelu": {"alpha": LEAKY_SLOPE}}


def write(network: ZooNetwork, parameters: Parameters, *, quantized: bool = True) -> onnx.ModelProto:
    """The model; its input and output are float32 and have a batch of 1."""
    graph = _Graph() if quantized else _RealGraph()
    for layer in network.layers:
        if layer.name in parameters.weights:
            input_scale = parameters.outputs[layer.inputs[0].name].scale
            graph.weights(layer, parameters.weights[layer.name], input_scale)
    for layer in network.layers:
        last = layer is network.output
        result = f"{layer.name}_QuantizeLinear_Input" if last else layer.name
        scale = graph.quantization(layer.name, parameters.outputs[layer.name])
        _operator(graph, layer, result, scale, parameters)
        bounds: Range = getattr(layer, "activation", LINEAR)
        graph.quantized(result, layer.name, scale, layer.name if last else _real(layer.name), bounds)
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


def _operator(graph: _Graph, layer: ZooLayer, result: str, scale: list[str], parameters: Parameters) -> None:
    """The operator between the dequantized inputs of a layer and its `result`."""
    inputs = [_real(source.name) for source in layer.inputs]
    match layer:
        case Input():
            pass
        case Conv() | Spread() | FullyConnected() | Project():
            _weighted(graph, layer, inputs, result)
        case Offset():
            bias = graph.levels(layer.bias, parameters.reals[layer.name], parameters.outputs[layer.bias])
            graph.node("Add", [*inputs, bias], result)
        case Normalize():
            rows = zip(("gain", "bias"), parameters.reals[layer.name].astype(np.float32), strict=True)
            constants = [graph.constant(f"{layer.name}_{row}", values) for row, values in rows]
            graph.node("LayerNormalization", [*inputs, *constants], result, axis=-1, epsilon=EPSILON)
        case Cells():
            _cells(graph, layer, inputs[0], result, parameters.reals[layer.name].astype(np.float32))
        case Function() if layer.function == "Gelu":
            _gelu(graph, layer.name, inputs[0], result)
        case Function():
            graph.node(layer.function, inputs, result, **_SLOPES.get(layer.function, {}))
        case Channels():
            _slice(graph, layer, inputs[0], result)
        case Shuffle():
            _reordered(graph, _shuffled(layer), inputs[0], result, scale)
        case Reorder():
            _reordered(graph, layer, inputs[0], result, scale)
        case Enlarge():
            _resize(graph, layer, inputs[0], result)
        case Interleave():
            graph.node("DepthToSpace", inputs, result, blocksize=layer.factor, mode="CRD")
        case MaxPool():
            window = [layer.window, layer.window]
            graph.node("MaxPool", inputs, result, kernel_shape=window, strides=[layer.stride, layer.stride])
        case GlobalAveragePool():
            _mean(graph, layer, inputs[0], result, scale)
        case _:
            operator, attributes = _NODES[type(layer)]
            graph.node(operator, inputs, result, **attributes)


def _weighted(
    graph: _Graph, layer: Conv | Spread | FullyConnected | Project, inputs: Sequence[str], result: str
) -> None:
    """A convolution, transposed or not, or a dense layer."""
    weight, bias = _real(f"{layer.name}_weight"), f"{layer.name}_bias"
    match layer:
        case Conv():
            graph.node(
                "Conv",
                [*inputs, weight, bias],
                result,
                dilations=[layer.dilation for _ in layer.kernel],
                group=layer.groups,
                kernel_shape=list(layer.kernel),
                pads=list(layer.pads),
                strides=[layer.stride for _ in layer.kernel],
            )
        case Spread():
            square = [layer.factor, layer.factor]
            graph.node("ConvTranspose", [*inputs, weight, bias], result, kernel_shape=square, strides=square)
        case FullyConnected():
            graph.node("Gemm", [*inputs, weight, bias], result, transB=1)
        case Project():
            graph.node("MatMul", [*inputs, weight], result)


def _cells(graph: _Graph, layer: Cells, x: str, result: str, weights: npt.NDArray[np.float32]) -> None:
    """Cells in floating point, as the quantizer leaves them, on steps in front of the batch."""
    name, features = layer.name, layer.inputs[0].shape[-1]
    turned = f"{name}_steps_first"
    graph.node("Transpose", [x], turned, perm=[1, 0, 2])
    graph.quantized(
        turned, turned, [f"{layer.inputs[0].name}_{what}" for what in ("scale", "zero_point")], _real(turned)
    )
    fed, back, biases = np.split(weights, [features, features + layer.units], axis=-1)
    constants = [
        graph.constant(f"{name}_{what}", np.ascontiguousarray(values))
        for what, values in (("W", fed), ("R", back), ("B", biases.swapaxes(1, 2).reshape(layer.directions, -1)))
    ]
    attributes: dict[str, Any] = {"hidden_size": layer.units}
    if layer.directions == 2:
        attributes["direction"] = "bidirectional"
    if layer.kind == "GRU":
        attributes["linear_before_reset"] = 1
    if len(layer.shape) == 1:
        graph.node(layer.kind, [_real(turned), *constants], ["", f"{name}_last"], **attributes)
        axis = graph.constant(f"{name}_axis", np.array([0], np.int64))
        graph.node("Squeeze", [f"{name}_last", axis], result)
        return
    graph.node(layer.kind, [_real(turned), *constants], f"{name}_states", **attributes)
    graph.node("Transpose", [f"{name}_states"], f"{name}_batch_first", perm=[2, 0, 1, 3])
    joined = graph.constant(f"{name}_shape", np.array((1, *layer.shape), np.int64))
    graph.node("Reshape", [f"{name}_batch_first", joined], result)


def _slice(graph: _Graph, layer: Channels, x: str, result: str) -> None:
    ends = layer.first, layer.first + layer.shape[0]
    bounds = [
        graph.constant(f"{layer.name}_{end}", np.array([value], np.int64))
        for end, value in zip(("first", "end", "axis"), (*ends, 1), strict=True)
    ]
    graph.node("Slice", [x, *bounds], result)


def _resize(graph: _Graph, layer: Enlarge, x: str, result: str) -> None:
    scales = graph.constant(f"{layer.name}_factors", np.array([1, 1, layer.factor, layer.factor], np.float32))
    nearest = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    smooth = {"mode": "linear", "coordinate_transformation_mode": "half_pixel"}
    graph.node("Resize", [x, "", scales], result, **(smooth if layer.smooth else nearest))


def _mean(graph: _Graph, layer: GlobalAveragePool, x: str, result: str, scale: list[str]) -> None:
    """The mean of a map; with one axis in the result it is flattened, after a quantization of its own."""
    if len(layer.shape) == 3:
        graph.node("GlobalAveragePool", [x], result)
        return
    pooled = f"{layer.name}_map"
    graph.node("GlobalAveragePool", [x], pooled)
    graph.quantized(pooled, pooled, scale, _real(pooled))
    graph.node("Flatten", [_real(pooled)], result)


def _shuffled(layer: Shuffle) -> Reorder:
    """As PyTorch writes it: channels as a matrix (groups, channels of each), transposed, and back to one axis."""
    channels, rows, columns = layer.shape
    matrix = layer.groups, channels // layer.groups, rows, columns
    return Reorder(layer.name, layer.inputs, layer.shape, matrix, (1, 0, 2, 3))


def _reordered(graph: _Graph, layer: Reorder, x: str, result: str, scale: list[str]) -> None:
    """Reshapes where they change something, and a transposition where there is one."""
    steps: list[tuple[str, str, Any]] = []
    if layer.before != layer.inputs[0].shape:
        steps.append(("Reshape", "grouped", layer.before))
    if layer.order != tuple(sorted(layer.order)):
        steps.append(("Transpose", "turned", [0, *(axis + 1 for axis in layer.order)]))
    if layer.shape != tuple(layer.before[axis] for axis in layer.order):
        steps.append(("Reshape", "joined", layer.shape))
    for op, step, argument in steps:
        name = f"{layer.name}_{step}"
        target = result if step == steps[-1][1] else name
        if op == "Transpose":
            graph.node(op, [x], target, perm=argument)
        else:
            graph.node(op, [x, graph.constant(f"{name}_shape", np.array((1, *argument), np.int64))], target)
        if target != result:
            x = _real(target)
            graph.quantized(target, target, scale, x)


def _gelu(graph: _Graph, name: str, x: str, result: str) -> None:
    """As PyTorch writes it: by the error function."""
    root, one, half = (
        graph.constant(f"{name}_{what}", np.array(value, np.float32))
        for what, value in (("root", math.sqrt(2)), ("one", 1), ("half", 0.5))
    )
    graph.node("Div", [x, root], f"{name}_divided")
    graph.node("Erf", [f"{name}_divided"], f"{name}_error")
    graph.node("Add", [f"{name}_error", one], f"{name}_raised")
    graph.node("Mul", [x, f"{name}_raised"], f"{name}_doubled")
    graph.node("Mul", [f"{name}_doubled", half], result)


def _value(layer: ZooLayer) -> Any:
    return helper.make_tensor_value_info(layer.name, TensorProto.FLOAT, [1, *map(int, layer.shape)])


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

    def node(self, op: str, inputs: Sequence[str], output: str | list[str], **attributes: Any) -> None:
        outputs = [output] if isinstance(output, str) else output
        self.nodes.append(helper.make_node(op, inputs, outputs, name=f"{outputs[-1]}_{op}", **attributes))

    def quantization(self, name: str, quantization: QuantizedType) -> list[str]:
        """Names of the scale and zero point of a tensor."""
        zero_point = np.array(quantization.zero_point, quantization.dtype)
        return [
            self.constant(f"{name}_scale", np.array(quantization.scale)),
            self.constant(f"{name}_zero_point", zero_point),
        ]

    def quantized(self, source: str, name: str, scale: Sequence[str], result: str, activation: Range = LINEAR) -> None:
        """`source` to 8 bits, which end where `activation` does, and back."""
        integers = f"{name}_QuantizeLinear_Output"
        self.node("QuantizeLinear", [source, *scale], integers)
        self.node("DequantizeLinear", [integers, *scale], result)

    def levels(self, name: str, values: npt.NDArray[np.float64], quantization: QuantizedType) -> str:
        """A constant in 8 bits, dequantized."""
        integers = np.rint(values / float(quantization.scale)) + quantization.zero_point
        quantized = self.constant(f"{name}_quantized", integers.astype(quantization.dtype))
        self.node("DequantizeLinear", [quantized, *self.quantization(name, quantization)], _real(name))
        return _real(name)

    def weights(self, layer: ZooLayer, weights: Weights, input_scale: np.float32) -> None:
        """Weights of a layer, and its bias if it has one, each with a scale per output channel."""
        name, values, axis = layer.name, weights.values, 0
        if isinstance(layer, Project | Spread):  # ONNX has the input channels first
            values, axis = values.swapaxes(0, 1), 1
        if not isinstance(layer, Project):
            self._constants(f"{name}_bias", f"{name}_bias", weights.biases, input_scale * weights.scales, 0)
        self._constants(f"{name}_weight", _real(f"{name}_weight"), values, weights.scales, axis)

    def _constants(self, name: str, result: str, values: npt.NDArray[Any], scales: npt.NDArray[Any], axis: int) -> None:
        inputs = [
            self.constant(f"{name}_quantized", values),
            self.constant(f"{name}_scale", scales),
            self.constant(f"{name}_zero_point", np.zeros(len(scales), values.dtype)),
        ]
        self.node("DequantizeLinear", inputs, result, axis=axis)


class _RealGraph(_Graph):
    """The same in real numbers, with activations as operators."""

    def __init__(self) -> None:
        super().__init__()
        self._names: dict[str, str] = {}
        """The names of tensors, by what they would be called after a dequantize operator."""

    def node(self, op: str, inputs: Sequence[str], output: str | list[str], **attributes: Any) -> None:
        super().node(op, [self._names.get(name, name) for name in inputs], output, **attributes)

    def quantization(self, name: str, quantization: QuantizedType) -> list[str]:
        return []

    def quantized(self, source: str, name: str, scale: Sequence[str], result: str, activation: Range = LINEAR) -> None:
        if activation != LINEAR:
            self.nodes[-1].output[0] = f"{source}_sums"
            self._activation(f"{source}_sums", name, activation)
        elif source != name:
            self.nodes[-1].output[0] = name
        if result != name:
            self._names[result] = name

    def _activation(self, source: str, result: str, bounds: Range) -> None:
        if bounds == RELU:
            self.node("Relu", [source], result)
            return
        ends = [
            self.constant(f"{result}_{end}", np.array(value, np.float32))
            for end, value in zip(("low", "high"), bounds, strict=True)
        ]
        self.node("Clip", [source, *ends], result)

    def levels(self, name: str, values: npt.NDArray[np.float64], quantization: QuantizedType) -> str:
        return self.constant(name, values.astype(np.float32))

    def _constants(self, name: str, result: str, values: npt.NDArray[Any], scales: npt.NDArray[Any], axis: int) -> None:
        shape = [-1 if place == axis else 1 for place in range(values.ndim)]
        self.constant(name, (values * scales.reshape(shape)).astype(np.float32))
        self._names[result] = name
