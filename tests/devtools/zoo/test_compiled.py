"""Networks of the zoo on GAP9: generated C computes what onnxruntime does."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import onnx
import pytest

import match
from match.targets.pulp.cluster import Cluster
from match.validation.exact_session import multiplies_signed_exactly
from tests.devtools.zoo import reference
from tests.devtools.zoo.reference import SMALL, small
from tests.sampled import sampled

pytestmark = pytest.mark.cc

LARGE = ("mobilenet_v1", "mobilenet_v2")


def compiled_outputs(model: onnx.ModelProto, inputs: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Outputs of the generated C with exact numerics, checked by the sanitizers."""
    compiled = match.compile(model, "gap9", numerics="exact")
    return next(iter(compiled.run({model.graph.input[0].name: inputs}, sanitize=True).values()))


@pytest.mark.parametrize("name", sampled(SMALL, {*SMALL} - {*LARGE}))
def test_every_score_is_onnxruntimes(name: str) -> None:
    model = reference.scores(small(name, "uint8"))
    inputs = reference.noise(model, 10)
    (expected,) = reference.run(model, inputs)
    assert np.array_equal(compiled_outputs(model, inputs), expected)


def test_signed_activations() -> None:
    if not multiplies_signed_exactly():
        pytest.skip("onnxruntime's products of signed activations saturate on CPUs without VNNI")
    model = reference.scores(small("resnet8", "int8"))
    inputs = reference.noise(model, 10)
    (expected,) = reference.run(model, inputs)
    assert np.array_equal(compiled_outputs(model, inputs), expected)


def test_probabilities_are_within_a_step_of_onnxruntimes() -> None:
    """It computes quantized softmax with tables of integers, the compiler in floating point."""
    model = small("ds_cnn", "uint8")
    inputs = reference.noise(model, 50)
    (expected,) = reference.run(model, inputs)
    distance = np.rint(np.abs(compiled_outputs(model, inputs) - expected) * 255)
    assert distance.max() <= 1
    assert np.mean(distance) < 0.2


def test_exceptions_stay_on_the_module() -> None:
    """Onnxruntime rounds in float32, which a line does not meet everywhere: the accumulators are listed."""
    compiled = match.compile(small("resnet8", "uint8"), "gap9", modules=["cluster"], numerics="exact")
    assert {layer.module for layer in compiled.layers if layer.macs > 1000} == {"cluster"}
    assert not [layer for layer in compiled.layers if layer.op == "requantize"]
    hardware = match.compile(small("resnet8", "uint8"), "gap9", modules=["cluster"])
    exact, close = (
        {form.name: form for layer in network.layers if layer.plan for form in layer.plan.requantizers if form}
        for network in (compiled, hardware)
    )
    assert "split_except" in exact
    assert exact["split_except"].listed > 0
    assert not any(form.exceptions for form in close.values())


def test_what_no_module_requantizes_is_still_summed_on_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it has no form with exceptions, the cluster sums, and the core requantizes."""
    plain = tuple(form for form in Cluster.requantizers if not form.exceptions)
    monkeypatch.setattr(Cluster, "requantizers", plain)
    compiled = match.compile(small("resnet8", "uint8"), "gap9", modules=["cluster"], numerics="exact")
    rows = {layer.name: layer for layer in compiled.layers}
    assert {layer.module for layer in compiled.layers if layer.macs > 1000} == {"cluster"}
    halves = [layer for layer in compiled.layers if layer.op == "requantize"]
    assert len(halves) > 3
    for layer in halves:
        assert (layer.module, layer.macs) == ("cpu", 0)
        assert "cluster would be off by one step" in (layer.candidates[0].refusal or "")
        sums = rows[layer.name.replace("requantize", "conv2d")]
        assert sums.plan is not None
        assert (sums.plan.layer.output_dtype, sums.outputs) == ("int32", layer.outputs)

    monkeypatch.setattr("match.partitioning.sums.LARGEST_SHARE", 0.0)
    whole = match.compile(small("resnet8", "uint8"), "gap9", modules=["cluster"], numerics="exact")
    assert {layer.op for layer in whole.layers} & {"requantize"} == set()
    assert whole.cycles > 3 * compiled.cycles
