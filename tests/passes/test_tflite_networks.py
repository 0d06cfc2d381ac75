"""The MLPerf Tiny networks in integer form against TFLite Micro, every layer, byte for byte."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from match.frontend import load
from match.frontend.tflite import from_tflite
from match.graph.sums import Convolution, Dense
from match.passes.pipeline import integer_network
from match.relay.plain import qnn_operators
from tests.integer_relay import integer_relay
from tests.passes.running import executable, written
from tests.passes.tflite_models import Micro, with_outputs
from tests.sampled import sampled

pytestmark = pytest.mark.tvm

# Multiply-accumulates before and after dead channels are removed, the latter at most.
NETWORKS = {
    "pretrainedResnet_quant": (12_501_632, 12_501_632),
    "kws_ref_model": (2_656_768, 2_656_768),
    "ad01_int8": (264_192, 264_192),
    "vww_96_int8": (7_489_664, 4_300_000),
}


def compare(data: bytes, samples: int, activations=None) -> None:
    model = from_tflite(data, Path("network.tflite"))
    reference = Micro(data, len(model.outputs))
    module = integer_network(model, activations)
    assert not qnn_operators(written(module))
    run = executable(module)
    rng = np.random.default_rng(11)
    shape = model.inputs[0].shape
    for sample in range(samples):
        # Noise over the whole range, and quieter, smoother inputs that reach other parts of the step functions.
        noise = rng.integers(-128, 128, shape)
        x = np.clip(noise if sample % 2 else noise // 8 + rng.integers(-100, 100), -128, 127).astype(np.int8)
        expected = reference(x)
        for one, other in zip(expected, run({model.inputs[0].name: x}), strict=True):
            np.testing.assert_array_equal(other.reshape(one.shape), one)


@pytest.mark.parametrize("name", NETWORKS)
def test_every_layer(models_dir, name):
    compare(with_outputs((models_dir / f"{name}.tflite").read_bytes(), inner=True), samples=5)


@pytest.mark.parametrize("name", sampled(NETWORKS, NETWORKS.keys() - {"vww_96_int8"}))
def test_logits_of_the_whole_network(models_dir, name):
    """All passes, with channels removed and unsigned activations."""
    compare(with_outputs((models_dir / f"{name}.tflite").read_bytes(), inner=False), samples=30, activations="uint8")


@pytest.mark.parametrize("name", NETWORKS)
def test_multiply_accumulates(models_dir, name):
    """Nothing is computed that no output needs, and nothing is missing."""
    macs = 0
    for value in integer_network(load(models_dir / f"{name}.tflite"), "uint8").values:
        layer = value.operator
        if isinstance(layer, (Convolution, Dense)):
            macs += math.prod(value.tensor.shape) * layer.weights.size // layer.requantization.channels
    before, after = NETWORKS[name]
    assert macs <= after
    assert (macs == before) == (before == after)


def test_the_model_is_not_changed(models_dir):
    """Two conversions of one model give the same text."""
    model = load(models_dir / "kws_ref_model.tflite")
    first = integer_relay(model, "uint8").astext()
    integer_relay(model)
    assert integer_relay(model, "uint8").astext() == first
