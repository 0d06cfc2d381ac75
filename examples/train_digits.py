"""Trains the network of `match demo` on scikit-learn's handwritten digits and writes it as an int8 QDQ ONNX model.

    python examples/train_digits.py [-o FOLDER]

The network has one of everything a small vision network is made of: 3x3, depthwise and pointwise convolutions, a
residual addition, average pooling and a dense layer. It is trained in float with NumPy alone, exported with
`onnx.helper`, and quantized by onnxruntime's static quantization, calibrated on training images. The same seed gives
the same weights on the same machine. Written are `digits.onnx` and `digits.npz`, which holds the images that training
never saw, with their labels. Needs the `test` extra; takes a minute or two.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from sklearn.datasets import load_digits

FloatArray = npt.NDArray[np.float32]

INPUT = "image"
OUTPUT = "scores"
SIZE = 16
HELD_OUT = 450


class Layer:
    """A differentiable step: `forward` remembers what `backward` needs; both work on batches, NCHW."""

    def parameters(self) -> list[FloatArray]:
        return []

    def gradients(self) -> list[FloatArray]:
        return []

    def forward(self, x: FloatArray) -> FloatArray:
        raise NotImplementedError

    def backward(self, dy: FloatArray) -> FloatArray:
        raise NotImplementedError

    def export(self, graph: Graph, source: str) -> str:
        """Append ONNX nodes that read tensor `source`; returns the tensor they make."""
        raise NotImplementedError


class Graph:
    """ONNX nodes and initializers under construction."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []

    def constant(self, name: str, value: FloatArray) -> str:
        self.initializers.append(numpy_helper.from_array(value, name))
        return name

    def node(self, op: str, inputs: list[str], **attributes: Any) -> str:
        output = f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output


