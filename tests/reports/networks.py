"""The networks of public reports, rebuilt small: the situation alone, with weights and shapes of our own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.passes.onnx_models import OnnxModel, quantize
from tests.tflite.case import Network
from tests.tflite.cases import activations, moving, products, recurrent, reductions
from tests.tflite.cases.int16 import INT16, Y
from tests.tflite.streams import wake_word

X = (0.05, 3)


@dataclass(frozen=True)
class Reported:
    """A report: where it is, in whose project; what was reported; what writes such a network into a folder."""

    place: str
    said: str
    write: Callable[[Path], Path]

    @property
    def address(self) -> str:
        """The address of the report."""
        repository, number = self.place.split("#")
        return f"https://github.com/{repository}/issues/{number}"


def _tflite(write: Callable[..., None], *operator: str, **arguments: Any) -> Callable[[Path], Path]:
    """One operator in a TFLite file."""

    def written(folder: Path) -> Path:
        network = Network()
        write(network, *operator, **arguments)
        return _saved(network, folder)

    return written


def _saved(network: Network, folder: Path) -> Path:
    path = folder / "reported.tflite"
    path.write_bytes(network.model.build([number for number, _ in network.inputs], list(network.outputs)))
    return path


def _normalized(network: Network) -> None:
    """A layer normalization as Keras writes it: a mean, squared differences, sums of them, one over the root."""
    shape, one = (1, 16, 24), (1, 16, 1)
    x, axis = network.input(shape, X), network.constant([2])
    keep = {"keepDims": True}
    mean = network.apply("MEAN", [x, axis], network.tensor(one, (0.02, 0)), "ReducerOptions", **keep)
    options = "SquaredDifferenceOptions"
    squares = network.apply("SQUARED_DIFFERENCE", [x, mean], network.tensor(shape, (0.3, -128)), options)
    total = network.apply("SUM", [squares, axis], network.tensor(one, (2.0, -128)), "ReducerOptions", **keep)
    root = network.apply("RSQRT", [total], network.tensor(one, (0.01, -128)))
    centred = network.apply("SUB", [x, mean], network.tensor(shape, (0.06, 0)), "SubOptions")
    network.apply("MUL", [centred, root], network.tensor(shape, (0.02, 0)), "MulOptions")


def _roots(network: Network) -> None:
    """One over the root of a magnitude."""
    shape = (1, 16, 24)
    given = network.input(shape, (0.01, 0), INT16)
    magnitudes = network.apply("ABS", [given], network.tensor(shape, (0.01, 0), INT16))
    network.apply("RSQRT", [magnitudes], network.tensor(shape, (Y, 0), INT16))


def _biased_transposed(network: Network) -> None:
    """A transposed convolution whose bias the converter left an addition."""
    products.transposed(network, "TRANSPOSE_CONV", shape=(1, 8, 8, 4), bias=None, y=(0.4, 5))
    (output,) = network.outputs
    bias = network.constant(network.rng.integers(-99, 99, (3,)), (0.05, 0), "int8")
    network.apply("ADD", [output, bias], network.tensor((1, 16, 16, 3), (0.5, 0)), "AddOptions")


def _onnx(build: Callable[[OnnxModel], None], *shape: int, form: str = "QDQ") -> Callable[[Path], Path]:
    """A network that `quantize_static` quantizes."""

    def written(folder: Path) -> Path:
        model = OnnxModel(shape)
        build(model)
        return quantize(model, folder, form, "QUInt8", per_channel=False)

    return written


def _sequence(model: OnnxModel) -> None:
    model.conv(8, (3,), pads=[1, 1])
    model.add("Relu")
    model.conv(8, (5,), pads=[2, 2])


def _gated(model: OnnxModel) -> None:
    model.conv(8, (1, 1))
    gate = model.current
    model.add("Sigmoid")
    model.add("Mul", gate)
    model.add("LeakyRelu", alpha=0.1)
    model.add("GlobalAveragePool")


def _biased_product(model: OnnxModel) -> None:
    model.add("MatMul", model.constant(model.rng.normal(0, 0.2, (24, 16))))
    model.add("Add", model.constant(model.rng.normal(0, 0.2, 16)))
    model.add("Relu")
    model.add("MatMul", model.constant(model.rng.normal(0, 0.2, (16, 8))))


def _padded(model: OnnxModel) -> None:
    model.add("Pad", model.constant(np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64)))
    model.conv(8, (3, 3), strides=[2, 2])
    model.add("Relu")


def _written_gelu(model: OnnxModel) -> None:
    """The activation of BERT with a hyperbolic tangent, after a product."""
    model.add("MatMul", model.constant(model.rng.normal(0, 0.2, (16, 16))))
    x = model.current
    model.add("Pow", model.constant(np.array(3.0)))
    model.add("Mul", model.constant(np.array(0.044715)))
    model.add("Add", x)
    model.add("Mul", model.constant(np.array(0.7978846)))
    model.add("Tanh")
    model.add("Add", model.constant(np.array(1.0)))
    model.add("Mul", x)


def _normalized_rows(model: OnnxModel) -> None:
    """A normalization as exporters write it out: Sub, Pow, ReduceMean, Sqrt, Div."""
    model.add("MatMul", model.constant(model.rng.normal(0, 0.2, (16, 16))))
    x = model.current
    mean = model.add("ReduceMean", axes=[-1])
    model.current = x
    centred = model.add("Sub", mean)
    model.add("Pow", model.constant(np.array(2.0)))
    model.add("ReduceMean", axes=[-1])
    model.add("Add", model.constant(np.array(1e-5)))
    root = model.add("Sqrt")
    model.current = centred
    model.add("Div", root)


def _classified(model: OnnxModel) -> None:
    model.add("MatMul", model.constant(model.rng.normal(0, 0.2, (24, 10))))
    model.add("Softmax", axis=-1)


def _transposed_sequence(model: OnnxModel) -> None:
    model.conv(8, (4,), pads=[1, 1], strides=[2])
    model.add("ConvTranspose", model.constant(model.rng.normal(0, 0.2, (8, 4, 4))), pads=[1, 1], strides=[2])


def _spiking(folder: Path) -> Path:
    """A neuron that fires above a threshold: Greater between a dequantize and a quantize."""
    constants = {
        "s": np.float32(0.05), "z": np.uint8(128), "so": np.float32(1 / 255), "zo": np.uint8(0),
        "threshold": np.float32(0.7),
    }  # fmt: skip
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["levels"]),
        helper.make_node("DequantizeLinear", ["levels", "s", "z"], ["real"]),
        helper.make_node("Greater", ["real", "threshold"], ["fires"]),
        helper.make_node("Cast", ["fires"], ["spikes"], to=TensorProto.FLOAT),
        helper.make_node("QuantizeLinear", ["spikes", "so", "zo"], ["y"]),
    ]
    return _written(nodes, constants, (1, 8, 16, 16), TensorProto.UINT8, folder)


def _to_real_numbers(folder: Path) -> Path:
    """A product of integers that becomes real numbers at once, as onnxruntime fuses it."""
    rng = np.random.default_rng(3)
    constants = {
        "s": np.float32(0.05), "z": np.uint8(128), "w": rng.integers(-90, 90, (24, 8)).astype(np.int8),
        "ws": np.float32(0.01), "wz": np.int8(0),
    }  # fmt: skip
    inputs = ["levels", "w", "s", "ws", "z", "wz"]
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["levels"]),
        helper.make_node("MatMulIntegerToFloat", inputs, ["y"], domain="com.microsoft"),
    ]
    return _written(nodes, constants, (4, 24), TensorProto.FLOAT, folder)


def _open_batch(folder: Path) -> Path:
    path = _onnx(_gated, 1, 6, 12, 12)(folder)
    model = onnx.load(path)
    for tensor in (*model.graph.input, *model.graph.output):
        tensor.type.tensor_type.shape.dim[0].dim_param = "batch"
    del model.graph.value_info[:]
    onnx.save(model, path)
    return path


def _written(
    nodes: Sequence[Any], constants: dict[str, Any], shape: tuple[int, ...], output: int, folder: Path
) -> Path:
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    made = [helper.make_tensor_value_info("y", output, None)]
    initializers = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    graph = helper.make_graph(nodes, "reported", given, made, initializers)
    path = folder / "reported.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return path


_DENSE_16 = partial(products.fully_connected, x=(2.1e-4, 0), y=(Y, 0), dtype=INT16, bias="int64", most=3_000_000)

REPORTS: Sequence[Reported] = (
    Reported(
        "tensorflow/tflite-micro#622",
        "a bidirectional LSTM of Keras: no kernel of REVERSE_V2",
        _tflite(moving.moved, "REVERSE_V2", shape=(1, 20, 8), result=(1, 20, 8), operands=[[1]]),
    ),
    Reported(
        "mocleiri/tensorflow-micropython-examples#81",
        "SHAPE in front of a RESHAPE: the operator is not in the library",
        _tflite(moving.shape_of, "SHAPE"),
    ),
    Reported(
        "tensorflow/tflite-micro#515",
        "layer normalization of Keras: SUM and SQUARED_DIFFERENCE are not found",
        _tflite(_normalized),
    ),
    Reported(
        "tensorflow/tflite-micro#344",
        "activations of 16 bits, weights of 8: FULLY_CONNECTED takes them for a hybrid model",
        _tflite(_DENSE_16, "FULLY_CONNECTED"),
    ),
    Reported(
        "tensorflow/tensorflow#59506",
        "RSQRT of a normalization has no 16 bits",
        _tflite(_roots),
    ),
    Reported(
        "tensorflow/tflite-micro#137",
        "convolutions in groups",
        _tflite(products.conv2d, "CONV_2D", shape=(1, 9, 7, 8), filters=8, groups=4),
    ),
    Reported(
        "GreenWaves-Technologies/gap_sdk#221",
        "a CONV_2D with as many groups as channels: weights of six times their bytes are expected",
        _tflite(products.conv2d, "CONV_2D", shape=(1, 12, 12, 6), filters=6, groups=6),
    ),
    Reported(
        "tensorflow/tensorflow#43332",
        "global average pooling of a sequence: MEAN is for four axes alone",
        _tflite(reductions.reduction, "MEAN", axes=(1,), keep=False, shape=(1, 30, 16), y=(0.02, 1)),
    ),
    Reported(
        "tensorflow/tensorflow#56932",
        "a streaming network: VAR_HANDLE asks for resource variables",
        wake_word,
    ),
    Reported(
        "Samsung/ONE#8203",
        "SVDF of a keyword network is unknown",
        _tflite(recurrent.svdf, "SVDF", rank=2, units=12, memory=8, size=20, state="int8"),
    ),
    Reported(
        "tensorflow/tflite-micro#280",
        "an input of uint8, as the converter is asked for: QUANTIZE refuses it",
        _tflite(activations.change_of_type, "QUANTIZE", x=(0.05, 131), y=(0.05, 3), source="uint8"),
    ),
    Reported(
        "tensorflow/tensorflow#49207",
        "RESIZE_BILINEAR is missing",
        _tflite(moving.resized, "RESIZE_BILINEAR", size=(16, 16), shape=(1, 8, 8, 4), half=True),
    ),
    Reported(
        "tensorflow/tensorflow#34622",
        "the bias of TRANSPOSE_CONV stays an ADD of its own",
        _tflite(_biased_transposed),
    ),
    Reported(
        "apache/tvm#17197",
        "QLinearConv of sequences: kernels of two axes alone",
        _onnx(_sequence, 1, 4, 40, form="QOperator"),
    ),
    Reported("apache/tvm#17197", "MatMulIntegerToFloat, from the same report", _to_real_numbers),
    Reported(
        "apache/tvm#8838",
        "QLinearSigmoid, QLinearMul, QLinearLeakyRelu and QLinearGlobalAveragePool, onnxruntime's own",
        _onnx(_gated, 1, 6, 12, 12, form="QOperator"),
    ),
    Reported(
        "PINTO0309/onnx2tf#10",
        "QLinearMul is no known operator",
        _onnx(_gated, 1, 4, 9, 9, form="QOperator"),
    ),
    Reported(
        "pulp-platform/dory#50",
        "a MatMul whose bias is an Add after it: Add is not accepted",
        _onnx(_biased_product, 4, 24),
    ),
    Reported("pulp-platform/dory#27", "a Pad in front of a convolution", _onnx(_padded, 1, 4, 17, 17)),
    Reported(
        "pulp-platform/Deeploy#133",
        "operators of BERT: Sub, Pow, Sqrt",
        _onnx(_normalized_rows, 8, 16),
    ),
    Reported("pulp-platform/Deeploy#133", "and its GELU: Pow, Mul, Tanh", _onnx(_written_gelu, 8, 16)),
    Reported("espressif/esp-dl#58", "MatMul and Softmax are not supported", _onnx(_classified, 4, 24)),
    Reported("espressif/esp-dl#192", "a spiking neuron: Greater, though it is listed", _spiking),
    Reported(
        "fastmachinelearning/hls4ml#860",
        "a U-Net of sequences: Conv1DTranspose",
        _onnx(_transposed_sequence, 1, 4, 32),
    ),
    Reported("fastmachinelearning/hls4ml#1197", "QuantizeLinear is no known operator", _onnx(_sequence, 1, 4, 40)),
    Reported("GreenWaves-Technologies/gap_sdk#370", "a batch that is left open", _open_batch),
)
"""All of them."""
