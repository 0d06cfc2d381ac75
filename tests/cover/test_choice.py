"""The choice for real networks: no dearer than the choice layer by layer, and with the costs that the report shows."""

from __future__ import annotations

import os
from itertools import product
from pathlib import Path

import numpy as np
import onnx
import pytest

import match
from match.compilation.options import Options
from match.compilation.stopwatch import Stopwatch
from match.cover.problem import CoverProblem
from match.cover.solve import solve
from match.devtools.demo import __file__ as demo
from match.graph.value import Graph
from match.partitioning.choice import ChosenNetwork, choose
from match.partitioning.partitioner import cut
from match.partitioning.pattern import find_layers
from match.partitioning.pattern.rows import rows
from match.passes.pipeline import integer_network
from match.target.hardware import MatchTarget
from match.target.registry import get_target
from tests.cover.brute_force import cost
from tests.devtools.zoo.reference import SMALL, small
from tests.sampled import sampled

pytestmark = pytest.mark.cc

TARGETS = ("gap9", "gap8", "diana", "pulp_open")
SIZES = {"diana": (None,)}
"""Bytes of L1; DIANA's has one size for each use."""

SAMPLE = {
    ("resnet8", "gap9", None, "exact"),
    ("resnet8", "diana", None, "hardware"),
    ("ds_cnn", "pulp_open", 16000, "hardware"),
    ("ds_cnn", "gap8", None, "exact"),
    ("digits", "gap9", 8000, "exact"),
}

CASES = [
    (network, target, l1, numerics)
    for network, target, numerics in product((*SMALL, "digits"), TARGETS, ("hardware", "exact"))
    for l1 in SIZES.get(target, (None, 16000, 8000))
]


def integer_form(network: str, target: MatchTarget) -> Graph:
    model = match.load(Path(demo).parent / "digits.onnx" if network == "digits" else small(network, "uint8"))
    return integer_network(model, target.activations)


def chosen(network: str, target: MatchTarget, options: Options) -> tuple[ChosenNetwork, Graph]:
    graph = integer_form(network, target)
    return choose(graph, rows(graph, find_layers(graph)), "match_net", target, options, Stopwatch()), graph