class Conv(Layer):
    """Convolution with bias; `depthwise` has one filter per channel."""

    def __init__(
        self, rng: np.random.Generator, channels: int, filters: int, size: int, stride: int = 1, depthwise: bool = False
    ) -> None:
        fan_in = size * size * (1 if depthwise else channels)
        shape = (filters, 1 if depthwise else channels, size, size)
        self.weight = (rng.standard_normal(shape) * np.sqrt(2 / fan_in)).astype(np.float32)
        self.bias = np.zeros(filters, np.float32)
        self.stride, self.pad, self.depthwise = stride, size // 2, depthwise

    def parameters(self) -> list[FloatArray]:
        return [self.weight, self.bias]

    def gradients(self) -> list[FloatArray]:
        return [self.d_weight, self.d_bias]

    def forward(self, x: FloatArray) -> FloatArray:
        size = self.weight.shape[2]
        padded = np.pad(x, ((0, 0), (0, 0), (self.pad, self.pad), (self.pad, self.pad)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (size, size), (2, 3))
        self.windows = windows[:, :, :: self.stride, :: self.stride]
        self.padded_shape = padded.shape
        if self.depthwise:
            y = np.einsum("ncyxij,cij->ncyx", self.windows, self.weight[:, 0], optimize=True)
        else:
            y = np.tensordot(self.windows, self.weight, ((1, 4, 5), (1, 2, 3))).transpose(0, 3, 1, 2)
        return y + self.bias[:, None, None]

    def backward(self, dy: FloatArray) -> FloatArray:
        self.d_bias = dy.sum((0, 2, 3))
        if self.depthwise:
            self.d_weight = np.einsum("ncyxij,ncyx->cij", self.windows, dy, optimize=True)[:, None]
        else:
            self.d_weight = np.tensordot(dy, self.windows, ((0, 2, 3), (0, 2, 3)))
        dx = np.zeros(self.padded_shape, np.float32)
        rows, columns = (self.stride * extent for extent in dy.shape[2:])
        for i, j in np.ndindex(*self.weight.shape[2:]):
            tap = self.weight[:, :, i, j]
            share = (
                dy * tap[:, 0, None, None] if self.depthwise else np.tensordot(dy, tap, (1, 0)).transpose(0, 3, 1, 2)
            )
            dx[:, :, i : i + rows : self.stride, j : j + columns : self.stride] += share
        inner = slice(self.pad, -self.pad or None)
        return dx[:, :, inner, inner]

    def export(self, graph: Graph, source: str) -> str:
        prefix = f"conv_{len(graph.nodes)}"
        weight = graph.constant(f"{prefix}_weight", self.weight)
        bias = graph.constant(f"{prefix}_bias", self.bias)
        return graph.node(
            "Conv",
            [source, weight, bias],
            kernel_shape=list(self.weight.shape[2:]),
            strides=[self.stride, self.stride],
            pads=[self.pad] * 4,
            group=self.weight.shape[0] if self.depthwise else 1,
        )


class Relu(Layer):
    """max(x, 0)."""

    def forward(self, x: FloatArray) -> FloatArray:
        self.positive = x > 0
        return np.where(self.positive, x, np.float32(0))

    def backward(self, dy: FloatArray) -> FloatArray:
        return np.where(self.positive, dy, np.float32(0))

    def export(self, graph: Graph, source: str) -> str:
        return graph.node("Relu", [source])


class AveragePool(Layer):
    """Mean of the whole map, flattened to (N, C)."""

    def forward(self, x: FloatArray) -> FloatArray:
        self.shape = x.shape
        return x.mean((2, 3))

    def backward(self, dy: FloatArray) -> FloatArray:
        area = self.shape[2] * self.shape[3]
        return np.broadcast_to((dy / np.float32(area))[:, :, None, None], self.shape).astype(np.float32)

    def export(self, graph: Graph, source: str) -> str:
        return graph.node("Flatten", [graph.node("GlobalAveragePool", [source])])


class Dense(Layer):
    """x @ weight.T + bias."""

    def __init__(self, rng: np.random.Generator, inputs: int, outputs: int) -> None:
        self.weight = (rng.standard_normal((outputs, inputs)) / np.sqrt(inputs)).astype(np.float32)
        self.bias = np.zeros(outputs, np.float32)

    def parameters(self) -> list[FloatArray]:
        return [self.weight, self.bias]

    def gradients(self) -> list[FloatArray]:
        return [self.d_weight, self.d_bias]

    def forward(self, x: FloatArray) -> FloatArray:
        self.x = x
        return x @ self.weight.T + self.bias

    def backward(self, dy: FloatArray) -> FloatArray:
        self.d_weight, self.d_bias = dy.T @ self.x, dy.sum(0)
        return dy @ self.weight

    def export(self, graph: Graph, source: str) -> str:
        weight = graph.constant("dense_weight", self.weight)
        bias = graph.constant("dense_bias", self.bias)
        return graph.node("Gemm", [source, weight, bias], transB=1)


class Sequence(Layer):
    """One layer after the other."""

    def __init__(self, *layers: Layer) -> None:
        self.layers = layers

    def parameters(self) -> list[FloatArray]:
        return [parameter for layer in self.layers for parameter in layer.parameters()]

    def gradients(self) -> list[FloatArray]:
        return [gradient for layer in self.layers for gradient in layer.gradients()]

    def forward(self, x: FloatArray) -> FloatArray:
        for layer in self.layers:
            x = layer.forward(x)
        return x

    def backward(self, dy: FloatArray) -> FloatArray:
        for layer in reversed(self.layers):
            dy = layer.backward(dy)
        return dy

    def export(self, graph: Graph, source: str) -> str:
        for layer in self.layers:
            source = layer.export(graph, source)
        return source


class Residual(Sequence):
    """x + layers(x)."""

    def forward(self, x: FloatArray) -> FloatArray:
        return x + super().forward(x)

    def backward(self, dy: FloatArray) -> FloatArray:
        return dy + super().backward(dy)

    def export(self, graph: Graph, source: str) -> str:
        return graph.node("Add", [source, super().export(graph, source)])


def network(rng: np.random.Generator) -> Sequence:
    """The demo's network: 16x16 grey image to 10 scores, 22,000 parameters, 1.3 million MACs."""
    return Sequence(
        Conv(rng, 1, 16, 3),
        Relu(),
        Conv(rng, 16, 16, 3, stride=2, depthwise=True),
        Relu(),
        Conv(rng, 16, 32, 1),
        Relu(),
        Residual(Conv(rng, 32, 32, 3), Relu(), Conv(rng, 32, 32, 3)),
        Relu(),
        Conv(rng, 32, 32, 3, stride=2, depthwise=True),
        Relu(),
        Conv(rng, 32, 64, 1),
        Relu(),
        AveragePool(),
        Dense(rng, 64, 10),
    )


class Adam:
    """Adam with the usual constants, updating parameters in place."""

    def __init__(self, parameters: list[FloatArray]) -> None:
        self.parameters = parameters
        self.mean = [np.zeros_like(p) for p in parameters]
        self.square = [np.zeros_like(p) for p in parameters]
        self.step = 0

    def update(self, gradients: list[FloatArray], rate: float) -> None:
        self.step += 1
        scale = rate * np.sqrt(1 - 0.999**self.step) / (1 - 0.9**self.step)
        for parameter, gradient, mean, square in zip(self.parameters, gradients, self.mean, self.square, strict=True):
            mean[...] += 0.1 * (gradient - mean)
            square[...] += 0.001 * (gradient * gradient - square)
            parameter[...] -= scale * mean / (np.sqrt(square) + 1e-8)


def train(
    model: Sequence, images: FloatArray, labels: npt.NDArray[np.int64], rng: np.random.Generator, epochs: int
) -> None:
    """Cross-entropy, batches of 64, images shifted by up to one pixel, a rate that falls to zero."""
    optimizer = Adam(model.parameters())
    steps = epochs * (len(images) // 64)
    for epoch in range(epochs):
        order = rng.permutation(len(images))
        for start in range(0, len(images) - 63, 64):
            batch = order[start : start + 64]
            y, x = rng.integers(0, 3, 2)
            shifted = np.pad(images[batch], ((0, 0), (0, 0), (1, 1), (1, 1)))[:, :, y : y + SIZE, x : x + SIZE]
            scores = model.forward(shifted)
            gradient = softmax(scores)
            gradient[np.arange(64), labels[batch]] -= 1
            model.backward(gradient / np.float32(64))
            optimizer.update(model.gradients(), 2e-3 * (1 - optimizer.step / steps))
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1}: {np.mean(model.forward(images).argmax(1) == labels):.2%} of the training images")


def softmax(scores: FloatArray) -> FloatArray:
    """Probabilities along the last axis."""
    exponentials = np.exp(scores - scores.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def export(model: Sequence) -> onnx.ModelProto:
    """The float network in ONNX."""
    graph = Graph()
    model.export(graph, INPUT)
    graph.nodes[-1].output[0] = OUTPUT
    proto = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "digits",
            [helper.make_tensor_value_info(INPUT, TensorProto.FLOAT, [1, 1, SIZE, SIZE])],
            [helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, [1, 10])],
            graph.initializers,
        ),
        opset_imports=[helper.make_opsetid("", 13)],
        ir_version=8,
        producer_name="match",
    )
    onnx.checker.check_model(proto)
    return proto


