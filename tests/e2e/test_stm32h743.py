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
from match.devtools.check import check_target
from match.ir.requantization import Requantization
from match.relay import integer_form, relay, tvm
from match.target.hardware import MatchTarget
from tests.e2e import tflite_network

pytestmark = pytest.mark.cc

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "stm32h743"
SAMPLES = 3

_KINDS = "convolution", "dense", "output", "add", "element", "other"


@pytest.fixture(scope="module")
def stm32h743() -> Iterator[MatchTarget]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(EXAMPLE)
        target = import_module("stm32h743.target").Stm32h743()
        target.cpu_cost_model = RiscvCoreCost(**dict.fromkeys(_KINDS, 1e6))  # so that kernels get all they can take
        yield target


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("pretrainedResnet_quant", {"lookup": 1, "conv2d": 9, "add": 3, "avg_pool2d": 1, "dense": 1}),
        ("kws_ref_model", {"lookup": 1, "conv2d": 5, "depthwise_conv2d": 4, "avg_pool2d": 1, "dense": 1}),
        pytest.param(
            "vww_96_int8",
            {"lookup": 1, "conv2d": 14, "depthwise_conv2d": 13, "avg_pool2d": 1, "dense": 1},
            marks=pytest.mark.sweep,
        ),
        pytest.param("ad01_int8", {"lookup": 1, "dense": 10}, marks=pytest.mark.sweep),
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
    compiled = match.compile(model, stm32h743, numerics="exact", modules=["tcm"])
    outputs = compiled.run({network.tensors[network.input].name: inputs}, sanitize=True)
    assert np.array_equal(next(iter(outputs.values())), tflite_network.run_micro(model, inputs))
    assert Counter(layer.op for layer in compiled.layers if layer.module == "tcm") == taken


def test_layers_of_every_pattern_equal_tvm(stm32h743: MatchTarget) -> None:
    """As the example's own tests have it, which the sweep installs and runs."""
    check = check_target(stm32h743)
    assert check.problems == ()
    assert all(coverage.taken for coverage in check.coverage)
    assert {"gate", "conv2d+max_pool2d"} <= {coverage.op for coverage in check.coverage}


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
    alone = match.compile(network, stm32h743, numerics="exact", fuse=False, modules=["tcm"])
    (expected,) = alone.run(sample).values()
    assert len(np.unique(expected)) > 20
    for l1 in (None, 3000):
        fused = match.compile(network, stm32h743, numerics="exact", objective="bytes", l1=l1, modules=["tcm"])
        (chain,) = [item for item in fused.layers if item.op == "conv2d+max_pool2d"]
        assert chain.module == "tcm"
        (output,) = fused.run(sample, sanitize=True).values()
        assert np.array_equal(output, expected)


@pytest.mark.parametrize("l1", [None, 1800])
def test_its_own_operator_is_a_layer_like_any_other(stm32h743: MatchTarget, l1: int | None) -> None:
    """The gate, in tiles and whole: the definition's outputs, and the trace that was predicted."""
    rng = np.random.default_rng(3)
    shape, f, line = (1, 9, 7, 12), rng.integers(0, 256, 256), (3 << 20, 1 << 27, 28)
    a, b = (relay.var(name, shape=shape, dtype="uint8") for name in ("a", "b"))
    requantization = Requantization(*(np.array([number]) for number in line), clip=(5, 240))
    output = integer_form.multiply(a, integer_form.lookup(b, f, "uint8", "uint8"), (90, 7), requantization, "uint8")
    compiled = match.compile(tvm.IRModule.from_expr(relay.Function([a, b], output)), stm32h743, l1=l1)
    (layer,) = compiled.layers
    assert (layer.name, layer.op, layer.module, layer.candidates[-1].module) == ("gate_0", "gate", "tcm", "cpu")
    values = {name: rng.integers(0, 256, shape).astype(np.uint8) for name in ("a", "b")}
    outputs, (trace,) = compiled.trace(values, sanitize=True)
    product = (values["a"].astype(np.int64) - 90) * (f[values["b"]] - 7)
    expected = np.clip((product * line[0] + line[1]) >> line[2], 5, 240)
    assert np.array_equal(next(iter(outputs.values())), expected)
    assert len(np.unique(expected)) > 100
    assert layer.plan is not None
    assert trace.actions == compiled.simulate(layer).actions
    assert sum(action.tile is not None for action in trace.actions) > 1


def test_what_its_own_operator_does_not_know_stays(stm32h743: MatchTarget) -> None:
    """A gate for each channel, and one whose table something else reads."""
    line = Requantization(*(np.array([number]) for number in (3 << 20, 1 << 27, 28)), clip=(0, 255))
    a = relay.var("a", shape=(1, 9, 7, 12), dtype="uint8")
    for shape, shared in [((1, 1, 1, 12), False), ((1, 9, 7, 12), True)]:
        b = relay.var("b", shape=shape, dtype="uint8")
        table = integer_form.lookup(b, np.arange(256)[::-1], "uint8", "uint8")
        product = integer_form.multiply(a, table, (90, 7), line, "uint8")
        network = relay.Function([a, b], relay.Tuple([product, table]) if shared else product)
        compiled = match.compile(tvm.IRModule.from_expr(network), stm32h743)
        assert "gate" not in {layer.op for layer in compiled.layers}
