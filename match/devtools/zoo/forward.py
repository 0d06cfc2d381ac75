"""Layers on integers, for several samples at once.

Samples are the second axis: arrays have the shape (C, samples, H, W), (tokens, samples, features) or (features,
samples). Sums of products of 8-bit numbers stay below 2**53, so float64 holds them exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from match.arithmetic.interface import QuantizedType
from match.arithmetic.recurrent import ONNX_GATES, real_states
from match.devtools.zoo.layers import (
    Cells,
    Channels,
    Concat,
    Conv,
    Enlarge,
    FullyConnected,
    Function,
    Interleave,
    MaxPool,
    Project,
    Reorder,
    Shuffle,
    Spread,
)

Float64Array = npt.NDArray[np.float64]

HARD_SLOPE = 1 / 6
"""Slope of MobileNetV3's hard sigmoid; ONNX's own is 0.2."""

LEAKY_SLOPE = 0.1
"""Slope of YOLO's leaky ReLU below 0; ONNX's own is 0.01."""

EPSILON = 1e-6
"""Epsilon of layer normalizations, as in vision transformers."""


@dataclass(frozen=True, eq=False)
class Activations:
    """A tensor for all samples: integers less their zero point; `scale` makes real values of them."""

    levels: npt.NDArray[np.int16]
    scale: float

    @property
    def real(self) -> Float64Array:
        """The values that the integers stand for."""
        return np.multiply(self.levels, self.scale, dtype=np.float64)


def quantized(values: Float64Array, quantization: QuantizedType) -> Activations:
    """Real values as the nearest integers of a quantization."""
    limits = np.iinfo(quantization.dtype)
    scale, zero_point = float(quantization.scale), quantization.zero_point
    levels = np.clip(np.rint(values / scale), limits.min - zero_point, limits.max - zero_point)
    return Activations(levels.astype(np.int16), scale)


def accumulate(
    layer: Conv | FullyConnected | Project | Spread, x: Activations, weights: npt.NDArray[np.int8]
) -> Float64Array:
    """Sums of levels times weights."""
    kernel, levels = weights.astype(np.float64), x.levels
    match layer:
        case FullyConnected():
            return kernel @ levels
        case Project():
            return levels @ kernel.T
        case Spread():
            sums = np.empty((len(kernel), levels.shape[1], *layer.shape[1:]))
            for row, column in np.ndindex(layer.factor, layer.factor):
                phase = kernel[:, :, row, column] @ levels.reshape(len(levels), -1)
                sums[:, :, row :: layer.factor, column :: layer.factor] = phase.reshape(-1, *levels.shape[1:])
            return sums
        case Conv():
            return _convolved(layer, levels, kernel)


def _convolved(layer: Conv, levels: npt.NDArray[np.int16], kernel: Float64Array) -> Float64Array:
    rank, samples = len(layer.kernel), levels.shape[1]
    padding = zip(layer.pads[:rank], layer.pads[rank:], strict=True)
    padded = np.pad(levels, ((0, 0), (0, 0), *padding))
    filters, *extents = layer.shape
    sums = np.zeros((layer.groups, filters // layer.groups, samples * math.prod(extents)))
    kernel = kernel.reshape(*sums.shape[:2], *kernel.shape[1:])
    for tap in np.ndindex(*layer.kernel):
        seen = padded
        for axis, (index, extent) in enumerate(zip(tap, extents, strict=True), 2):
            first = index * layer.dilation
            last = first + (extent - 1) * layer.stride + 1
            seen = seen[(slice(None),) * axis + (slice(first, last, layer.stride),)]
        sums += kernel[(..., *tap)] @ seen.reshape(layer.groups, -1, sums.shape[2])
    return sums.reshape(filters, samples, *extents)


def moved(
    layer: Concat | Channels | Shuffle | Enlarge | Interleave | Reorder | MaxPool, parts: Sequence[Float64Array]
) -> Float64Array:
    """What a layer takes from its inputs, real values (C, samples, H, W), without changing them but for `smooth`."""
    x = parts[0]
    match layer:
        case Concat():
            return np.concatenate(parts)
        case Channels():
            return x[layer.first : layer.first + layer.shape[0]]
        case Shuffle():
            return x.reshape(layer.groups, -1, *x.shape[1:]).swapaxes(0, 1).reshape(x.shape)
        case Enlarge() if layer.smooth:
            return _between(_between(x, 2, layer.factor), 3, layer.factor)
        case Enlarge():
            return x.repeat(layer.factor, axis=2).repeat(layer.factor, axis=3)
        case Interleave():
            factor, (_, samples, rows, columns) = layer.factor, x.shape
            squares = x.reshape(-1, factor, factor, samples, rows, columns).transpose(0, 3, 4, 1, 5, 2)
            return squares.reshape(-1, samples, rows * factor, columns * factor)
        case Reorder():
            order = 0, *(axis + 1 for axis in layer.order)
            samples = np.moveaxis(x, 1, 0).reshape(-1, *layer.before).transpose(order)
            return np.moveaxis(samples.reshape(-1, *layer.shape), 0, 1)
        case MaxPool():
            size = (layer.window, layer.window)
            windows = np.lib.stride_tricks.sliding_window_view(x, size, axis=(2, 3))
            return windows[:, :, :: layer.stride, :: layer.stride].max(axis=(4, 5))


def _between(x: Float64Array, axis: int, factor: int) -> Float64Array:
    """`factor` times as many values along an axis, between those of the nearest two centres."""
    extent = x.shape[axis]
    at: Float64Array = np.clip((np.arange(extent * factor, dtype=np.float64) + 0.5) / factor - 0.5, 0, extent - 1)
    first = np.floor(at).astype(int)
    share = (at - first).reshape(-1, *(1 for _ in x.shape[axis + 1 :]))
    last = np.minimum(first + 1, extent - 1)
    return x.take(first, axis) * (1 - share) + x.take(last, axis) * share


def applied(layer: Function, x: Float64Array) -> Float64Array:
    """A function of each value."""
    match layer.function:
        case "Gelu":
            return x * (1 + np.vectorize(math.erf, otypes=[np.float64])(x / math.sqrt(2))) / 2
        case "Sigmoid":
            return 1 / (1 + np.exp(-x))
        case "HardSigmoid":
            return np.clip(HARD_SLOPE * x + 0.5, 0, 1)
        case _:
            return np.where(x < 0, LEAKY_SLOPE * x, x)


def mean(x: Activations) -> Float64Array:
    """The mean of each channel of each sample, shape (C, samples)."""
    sums = x.levels.sum(tuple(range(2, x.levels.ndim)), dtype=np.int64)
    return np.multiply(sums, x.scale / math.prod(x.levels.shape[2:]), dtype=np.float64)


def token_mean(x: Activations) -> Float64Array:
    """The mean of all tokens of each sample, shape (features, samples)."""
    sums = x.levels.sum(0, dtype=np.int64).T
    return np.multiply(sums, x.scale / len(x.levels), dtype=np.float64)


def states(layer: Cells, x: Float64Array, weights: Float64Array) -> Float64Array:
    """The states of all steps of sequences (tokens, samples, features), or of the last one, (units, samples).

    weights: (directions, gates * units, features + units + 2), gates as ONNX orders them: of inputs, of states, and two
    biases.
    """
    features, order = x.shape[-1], list(ONNX_GATES[layer.kind])
    both: list[Float64Array] = []
    for way, own in enumerate(weights.reshape(layer.directions, layer.gates, layer.units, -1)[:, order]):
        fed, back, biases = np.split(own, [features, features + layer.units], axis=-1)
        turn = slice(None, None, -1 if way else 1)
        both.append(real_states(x[turn], fed, back, np.moveaxis(biases, -1, 0))[turn])
    found = np.concatenate(both, axis=-1)
    return found if len(layer.shape) == 2 else found[-1].T


def products(a: Activations, b: Activations) -> Float64Array:
    """Products of the matrices in the last two axes of each sample."""
    left, right = (np.moveaxis(side.levels, 1, 0).astype(np.float64) for side in (a, b))
    return np.moveaxis(left @ right, 0, 1) * (a.scale * b.scale)


def normalized(x: Float64Array) -> Float64Array:
    """Distances from the mean of the last axis in standard deviations."""
    distances = x - x.mean(axis=-1, keepdims=True)
    return distances / np.sqrt((distances**2).mean(axis=-1, keepdims=True) + EPSILON)


def probabilities(x: Float64Array) -> Float64Array:
    """Softmax along the last axis."""
    exponentials = np.exp(x - x.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)
