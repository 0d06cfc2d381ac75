"""Random weights for a network, and the quantization that goes with them.

Each layer is quantized, then computed on integers, before the next one is looked at. What is read off integers is exact
in any order of summation, so every machine finds the same parameters.

Weights are normally distributed. The sums of each channel are brought to a spread of about 1 and given a random gain
and bias, as a folded batch normalization does; without it, deep random networks answer every input alike.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from match.arithmetic.interface import Float32Array, QuantizedType
from match.devtools.zoo.forward import (
    Activations,
    Float64Array,
    accumulate,
    applied,
    mean,
    moved,
    normalized,
    probabilities,
    products,
    quantized,
    states,
    token_mean,
)
from match.devtools.zoo.layers import (
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

# Random inputs: as many as this number of multiply-accumulates allows, within bounds.
_MACS = 150_000_000
_SAMPLES = (8, 128)
_WEIGHT_LIMIT = 127
_GAINS = (0.5, 1.5)
_BIASES = (-0.5, 0.5)
# Channels that vary by less than this share of what all do on average are not blown up to the same spread.
_STILL = 0.25
_PROBABILITIES = (0.0, 1.0)
# Of scores that a softmax reads: with a spread of 1, none of a thousand classes would have a probability to speak of.
_CONFIDENCE = 2.0


@dataclass(frozen=True, eq=False)
class Weights:
    """Integers of a layer: weights int8 in `Layer.weight_shape`, their scales (K,), biases int32 (K,).

    The scale of a bias is that of its channel's weights times that of the layer's input; `Project` has biases of 0.
    """

    values: npt.NDArray[np.int8]
    scales: Float32Array
    biases: npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Parameters:
    """All that is added to a network, by layer name: quantization of its output, its weights, and other numbers.

    `reals` are, of an `Offset`, its bias, whose quantization is among the outputs by the bias's name; of a `Normalize`
    gains and biases, one row each; of `Cells` as in `match.devtools.zoo.forward.states`.
    """

    outputs: Mapping[str, QuantizedType]
    weights: Mapping[str, Weights]
    reals: Mapping[str, Float64Array]


def calibrate(network: ZooNetwork, activations: str, seed: int) -> Parameters:
    """The weights of each layer, and how its output is quantized: to the type `activations`, "int8" or "uint8".

    What moves values, or takes some between them, passes its input's quantization on, as in onnxruntime's quantizer.
    """
    fewest, most = _SAMPLES
    samples = min(max(fewest, _MACS // network.macs), most)
    rng = np.random.Generator(np.random.PCG64(seed))
    outputs: dict[str, QuantizedType] = {}
    weights: dict[str, Weights] = {}
    reals: dict[str, Float64Array] = {}
    computed: dict[str, Activations] = {}
    scores = network.output.inputs if isinstance(network.output, Softmax) else ()
    for layer in network.layers:
        sources = [computed[source.name] for source in layer.inputs]
        if isinstance(layer, Softmax):
            outputs[layer.name] = _quantization(_PROBABILITIES, activations)
            if layer is network.output:
                break
        match layer:
            case Input():
                values = rng.uniform(*layer.values, (layer.shape[0], samples, *layer.shape[1:]))
            case Conv() | FullyConnected() | Project() | Spread():
                spread = _CONFIDENCE if layer in scores else 1.0
                weights[layer.name], values = _weighted(layer, sources[0], spread, rng)
            case Offset():
                outputs[layer.bias] = _quantization(_BIASES, activations)
                bias = quantized(rng.uniform(*_BIASES, layer.shape[-1]), outputs[layer.bias])
                reals[layer.name], values = bias.real, sources[0].real + bias.real
            case Normalize():
                gains, biases = (rng.uniform(*bounds, layer.shape[-1]) for bounds in (_GAINS, _BIASES))
                reals[layer.name] = np.stack([gains, biases])
                values = normalized(sources[0].real) * gains + biases
            case Cells():
                features, bound = sources[0].levels.shape[-1], layer.units**-0.5
                shape = layer.directions, layer.gates * layer.units, features + layer.units + 2
                reals[layer.name] = rng.uniform(-bound, bound, shape).astype(np.float32).astype(np.float64)
                values = states(layer, sources[0].real, reals[layer.name])
            case _:
                values = _computed(layer, sources)
        if isinstance(layer, Channels | Shuffle | Enlarge | Interleave | Reorder | MaxPool):
            outputs[layer.name] = outputs[layer.inputs[0].name]
        elif not isinstance(layer, Softmax):
            bounds = layer.values if isinstance(layer, Input) else _bounds(values)
            outputs[layer.name] = _quantization(bounds, activations)
        computed[layer.name] = quantized(values, outputs[layer.name])
    return Parameters(outputs, weights, reals)


def _computed(layer: ZooLayer, sources: Sequence[Activations]) -> Float64Array:
    """What a layer without parameters makes of its inputs."""
    match layer:
        case Add():
            return np.clip(sources[0].real + sources[1].real, *layer.activation)
        case Multiply():
            return sources[0].real * sources[1].real
        case MatMul():
            return products(*sources)
        case Function():
            return applied(layer, sources[0].real)
        case Softmax():
            return probabilities(sources[0].real)
        case GlobalAveragePool():
            means = mean(sources[0])
            return means.reshape(*means.shape, *layer.shape[1:])
        case TokenMean():
            return token_mean(sources[0])
        case Concat() | Channels() | Shuffle() | Enlarge() | Interleave() | Reorder() | MaxPool():
            return moved(layer, [source.real for source in sources])
        case _:
            raise NotImplementedError(f"{layer.name}: {type(layer).__name__} has parameters")


def _weighted(
    layer: Conv | FullyConnected | Project | Spread, x: Activations, spread: float, rng: np.random.Generator
) -> tuple[Weights, Float64Array]:
    """Weights of a layer, and what it computes with them."""
    drawn = rng.standard_normal(layer.weight_shape)
    channels, last = layer.weight_shape[0], isinstance(layer, Project)
    gains, shifts = rng.uniform(*_GAINS, channels), rng.uniform(*_BIASES, channels)
    steps = np.abs(drawn).reshape(channels, -1).max(axis=1) / _WEIGHT_LIMIT
    by_channel = (channels, *(1 for _ in layer.weight_shape[1:]))
    values = np.rint(drawn / steps.reshape(by_channel)).astype(np.int8)

    sums = accumulate(layer, x, values)
    by_axis = np.moveaxis(sums, -1, 0) if last else sums
    flat = by_axis.reshape(channels, -1)
    means = flat.sum(axis=1) / flat.shape[1]
    deviations = np.abs(flat - np.rint(means)[:, np.newaxis]).sum(axis=1) / flat.shape[1]
    # A normal variable's standard deviation is sqrt(pi / 2) mean absolute deviations.
    deviations *= math.sqrt(math.pi / 2) * steps * x.scale
    deviations = np.maximum(deviations, _STILL * math.fsum(deviations) / channels)
    scales = (gains * spread * steps / deviations).astype(np.float32)
    bias_scales = (np.float32(x.scale) * scales).astype(np.float64)
    biases = np.rint(shifts / bias_scales - means).astype(np.int32) * (not last)
    results: Float64Array = ((flat + biases[:, np.newaxis]) * bias_scales[:, np.newaxis]).reshape(by_axis.shape)
    if isinstance(layer, Project):
        return Weights(values, scales, biases), np.moveaxis(results, 0, -1)
    return Weights(values, scales, biases), np.clip(results, *layer.activation)


def _bounds(values: Float64Array) -> Range:
    """Between them lie all values but a thousandth at each end."""
    rank = values.size // 1000
    ordered = np.partition(values, (rank, values.size - 1 - rank), axis=None)
    return float(ordered[rank]), float(ordered[-1 - rank])


def _quantization(bounds: Range, dtype: str) -> QuantizedType:
    """The quantization whose 256 values span `bounds` and 0, which is one of them."""
    low, high = min(bounds[0], 0.0), max(bounds[1], 0.0)
    limits = np.iinfo(dtype)
    scale = (high - low) / (limits.max - limits.min)
    return QuantizedType(np.float32(scale), round(limits.min - low / scale), dtype)
