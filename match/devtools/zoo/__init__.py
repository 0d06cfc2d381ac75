"""Reference networks with random weights, quantized to 8 bits: something to compile where no model file is at hand.

Each function returns an ONNX model in QDQ form, as onnxruntime's static quantization writes them: int8 weights with a
scale per channel, activations "uint8" or "int8" with ranges from a calibration, float32 input and output. The same
arguments give the same bytes. `build` makes a network by the name that `names` lists.

onnxruntime's own quantizer would need onnxruntime, which is no dependency of the compiler, and a float network with
inputs to calibrate on; the bytes that it writes are another version's other bytes.

On x86, onnxruntime computes all layers in integers if activations are uint8; of those with int8 it leaves some in
floating point, unless the session's entry ``session.qdqisint8allowed`` is "1".
"""

from __future__ import annotations

import onnx

from match.devtools.zoo import networks
from match.devtools.zoo.layers import ZooNetwork
from match.devtools.zoo.networks import names
from match.errors import OptionError
from match.target.arguments import check_truth, is_one_of, shown, whole_number

__all__ = ["autoencoder", "build", "ds_cnn", "mobilenet_v1", "mobilenet_v2", "names", "resnet8"]

_ACTIVATIONS = ("int8", "uint8")


def build(
    name: str, *, classes: int | None = None, activations: str = "uint8", seed: int = 0, quantized: bool = True
) -> onnx.ModelProto:
    """A network by its name, with its own number of classes or another; not `quantized`, it is float.

    Raises:
        OptionError: there is no such network, or an argument is outside what it may be.
    """
    check_truth(quantized, "quantized is whether the network has 8 bits")
    return _made(networks.named(name, classes), activations, seed, quantized=quantized)


def resnet8(classes: int = 10, *, activations: str = "uint8", seed: int = 0) -> onnx.ModelProto:
    """MLPerf Tiny image classification: image (1, 3, 32, 32), 12.5 million MACs.

    Raises:
        OptionError: an argument is outside what it may be.
    """
    return _made(networks.resnet8(classes), activations, seed)


def ds_cnn(classes: int = 12, *, activations: str = "uint8", seed: int = 0) -> onnx.ModelProto:
    """MLPerf Tiny keyword spotting: coefficients (1, 1, 49, 10), 2.66 million MACs.

    Raises:
        OptionError: an argument is outside what it may be.
    """
    return _made(networks.ds_cnn(classes), activations, seed)


def autoencoder(*, activations: str = "uint8", seed: int = 0) -> onnx.ModelProto:
    """MLPerf Tiny anomaly detection: spectrogram (1, 640), 264,000 MACs.

    Raises:
        OptionError: an argument is outside what it may be.
    """
    return _made(networks.autoencoder(), activations, seed)


def mobilenet_v1(
    width: float = 1.0, resolution: int = 224, classes: int = 1000, *, activations: str = "uint8", seed: int = 0
) -> onnx.ModelProto:
    """MobileNetV1: image (1, 3, resolution, resolution); `width` multiplies all numbers of channels.

    Raises:
        OptionError: an argument is outside what it may be.
    """
    return _made(networks.mobilenet_v1(width, resolution, classes), activations, seed)


def mobilenet_v2(
    width: float = 1.0, resolution: int = 224, classes: int = 1000, *, activations: str = "uint8", seed: int = 0
) -> onnx.ModelProto:
    """MobileNetV2: image (1, 3, resolution, resolution); `width` multiplies all numbers of channels.

    Raises:
        OptionError: an argument is outside what it may be.
    """
    return _made(networks.mobilenet_v2(width, resolution, classes), activations, seed)


def _made(network: ZooNetwork, activations: str, seed: int, *, quantized: bool = True) -> onnx.ModelProto:
    if not is_one_of(activations, _ACTIVATIONS):
        raise OptionError(f"activations are {' or '.join(_ACTIVATIONS)}, not {shown(activations)}.")
    seed = whole_number(seed, "the seed", 0)
    from match.devtools.zoo.qdq import write
    from match.devtools.zoo.quantize import calibrate

    return write(network, calibrate(network, activations, seed), quantized=quantized)
