"""Networks whose scales go into their weights: what DIANA's accelerator computes of them, and what is left of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import match
from match.devtools.demo import INPUT, load_images
from match.errors import OptionError
from match.passes.pipeline import integer_network
from match.relay import relay, tvm
from match.relay.graph_writer import write_graph
from match.rewrites.rescale import rescaled
from match.target.registry import get_target
from tests import relay_numpy
from tests.cli.conftest import DIGITS
from tests.e2e.random_layers import LayerCase

pytestmark = pytest.mark.cc

CHIP = "diana"
MODELS = ("kws_ref_model", "pretrainedResnet_quant", "vww_96_int8", "ad01_int8")
ACCURACY = 0.985


LAYER = LayerCase("conv2d", 24, 16, 8, 8, activation="none", input_zero_point=3, output_zero_point=-7, seed=5)


def network() -> tvm.IRModule:
    """The layer alone, whose scales are no powers of two."""
    x = relay.var("x", shape=(1, 8, 8, 24), dtype="int8")
    return tvm.IRModule.from_expr(relay.Function([x], LAYER.relay(x)))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rescale") / "digits"


@pytest.fixture(scope="module")
def digits(project: Path) -> match.CompiledModel:
    return match.compile(DIGITS, CHIP, rescale=True, output=project)


def outputs(compiled: match.CompiledModel, samples: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The outputs of the generated C, with sanitizers."""
    name = compiled.report.model.inputs[0].name
    return next(iter(compiled.run({name: samples}, sanitize=True).values()))


def by_numpy(path: Path, samples: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The rescaled network's outputs, from its operators' definitions."""
    chip = get_target(CHIP)
    integers = integer_network(match.load(path), chip.activations)
    network = write_graph(rescaled(integers, chip)).module
    name = network["main"].params[0].name_hint
    return np.stack([relay_numpy.outputs(network, {name: sample})[0] for sample in samples])


def share_on_accelerator(compiled: match.CompiledModel) -> float:
    taken = sum(layer.macs for layer in compiled.layers if layer.module == "digital")
    return taken / sum(layer.macs for layer in compiled.layers)


def test_digits_are_numpys(digits: match.CompiledModel) -> None:
    images, _ = load_images(DIGITS.with_name("digits.npz"))
    found = outputs(digits, images[:10])
    assert np.array_equal(found, by_numpy(DIGITS, images[:10]))
    assert len(np.unique(found)) > 10


def test_digits_keep_their_accuracy(digits: match.CompiledModel) -> None:
    images, labels = load_images(DIGITS.with_name("digits.npz"))
    (scores,) = digits.run({INPUT: images}).values()
    assert np.mean(scores.reshape(len(labels), -1).argmax(axis=1) == labels) >= ACCURACY
    assert share_on_accelerator(digits) == 1.0


def test_projects_are_validated(project: Path, digits: match.CompiledModel) -> None:
    result = match.validate(project, DIGITS, samples=2)
    assert (result.equal, result.reference) == (True, "integer network")
    assert result.exact
    assert result.exact.exact_cycles > result.exact.cycles
    assert digits.report.options.rescale
    layers = json.loads((project / "report.json").read_text())["layers"]
    assert all(layer["moved"]["largest"] >= layer["moved"]["mean"] > 0 for layer in layers if layer["macs"])


@pytest.mark.sweep
@pytest.mark.parametrize("name", MODELS)
def test_tflite_networks_run_on_the_accelerator(name: str, models_dir: Path) -> None:
    path = models_dir / f"{name}.tflite"
    compiled = match.compile(path, CHIP, rescale=True)
    assert share_on_accelerator(compiled) > 0.99
    shape = compiled.report.model.inputs[0].shape
    samples = np.random.default_rng(3).integers(-60, 60, (4, *shape)).astype(np.int8)
    found = outputs(compiled, samples)
    assert np.array_equal(found, by_numpy(path, samples))
    assert len(np.unique(found)) > 3  # a softmax leaves few


def test_report_says_how_far_outputs_move() -> None:
    """Beside the layer's own definition, on inputs like those that the report speaks of."""
    compiled = match.compile(network(), CHIP, rescale=True)
    (row,) = (row for row in compiled.report.layers if row.macs)
    assert row.module == "digital"
    assert not row.exact
    assert row.requantization
    assert row.requantization.exact
    assert row.moved
    samples = np.random.default_rng(9).integers(-128, 128, (20, 1, 8, 8, 24)).astype(np.int8)
    wanted = np.stack([LAYER.reference(sample) for sample in samples])
    distance = np.abs(outputs(compiled, samples) - wanted.astype(np.int64))
    assert 0 < row.moved.mean < 2
    assert np.isclose(distance.mean(), row.moved.mean, rtol=0.1)
    assert row.moved.largest <= distance.max() <= row.moved.largest + 2
    assert compiled.report.totals.inexact_layers == 1


def test_never_unasked() -> None:
    compiled = match.compile(network(), CHIP)
    assert share_on_accelerator(compiled) == 0.0
    assert not compiled.report.options.rescale
    assert all(layer.moved is None for layer in compiled.report.layers)


def test_other_targets_say_no() -> None:
    with pytest.raises(OptionError, match="and gap9 has none among those asked for; leave it out"):
        match.compile(network(), "gap9", rescale=True)
    with pytest.raises(OptionError, match="and diana has none"):
        match.compile(network(), CHIP, modules=[], rescale=True)
