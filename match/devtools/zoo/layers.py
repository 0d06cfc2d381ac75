"""Networks as their authors draw them: layers and shapes, neither weights nor quantization.

Shapes leave out the batch, which is 1: (C, H, W) of a map, (C, W) of a signal, (tokens, features) of a sequence,
(features,) of a vector. Every layer belongs to one network.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Shape = tuple[int, ...]
Range = tuple[float, float]

LINEAR: Range = (-math.inf, math.inf)
RELU: Range = (0.0, math.inf)
RELU6: Range = (0.0, 6.0)
UNSIGNED: Range = (0.0, 1.0)
SIGNED: Range = (-1.0, 1.0)

POINT = (1, 1)
"""The window of a pointwise convolution."""


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
    """Convolution with bias, then a clip to `activation`, of a map or of a signal.

    `pads` are those in front of each axis, then those after each. Output channels see the inputs of their group alone.
    """

    kernel: Shape
    stride: int
    pads: Shape
    groups: int
    dilation: int
    activation: Range

    @property
    def weight_shape(self) -> Shape:
        """(K, C of a group, FY, FX), or (K, C of a group, FX)."""
        return self.shape[0], self.inputs[0].shape[0] // self.groups, *self.kernel


@dataclass(frozen=True, eq=False)
class Spread(ZooLayer):
    """Transposed convolution with bias that makes a square of `factor` pixels a side of each, then a clip."""

    factor: int
    activation: Range

    @property
    def weight_shape(self) -> Shape:
        """(K, C, factor, factor)."""
        return self.shape[0], self.inputs[0].shape[0], self.factor, self.factor

    @property
    def macs(self) -> int:
        """Each input pixel is multiplied with all weights."""
        return math.prod(self.weight_shape) * math.prod(self.inputs[0].shape[1:])


@dataclass(frozen=True, eq=False)
class FullyConnected(ZooLayer):
    """Every output a weighted sum of all inputs, with bias, then a clip to `activation`."""

    activation: Range

    @property
    def weight_shape(self) -> Shape:
        """(K, C)."""
        return self.shape[0], self.inputs[0].shape[0]


@dataclass(frozen=True, eq=False)
class Project(ZooLayer):
    """A product of the last axis with weights, as of a sequence's tokens one by one, without bias."""

    @property
    def weight_shape(self) -> Shape:
        """(K, C)."""
        return self.shape[-1], self.inputs[0].shape[-1]

    @property
    def macs(self) -> int:
        """Every token with all weights."""
        return math.prod(self.shape) * self.inputs[0].shape[-1]


@dataclass(frozen=True, eq=False)
class Offset(ZooLayer):
    """A bias of the last axis that is added by itself."""

    @property
    def bias(self) -> str:
        """Name of the bias, a tensor of its own."""
        return f"{self.name}_bias"


@dataclass(frozen=True, eq=False)
class Normalize(ZooLayer):
    """Layer normalization along the last axis, with a gain and a bias of each element."""


@dataclass(frozen=True, eq=False)
class MatMul(ZooLayer):
    """Products of the matrices in two tensors' last two axes."""

    @property
    def macs(self) -> int:
        """Multiplications of two activations."""
        return math.prod(self.shape) * self.inputs[0].shape[-1]


@dataclass(frozen=True, eq=False)
class Cells(ZooLayer):
    """LSTM or GRU cells, as `kind` says, along a sequence: the states of all steps, or those after the last one.

    `directions` is 2 if they go along it both ways; the states of both are side by side.
    """

    kind: Literal["LSTM", "GRU"]
    units: int
    directions: int

    @property
    def gates(self) -> int:
        """Number of gates of each unit."""
        return 4 if self.kind == "LSTM" else 3

    @property
    def weight_shape(self) -> Shape:
        """(directions * gates * units, features + units)."""
        return self.directions * self.gates * self.units, self.inputs[0].shape[-1] + self.units

    @property
    def macs(self) -> int:
        """All weights in each step."""
        return math.prod(self.weight_shape) * self.inputs[0].shape[0]


@dataclass(frozen=True, eq=False)
class Add(ZooLayer):
    """Sum of two tensors of one shape, then a clip to `activation`."""

    activation: Range


@dataclass(frozen=True, eq=False)
class Multiply(ZooLayer):
    """Product of a map with one of its shape, or with a map of one pixel that weighs its channels."""


@dataclass(frozen=True, eq=False)
class Function(ZooLayer):
    """A function of each value, by its name in ONNX: "Gelu", "HardSigmoid", "LeakyRelu", "Sigmoid"."""

    function: str


@dataclass(frozen=True, eq=False)
class Concat(ZooLayer):
    """The first axis of all inputs, mostly channels, one input after the other."""


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
    """A map with `factor` times as many rows and columns: pixels repeated or, if `smooth`, weighed by distance."""

    factor: int
    smooth: bool


@dataclass(frozen=True, eq=False)
class Interleave(ZooLayer):
    """A map whose squares of `factor` pixels a side are channels side by side in one pixel of the input."""

    factor: int


@dataclass(frozen=True, eq=False)
class Reorder(ZooLayer):
    """The same values: read as `before`, its axes in another order, read as `shape`."""

    before: Shape
    order: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class MaxPool(ZooLayer):
    """Largest value of each channel in square windows of `window` pixels a side, without padding."""

    window: int
    stride: int


@dataclass(frozen=True, eq=False)
class GlobalAveragePool(ZooLayer):
    """Mean of each channel of a map: a vector, or a map of one pixel, as `shape` says."""