class Calibration(CalibrationDataReader):
    """Hands images to the quantizer one at a time."""

    def __init__(self, images: FloatArray) -> None:
        self.rest: Iterator[FloatArray] = iter(images)

    def get_next(self) -> dict[str, FloatArray]:
        image = next(self.rest, None)
        return {} if image is None else {INPUT: image[None]}


def load(rng: np.random.Generator) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """All images in random order, shape (N, 1, 16, 16) with values 0 to 1, and their labels."""
    data, target = load_digits(return_X_y=True)
    order = rng.permutation(len(target))
    images = np.kron(np.asarray(data).reshape(-1, 1, 8, 8) / 16, np.ones((2, 2))).astype(np.float32)
    return images[order], np.asarray(target)[order]


def main() -> None:
    """Train, export, quantize; write both files."""
    parser = argparse.ArgumentParser(description="Train, export and quantize the network of `match demo`.")
    default = Path(__file__).resolve().parent.parent / "match" / "devtools" / "demo"
    parser.add_argument("-o", "--output", type=Path, default=default, help="folder to write to (default: the demo's)")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    rng = np.random.default_rng(arguments.seed)
    images, labels = load(rng)
    train_images, test_images = images[HELD_OUT:], images[:HELD_OUT]
    train_labels, test_labels = labels[HELD_OUT:], labels[:HELD_OUT]
    model = network(rng)
    train(model, train_images, train_labels, rng, arguments.epochs)
    print(f"float: {np.mean(model.forward(test_images).argmax(1) == test_labels):.2%} of the held-out images")

    arguments.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        float_model = Path(folder) / "float.onnx"
        onnx.save(export(model), float_model)
        quantize_static(
            float_model,
            arguments.output / "digits.onnx",
            Calibration(train_images[:256]),
            quant_format=QuantFormat.QDQ,
            activation_type=QuantType.QInt8,
            weight_type=QuantType.QInt8,
            per_channel=True,
        )
    np.savez_compressed(
        arguments.output / "digits.npz",
        image=np.round(test_images[:, :, ::2, ::2] * 16).astype(np.uint8),
        label=test_labels.astype(np.uint8),
    )


if __name__ == "__main__":
    main()
