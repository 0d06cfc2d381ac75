"""Networks as their authors draw them: layers and shapes, neither weights nor quantization.

Shapes leave out the batch, which is 1: (C, H, W) of a map, (features,) of a vector. Every layer belongs to one network.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

Shape = tuple[int, ...]
Range = tuple[float, float]

LINEAR: Range = (-math.inf, math.inf)
RELU: Range = (0.0, math.inf)
RELU6: Range = (0.0, 6.0)


@dataclass(frozen=True, eq=False)
class ZooLayer:
    """A tensor and the operator that makes it out of `inputs`; the tensor is called as the layer is."""

    name: str
    inputs: tuple[ZooLayer, ...]
    shape: Shape

    @property
    def weight_shape(self) -> Shape:
        """Output channels first; empty for layers without weights."""
        return ()

    @property
    def macs(self) -> int:
        """Multiplications of an activation with a weight."""
        return math.prod(self.weight_shape) * math.prod(self.shape[1:]) if self.weight_shape else 0


@dataclass(frozen=True, eq=False)
class Input(ZooLayer):
    """What the network is given: float32 values within `values`."""

    values: Range


@dataclass(frozen=True, eq=False)
class Conv(ZooLayer):
    """Convolution with bias, then a clip to `activation`; `pads` are top, left, bottom, right."""

    kernel: tuple[int, int]
    stride: int
    pads: tuple[int, int, int, int]
    depthwise: bool
    activation: Range

    @property
    def weight_shape(self) -> Shape:
        """(K, C, FY, FX), with C = 1 if depthwise."""
        return self.shape[0], 1 if self.depthwise else self.inputs[0].shape[0], *self.kernel


@dataclass(frozen=True, eq=False)
class FullyConnected(ZooLayer):
    """Every output a weighted sum of all inputs, with bias, then a clip to `activation`."""

    activation: Range

    @property
    def weight_shape(self) -> Shape:
        """(K, C)."""
        return self.shape[0], self.inputs[0].shape[0]


@dataclass(frozen=True, eq=False)
class Add(ZooLayer):
    """Sum of two maps of one shape, then a clip to `activation`."""

    activation: Range


@dataclass(frozen=True, eq=False)
class Multiply(ZooLayer):
    """Product of a map with one of its shape, or with a map of one pixel that weighs its channels."""


@dataclass(frozen=True, eq=False)
class Function(ZooLayer):
    """A function of each value, by its name in ONNX: "HardSigmoid", "LeakyRelu", "Sigmoid"."""

    function: str


@dataclass(frozen=True, eq=False)
class Concat(ZooLayer):
    """The channels of all inputs, one input after the other."""


@dataclass(frozen=True, eq=False)
class Channels(ZooLayer):
    """As many channels of a map as `shape` says, from number `first` on."""

    first: int


@dataclass(frozen=True, eq=False)
class Shuffle(ZooLayer):
    """The channels of a map in `groups`: the first of each group, then the second of each, and so on."""

    groups: int


@dataclass(frozen=True, eq=False)
class Enlarge(ZooLayer):
    """A map with every pixel repeated in `factor` rows and columns."""

    factor: int


@dataclass(frozen=True, eq=False)
class MaxPool(ZooLayer):
    """Largest value of each channel in square windows of `window` pixels a side, without padding."""

    window: int
    stride: int


@dataclass(frozen=True, eq=False)
class GlobalAveragePool(ZooLayer):
    """Mean of each channel of a map: a vector, or a map of one pixel, as `shape` says."""


@dataclass(frozen=True, eq=False)
class Softmax(ZooLayer):
    """Probabilities."""


@dataclass(frozen=True, eq=False)
class ZooNetwork:
    """A network by its name and its last layer."""

    name: str
    output: ZooLayer

    @property
    def layers(self) -> tuple[ZooLayer, ...]:
        """Every layer behind all those that it reads; inputs are read from left to right."""
        return tuple(_ordered(self.output, set()))

    @property
    def input(self) -> Input:
        """The one layer that reads nothing."""
        return next(layer for layer in self.layers if isinstance(layer, Input))

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one inference."""
        return sum(layer.macs for layer in self.layers)

    @property
    def weights(self) -> int:
        """Weights without biases."""
        return sum(math.prod(layer.weight_shape) for layer in self.layers if layer.weight_shape)