@dataclass(frozen=True, eq=False)
class TokenMean(ZooLayer):
    """Mean of all tokens of a sequence."""


@dataclass(frozen=True, eq=False)
class Softmax(ZooLayer):
    """Probabilities along the last axis."""


@dataclass(frozen=True, eq=False)
class ZooNetwork:
    """A network by its name and its last layer."""

    name: str
    output: ZooLayer

    @property
    def layers(self) -> tuple[ZooLayer, ...]:
        """Every layer after all those that it reads; inputs are read from left to right."""
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
    kernel: Shape = (3, 3),
    stride: int = 1,
    activation: Range = RELU,
    *,
    depthwise: bool = False,
    groups: int = 1,
    dilation: int = 1,
) -> Conv:
    """A convolution padded such that its map is ceil(extent / stride) large, the smaller half at the top and left."""
    extents = x.shape[1:]
    sides = [_same(extent, (window - 1) * dilation + 1, stride) for extent, window in zip(extents, kernel, strict=True)]
    pads = *(before for before, _ in sides), *(behind for _, behind in sides)
    shape = filters, *(-(-extent // stride) for extent in extents)
    return Conv(name, (x,), shape, kernel, stride, pads, filters if depthwise else groups, dilation, activation)


def causal(name: str, x: ZooLayer, filters: int, window: int, dilation: int = 1, activation: Range = RELU) -> Conv:
    """A convolution of a signal whose outputs see nothing that comes later."""
    pads = (window - 1) * dilation, 0
    return Conv(name, (x,), (filters, *x.shape[1:]), (window,), 1, pads, 1, dilation, activation)


def spread(name: str, x: ZooLayer, filters: int, factor: int = 2, activation: Range = RELU) -> Spread:
    """A transposed convolution whose windows do not overlap."""
    return Spread(name, (x,), (filters, *(factor * side for side in x.shape[1:])), factor, activation)


def _same(extent: int, window: int, stride: int) -> tuple[int, int]:
    total = max(0, (-(-extent // stride) - 1) * stride + window - extent)
    return total // 2, total - total // 2


def dense(name: str, x: ZooLayer, units: int, activation: Range = LINEAR) -> FullyConnected:
    """A dense layer on a vector."""
    return FullyConnected(name, (x,), (units,), activation)


def linear(name: str, x: ZooLayer, units: int) -> Offset:
    """A dense layer on the last axis of a tensor of several."""
    product = Project(f"{name}_product", (x,), (*x.shape[:-1], units))
    return Offset(name, (product,), product.shape)


def normalized(name: str, x: ZooLayer) -> Normalize:
    """A layer normalization along the last axis."""
    return Normalize(name, (x,), x.shape)


def states(name: str, x: ZooLayer, kind: Literal["LSTM", "GRU"], units: int, *, directions: int = 1) -> Cells:
    """The states of cells in all steps of a sequence."""
    return Cells(name, (x,), (x.shape[0], directions * units), kind, units, directions)


def last_state(name: str, x: ZooLayer, kind: Literal["LSTM", "GRU"], units: int) -> Cells:
    """The states of cells after a sequence."""
    return Cells(name, (x,), (units,), kind, units, 1)


def matrices(name: str, a: ZooLayer, b: ZooLayer) -> MatMul:
    """The product of each matrix with each."""
    return MatMul(name, (a, b), (*a.shape[:-1], b.shape[-1]))


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
    """Maps of equal rows and columns, channels after channels."""
    return Concat(name, parts, (sum(part.shape[0] for part in parts), *parts[0].shape[1:]))


def channels(name: str, x: ZooLayer, first: int, count: int) -> Channels:
    """Some channels of a map."""
    return Channels(name, (x,), (count, *x.shape[1:]), first)


def shuffle(name: str, x: ZooLayer, groups: int) -> Shuffle:
    """The channels of a map, those of the groups in turn."""
    return Shuffle(name, (x,), x.shape, groups)


def enlarge(name: str, x: ZooLayer, factor: int = 2, *, smooth: bool = False) -> Enlarge:
    """A map with every pixel repeated, or with values between those of neighbours."""
    return Enlarge(name, (x,), (x.shape[0], *(factor * side for side in x.shape[1:])), factor, smooth)


def interleave(name: str, x: ZooLayer, factor: int) -> Interleave:
    """Pixels out of channels, as PyTorch's PixelShuffle makes them."""
    shape = x.shape[0] // factor**2, *(factor * side for side in x.shape[1:])
    return Interleave(name, (x,), shape, factor)


def reorder(
    name: str, x: ZooLayer, order: tuple[int, ...], *, before: Shape | None = None, after: Shape | None = None
) -> Reorder:
    """Axes in another order, read as `before` if that is given and as `after`."""
    before = before or x.shape
    return Reorder(name, (x,), after or tuple(before[axis] for axis in order), before, order)


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


def token_mean(x: ZooLayer) -> TokenMean:
    """The mean of a sequence's tokens."""
    return TokenMean("pool", (x,), x.shape[1:])


def softmax(x: ZooLayer, name: str = "probabilities") -> Softmax:
    """Probabilities out of scores."""
    return Softmax(name, (x,), x.shape)


def _ordered(layer: ZooLayer, seen: set[ZooLayer]) -> Iterator[ZooLayer]:
    seen.add(layer)
    for source in layer.inputs:
        if source not in seen:
            yield from _ordered(source, seen)
    yield layer
