"""Groups in networks: what is in them, against what the network's graph says of its tensors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_static

import match
from match.compilation.options import Options
from match.compilation.stopwatch import Stopwatch
from match.cost_models.pulp_cluster import PulpClusterCost
from match.cover.problem import Candidate, CoverProblem
from match.dispatch.plan import CPU, WITHOUT_CODE
from match.graph import value as typed
from match.ir.graph import Graph
from match.ir.layer import GROUP
from match.partitioning.choice import ChosenNetwork, choose
from match.partitioning.pattern import find_layers
from match.partitioning.pattern.rows import rows
from match.partitioning.sums import REQUANTIZE
from match.passes.pipeline import integer_network
from match.relay import relay, tvm
from match.target.registry import get_target
from tests.dispatch.test_partition import conv
from tests.layers_of import graph_of

pytestmark = pytest.mark.tvm

NETWORKS = Path(__file__).parents[1] / "tflite/networks"
DIGITS = Path(__file__).parents[1] / "tutorials/digits_float.onnx"


def chosen(network: str, l1: int | None) -> ChosenNetwork:
    """A network on GAP8's cluster, which executes groups and chains."""
    return chosen_for(integer_network(match.load(NETWORKS / f"{network}.tflite"), "uint8"), l1)


def chosen_for(network: typed.Graph | tvm.IRModule, l1: int | None = None, chip: str = "gap8") -> ChosenNetwork:
    """The same for a network in integer form, and maybe another chip, by modules that can have groups."""
    modules = [module.name for module in get_target(chip).modules if module.groups]
    target, graph = get_target(chip, l1, modules), graph_of(network)
    options = Options.parse(cache=False)
    return choose(graph, rows(graph, find_layers(graph)), "net", target, options, Stopwatch())


def groups(problem: CoverProblem) -> list[Candidate]:
    """The candidates of several operators."""
    return [candidate for candidate in problem.candidates if len(candidate.operators) > 1]


def readers(graph: Graph) -> Mapping[int, set[int]]:
    """Which operators read each tensor."""
    return {
        tensor: {place for place, operator in enumerate(graph.operators) if tensor in operator.reads}
        for tensor in range(len(graph.tensors))
    }


@pytest.mark.parametrize(
    ("network", "l1"),
    [
        ("vit", 16384),
        ("shufflenet", 24576),
        pytest.param("mixer", None, marks=pytest.mark.sweep),
        pytest.param("gru", 8192, marks=pytest.mark.sweep),
    ],
)
def test_only_the_last_operator_hands_something_on(network: str, l1: int | None) -> None:
    """No operator in front of it is read from outside, and none reads the group's result."""
    found = chosen(network, l1)
    graph, reads = found.problem.graph, readers(found.problem.graph)
    several = groups(found.problem)
    assert len(several) >= 3
    for candidate in several:
        own = {*candidate.operators}
        *front, last = candidate.operators
        inner = {tensor for place in front for tensor in graph.operators[place].writes}
        assert all(reads[tensor] <= own for tensor in inner)
        assert not inner & {*graph.outputs}
        assert not any(reads[tensor] & own for tensor in graph.operators[last].writes)
        wanted = {tensor for place in own for tensor in graph.operators[place].reads} - inner
        assert wanted == {tensor for tensor, _ in candidate.wants}


def test_what_fits_is_one_group() -> None:
    """All that only the group reads; views of tensors, which cost nothing, are in it.

    Some layers at both ends are cheaper on the control core.
    """
    found = chosen("lstm_unrolled", None)
    decided = [decision for decision in found.decisions if decision.op == GROUP]
    assert len(decided) == 1
    (one,) = decided
    assert one.plan is not None
    layers = [
        place
        for place, operator in enumerate(found.problem.graph.operators)
        if operator.op not in {*WITHOUT_CODE, REQUANTIZE}
    ]
    on_core = [decision.op for decision in found.decisions if decision.module == CPU]
    assert on_core[-2:] == ["dense", "softmax"]
    others = [op for op in on_core if op not in WITHOUT_CODE]
    assert len(one.plan.layer.operators) == len(layers) - len(others) > 120
    assert len(found.decisions) == 1 + len(on_core)


def test_cost_models_may_return_numbers_of_numpy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Groups are stored as what they cost in plain numbers."""
    compute = PulpClusterCost.compute
    monkeypatch.setattr(PulpClusterCost, "compute", lambda *asked: np.float64(compute(*asked)))
    compiled = match.compile(NETWORKS / "vit.tflite", "gap8", jobs=1, cache=tmp_path)
    again = match.compile(NETWORKS / "vit.tflite", "gap8", jobs=1, cache=tmp_path)
    assert any(layer.op == GROUP for layer in compiled.layers)
    assert again.cycles == compiled.cycles


def test_less_l1_makes_smaller_groups() -> None:
    """Down to none at all; the network never costs more than with less."""
    costs = [chosen("autoencoder", size).cost for size in (4096, 8192, 16384, 32768)]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0]


@pytest.mark.parametrize("kept", [False, True])
def test_what_the_network_hands_out_is_inside_no_group(kept: bool) -> None:
    """The first of two convolutions is in a group if nothing but the second reads it."""
    x = relay.var("x", shape=(1, 6, 6, 8), dtype="uint8")
    first = conv(x, 8, 8)
    second = conv(first, 8, 8)
    body = relay.Tuple([first, second]) if kept else second
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], body)))
    assert len(groups(chosen_for(module).problem)) == (0 if kept else 1)


def test_more_l1_leaves_the_groups_that_less_l1_has(tmp_path: Path) -> None:
    """Convolutions of one module and a classifier on another: more room is never dearer, and all of it is one group."""
    path = tmp_path / "digits.onnx"
    quantize_static(
        DIGITS,
        path,
        _Calibration(),
        per_channel=True,
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
    )
    module = integer_network(match.load(path), "uint8", exact=False)
    costs = [chosen_for(module, size, "gap9").cost for size in (8192, 16384, 24576, None)]
    assert costs == sorted(costs, reverse=True)
    decided = [decision for decision in chosen_for(module, None, "gap9").decisions if decision.op == GROUP]
    assert [len(decision.plan.layer.operators) for decision in decided if decision.plan] == [9]
    assert {unit.name for decision in decided if decision.plan for unit in decision.plan.units} == {"cluster", "ne16"}


class _Calibration(CalibrationDataReader):
    """Random images, always the same."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self._images = iter(rng.random((8, 1, 1, 8, 8)).astype(np.float32))

    def get_next(self) -> Any:
        image = next(self._images, None)
        return None if image is None else {"image": image}
