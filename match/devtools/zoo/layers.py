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
class GlobalAveragePool(ZooLayer):
    """Mean of each channel of a map, as a vector."""


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


def pooled(x: ZooLayer) -> GlobalAveragePool:
    """The mean of each channel."""
    return GlobalAveragePool("pool", (x,), x.shape[:1])


def softmax(x: ZooLayer) -> Softmax:
    """Probabilities out of scores."""
    return Softmax("probabilities", (x,), x.shape)


def _ordered(layer: ZooLayer, seen: set[ZooLayer]) -> Iterator[ZooLayer]:
    seen.add(layer)
    for source in layer.inputs:
        if source not in seen:
            yield from _ordered(source, seen)
    yield layer
