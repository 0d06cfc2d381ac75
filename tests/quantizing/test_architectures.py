"""Float networks of common architectures, quantized: the control core has nothing that modules would be faster with."""

from __future__ import annotations

import pytest

import match
from tests.quantizing.conftest import noise

pytestmark = pytest.mark.cc
pytest.importorskip("onnxruntime")

QUICK = ("squeezenet-0.1-32",)
OTHERS = (
    "autoencoder",
    "densenet-0.5-16",
    "ds_cnn",
    "efficientnet_b0-0.35-32",
    "mobilenet_v1-0.25-48",
    "mobilenet_v2-0.35-32",
    "mobilenet_v3_small-0.35-32",
    "regnet-0.25-32",
    "resnet8",
    "shufflenet_v2-0.5-32",
    "tcn-0.5-64",
    "unet-0.125-16",
    "vit-0.34-32",
)


@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(name, marks=pytest.mark.sweep) for name in OTHERS)])
def test_nothing_that_need_not_be_is_on_the_control_core(name: str) -> None:
    model = match.zoo.build(name, quantized=False)
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    result = match.quantize(model, noise(8, *shape), "gap9").result
    assert not result.floating
    assert all("the network would not be faster" in layer.why for layer in result.control_core)
    assert sum(layer.cycles for layer in result.control_core) < 0.05 * result.cycles
