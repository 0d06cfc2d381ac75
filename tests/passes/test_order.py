"""Passes are in the right order: at the end of a table, none of them finds anything to rewrite."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from match.errors import ModelError
from match.frontend import load
from match.frontend.model import Model, Rounding
from match.graph.text import text
from match.graph.value import Graph
from match.partitioning.partitioner import FOR_MODULES, IN_PARTS
from match.passes.pipeline import PASSES, IntegerForm, integer_network
from match.passes.sequence import Asked_contra, Pass
from match.target.registry import get_target
from tests.random_networks.onnx import random_onnx
from tests.random_networks.tflite import random_tflite
from tests.seeds import seeded

pytestmark = pytest.mark.tvm

FORMS = [(None, True), (None, False), ("uint8", False)]
TARGETS = ("gap9", "gap8", "cortex_m4")


def anew(passes: Sequence[Pass[Asked_contra]], graph: Graph, asked: Asked_contra) -> set[str]:
    """The passes of a table that rewrite what it has made of a graph."""
    done = [one for one in passes if one.when(asked)]
    for one in done:
        graph = one.rewrite(graph, asked)
    names = {one.name for one in done}
    settled = [one for one in done if not names.intersection(one.anew)]
    return {one.name for one in settled if text(one.rewrite(graph, asked)) != text(graph)}


def network(folder: Path, kind: str, seed: int) -> Model:
    path = folder / f"network.{kind}"
    path.write_bytes(random_tflite(seed).data if kind == "tflite" else random_onnx(seed).SerializeToString())
    return load(path)


def forms(model: Model) -> list[tuple[Graph, IntegerForm]]:
    assert isinstance(model.network, Graph)
    quantized = model.rounding is Rounding.ONNXRUNTIME
    return [(model.network, IntegerForm(quantized, activations, exact)) for activations, exact in FORMS]


@pytest.mark.parametrize("kind", ["tflite", "onnx"])
@seeded(10, 300)
def test_nothing_is_left_to_rewrite(tmp_path: Path, kind: str, seed: int) -> None:
    try:
        model = network(tmp_path, kind, seed)
    except ModelError:
        return  # what is refused goes through no pass
    for graph, form in forms(model):
        assert anew(PASSES, graph, form) == set(), form
    for target in map(get_target, TARGETS):
        graph = integer_network(model, target.activations, exact=False)
        assert anew(FOR_MODULES, graph, target) == anew(IN_PARTS, graph, target) == set(), target.name


def test_of_networks_of_mlperf(models_dir: Path) -> None:
    for path in sorted((*models_dir.glob("*.tflite"), *models_dir.glob("*.onnx"))):
        for graph, form in forms(load(path)):
            assert anew(PASSES, graph, form) == set(), (path.name, form)


@pytest.mark.parametrize(
    ("first", "second", "kind", "seed"),
    [("split_gathers", "padding_inside", "onnx", 7003), ("tables", "dead_channels", "onnx", 7010)],
)
def test_a_wrong_order_is_found_out(tmp_path: Path, first: str, second: str, kind: str, seed: int) -> None:
    """Two passes the other way round leave something."""
    changed = list(PASSES)
    places = [next(place for place, one in enumerate(changed) if one.name == name) for name in (first, second)]
    assert places[1] == places[0] + 1
    changed[places[0]], changed[places[1]] = changed[places[1]], changed[places[0]]
    found = [anew(changed, graph, form) for graph, form in forms(network(tmp_path, kind, seed))]
    assert any(found)
