"""The zoo's models: valid, of the published sizes, the same each time, and with outputs that mean something."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
import onnx
import pytest

from match import zoo
from match.devtools.zoo import networks
from match.errors import OptionError
from tests.devtools.zoo import reference
from tests.devtools.zoo.reference import SMALL, small
from tests.sampled import in_turn

pytestmark = pytest.mark.cc

# Millions of multiply-accumulates. MLPerf Tiny: Banbury et al., 2021. MobileNets at width 0.25: fused depthwise and
# pointwise convolutions on GAP8, which compares itself with them layer by layer. Other MobileNets: as below.
NAMED = {
    "autoencoder": 0.264,
    "ds_cnn": 2.66,
    "resnet8": 12.5,
    "mobilenet_v1-0.25-96": 7.49,
    "mobilenet_v1-0.25-128": 13.57,
    "mobilenet_v1-1.0-128": 186,
    "mobilenet_v1-1.0-224": 569,
    "mobilenet_v2-0.25-128": 13.01,
    "mobilenet_v2-1.0-128": 99,
    "mobilenet_v2-1.0-224": 300,
}
# Width, resolution, millions of multiply-accumulates and of weights: Howard et al., 2017, Tables 6 and 7.
MOBILENET_V1 = [
    (1.0, 224, 569, 4.2),
    (0.75, 224, 325, 2.6),
    (0.5, 224, 149, 1.3),
    (0.25, 224, 41, 0.5),
    (1.0, 192, 418, 4.2),
    (1.0, 160, 290, 4.2),
    (1.0, 128, 186, 4.2),
]
# The table of TensorFlow's model garden, which does not round but truncate.
MOBILENET_V2 = [
    (1.4, 224, 582, 6.06),
    (1.3, 224, 509, 5.34),
    (1.0, 192, 221, 3.47),
    (0.75, 160, 107, 2.61),
    (0.5, 128, 32, 1.95),
    (0.35, 96, 11, 1.66),
]


# Millions of multiply-accumulates and of weights at width 1: Howard et al., 2019, Table 6; Tan and Le, 2019, Table 2;
# Ma et al., 2018, Table 8; Han et al., 2020, Table 7; SqueezeNet 1.1's own figures; Radosavovic et al., 2020, Table 9;
# Touvron et al., 2021, Table 1; Tolstikhin et al., 2021, Table 2; Liu et al., 2022, Table 1.
SIZED = {
    "mobilenet_v3_small-1.0-224": (56, 2.5),
    "efficientnet_b0-1.0-224": (390, 5.3),
    "shufflenet_v2-1.0-224": (146, 2.3),
    "ghostnet-1.0-224": (141, 5.2),
    "squeezenet-1.0-224": (360, 1.24),
    "regnet-1.0-224": (200, 2.7),
    "vit-1.0-224": (1250, 5.7),
    "mlp_mixer-1.0-224": (3780, 18.5),
    "convnext-1.0-224": (4450, 28.6),
}
BRANCHING = (
    "convnext-0.05-32",
    "crnn-0.25-32",
    "deeplab-0.1-32",
    "densenet-1.0-16",
    "ecg-0.1-256",
    "efficientnet_b0-0.25-32",
    "ghostnet-0.25-32",
    "gru_keywords-0.25-30",
    "mlp_mixer-0.05-32",
    "mobilenet_v3_small-0.25-32",
    "regnet-0.2-32",
    "shufflenet_v2-0.25-32",
    "squeezenet-0.25-32",
    "ssd-0.1-32",
    "super_resolution-0.25-12",
    "tcn-0.25-64",
    "tiny_yolo-0.1-64",
    "unet-0.05-16",
    "unet_transposed-0.05-16",
    "vit-0.34-32",
)


def test_every_architecture_is_tried() -> None:
    with pytest.raises(OptionError) as caught:
        networks.named("none")
    listed = str(caught.value).split(", and ")[1].split(" in any width")[0].split(", ")
    assert set(listed) == {name.split("-")[0] for name in BRANCHING} | {"mobilenet_v1", "mobilenet_v2"}


def test_networks_of_any_width_have_published_sizes() -> None:
    for name, (macs, weights) in SIZED.items():
        network = networks.named(name)
        assert network.macs / 1e6 == pytest.approx(macs, rel=0.08), name
        assert network.weights / 1e6 == pytest.approx(weights, rel=0.02), name


@pytest.mark.parametrize(("name", "activations"), in_turn([(name,) for name in BRANCHING], [("uint8",), ("int8",)]))
def test_branching_networks_are_valid_and_alive(name: str, activations: str) -> None:
    """Whatever layers lie between, outputs follow the input; onnxruntime runs them."""
    model = zoo.build(name, activations=activations)
    onnx.checker.check_model(model, full_check=True)
    (values,) = reference.run(model, reference.noise(model, 4))
    flat = values.reshape(4, -1)
    assert len(np.unique(flat, axis=0)) == 4
    assert len(np.unique(flat)) > min(20, 0.8 * flat.size)


def test_maps_that_do_not_halve_are_refused() -> None:
    with pytest.raises(OptionError, match="multiple of 8, not 20"):
        networks.named("unet-0.1-20")


def test_every_name_has_a_published_size() -> None:
    assert set(zoo.names()) == NAMED.keys()
    for name, millions in NAMED.items():
        assert networks.named(name).macs == pytest.approx(1e6 * millions, rel=0.003), name


def check_model(name: str) -> None:
    """A valid model with the layers that the network has, whose scores depend on the input."""
    model, network = zoo.build(name), networks.named(name)
    onnx.checker.check_model(model, full_check=True)
    assert model.graph.name == name
    assert reference.macs(model) == network.macs
    assert reference.weights(model) == network.weights
    scores = reference.scores(model)
    (values,) = reference.run(scores, reference.noise(model, 4))
    flat = values.reshape(4, -1)
    assert len(np.unique(flat)) >= min(100, 0.8 * flat.size)
    assert flat.std(axis=0).mean() > 0.3 * flat.std()


@pytest.mark.parametrize("name", [name for name, millions in NAMED.items() if millions < 50])
def test_models(name: str) -> None:
    check_model(name)


@pytest.mark.sweep
@pytest.mark.parametrize("name", [name for name, millions in NAMED.items() if millions > 50])
def test_large_models(name: str) -> None:
    check_model(name)


def test_mobilenet_v1_has_the_size_of_the_paper() -> None:
    for width, resolution, macs, weights in MOBILENET_V1:
        network = networks.mobilenet_v1(width, resolution)
        assert abs(network.macs / 1e6 - macs) < 1
        assert abs(network.weights / 1e6 - weights) < 0.06


def test_mobilenet_v2_has_the_size_of_the_model_garden() -> None:
    for width, resolution, macs, weights in MOBILENET_V2:
        network = networks.mobilenet_v2(width, resolution)
        assert int(network.macs / 1e6) == macs
        assert abs(network.weights / 1e6 - weights) < 0.01


def test_the_same_bytes_in_every_process() -> None:
    code = """
