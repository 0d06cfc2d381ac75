"""Slices of ONNX files, whose numbers are inputs, and splits, as onnxruntime takes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from match.frontend import load
from match.graph.moves import Concatenate, Move
from match.partitioning.pattern import Match
from match.passes.pipeline import integer_network
from match.relay import relay
from match.validation.exact_session import exact_session
from tests.layers_of import find
from tests.passes.one_operator import distances, integers, quantized
from tests.passes.onnx_models import OnnxModel, expose_integers, quantize
from tests.passes.running import executable, written

pytestmark = pytest.mark.tvm

FAR = np.iinfo(np.int64).max


@pytest.mark.parametrize(
    "numbers",
    [
        {"first": [1], "last": [4], "axes": [1]},
        {"first": [2], "last": [FAR], "axes": [-1]},
        {"first": [1, -3], "last": [3, -1], "axes": [-2, 1]},
        {"first": [0, 1], "last": [FAR, FAR], "axes": [3, 2], "steps": [2, 3]},
        {"first": [-1, 3], "last": [-FAR, 0], "axes": [-1, 1], "steps": [-1, -2]},
        {"first": [0, 1, 2, 1], "last": [1, 3, 4, 6]},
    ],
)
def test_a_slice(numbers: dict[str, Any]) -> None:
    x = np.random.default_rng(0).integers(0, 256, (1, 5, 4, 7))
    quantization = {"s": np.float32(0.1), "z": np.uint8(3), "so": np.float32(0.1), "zo": np.uint8(3)}
    constants = quantization | {name: np.array(values) for name, values in numbers.items()}
    model = quantized("Slice", x.shape, constants)
    assert not distances(model, integers(model), ((x - 3) * 0.1).astype(np.float32)).any()


@pytest.mark.parametrize(("axis", "sizes"), [(1, [1, 4, 3]), (-1, [2, 5]), (2, [2, 2])])
@pytest.mark.parametrize("form", ["QDQ", "QOperator"])
def test_a_split(tmp_path: Path, form: str, axis: int, sizes: list[int]) -> None:
    """Parts of a map that another operator reads, in floating point or as integers: slices, all on modules."""
    model = OnnxModel((1, 3, 4, 7))
    model.conv(8, (1, 1))
    parts = [f"part{number}" for number in range(len(sizes))]
    model.split(*parts, axis=axis, sizes=sizes)
    model.add("Concat", *reversed(parts[:-1]), axis=axis)
    model.conv(4, (1, 1))
    path = expose_integers(quantize(model, tmp_path, form, "QUInt8", per_channel=False))
    module = integer_network(load(path), "uint8")
    assert all(isinstance(one, Match) for one in find(module))
    assert "split" not in relay.analysis.list_op_freqs(written(module))
    x = {"x": np.random.default_rng(0).normal(0, 1, model.shape).astype(np.float32)}
    for given, expected in zip(executable(module)(x), exact_session(path).run(None, x), strict=True):
        np.testing.assert_array_equal(given, expected)


@pytest.mark.parametrize("factor", [1.0, 5.0])
def test_halves_that_are_handed_on(tmp_path: Path, factor: float) -> None:
    """A block of YOLOv8: one half is read, and both are handed on beside what was made of it, perhaps at its scale."""
    model = OnnxModel((1, 3, 6, 5))
    model.conv(8, (1, 1))
    model.split("first", "second", axis=1)
    model.channels = 4
    model.conv(4, (1, 1))
    model.add("Mul", model.constant(np.array(factor)))
    made, model.current = model.current, "first"
    model.add("Concat", "second", made, axis=1)
    model.channels = 12
    model.conv(4, (1, 1))
    path = quantize(model, tmp_path, "QDQ", "QUInt8", per_channel=False)
    network = integer_network(load(path), "uint8")
    joins = [value for value in network.values if isinstance(value.operator, Concatenate)]
    moves = [value.operator for value in network.values if isinstance(value.operator, Move)]
    cuts = [move for move in moves if move.taken[-1] == 4]
    assert [[x.shape[-1] for x in value.inputs] for value in joins] == [[8, 4]]
    assert len([move for move in cuts if not move.turns]) == 1
    x = {"x": np.random.default_rng(0).normal(0, 1, model.shape).astype(np.float32)}
    (expected,) = exact_session(path).run(None, x)
    assert np.array_equal(executable(network)(x)[0], expected)
