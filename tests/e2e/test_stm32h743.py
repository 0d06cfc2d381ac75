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
from match.relay import relay, tvm
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


def test_a_convolution_and_its_pooling_are_one(stm32h743: MatchTarget) -> None:
    """The pattern of two operators of its table, with the integers of the layers by themselves, in tiles and whole."""
    x = relay.var("x", shape=(1, 15, 13, 8), dtype="uint8")
    weights = np.random.default_rng(1).integers(-128, 128, (3, 3, 8, 12)).astype(np.int8)
    scale, zero = relay.const(0.02), relay.const(0, "int32")
    one = relay.const(1.0)
    sums = relay.qnn.op.conv2d(
        x, relay.const(weights), zero, zero, one, scale, (3, 3), 12, padding=(1, 1, 1, 1), data_layout="NHWC",
        kernel_layout="HWIO",
    )  # fmt: skip
    layer = relay.qnn.op.requantize(sums, scale, zero, relay.const(30.0), zero, out_dtype="uint8")
    pooled = relay.nn.max_pool2d(layer, (3, 3), (2, 2), padding=(1, 1, 1, 1), layout="NHWC")
    network = tvm.IRModule.from_expr(relay.Function([x], pooled))
    sample = {"x": np.random.default_rng(2).integers(0, 256, (1, 15, 13, 8)).astype(np.uint8)}
    alone = match.compile(network, stm32h743, numerics="exact", fuse=False)
    (expected,) = alone.run(sample).values()
    assert len(np.unique(expected)) > 20
    for l1 in (None, 3000):
        fused = match.compile(network, stm32h743, numerics="exact", objective="bytes", l1=l1)
        (chain,) = [item for item in fused.layers if item.op == "conv2d+max_pool2d"]
        assert chain.module == "cortex_m7"
        (output,) = fused.run(sample, sanitize=True).values()
        assert np.array_equal(output, expected)