import hashlib
from match import zoo
for model in (zoo.ds_cnn(), zoo.mobilenet_v2(0.35, 40, 20)):
    print(hashlib.sha256(model.SerializeToString()).hexdigest())
"""
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed, "OPENBLAS_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed, threads in (("1", "1"), ("2", "2"))
    }
    here = [hashlib.sha256(small(name, "uint8").SerializeToString()).hexdigest() for name in ("ds_cnn", "mobilenet_v2")]
    assert [digest.split() for digest in digests] == [here]


def test_seeds_and_classes() -> None:
    first, second, third = zoo.ds_cnn(), zoo.ds_cnn(seed=1), zoo.ds_cnn(35)
    assert first.SerializeToString() != second.SerializeToString()
    assert third.graph.output[0].type.tensor_type.shape.dim[1].dim_value == 35
    assert zoo.build("ds_cnn", classes=35, seed=0) == third


@pytest.mark.parametrize("activations", ["uint8", "int8"])
@pytest.mark.parametrize("name", SMALL)
def test_every_tensor_uses_its_range(name: str, activations: str) -> None:
    """Neither constant nor cut off, and different for different inputs."""
    model = reference.integers(small(name, activations))
    limits = np.iinfo(activations)
    tensors = reference.run(model, reference.noise(model, 8))
    assert len(tensors) > 10
    for node, levels in zip(model.graph.output, tensors, strict=True):
        assert levels.dtype == activations
        assert len(np.unique(levels)) >= min(64, 0.8 * levels[0].size), node.name
        assert np.mean(levels == limits.max) < 0.05, node.name
        assert np.mean(levels == limits.min) < 0.9, node.name
        flat = levels.reshape(len(levels), -1)
        assert len(np.unique(flat, axis=0)) == len(flat), node.name
        assert len(np.unique(flat.argmax(axis=1))) > 1, node.name


@pytest.mark.parametrize("activations", ["uint8", "int8"])
def test_onnxruntime_computes_in_integers(activations: str) -> None:
    for name in SMALL:
        operators = reference.executed(small(name, activations))
        assert not operators & {"Conv", "Gemm", "MatMul", "Add", "GlobalAveragePool", "Softmax"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"name": "resnet9"}, ["resnet9", "resnet8", "mobilenet_v2-1.0-224"]),
        ({"name": 3}, ["3", "names"]),
        ({"name": "resnet8", "classes": 0}, ["classes", "0"]),
        ({"name": "autoencoder", "classes": 2}, ["autoencoder", "classes"]),
        ({"name": "resnet8", "activations": "int4"}, ["int4", "int8", "uint8"]),
        ({"name": "resnet8", "seed": -1}, ["seed", "-1"]),
    ],
)
def test_what_there_is_not(arguments: dict[str, object], words: list[str]) -> None:
    with pytest.raises(OptionError) as caught:
        zoo.build(**arguments)  # type: ignore[arg-type]
    assert all(word in str(caught.value) for word in words)


@pytest.mark.parametrize(("width", "resolution"), [(0.0, 96), (-1.0, 96), (float("nan"), 96), (1.0, 0)])
def test_impossible_shapes(width: float, resolution: int) -> None:
    for build in (zoo.mobilenet_v1, zoo.mobilenet_v2):
        with pytest.raises(OptionError, match=r"must be a (positive|whole) number"):
            build(width, resolution)


def test_mobilenets_of_any_width_and_resolution_have_names() -> None:
    named = networks.named("mobilenet_v2-0.35-96", 7)
    made = networks.mobilenet_v2(0.35, 96, 7)
    assert (named.name, named.macs, named.weights) == (made.name, made.macs, made.weights)
    for name in ("mobilenet_v1-0-96", "mobilenet_v1-0.25-0"):
        with pytest.raises(OptionError, match=r"must be a (positive|whole) number"):
            networks.named(name)
    for name in ("mobilenet_v4-1.0-224", "mobilenet_v1-1.0", "mobilenet_v1--1-96"):
        with pytest.raises(OptionError, match="the zoo has no network"):
            networks.named(name)


def test_a_network_of_any_size_needs_one() -> None:
    with pytest.raises(OptionError, match=r'the zoo makes ecg in any width .* as in "ecg-0\.5-256"'):
        networks.named("ecg")
    assert networks.named("ecg-0.5-256").name == "ecg-0.5-256"


@pytest.mark.parametrize("name", ["resnet8", "unet-0.125-16", "vit-0.34-32", "gru_keywords-0.5-16"])
def test_a_float_network_is_the_quantized_one_without_rounding(name: str) -> None:
    """Its outputs are close to those of the quantized one, whose activations are what 8 bits leave."""
    quantized, real = zoo.build(name), zoo.build(name, quantized=False)
    assert not any("Quantize" in node.op_type for node in real.graph.node)
    onnx.checker.check_model(real, full_check=True)
    x = reference.noise(quantized, 8)
    (one,), (other,) = reference.run(quantized, x), reference.run(real, x)
    assert np.corrcoef(one.ravel(), other.ravel())[0, 1] > 0.9


def test_a_float_network_has_its_activations_as_operators() -> None:
    """A network of ReLU6 has as many clips as layers with that bound."""
    network = networks.named("mobilenet_v2-0.35-40")
    bounded = sum(getattr(layer, "activation", None) == (0.0, 6.0) for layer in network.layers)
    real = zoo.build("mobilenet_v2-0.35-40", quantized=False)
    assert sum(node.op_type == "Clip" for node in real.graph.node) == bounded > 30
