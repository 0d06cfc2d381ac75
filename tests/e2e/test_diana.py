"""Networks on DIANA: scales that are powers of two run on the accelerator, all others stay exact on the core."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto

import match
from match.codegen.layer import generate
from match.relay import relay, tvm
from match.target.operands import WEIGHTS
from tests.e2e import tflite_network
from tests.e2e.random_layers import LayerCase
from tests.e2e.tflite_arithmetic import Array
from tests.frontend import integer_reference
from tests.frontend.test_integer_onnx import Network
from tests.package.test_architecture import PROJECT
from tests.sampled import sampled

pytestmark = pytest.mark.cc

MODELS = ("pretrainedResnet_quant", "vww_96_int8", "kws_ref_model", "ad01_int8")
SHAPE = (1, 20, 20, 8)


def case(op: str, c: int, k: int, size: int = 1, side: int = 1, stride: int = 1, activation: str = "relu") -> LayerCase:
    """A layer with zero points of 0 whose scales are powers of two."""
    pad = side // 2
    return LayerCase(
        op,
        c,
        k,
        size,
        size,
        (side, side),
        (stride, stride),
        (pad, pad, pad, pad),
        input_zero_point=0,
        output_zero_point=0,
        activation=activation,
        seed=c * k + side,
        power_of_two=True,
    )


STEM = case("conv2d", 8, 16, 20, side=5)
INNER = case("conv2d", 16, 16, 20, side=3)
SUM = case("add", 16, 16, 20)
DEPTHWISE = case("depthwise", 16, 16, 20, side=3, stride=2)
POINTWISE = case("conv2d", 16, 24, 10)
HEAD = case("dense", 2400, 20)
SMALL_HEAD = case("dense", 2400, 10)


def network(head: LayerCase = HEAD) -> tvm.IRModule:
    """A stem, a residual block, a separable convolution and a head."""
    x = relay.var("x", shape=SHAPE, dtype="int8")
    stem = STEM.relay(x)
    joined = SUM.relay(stem, INNER.relay(stem))
    narrow = POINTWISE.relay(DEPTHWISE.relay(joined))
    return tvm.IRModule.from_expr(relay.Function([x], head.relay(relay.reshape(narrow, (1, 2400)))))


def by_definition(x: npt.NDArray[np.int8], head: LayerCase = HEAD) -> Array:
    """The network's output, layer by layer in NumPy."""

    def apply(layer: LayerCase, *inputs: Array) -> Array:
        return layer.reference(*(value.astype(np.int8) for value in inputs))

    stem = apply(STEM, x.astype(np.int64))
    joined = apply(SUM, stem, apply(INNER, stem))
    narrow = apply(POINTWISE, apply(DEPTHWISE, joined))
    return apply(head, narrow.reshape(1, 2400))