def layer_by_layer(problem: CoverProblem) -> tuple[int, ...]:
    """A cover whose layers each cost least alone; one that is left to the core in two parts, if these cost less."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for number, candidate in enumerate(problem.candidates):
        groups.setdefault(candidate.operators, []).append(number)
    best = {
        places: min(numbers, key=lambda number: problem.candidates[number].cost) for places, numbers in groups.items()
    }

    def price(number: int) -> float:
        return problem.candidates[number].cost

    for places in sorted(best, key=len, reverse=True):
        if len(places) > 1:
            halves = [(place,) for place in places]
            whole = best[places]
            apart = problem.candidates[whole].module == "cpu" and all(half in best for half in halves)
            if apart and sum(price(best[half]) for half in halves) < price(whole):
                del best[places]
            else:
                for half in halves:
                    best.pop(half, None)
    return tuple(best.values())


@pytest.mark.parametrize(
    ("network", "target", "l1", "numerics"),
    sampled(CASES, SAMPLE),
)
def test_never_dearer_than_layer_by_layer(network: str, target: str, l1: int | None, numerics: str) -> None:
    options = Options.parse(numerics=numerics, jobs=1)
    chip = get_target(target, l1)
    found, graph = chosen(network, chip, options)
    cover = solve(found.problem)
    assert found.cost == pytest.approx(cost(found.problem, cover.chosen), rel=1e-12)
    assert found.cost <= cost(found.problem, layer_by_layer(found.problem)) * (1 + 1e-12)
    decisions = cut(graph, chip, options, "net", Stopwatch()).decisions
    assert sum(decision.cycles for decision in decisions) == pytest.approx(found.cost, rel=1e-12), "conversions as made"
    for decision in decisions:
        if decision.runner_up:
            assert decision.runner_up.cost >= found.cost


@pytest.mark.parametrize("network", ["digits", pytest.param("resnet8", marks=pytest.mark.sweep)])
def test_sums_that_are_not_asked_for_would_not_be_taken(network: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options = Options.parse(numerics="exact", jobs=1)
    found, _ = chosen(network, get_target("gap9"), options)
    monkeypatch.setattr("match.partitioning.choice._may_pay", lambda *_: True)
    more, _ = chosen(network, get_target("gap9"), options)
    assert len(more.problem.candidates) > len(found.problem.candidates)
    assert [decision.name for decision in more.decisions] == [decision.name for decision in found.decisions]
    assert more.cost == found.cost


def powers_of_two(network: onnx.ModelProto) -> onnx.ModelProto:
    """The network with all scales rounded to powers of two, one per tensor, and zero points of 0."""
    result = onnx.ModelProto()
    result.CopyFrom(network)
    constants = {tensor.name: tensor for tensor in result.graph.initializer}
    nodes = [node for node in result.graph.node if node.op_type in ("QuantizeLinear", "DequantizeLinear")]
    for name in {node.input[1] for node in nodes}:
        scales = onnx.numpy_helper.to_array(constants[name])
        rounded = np.full_like(scales, 2.0 ** np.round(np.log2(scales.max())))
        constants[name].CopyFrom(onnx.numpy_helper.from_array(rounded, name))
    for name in {node.input[2] for node in nodes}:
        zeros = np.zeros_like(onnx.numpy_helper.to_array(constants[name]))
        constants[name].CopyFrom(onnx.numpy_helper.from_array(zeros, name))
    return result


@pytest.mark.sweep
def test_less_where_layouts_meet() -> None:
    """Some layers between others on the control core, which are too small to pay for two conversions."""
    chip = get_target("diana")
    graph = integer_network(match.load(powers_of_two(small("mobilenet_v2", "int8"))), chip.activations)
    options = Options.parse(numerics="exact", jobs=1)
    found = choose(graph, rows(graph, find_layers(graph)), "match_net", chip, options, Stopwatch())
    assert found.cost < cost(found.problem, layer_by_layer(found.problem))


def test_the_sample_is_among_the_cases() -> None:
    assert {*CASES} >= SAMPLE


def test_mlperf_tiny(models_dir: Path) -> None:
    options = Options.parse(jobs=os.cpu_count())
    for path, target in zip(sorted(models_dir.glob("*.tflite")), ("gap8", "pulp_open", "gap9", "diana"), strict=True):
        chip = get_target(target)
        graph = integer_network(match.load(path), chip.activations)
        found = choose(graph, rows(graph, find_layers(graph)), "match_net", chip, options, Stopwatch())
        assert found.cost <= cost(found.problem, layer_by_layer(found.problem)) * (1 + 1e-12)


TFLITE = Path(__file__).resolve().parents[1] / "tflite" / "networks"


@pytest.mark.parametrize(("network", "generated"), [("gru", True), ("keyword_spotting", False)])
def test_kernels_of_the_core_where_they_are_worth_it(
    network: str, generated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TVM's C is chosen for steps of a few elements; a softmax that is about as cheap as TVM's C is a kernel."""
    path, share = TFLITE / f"{network}.tflite", "match.partitioning.choice._WORTH"
    chosen = match.predict(path, "gap9")
    monkeypatch.setattr(share, 1.0)
    cheapest = match.predict(path, "gap9")
    monkeypatch.setattr(share, float("inf"))
    kernels = match.predict(path, "gap9")
    assert cheapest.totals.cycles <= kernels.totals.cycles
    assert (kernels.totals.cycles > 1.02 * cheapest.totals.cycles) == generated
    assert chosen.totals.cycles == (cheapest if generated else kernels).totals.cycles
    computed = {layer.module for layer in chosen.layers if layer.cycles}
    assert ("cpu" in computed) == generated
