"""The pattern table of each module: TVM cuts by it what the compiler gives the module without choice."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import match
from match.byoc.qnn import PATTERNS
from match.byoc.tables import TableName
from match.compilation.options import Numerics
from match.devtools import zoo
from match.relay import relay, tvm
from match.target.registry import get_target, target_names
from tests.byoc.cuts import composites, decided, differences, imported
from tests.byoc.examples import EXAMPLES, MAP, convolution, module_of, requantized
from tests.e2e.test_diana import integer_network

pytestmark = pytest.mark.tvm

NETWORKS = Path(__file__).resolve().parents[1] / "tflite" / "networks"
CLUSTER, NE16, CORE = "match.gap9.cluster", "match.gap9.ne16.exact", "match.gap9.core"


def test_tables_are_there_after_one_call() -> None:
    """In a process of its own, which has not asked for any before."""
    program = (
        "import match, sys\nassert 'tvm' not in sys.modules\nfrom tvm.relay.op.contrib import get_pattern_table\n"
        "assert get_pattern_table('match.gap9.cluster') is None\nprint(*match.register('gap9'))\n"
        "print(len(get_pattern_table('match.gap9.cluster')), len(get_pattern_table('match.gap9.ne16.exact')))\n"
        "print(get_pattern_table('match.gap8.cluster'))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    names, sizes, other = done.stdout.splitlines()
    assert names.split() == [CLUSTER, f"{CLUSTER}.exact", "match.gap9.ne16", NE16, CORE, f"{CORE}.exact"]
    cluster, ne16 = map(int, sizes.split())
    assert cluster > ne16 > 3
    assert other == "None"


def test_names_of_tables() -> None:
    for numerics in Numerics:
        name = TableName("gap9", "cluster", numerics)
        assert TableName.of_composite(f"{name.text}.conv2d") == name
    assert TableName.of_composite("match.conv2d") is None


@pytest.mark.parametrize("target", ["nothing", 3, get_target("gap9")])
def test_other_targets_are_refused(target: object) -> None:
    with pytest.raises(match.MatchError, match=r"no target 'nothing'|give that of an installed one"):
        match.register(target)  # type: ignore[arg-type]


def test_names_with_dots_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    chip = get_target("gap8")
    chip.name = "gap.8"
    monkeypatch.setattr("match.byoc.register.get_target", lambda _: chip)
    with pytest.raises(match.TargetError, match=r"'gap\.8' has one"):
        match.register("gap.8")


def test_a_table_has_what_its_module_has() -> None:
    for target in target_names():
        match.register(target)
        for module in get_target(target).modules:
            operators = {pattern.op for pattern in module.patterns()}
            table = relay.op.contrib.get_pattern_table(f"match.{target}.{module.name}")
            names = [name.rpartition(".")[2] for name, _, _ in table]
            assert names == [pattern.name for pattern in PATTERNS if pattern.operators & operators]


MLPERF = {
    "ad01_int8.tflite": (10, {"lookup": 2}),
    "kws_ref_model.tflite": (12, {"lookup": 1}),
    "pretrainedResnet_quant.tflite": (15, {"lookup": 1}),
    "vww_96_int8.tflite": (30, {"lookup": 1}),
    "anomaly_detection.onnx": (10, {}),
    "keyword_spotting.onnx": (11, {}),
    "visual_wake_words.onnx": (29, {"transpose": 1}),
}
"""Composites for the cluster, and what else the compiler gives it: conversions at the network's inputs and outputs."""


def slow(names: Iterable[str], *large: str) -> list[Any]:
    """Names of networks, the large ones in the slow tier."""
    return [pytest.param(name, marks=pytest.mark.sweep) if name in large else name for name in names]


@pytest.mark.parametrize("name", slow(MLPERF, "vww_96_int8.tflite", "visual_wake_words.onnx"))
def test_mlperf_tiny_on_the_cluster(name: str, models_dir: Path) -> None:
    module, (count, conversions) = imported(models_dir / name), MLPERF[name]
    assert len(composites(module, CLUSTER)) == count
    assert differences(module, CLUSTER) == (conversions, {})


