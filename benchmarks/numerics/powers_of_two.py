"""Networks of the zoo with scales that are powers of two, one per tensor, and zero points of 0: made for shifts."""

from __future__ import annotations

import math

import numpy as np
import onnx

from match.transform.arithmetic import Quantization
from match.zoo import networks
from match.zoo.layers import Network, Softmax
from match.zoo.qdq import write
from match.zoo.quantize import Parameters, Weights, calibrate

_LARGEST = 127


def build(name: str, seed: int = 0) -> onnx.ModelProto:
    """A network by its name, up to the scores that a softmax would read, in QDQ form."""
    network = networks.named(name, None)
    if isinstance(network.output, Softmax):
        network = Network(network.name, network.output.inputs[0])
    return write(network, _rounded(network, calibrate(network, "int8", seed)))


def _rounded(network: Network, given: Parameters) -> Parameters:
    """The parameters with every scale at the least power of two that still holds the largest value."""
    outputs = {name: _symmetric(quantization) for name, quantization in given.outputs.items()}
    weights: dict[str, Weights] = {}
    for layer in network.layers:
        if layer.name not in given.weights:
            continue
        old, source = given.weights[layer.name], layer.inputs[0].name
        by_channel = old.scales.astype(np.float64).reshape(-1, *[1] * (old.values.ndim - 1))
        real = old.values * by_channel
        biases = old.biases * (float(given.outputs[source].scale) * old.scales.astype(np.float64))
        scale = _power_of_two(float(np.abs(real).max()))
        weights[layer.name] = Weights(
            np.rint(real / scale).astype(np.int8),
            np.full(len(old.scales), scale, np.float32),
            np.rint(biases / (scale * float(outputs[source].scale))).astype(np.int32),
        )
    return Parameters(outputs, weights)


def _symmetric(given: Quantization) -> Quantization:
    limits, scale = np.iinfo(given.dtype), float(given.scale)
    ends = (limits.min - given.zero_point) * scale, (limits.max - given.zero_point) * scale
    return Quantization(np.float32(_power_of_two(max(map(abs, ends)))), 0, given.dtype)


def _power_of_two(largest: float) -> float:
    """The least power of two of which `largest` is at most 127."""
    return 2.0 ** math.ceil(math.log2(largest / _LARGEST))