def run(compiled: match.CompiledModel, samples: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return next(iter(compiled.run({compiled.report.model.inputs[0].name: samples}, sanitize=True).values()))


def refusals(compiled: match.CompiledModel) -> list[str | None]:
    """What the accelerator said to each layer."""
    return [
        candidate.refusal
        for layer in compiled.layers
        for candidate in layer.candidates
        if candidate.module == "digital" and layer.macs
    ]


def on_accelerator(compiled: match.CompiledModel) -> Sequence[str]:
    return [layer.op for layer in compiled.layers if layer.module == "digital"]


@pytest.mark.parametrize("l1", [None, 24576, 6144])
def test_powers_of_two_run_on_the_accelerator(l1: int | None) -> None:
    compiled = match.compile(network(), "diana", l1=l1, numerics="exact")
    assert on_accelerator(compiled) == ["conv2d", "conv2d", "add", "depthwise_conv2d", "conv2d", "dense"]
    # Into the accelerator's layout and out of it once: the head reads vectors, so that what it reads is laid out anew.
    on_core = [layer for layer in compiled.layers if layer.module == "cpu"]
    assert [layer.op for layer in on_core] == ["layout", "layout", "reshape", "layout", "layout"]
    assert [layer.outputs for layer in on_core] == [8 * 20 * 32, 2400, 2400, 2400, 20]
    assert compiled.report.totals.inexact_layers == 0
    samples = np.random.default_rng(1).integers(-128, 128, (4, *SHAPE)).astype(np.int8)
    expected = [by_definition(sample) for sample in samples]
    assert np.array_equal(run(compiled, samples), expected)
    assert len(np.unique(expected)) > 10


def test_conversions_count_in_the_choice() -> None:
    """Alone the small head takes a tenth on the accelerator; with its vectors laid out anew it takes longer."""
    compiled = match.compile(network(SMALL_HEAD), "diana", numerics="exact")
    head = compiled.layers[-1]
    assert (head.op, head.module) == ("dense", "cpu")
    accelerator = next(c.cost for c in head.candidates if c.module == "digital")
    assert accelerator is not None
    assert 10 * accelerator.cycles < head.cycles
    conversions = 20 * (2400 + 10) + 2 * 25
    assert head.runner_up is not None
    assert head.runner_up.module == "digital"
    assert head.runner_up.cost == compiled.cycles - head.cycles + accelerator.cycles + conversions
    sample = np.random.default_rng(1).integers(-128, 128, SHAPE).astype(np.int8)
    assert np.array_equal(run(compiled, sample), by_definition(sample, SMALL_HEAD))
    page = (PROJECT / "docs" / "choice.md").read_text(encoding="utf-8")
    table = page.partition("| layer | module | predicted cycles | runner-up | network then |\n")[2].partition("\n\n")[0]
    for line in table.splitlines()[1:]:
        name, module, cycles, other, then = (cell.strip().strip("`") for cell in line.strip("|").split("|"))
        if name == "all":
            assert cycles == f"{compiled.cycles:,.0f}"
            continue
        layer = compiled.layers[name]
        assert (module, cycles) == (layer.module, f"{layer.cycles:,.0f}")
        if layer.runner_up and other:
            assert (other, then) == (layer.runner_up.module, f"{layer.runner_up.cost:,.0f}")
    assert (
        f"takes {accelerator.cycles:,.0f} cycles on the accelerator and {head.cycles:,.0f} on the control core" in page
    )


def integer_network() -> Network:
    """What a network trained for DIANA exports: divisions by powers of two that round down, ReLUs to 0..127."""
    net = Network((1, 3, 16, 16), TensorProto.INT8)

    def layer(*shape: int, shift: int, low: int, **attributes: Any) -> str:
        net.add("Conv", net.weights(*shape), net.rng.integers(-9999, 9999, shape[0]).astype(np.float32), **attributes)
        return finish(shift, low)

    def finish(shift: int, low: int) -> str:
        net.add("Div", np.float32(2**shift))
        net.add("Floor")
        return net.add("Clip", min=float(low), max=127.0)

    stem = layer(16, 3, 3, 3, shift=9, low=-128, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    inner = layer(16, 16, 3, 3, shift=10, low=-128, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    net.add("Add", inputs=[stem, inner])
    finish(shift=1, low=0)
    layer(16, 1, 5, 5, shift=8, low=0, kernel_shape=[5, 5], strides=[2, 2], pads=[2, 2, 2, 2], group=16)
    layer(20, 16, 1, 1, shift=8, low=0, kernel_shape=[1, 1])
    net.add("Flatten")
    net.add("Gemm", net.weights(40, 1280), net.rng.integers(-99, 99, 40).astype(np.float32), transB=1)
    finish(shift=13, low=-128)
    return net


def test_networks_made_of_shifts_run_on_the_accelerator(tmp_path: Path) -> None:
    """Without an activation too, and with sums that are halved: everything that the output stage computes itself."""
    proto = integer_network().model()
    onnx.save(proto, tmp_path / "network.onnx")
    compiled = match.compile(tmp_path / "network.onnx", "diana", l1=16384, numerics="exact")
    assert on_accelerator(compiled) == ["conv2d", "conv2d", "add", "depthwise_conv2d", "conv2d", "dense"]
    samples = np.random.default_rng(3).integers(-128, 128, (3, 1, 3, 16, 16)).astype(np.int8)
    outputs = run(compiled, samples)
    for sample, output in zip(samples, outputs, strict=True):
        (expected,) = integer_reference.run(proto, {"input": sample}).values()
        assert np.array_equal(output, expected)
    assert len(np.unique(outputs)) > 10


def test_weights_lie_in_their_own_memory(tmp_path: Path) -> None:
    """A layer that needs more than all of L1 for activations and weights together, and fits both memories."""
    compiled = match.compile(network(), "diana", numerics="exact", output=tmp_path / "project")
    (stem,) = (tmp_path / "project" / "src").glob("00_conv2d.c")
    text = stem.read_text()
    assert "WEIGHTS = 2,\n    BLOCKS = 3," in text, "the last of the blocks"
    assert ".weights = 1," in text
    shared = (tmp_path / "project" / "runtime" / "match_on_digital.c").read_text()
    condition = r"if \(i >= layer->count - layer->weights\) \{"
    assert re.search(
        condition + r"\s+return match_diana_weight_alloc\(layer->bytes\[i\]\);\s+\}\s+return match_diana_l1_alloc",
        shared,
    )
    assert re.search(condition + r"\s+match_diana_weight_free\(block\);\s+return;\s+\}\s+match_diana_l1_free", shared)
    plan = next(layer.plan for layer in compiled.layers if layer.plan)
    assert f"tile.shift = {plan.shift};" in text


def test_both_buffers_of_weights_lie_in_their_own_memory() -> None:
    """A layer whose weights are cut in output channels, and fetched for the next ones while the first are in use."""
    layer = case("conv2d", 128, 128, 8, side=3)
    x = relay.var("x", shape=(1, 8, 8, 128), dtype="int8")
    module = tvm.IRModule.from_expr(relay.Function([x], layer.relay(x)))
    (plan,) = (layer.plan for layer in match.compile(module, "diana", numerics="exact").layers if layer.plan)
    memory = plan.schedule.memories[-1]
    schedule = replace(
        plan.schedule,
        memories=(replace(memory, private=((WEIGHTS, 2 * dict(memory.private)[WEIGHTS]),)),),
        placements=tuple(
            replace(placement, buffers=2) if placement.operand == WEIGHTS else placement
            for placement in plan.schedule.placements
        ),
    )
    text = generate(replace(plan, schedule=schedule))
    assert "WEIGHTS = 2,\n    BLOCKS = 4," in text, "the last two of the blocks"
    assert ".weights = 2," in text


def test_shifts_within_a_step_are_reported() -> None:
    """Without an activation TFLite rounds the ties of negative sums down, and a shift rounds them up."""
    layer = case("conv2d", 8, 12, 16, side=3, activation="none")
    x = relay.var("x", shape=(1, 16, 16, 8), dtype="int8")
    module = tvm.IRModule.from_expr(relay.Function([x], layer.relay(x)))
    samples = np.random.default_rng(2).integers(-128, 128, (20, 1, 16, 16, 8)).astype(np.int8)
    expected = np.stack([layer.reference(sample) for sample in samples])

    exact = match.compile(module, "diana", numerics="exact")
    assert on_accelerator(exact) == []
    (refused,) = refusals(exact)
    assert (refused or "").startswith("digital would be off by one step for 0.")
    assert np.array_equal(run(exact, samples), expected)

    hardware = match.compile(module, "diana", numerics="hardware")
    assert on_accelerator(hardware) == ["conv2d"]
    (reported,) = (row.requantization for row in hardware.report.layers if row.module == "digital")
    assert reported is not None
    assert (reported.form, reported.exact, reported.max_step) == ("shift", False, 1)
    distance = np.abs(run(hardware, samples) - expected)
    assert distance.max() == 1
    assert 0 < np.mean(distance) < 3 * reported.share


@pytest.mark.parametrize("name", sampled(MODELS, {*MODELS} - {"vww_96_int8"}))
def test_tflite_networks_stay_exact(name: str, models_dir: Path) -> None:
    path = models_dir / f"{name}.tflite"
    original = tflite_network.read(path)
    shape = original.tensors[original.input].shape
    samples = np.random.default_rng(7).integers(-128, 128, (10, *shape)).astype(np.int8)
    compiled = match.compile(path, "diana", numerics="exact")
    assert np.array_equal(run(compiled, samples), tflite_network.run_micro(path, samples))
    assert refusals(compiled)
    assert all(refusals(compiled))
