"""Convolutions of several maps as one of all their rows, against onnxruntime, every integer of every layer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from match.frontend import load
from match.partitioning.pattern.types import Match, Rejection
from match.passes.pipeline import integer_network
from match.validation.exact_session import exact_session
from tests.layers_of import find
from tests.passes.onnx_models import OnnxModel, expose_integers, quantize
from tests.passes.running import executable

pytestmark = pytest.mark.tvm


def sequences(model: OnnxModel) -> None:
    model.conv(6, (3,), pads=[1, 2], strides=[2])
    model.add("Relu")
    model.conv(6, (4,), group=6)
    model.conv(9, (2,), group=3, dilations=[2])


def enlarged(model: OnnxModel) -> None:
    """As in networks that separate sources, each of which is decoded alone."""
    model.conv(6, (1,))
    kernel = model.constant(model.rng.normal(0, 0.3, (6, 2, 8)))
    model.add("ConvTranspose", kernel, strides=[4], pads=[1, 2], output_padding=[3])


def pixels(model: OnnxModel) -> None:
    model.conv(6, (1, 1))
    model.conv(4, (1, 3), pads=[0, 1, 0, 1], strides=[1, 2])


def windows(model: OnnxModel) -> None:
    model.conv(6, (3, 3))


NETWORKS: list[tuple[Callable[[OnnxModel], None], tuple[int, ...], bool]] = [
    (sequences, (2, 3, 24), True),
    (enlarged, (3, 4, 11), True),
    (pixels, (2, 3, 5, 6), True),
    (windows, (2, 3, 5, 6), False),
]


@pytest.mark.parametrize(("write", "shape", "layers"), NETWORKS)
def test_equal_to_onnxruntime(
    write: Callable[[OnnxModel], None], shape: tuple[int, ...], layers: bool, tmp_path: Path
) -> None:
    written = OnnxModel(shape)
    write(written)
    path = quantize(written, tmp_path, "QDQ", "QUInt8", per_channel=write is not enlarged)
    assert {node.op_type for node in onnx.load(path).graph.node} >= {"QuantizeLinear", "DequantizeLinear"}
    exposed = expose_integers(path)
    module = integer_network(load(exposed))
    convolutions = [one for one in find(module) if "conv2d" in (one.layer.op if isinstance(one, Match) else one.op)]
    assert convolutions
    assert all(isinstance(one, Match if layers else Rejection) for one in convolutions)
    x = np.random.default_rng(1).normal(0, 1, shape).astype(np.float32)
    expected = exact_session(exposed).run(None, {"x": x})
    for given, right in zip(executable(module)({"x": x}), expected, strict=True):
        assert given.shape == right.shape
        assert len(np.unique(right)) > 20
        assert np.array_equal(given, right)
