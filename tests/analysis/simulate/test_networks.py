"""Whole networks: every layer's trace is its simulated timeline, and its time the predicted one."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

import match
from match.dispatch.plan import LayerDecision
from match.errors import OptionError
from match.target.cost import CostModel
from match.target.hardware import MatchTarget
from match.target.registry import get_target, target_names
from tests.sampled import sampled

pytestmark = pytest.mark.cc

NETWORKS = ("pretrainedResnet_quant", "kws_ref_model")
SAMPLE = {
    ("pretrainedResnet_quant", "gap9", 8192),
    ("pretrainedResnet_quant", "pulp_open", None),
    ("kws_ref_model", "gap8", 8192),
    ("kws_ref_model", "gap9", None),
    ("kws_ref_model", "pulp_open", 8192),
    ("kws_ref_model", "diana", 8192),
}


WAYS = [
    (name, target, l1)
    for name, target, l1 in product(NETWORKS, target_names(), (None, 8192))
    if l1 is None or any(module.memories for module in get_target(target).modules)
]


def own_latency(target: MatchTarget, layer: LayerDecision) -> bool:
    """Whether the layer's cost model predicts whole mappings by itself."""
    module = next(module for module in target.modules if module.name == layer.module)
    assert layer.plan
    model = module.cost(layer.plan.layer, layer.plan.requantizer)
    return type(model).latency is not CostModel.latency


@pytest.mark.parametrize(("name", "target", "l1"), sampled(WAYS, SAMPLE))
def test_traces_equal_simulations(name: str, target: str, l1: int | None, models_dir: Path) -> None:
    compiled = match.compile(models_dir / f"{name}.tflite", target, l1=l1)
    (tensor,) = compiled.report.model.inputs
    sample = np.random.default_rng(0).integers(-128, 128, tensor.shape, dtype=tensor.dtype)
    outputs, traces = compiled.trace({tensor.name: sample})
    expected = compiled.run({tensor.name: sample})
    assert all(np.array_equal(outputs[key], value) for key, value in expected.items())
    layers = [layer for layer in compiled.layers if layer.plan]
    assert [trace.symbol for trace in traces] == [layer.plan.symbol for layer in layers if layer.plan]
    inside = [layer.plan.schedule for layer in layers if layer.plan and not layer.plan.schedule.direct]
    if l1 is not None and inside:  # DIANA's accelerator takes no layer of a TFLite network
        assert any(schedule.loops for schedule in inside), "nothing is tiled"
    for layer, trace in zip(layers, traces, strict=True):
        timeline = compiled.simulate(layer)
        assert trace.actions == timeline.actions, layer.name
        if not own_latency(get_target(target), layer):
            assert timeline.cycles == pytest.approx(layer.cycles, rel=1e-12), layer.name


def test_the_control_core_has_no_timeline(models_dir: Path) -> None:
    compiled = match.compile(models_dir / "ad01_int8.tflite", modules=["ne16"])
    layer = next(layer for layer in compiled.layers if layer.plan is None)
    with pytest.raises(OptionError, match="runs on the control core and has no schedule"):
        compiled.simulate(layer)


def test_samples_follow_each_other(models_dir: Path) -> None:
    compiled = match.compile(models_dir / "ad01_int8.tflite", modules=["cluster"])
    (tensor,) = compiled.report.model.inputs
    _, traces = compiled.trace({tensor.name: np.zeros((3, *tensor.shape), np.int8)}, sanitize=True)
    one = len(traces) // 3
    assert one > 0
    assert traces == traces[:one] * 3
