"""Convolutions of volumes, quantized by onnxruntime, against onnxruntime: every output, from two-dimensional layers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from match.frontend import load
from match.frontend.onnx_as_relay import relay_of
from match.frontend.relay import from_relay
from match.ir.layer import Op
from match.passes.pipeline import integer_network
from match.relay import relay
from match.relay.graph import post_order
from match.relay.rewrite import operator_name
from match.validation.exact_session import exact_session
from tests.integer_relay import integer_relay
from tests.passes.one_operator import distances, integers, quantized, references
from tests.passes.onnx_models import OnnxModel, quantize
from tests.passes.running import executable, written

pytestmark = pytest.mark.tvm

SHAPE = (1, 2, 6, 7, 5)


def filters(model: OnnxModel, count: int, window: tuple[int, int, int], *, bias: bool, **attributes: Any) -> None:
    values = model.rng.normal(0, 0.2, (count, model.channels, *window))
    parameters = [model.constant(values)]
    if bias:
        parameters.append(model.constant(model.rng.normal(0, 0.3, count)))
    model.channels = count
    model.add("Conv", *parameters, kernel_shape=list(window), **attributes)


@pytest.mark.parametrize("activations", ["QUInt8", "QInt8"])
def test_every_output_is_onnxruntimes(tmp_path: Path, activations: str) -> None:
    """With padding that whole depths of the filter lie in, strides, holes in maps, and without a bias."""
    model = OnnxModel(SHAPE)
    filters(model, 4, (3, 3, 3), bias=True, pads=[2, 1, 0, 1, 1, 2])
    model.add("Relu")
    filters(model, 5, (2, 3, 1), bias=False, strides=[2, 1, 2], dilations=[1, 2, 1])
    path = quantize(model, tmp_path, "QDQ", activations, True)
    module = integer_relay(load(path), "uint8")
    names = {operator_name(expr) for expr in post_order(written(module)["main"]) if isinstance(expr, relay.Call)}
    assert "nn.conv2d" in names
    assert "nn.conv3d" not in names
    program, reference = executable(module), exact_session(path)
    for seed in range(4):
        x = {"x": np.random.default_rng(seed).normal(0, 1, SHAPE).astype(np.float32)}
        assert np.array_equal(program(x)[0], reference.run(None, x)[0])


POOLING: dict[str, tuple[str, dict[str, Any]]] = {
    "largest": ("MaxPool", {"kernel_shape": [2, 3, 2], "strides": [2, 2, 1]}),
    "largest with padding": ("MaxPool", {"kernel_shape": [3, 3, 3], "strides": [1, 2, 2], "pads": [1, 1, 0, 1, 0, 1]}),
    "largest with holes": ("MaxPool", {"kernel_shape": [2, 2, 2], "dilations": [2, 1, 3]}),
    "mean of all": ("GlobalAveragePool", {}),
    "apart": ("AveragePool", {"kernel_shape": [2, 2, 2], "strides": [2, 2, 2]}),
    "of maps": ("AveragePool", {"kernel_shape": [1, 3, 2], "strides": [1, 2, 2], "pads": [0, 1, 0, 0, 1, 0]}),
    "overlapping": ("AveragePool", {"kernel_shape": [3, 3, 2], "pads": [1, 0, 1, 1, 2, 0]}),
    "counted padding": ("AveragePool", {"kernel_shape": [3, 2, 2], "pads": [1, 1, 0, 1, 0, 1], "count_include_pad": 1}),
}


@pytest.mark.parametrize(("case", "dtype"), [*((name, "uint8") for name in POOLING), ("overlapping", "int8")])
def test_pooling(case: str, dtype: str) -> None:
    """The largest number is exact; means are within one step, or if all is to be exact in floating point."""
    kind, attributes = POOLING[case]
    low, number = np.iinfo(dtype).min, np.dtype(dtype).type
    constants = {"s": np.float32(0.03), "z": number(low + 120), "so": np.float32(0.03), "zo": number(low + 120)}
    model = quantized(kind, SHAPE, constants, **attributes)
    x = np.random.default_rng(1).normal(0, 1.5, SHAPE).astype(np.float32)
    close, exact = integers(model, exact=False), integers(model)
    assert "pool3d" not in written(close).astext(show_meta_data=False)
    off = distances(model, close, x)
    assert off.max() <= (1 if kind == "AveragePool" else 0)
    assert np.mean(off > 0) < 0.2
    assert distances(model, exact, x).max() <= (1 if kind == "AveragePool" else 0)
    found = references(close, Op.AVG_POOL2D)
    assert kind != "AveragePool" or (found and not any(found))


def test_means_to_steps_that_are_too_small_stay() -> None:
    """What is rounded twice would be off by more than a step."""
    constants = {"s": np.float32(0.03), "z": np.uint8(120), "so": np.float32(0.01), "zo": np.uint8(120)}
    model = quantized("AveragePool", SHAPE, constants, **POOLING["overlapping"][1])
    assert not references(integers(model, exact=False), Op.AVG_POOL2D)


@pytest.mark.parametrize(("groups", "hole"), [(2, 1), (1, 2)])
def test_volumes_in_groups_and_with_holes_along_the_depth(groups: int, hole: int, tmp_path: Path) -> None:
    model = OnnxModel(SHAPE)
    values = model.rng.normal(0, 0.2, (4, 2 // groups, 2, 2, 2))
    model.add("Conv", model.constant(values), kernel_shape=[2, 2, 2], group=groups, dilations=[hole, 1, 1])
    path = quantize(model, tmp_path, "QDQ", "QUInt8", True)
    module = integer_network(load(path), "uint8")
    x = {"x": np.random.default_rng(1).normal(0, 1, SHAPE).astype(np.float32)}
    (found,), (expected,) = executable(module)(x), exact_session(path).run(None, x)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert sum(len(references(module, op)) for op in (Op.CONV2D, Op.GROUPED_CONV2D, Op.DEPTHWISE_CONV2D)) == 6 - hole


@pytest.mark.parametrize("case", [name for name in POOLING if name != "counted padding"])
def test_relay_of_tvm_s_importer(case: str, tmp_path: Path) -> None:
    """TVM's importer reads padding that is counted as none."""
    kind, attributes = POOLING[case]
    constants = {"s": np.float32(0.03), "z": np.uint8(120), "so": np.float32(0.03), "zo": np.uint8(120)}
    model = quantized(kind, SHAPE, constants, **attributes)
    onnx.save(model, tmp_path / "model.onnx")
    module = integer_relay(from_relay(relay_of(tmp_path / "model.onnx")), "uint8", exact=False)
    x = np.random.default_rng(1).normal(0, 1.5, SHAPE).astype(np.float32)
    assert "pool3d" not in written(module).astext(show_meta_data=False)
    assert distances(model, module, x).max() <= 1


def test_convolutions_of_tvm_s_importer(tmp_path: Path) -> None:
    model = OnnxModel(SHAPE)
    filters(model, 4, (3, 3, 3), bias=True, pads=[2, 1, 0, 1, 1, 2])
    path = quantize(model, tmp_path, "QDQ", "QUInt8", True)
    module = integer_relay(from_relay(relay_of(path)), "uint8")
    assert "nn.conv3d" not in written(module).astext(show_meta_data=False)
    x = {"x": np.random.default_rng(1).normal(0, 1, SHAPE).astype(np.float32)}
    (found,), (expected,) = executable(module)(x), exact_session(path).run(None, x)
    np.testing.assert_allclose(found, expected, atol=np.ptp(expected) / 100)
