"""Weights that fit fewer than 8 bits: NE16 stores and multiplies as many as they need."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import numpy_helper

import match
from match.compiled.model import CompiledModel
from match.dispatch.plan import LayerPlan
from tests.devtools.zoo.reference import run
from tests.passes.onnx_models import OnnxModel, expose_integers, quantize

pytestmark = pytest.mark.cc


def network() -> OnnxModel:
    """Convolutions with each of NE16's filters, one of them in groups."""
    model = OnnxModel((1, 24, 12, 12))
    model.conv(32, pads=[1, 1, 1, 1])
    model.add("Relu")
    model.conv(32, (1, 1))
    model.conv(32, group=32, pads=[1, 1, 1, 1])
    model.conv(32, group=2, pads=[1, 1, 1, 1], strides=[2, 2])
    return model


def narrowed(path: Path, bits: int) -> Path:
    """The file with the upper bits of its weights alone, in larger steps, so that numbers stay as large."""
    model = onnx.load(path)
    values = {one.name: one for one in model.graph.initializer}
    factor = 1 << (8 - bits)
    for node in model.graph.node:
        if node.op_type != "DequantizeLinear" or node.input[0] not in values:
            continue
        levels, scales = (numpy_helper.to_array(values[name]) for name in node.input[:2])
        if levels.dtype == np.int8 and levels.ndim < 2:
            continue
        replaced: list[npt.NDArray[np.generic]] = [levels // factor, scales * np.float32(factor)]
        for name, array in zip(node.input[:2], replaced, strict=True):
            values[name].CopyFrom(numpy_helper.from_array(array, name))
    written = path.with_name(f"{path.stem}_{bits}.onnx")
    onnx.save(model, written)
    return written


def compiled(path: Path, *, fuse: bool) -> CompiledModel:
    """The network, whose C computes onnxruntime's numbers."""
    result = match.compile(path, "gap9", numerics="exact", cache=False, fuse=fuse)
    samples = np.random.default_rng(1).normal(0, 1, (2, 1, 24, 12, 12)).astype(np.float32)
    for found, right in zip(result.run({"x": samples}).values(), run(onnx.load(path), samples), strict=True):
        np.testing.assert_array_equal(found, right)
    return result


def on_ne16(result: CompiledModel) -> dict[str, LayerPlan]:
    """The plans of layers on NE16, by operator."""
    return {one.op: one.plan for one in result.layers if one.module == "ne16" and one.plan is not None}


def test_weights_have_as_many_bits_as_they_need(tmp_path: Path) -> None:
    path = quantize(network(), tmp_path, "QDQ", "QInt8", per_channel=True)
    wide, narrow = (compiled(expose_integers(narrowed(path, bits)), fuse=False) for bits in (8, 4))
    before, after = on_ne16(wide), on_ne16(narrow)
    assert after["depthwise_conv2d"].layer.weight_bits == 8
    for op in ("conv2d", "grouped_conv2d"):
        assert (before[op].layer.weight_bits, after[op].layer.weight_bits) == (8, 4)
        assert len(after[op].constants) < 0.75 * len(before[op].constants)
    reported = {layer.op: layer.weight_bits for layer in narrow.report.layers if layer.module == "ne16"}
    assert (reported["conv2d"], reported["depthwise_conv2d"]) == (4, 8)
    assert sum(one.cycles for one in narrow.layers) < sum(one.cycles for one in wide.layers)


def test_weights_of_chains_have_their_own_bits(tmp_path: Path) -> None:
    path = quantize(network(), tmp_path, "QDQ", "QInt8", per_channel=True)
    result = compiled(narrowed(path, 3), fuse=True)
    plans = [layer.plan for layer in result.layers if layer.plan and layer.plan.layer.fused]
    bits = {
        (stage.op, stage.weight_bits)
        for plan in plans
        for stage, own in zip(plan.layer.operators, plan.operators, strict=True)
        if (own.unit.name if own.unit else plan.module) == "ne16" and stage.weight_dtype
    }
    assert {("conv2d", 3), ("depthwise_conv2d", 8)} <= bits
    assert {layer.weight_bits for layer in result.report.layers if layer.operators} == {None}
    reported = {(one.op, one.weight_bits) for layer in result.report.layers for one in layer.operators}
    assert reported >= bits
