"""The example of a target from outside: MLPerf Tiny networks on it equal TFLite Micro."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import match
from match.cost_models.riscv_core import RiscvCoreCost
from match.target.hardware import MatchTarget
from tests.e2e import tflite_network

pytestmark = pytest.mark.cc

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "stm32h743"
SAMPLES = 3


@pytest.fixture(scope="module")
def stm32h743() -> Iterator[MatchTarget]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(EXAMPLE)
        target = import_module("stm32h743.target").Stm32h743()
        target.cpu_cost_model = RiscvCoreCost(*[1e6] * 6)  # so that kernels get all they can take
        yield target


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("pretrainedResnet_quant", {"conv2d": 9, "add": 3, "avg_pool2d": 1, "dense": 1}),
        ("kws_ref_model", {"conv2d": 5, "depthwise_conv2d": 4, "avg_pool2d": 1, "dense": 1}),
        pytest.param(
            "vww_96_int8",
            {"conv2d": 14, "depthwise_conv2d": 13, "avg_pool2d": 1, "dense": 1},
            marks=pytest.mark.sweep,
        ),
        pytest.param("ad01_int8", {"dense": 10}, marks=pytest.mark.sweep),
    ],
)
def test_networks_equal_tflite_micro(
    name: str, taken: dict[str, int], stm32h743: MatchTarget, models_dir: Path, tmp_path: Path
) -> None:
    path = models_dir / f"{name}.tflite"
    network = tflite_network.read(path)
    shape = network.tensors[network.input].shape
    inputs = np.random.default_rng(7).integers(-128, 128, (SAMPLES, *shape)).astype(np.int8)
    model = tflite_network.cut(path, network.logits, tmp_path / f"{name}.tflite")
    compiled = match.compile(model, stm32h743, numerics="exact")
    outputs = compiled.run({network.tensors[network.input].name: inputs}, sanitize=True)
    assert np.array_equal(next(iter(outputs.values())), tflite_network.run_micro(model, inputs))
    assert Counter(layer.op for layer in compiled.layers if layer.module == "cortex_m7") == taken
