"""On DIANA, int8 layers that the accelerator refuses are uint8 on the core's kernels; all others stay as they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import match
from match.compilation.options import Options
from match.compilation.stopwatch import Stopwatch
from match.graph.value import Graph
from match.partitioning.unsigned_rest import unsigned_rest
from match.passes.pipeline import integer_network
from match.target.registry import get_target
from tests.e2e import tflite_network

pytestmark = pytest.mark.cc


@pytest.fixture(scope="module")
def graph(models_dir: Path) -> Graph:
    return integer_network(match.load(models_dir / "ad01_int8.tflite"))


def test_what_no_module_takes_is_unsigned(graph: Graph) -> None:
    target = get_target("diana")
    rest = unsigned_rest(graph, target, Options.parse(cache=False, jobs=1), Stopwatch())
    inside = {value.dtype for value in rest.graph.values} - {value.dtype for value in rest.graph.inputs}
    assert "uint8" in inside
    assert [x.dtype for x in rest.graph.outputs] == [x.dtype for x in graph.outputs] == ["int8"]
    for offers in rest.refused.values():
        (digital,) = (offer for offer in offers if offer.module == "digital")
        assert "int8" not in (digital.refusal or "int8"), "of the layer as it was, its scales are the reason"
    assert len(rest.refused) == 10


@pytest.mark.parametrize("modules", [["digital"], ["core"]])
def test_other_targets_have_their_types(graph: Graph, modules: list[str]) -> None:
    """A module that takes nothing unsigned changes nothing, and nor does a target that is not mixed."""
    target = get_target("diana", modules=modules)
    target.mixed = modules != ["core"]
    rest = unsigned_rest(graph, target, Options.parse(cache=False, jobs=1), Stopwatch())
    assert rest.graph is graph
    assert not rest.refused


def test_outputs_are_tflite_micros(models_dir: Path) -> None:
    path = models_dir / "ad01_int8.tflite"
    read = tflite_network.read(path)
    tensor = read.tensors[read.input]
    inputs = np.random.default_rng(3).integers(-128, 128, (4, *tensor.shape)).astype(np.int8)
    compiled = match.compile(path, "diana", numerics="exact")
    assert {layer.module for layer in compiled.layers if layer.macs} == {"core"}
    (output,) = compiled.run({tensor.name: inputs}, sanitize=True).values()
    assert np.array_equal(output, tflite_network.run_micro(path, inputs))


def test_accelerated_layers_stay(models_dir: Path) -> None:
    """With scales in weights the accelerator has its layers of int8, whatever the core takes of the rest."""
    path = models_dir / "kws_ref_model.tflite"
    both, alone = (match.predict(path, "diana", rescale=True, modules=names) for names in (None, ["digital"]))
    of_digital = [[layer.macs for layer in one.layers if layer.module == "digital"] for one in (both, alone)]
    assert of_digital[0] == of_digital[1]
    assert both.totals.cycles < alone.totals.cycles