def conv(
    name: str,
    x: ZooLayer,
    filters: int,
    kernel: tuple[int, int] = (3, 3),
    stride: int = 1,
    activation: Range = RELU,
    *,
    depthwise: bool = False,
) -> Conv:
    """A convolution padded such that its map is ceil(extent / stride) large, the smaller half at the top and left."""
    _, rows, columns = x.shape
    (top, bottom), (left, right) = (
        _same(extent, window, stride) for extent, window in zip((rows, columns), kernel, strict=True)
    )
    shape = filters, -(-rows // stride), -(-columns // stride)
    return Conv(name, (x,), shape, kernel, stride, (top, left, bottom, right), depthwise, activation)


def _same(extent: int, window: int, stride: int) -> tuple[int, int]:
    total = max(0, (-(-extent // stride) - 1) * stride + window - extent)
    return total // 2, total - total // 2


def dense(name: str, x: ZooLayer, units: int, activation: Range = LINEAR) -> FullyConnected:
    """A dense layer on a vector."""
    return FullyConnected(name, (x,), (units,), activation)


def add(name: str, a: ZooLayer, b: ZooLayer, activation: Range = LINEAR) -> Add:
    """The sum of two layers."""
    return Add(name, (a, b), a.shape, activation)


def multiply(name: str, a: ZooLayer, b: ZooLayer) -> Multiply:
    """The product of a map with another, or with a weight for each channel."""
    return Multiply(name, (a, b), a.shape)


def function(name: str, x: ZooLayer, kind: str) -> Function:
    """A function of each value."""
    return Function(name, (x,), x.shape, kind)


def concat(name: str, *parts: ZooLayer) -> Concat:
    """Maps of equal rows and columns, channels behind channels."""
    return Concat(name, parts, (sum(part.shape[0] for part in parts), *parts[0].shape[1:]))


def channels(name: str, x: ZooLayer, first: int, count: int) -> Channels:
    """Some channels of a map."""
    return Channels(name, (x,), (count, *x.shape[1:]), first)


def shuffle(name: str, x: ZooLayer, groups: int) -> Shuffle:
    """The channels of a map, those of the groups in turn."""
    return Shuffle(name, (x,), x.shape, groups)


def enlarge(name: str, x: ZooLayer, factor: int = 2) -> Enlarge:
    """A map with every pixel repeated."""
    return Enlarge(name, (x,), (x.shape[0], *(factor * side for side in x.shape[1:])), factor)


def max_pool(name: str, x: ZooLayer, window: int = 2, stride: int = 2) -> MaxPool:
    """The maximum of each window that lies within the map."""
    sides = ((side - window) // stride + 1 for side in x.shape[1:])
    return MaxPool(name, (x,), (x.shape[0], *sides), window, stride)


def pooled(x: ZooLayer) -> GlobalAveragePool:
    """The mean of each channel."""
    return GlobalAveragePool("pool", (x,), x.shape[:1])


def squeezed(name: str, x: ZooLayer) -> GlobalAveragePool:
    """The mean of each channel as a map of one pixel."""
    return GlobalAveragePool(name, (x,), (x.shape[0], 1, 1))


def softmax(x: ZooLayer) -> Softmax:
    """Probabilities out of scores."""
    return Softmax("probabilities", (x,), x.shape)


def _ordered(layer: ZooLayer, seen: set[ZooLayer]) -> Iterator[ZooLayer]:
    seen.add(layer)
    for source in layer.inputs:
        if source not in seen:
            yield from _ordered(source, seen)
    yield layer