@pytest.mark.parametrize("name", slow(MLPERF, "vww_96_int8.tflite", "visual_wake_words.onnx"))
def test_mlperf_tiny_on_ne16(name: str, models_dir: Path) -> None:
    """Which converts nothing itself."""
    module = imported(models_dir / name)
    assert len(composites(module, NE16)) >= 9
    assert differences(module, NE16) == ({}, {})


TENSORFLOW = {
    "deeplab": {"lookup": 2, "concatenate": 2},
    "mobilenet_v3": {"lookup": 1},
    "squeezenet": {"lookup": 1},
    "super_resolution": {"lookup": 2, "transpose": 1},
    "unet": {"lookup": 1, "gather": 1},
    "yolo": {"lookup": 3},
}
"""What else the compiler gives the cluster: conversions, and a pattern's further operators.

A concatenation of several tensors is one for each pair, a map is enlarged along one axis after the other, and channels
that become pixels are transposed.
"""


@pytest.mark.parametrize("name", slow(TENSORFLOW, "deeplab", "mobilenet_v3", "yolo"))
def test_networks_from_tensorflow(name: str) -> None:
    module = imported(NETWORKS / f"{name}.tflite")
    assert differences(module, CLUSTER) == (TENSORFLOW[name], {})
    assert differences(module, NE16) == ({}, {})


def test_transposed_convolutions_are_several_operators() -> None:
    """A convolution and moves of what it computes."""
    module = imported(NETWORKS / "unet_transposed.tflite")
    assert differences(module, NE16) == ({"conv2d": 2}, {"conv2d_transpose": 2})


def test_onnx_networks_by_their_integers(tmp_path: Path) -> None:
    """As TVM's FakeQuantizationToInteger writes them, channels first, as the mean is that the control core computes."""
    onnx.save(zoo.build("resnet8"), tmp_path / "resnet8.onnx")
    module = imported(tmp_path / "resnet8.onnx")
    assert differences(module, CLUSTER) == ({"transpose": 2}, {})
    assert differences(module, NE16) == ({}, {})
    assert len(composites(module, NE16)) == 10


def test_what_operators_before_compute_is_not_known(tmp_path: Path) -> None:
    """DIANA's accelerator reads int8; uint8 up to 127 are known as such in the network alone."""
    onnx.save(integer_network().model(), tmp_path / "network.onnx")
    module = imported(tmp_path / "network.onnx")
    assert differences(module, "match.diana.digital.exact") == ({"conv2d": 1, "depthwise_conv2d": 1, "dense": 1}, {})
    assert len(composites(module, "match.diana.digital.exact")) == 3


def typed(build: Callable[..., relay.Expr], *extents: tuple[int, ...], dtype: str = "int8") -> tvm.IRModule:
    inputs = [relay.var(f"x{index}", shape=each, dtype=dtype) for index, each in enumerate(extents)]
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function(inputs, build(*inputs))))


def depthwise(x: relay.Expr, size: int, stride: int = 1, weights: relay.Expr | None = None) -> relay.Expr:
    """A depthwise convolution of 16 channels, requantized."""
    rng, zero = np.random.default_rng(1), relay.const(0, "int32")
    filters = relay.const(rng.integers(-9, 10, (size, size, 16, 1)).astype(np.int8)) if weights is None else weights
    layouts = {"data_layout": "NHWC", "kernel_layout": "HWOI"}
    scales = relay.const(0.5), relay.const(0.25)
    sums = relay.qnn.op.conv2d(
        x, filters, zero, zero, *scales, (size, size), 16, strides=(stride, stride), groups=16, **layouts
    )
    return relay.qnn.op.requantize(sums, relay.const(0.125), zero, relay.const(2.0), zero, axis=3, out_dtype="int8")


