"""Convolutions of volumes, quantized by onnxruntime, against onnxruntime: every output, from two-dimensional layers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from match.frontend import load
from match.passes.pipeline import integer_relay
from match.relay import relay
from match.relay.graph import post_order
from match.relay.rewrite import operator_name
from match.validation.exact_session import exact_session
from tests.passes.onnx_models import OnnxModel, quantize
from tests.passes.running import Compiled

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
    names = {operator_name(expr) for expr in post_order(module["main"]) if isinstance(expr, relay.Call)}
    assert "nn.conv2d" in names
    assert "nn.conv3d" not in names
    program, reference = Compiled(module), exact_session(path)
    for seed in range(4):
        x = {"x": np.random.default_rng(seed).normal(0, 1, SHAPE).astype(np.float32)}
        assert np.array_equal(program(x)[0], reference.run(None, x)[0])


def test_other_convolutions_of_volumes_stay(tmp_path: Path) -> None:
    """In groups, and with holes along the depth."""
    for groups, hole in ((2, 1), (1, 2)):
        model = OnnxModel(SHAPE)
        values = model.rng.normal(0, 0.2, (4, 2 // groups, 2, 2, 2))
        model.add("Conv", model.constant(values), kernel_shape=[2, 2, 2], group=groups, dilations=[hole, 1, 1])
        module = integer_relay(load(quantize(model, tmp_path, "QDQ", "QUInt8", True)), "uint8")
        assert "nn.conv3d" in module.astext(show_meta_data=False)
