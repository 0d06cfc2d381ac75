"""TFLite models for tests: run by TFLite Micro, interpreted in NumPy layer by layer, cut at an inner tensor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import tflite
from tflite_micro.python.tflite_micro import runtime

from tests.e2e import tflite_arithmetic as arithmetic
from tests.e2e.tflite_arithmetic import Array, Output

OPERATOR_NAMES = {value: name for name, value in vars(tflite.BuiltinOperator).items() if isinstance(value, int)}


@dataclass(frozen=True)
class Tensor:
    """A tensor's shape, quantization and, for constants, values."""

    name: str
    shape: tuple[int, ...]
    scales: npt.NDArray[np.float32]
    zero_point: int
    data: Array | None


@dataclass(frozen=True)
class Operator:
    """An operator: its name, tensor indices and builtin options."""

    name: str
    inputs: tuple[int, ...]
    output: int
    options: Mapping[str, int]


@dataclass(frozen=True)
class Network:
    """A TFLite file of one subgraph with int8 activations."""

    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    input: int
    output: int

    @property
    def logits(self) -> int:
        """The tensor before a closing softmax, or the output."""
        last = self.operators[-1]
        return last.inputs[0] if last.name == "SOFTMAX" else self.output


OPTION_TABLES: dict[str, tuple[type, tuple[str, ...]]] = {
    "CONV_2D": (tflite.Conv2DOptions, ("Padding", "StrideH", "StrideW", "FusedActivationFunction")),
    "DEPTHWISE_CONV_2D": (tflite.DepthwiseConv2DOptions, ("Padding", "StrideH", "StrideW", "FusedActivationFunction")),
    "FULLY_CONNECTED": (tflite.FullyConnectedOptions, ("FusedActivationFunction",)),
    "ADD": (tflite.AddOptions, ("FusedActivationFunction",)),
    "AVERAGE_POOL_2D": (
        tflite.Pool2DOptions,
        ("Padding", "StrideH", "StrideW", "FilterHeight", "FilterWidth", "FusedActivationFunction"),
    ),
}


def read(path: Path) -> Network:
    """Parse a TFLite file."""
    model = tflite.Model.GetRootAsModel(path.read_bytes(), 0)
    graph = model.Subgraphs(0)
    tensors: list[Tensor] = []
    for index in range(graph.TensorsLength()):
        tensor = graph.Tensors(index)
        quantization = tensor.Quantization()
        quantization = quantization if quantization is not None and quantization.ScaleLength() > 0 else None
        raw = model.Buffers(tensor.Buffer()).DataAsNumpy()
        shape = tuple(int(n) for n in tensor.ShapeAsNumpy()) if tensor.ShapeLength() else ()
        data = None
        if not isinstance(raw, int) and raw is not None and len(raw):
            dtype = {tflite.TensorType.INT8: np.int8, tflite.TensorType.INT32: np.int32}[tensor.Type()]
            data = np.frombuffer(raw.tobytes(), dtype).reshape(shape).astype(np.int64)
        tensors.append(
            Tensor(
                tensor.Name().decode(),
                shape,
                np.array(quantization.ScaleAsNumpy(), np.float32) if quantization else np.zeros(0, np.float32),
                int(quantization.ZeroPoint(0)) if quantization else 0,
                data,
            )
        )
    operators: list[Operator] = []
    for index in range(graph.OperatorsLength()):
        operator = graph.Operators(index)
        name = OPERATOR_NAMES[model.OperatorCodes(operator.OpcodeIndex()).BuiltinCode()]
        options: dict[str, int] = {}
        if name in OPTION_TABLES:
            kind, fields = OPTION_TABLES[name]
            table = kind()
            builtin = operator.BuiltinOptions()
            table.Init(builtin.Bytes, builtin.Pos)
            options = {field: int(getattr(table, field)()) for field in fields}
        operators.append(
            Operator(name, tuple(int(i) for i in operator.InputsAsNumpy()), int(operator.Outputs(0)), options)
        )
    return Network(tuple(tensors), tuple(operators), int(graph.Inputs(0)), int(graph.Outputs(0)))


def cut(path: Path, tensor: int, destination: Path) -> Path:
    """A copy of the file whose output is an inner tensor."""
    data = bytearray(path.read_bytes())
    graph = tflite.Model.GetRootAsModel(data, 0).Subgraphs(0)
    table = graph._tab
    vector = table.Vector(table.Offset(8))  # field 2 of SubGraph: outputs
    data[vector : vector + 4] = tensor.to_bytes(4, "little")
    destination.write_bytes(bytes(data))
    return destination