@pytest.mark.parametrize(("size", "stride", "taken"), [(3, 1, True), (3, 2, True), (5, 1, False), (3, 3, False)])
def test_the_module_is_asked(size: int, stride: int, taken: bool) -> None:
    """NE16 has depthwise filters of 3x3 alone, at strides of 1 and 2."""
    module = typed(lambda x: depthwise(x, size, stride), (1, 9, 9, 16))
    assert [name for name, _ in composites(module, NE16)] == ["conv2d"] * taken
    assert [name for name, _ in composites(module, CLUSTER)] == ["conv2d"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_taken(name: str) -> None:
    found = [pattern for pattern, _ in composites(module_of(name), f"{CLUSTER}.exact")]
    assert found == ([name, "requantize"] if name == "avg_pool2d" else [name])


def test_every_pattern_has_an_example() -> None:
    assert {pattern.name for pattern in PATTERNS} == set(EXAMPLES)


def test_operators_without_a_pattern() -> None:
    """What TVM's front ends do not write as one shape, and forms of int16, which they do not read."""
    known = {operator for pattern in PATTERNS for operator in pattern.operators}
    modules = [module for name in target_names() for module in get_target(name).modules]
    without = {pattern.op for module in modules for pattern in module.patterns()} - known
    recurrent, wide = {"lstm", "gru", "gru_reset_first"}, {"requantize", "leaky_relu", "logistic", "tanh"}
    assert without == recurrent | wide | {"squared_difference", "normalize", "log_softmax", "dequantize_sums"}


def test_nothing_but_conversions_stays_on_the_core() -> None:
    """NE16 pads with any number: padding with the map's own elements is left to TVM, and the convolution taken."""

    def padded(value: int, mode: str = "constant") -> tvm.IRModule:
        def build(x: relay.Expr) -> relay.Expr:
            widths = (0, 0), (1, 1), (1, 1), (0, 0)
            return requantized(convolution(relay.nn.pad(x, widths, relay.const(value, "int8"), mode)), 3)

        return typed(build, MAP)

    assert [name for name, _ in composites(padded(3), NE16)] == ["padded_conv2d"]
    assert [name for name, _ in composites(padded(0), NE16)] == ["padded_conv2d"]
    assert [name for name, _ in composites(padded(0, "reflect"), NE16)] == ["conv2d"]


def test_weights_are_constants() -> None:
    """Those that another part of the network computes are none."""
    module = typed(lambda x, weights: depthwise(x, 3, weights=weights), (1, 9, 9, 16), (3, 3, 16, 1))
    assert composites(module, CLUSTER) == []


def test_averages_of_plain_integers_stay_with_tvm() -> None:
    """It rounds them towards zero, and TFLite, which is meant by QNN operators, to the nearest."""

    def average(x: relay.Expr) -> relay.Expr:
        return relay.cast(relay.nn.avg_pool2d(relay.cast(x, "int32"), (4, 4), layout="NHWC"), "int8")

    assert composites(typed(average, (1, 8, 8, 16)), CLUSTER) == []
    found = composites(typed(lambda x: average(depthwise(x, 3)), (1, 8, 8, 16)), CLUSTER)
    assert sorted(name for name, _ in found) == ["avg_pool2d", "conv2d"]


def test_off_core_is_on_a_module_whatever_it_costs() -> None:
    """A small table, which the control core has sooner than the cluster starts."""
    module = typed(lambda x: relay.clip(x, 0, 9), (1, 16))
    name = TableName("gap9", "cluster", Numerics.EXACT)
    for modules in (None, ["cluster"]):
        (choice,) = match.predict(module, "gap9", modules=modules, jobs=1).layers
        assert choice.module == "cpu"
    assert {one.module for one in decided(module, name)} == {"cluster"}


def test_functions_between_dequantize_and_quantize() -> None:
    """Functions of one tensor are found, however often they read it; those of two are none."""
    ends = relay.const(0.05), relay.const(3)

    def real(x: relay.Expr) -> relay.Expr:
        return relay.qnn.op.dequantize(x, *ends)

    def swish(x: relay.Expr) -> relay.Expr:
        y = real(x)
        return relay.qnn.op.quantize(relay.multiply(y, relay.sigmoid(y)), *ends, out_dtype="int8")

    def gate(x: relay.Expr, y: relay.Expr) -> relay.Expr:
        return relay.qnn.op.quantize(relay.multiply(real(x), relay.sigmoid(real(y))), *ends, out_dtype="int8")

    assert [name for name, _ in composites(typed(swish, (1, 16)), CLUSTER)] == ["real_function"]
    found = Counter(name for name, _ in composites(typed(gate, (1, 16), (1, 16)), CLUSTER))
    assert found == {"dequantize": 2, "quantize": 1}
