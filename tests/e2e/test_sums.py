"""Layers whose int32 sums are their outputs: on modules that hand them out, tiled in every way, against NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import match
from match.analysis.trace import LayerTrace
from match.dispatch.plan import LayerDecision
from match.relay import relay, tvm
from tests.e2e.tflite_arithmetic import conv2d

pytestmark = pytest.mark.cc

RNG = np.random.default_rng(11)
FILTERS = RNG.integers(-128, 128, (24, 3, 3, 40)).astype(np.int8)
POINTWISE = RNG.integers(-128, 128, (20, 1, 1, 40)).astype(np.int8)
HEAD = RNG.integers(-128, 128, (70, 200)).astype(np.int8)


def network() -> tvm.IRModule:
    """A padded convolution with a stride, a pointwise one, and a dense layer of two rows."""
    x = relay.var("x", shape=(1, 13, 11, 40), dtype="uint8")
    v = relay.var("v", shape=(2, 200), dtype="uint8")

    def conv(weights: npt.NDArray[np.int8], **attributes: object) -> relay.Expr:
        return relay.nn.conv2d(
            x,
            relay.const(np.ascontiguousarray(weights.transpose(1, 2, 3, 0))),
            channels=weights.shape[0],
            kernel_size=weights.shape[1:3],
            data_layout="NHWC",
            kernel_layout="HWIO",
            out_dtype="int32",
            **attributes,
        )

    windowed = conv(FILTERS, strides=(2, 1), padding=(1, 1, 1, 1))
    dense = relay.nn.dense(v, relay.const(HEAD), out_dtype="int32")
    return tvm.IRModule.from_expr(relay.Function([x, v], relay.Tuple([windowed, conv(POINTWISE), dense])))


def traced(layer: LayerDecision, compiled: match.CompiledModel) -> LayerTrace:
    assert layer.plan is not None
    return LayerTrace(layer.plan.symbol, compiled.simulate(layer).actions)


@pytest.mark.parametrize("l1", [None, 16384, 5120])
def test_sums_equal_numpy_and_their_simulation(l1: int | None) -> None:
    compiled = match.compile(network(), "gap9", modules=["cluster"], l1=l1, fuse=False)
    assert [layer.module for layer in compiled.layers] == ["cluster"] * 3
    x = RNG.integers(0, 256, (1, 13, 11, 40)).astype(np.uint8)
    v = RNG.integers(0, 256, (2, 200)).astype(np.uint8)
    outputs, traces = compiled.trace({"x": x, "v": v}, sanitize=True)
    wide = x[0].astype(np.int64)
    expected = [
        conv2d(wide, FILTERS.astype(np.int64), np.zeros(24, np.int64), 0, (2, 1), (1, 1, 1, 1)),
        conv2d(wide, POINTWISE.astype(np.int64), np.zeros(20, np.int64), 0, (1, 1), (0, 0, 0, 0)),
        v.astype(np.int64) @ HEAD.T.astype(np.int64),
    ]
    for output, wanted in zip(outputs.values(), expected, strict=True):
        assert output.dtype == np.int32
        assert np.array_equal(output.reshape(wanted.shape), wanted)
    assert sorted(traces, key=lambda trace: trace.symbol) == sorted(
        (traced(layer, compiled) for layer in compiled.layers), key=lambda trace: trace.symbol
    )
    if l1 == 5120:
        schedules = [layer.plan.schedule for layer in compiled.layers if layer.plan]
        assert any(schedule.partial_bytes for schedule in schedules), "input channels are cut, too"


def test_modules_that_requantize_refuse_them() -> None:
    compiled = match.compile(network(), "gap9", modules=["ne16"])
    assert {layer.module for layer in compiled.layers} == {"cpu"}
    refusals = {layer.candidates[0].refusal for layer in compiled.layers}
    assert refusals == {"its outputs are sums of 32 bits and ne16 hands out 8 bits"}


@pytest.mark.parametrize(
    "name",
    ["anomaly_detection", "keyword_spotting", pytest.param("visual_wake_words", marks=pytest.mark.sweep)],
)
def test_heads_of_integer_networks(name: str, models_dir: Path) -> None:
    """Their last layer has no requantization; that they compute the right integers is tested where they are read."""
    compiled = match.compile(models_dir / f"{name}.onnx", "gap9", modules=["cluster"])
    weighted = [layer for layer in compiled.layers if layer.macs]
    assert weighted[-1].op == "dense"
    assert {layer.module for layer in weighted} == {"cluster"}