def run_micro(path: Path, inputs: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """TFLite Micro's output for each of N inputs, stacked."""
    interpreter = runtime.Interpreter.from_file(str(path))
    outputs: list[npt.NDArray[np.int8]] = []
    for sample in inputs:
        interpreter.set_input(sample, 0)
        interpreter.invoke()
        outputs.append(interpreter.get_output(0).copy())
    return np.stack(outputs)


def activation_range(function: int, scale: float, zero_point: int) -> tuple[int, int]:
    """Quantized clamp of a fused activation."""
    if function == tflite.ActivationFunctionType.RELU:
        return max(-128, zero_point), 127
    if function == tflite.ActivationFunctionType.RELU6:
        return max(-128, zero_point), min(127, zero_point + round(6.0 / scale))
    assert function == tflite.ActivationFunctionType.NONE
    return -128, 127


def same_padding(size: int, filter_size: int, stride: int) -> tuple[int, int]:
    """TFLite's SAME padding: what is odd goes behind."""
    total = max((-(-size // stride) - 1) * stride + filter_size - size, 0)
    return total // 2, total - total // 2


def interpret(
    network: Network,
    sample: npt.NDArray[np.int8],
    output_stage: Callable[[int, Output], Output] = lambda _, default: default,
) -> dict[int, Array]:
    """Every tensor up to the logits for one input; `output_stage` may replace the output stage of operator i."""
    values: dict[int, Array] = {network.input: sample.astype(np.int64)}
    tensors = network.tensors
    for index, operator in enumerate(network.operators):
        if operator.name == "SOFTMAX":
            break
        x = values[operator.inputs[0]]
        source, target = tensors[operator.inputs[0]], tensors[operator.output]
        options = operator.options
        if operator.name == "RESHAPE":
            values[operator.output] = x.reshape(target.shape)
            continue
        out_scale, zero_point = float(target.scales[0]), target.zero_point
        low, high = activation_range(options["FusedActivationFunction"], out_scale, zero_point)
        if operator.name in ("CONV_2D", "DEPTHWISE_CONV_2D"):
            filters, bias = tensors[operator.inputs[1]], tensors[operator.inputs[2]].data
            assert filters.data is not None
            assert bias is not None
            stride = (options["StrideH"], options["StrideW"])
            (top, bottom), (left, right) = ((0, 0), (0, 0))
            if options["Padding"] == tflite.Padding.SAME:
                top, bottom = same_padding(source.shape[1], filters.shape[1], stride[0])
                left, right = same_padding(source.shape[2], filters.shape[2], stride[1])
            scales = np.broadcast_to(filters.scales, (target.shape[-1],))
            multipliers = [float(source.scales[0]) * float(s) / out_scale for s in scales]
            padding = (top, left, bottom, right)
            if operator.name == "CONV_2D":
                acc = arithmetic.conv2d(x[0], filters.data, bias, source.zero_point, stride, padding)
            else:
                acc = arithmetic.depthwise_conv2d(x[0], filters.data[0], bias, source.zero_point, stride, padding)
        elif operator.name == "FULLY_CONNECTED":
            filters, bias = tensors[operator.inputs[1]], tensors[operator.inputs[2]].data
            assert filters.data is not None
            assert bias is not None
            acc = (x.reshape(-1, filters.shape[1]) - source.zero_point) @ filters.data.T + bias
            multipliers = [float(source.scales[0]) * float(filters.scales[0]) / out_scale] * filters.shape[0]
        elif operator.name == "ADD":
            other = tensors[operator.inputs[1]]
            values[operator.output] = arithmetic.add(
                x,
                values[operator.inputs[1]],
                (float(source.scales[0]), float(other.scales[0]), out_scale),
                (source.zero_point, other.zero_point, zero_point),
                low,
                high,
            )
            continue
        else:
            assert operator.name == "AVERAGE_POOL_2D"
            window = (options["FilterHeight"], options["FilterWidth"])
            stride = (options["StrideH"], options["StrideW"])
            values[operator.output] = arithmetic.average_pool2d(x[0], window, stride, low, high)[None]
            continue
        stage = output_stage(index, arithmetic.requantizer(multipliers, zero_point, low, high))
        values[operator.output] = stage(acc).reshape(target.shape)
    return values
