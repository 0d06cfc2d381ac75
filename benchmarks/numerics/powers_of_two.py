"""Networks of the zoo with scales that are powers of two, one per tensor, and zero points of 0: made for shifts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import onnx

from match.arithmetic.interface import QuantizedType
from match.devtools.zoo import networks
from match.devtools.zoo.forward import Activations, accumulate, mean, quantized
from match.devtools.zoo.layers import Add, Conv, FullyConnected, Input, Softmax, ZooNetwork
from match.devtools.zoo.qdq import write
from match.devtools.zoo.quantize import Parameters, Weights, calibrate

_LARGEST = 127


@dataclass(frozen=True, eq=False)
class Made:
    """A network up to the scores that a softmax would read, and its quantization."""

    network: ZooNetwork
    parameters: Parameters

    @classmethod
    def of(cls, name: str, seed: int = 0) -> Made:
        """The network of a name."""
        network = networks.named(name, None)
        if isinstance(network.output, Softmax):
            network = ZooNetwork(network.name, network.output.inputs[0])
        return cls(network, _rounded(network, calibrate(network, "int8", seed)))

    def proto(self) -> onnx.ModelProto:
        """The model in QDQ form, its ReLUs written out: a zero point of 0 does not say where they are."""
        proto = write(self.network, self.parameters)
        bounded = {layer.name for layer in self.network.layers if getattr(layer, "activation", (-1.0,))[0] == 0.0}
        nodes: list[onnx.NodeProto] = []
        for node in proto.graph.node:
            if node.op_type == "QuantizeLinear" and node.input[0] in bounded:
                result = f"{node.input[0]}_relu"
                nodes.append(onnx.helper.make_node("Relu", [node.input[0]], [result], name=result))
                node.input[0] = result
            nodes.append(node)
        del proto.graph.node[:]
        proto.graph.node.extend(nodes)
        return proto

    @property
    def step(self) -> float:
        """What a step of the output is worth."""
        return float(self.parameters.outputs[self.network.output.name].scale)

    def outputs(self, samples: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
        """The outputs for samples (N, 1, ...), by the definition of QDQ; no product or sum is rounded in float64."""
        computed: dict[str, Activations] = {}
        for layer in self.network.layers:
            sources = [computed[source.name] for source in layer.inputs]
            match layer:
                case Input():
                    values = np.moveaxis(samples[:, 0].astype(np.float64), 0, 1)
                case Conv() | FullyConnected():
                    weights = self.parameters.weights[layer.name]
                    sums = accumulate(layer, sources[0], weights.values)
                    sums += weights.biases.reshape(-1, *[1] * (sums.ndim - 1))
                    values = sums * (sources[0].scale * float(weights.scales[0]))
                case Add():
                    values = sources[0].real + sources[1].real
                case _:
                    values = mean(sources[0])
            if isinstance(layer, Conv | FullyConnected | Add):
                values = np.clip(values, *layer.activation)
            computed[layer.name] = quantized(values, self.parameters.outputs[layer.name])
        return np.moveaxis(computed[self.network.output.name].real, 1, 0)[:, np.newaxis]


def _rounded(network: ZooNetwork, given: Parameters) -> Parameters:
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
    return Parameters(outputs, weights, given.reals)


def _symmetric(given: QuantizedType) -> QuantizedType:
    limits, scale = np.iinfo(given.dtype), float(given.scale)
    ends = (limits.min - given.zero_point) * scale, (limits.max - given.zero_point) * scale
    return QuantizedType(np.float32(_power_of_two(max(map(abs, ends)))), 0, given.dtype)


def _power_of_two(largest: float) -> float:
    """The least power of two that `largest` is at most 127 times."""
    return 2.0 ** math.ceil(math.log2(largest / _LARGEST))
