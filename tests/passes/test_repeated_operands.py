"""Operands that are repeated along any axes of a sum or a product, against onnxruntime: all on modules."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from match.frontend import load
from match.partitioning.pattern import Match
from match.passes.pipeline import integer_network
from match.relay import relay
from match.relay.graph import post_order
from match.rewrites.repeated_operands import with_repeated_operands
from match.target.registry import get_target
from match.validation.exact_session import exact_session
from tests.layers_of import find
from tests.passes.onnx_models import OnnxModel, expose_integers, quantize
from tests.passes.running import executable, written
from tests.seeds import seeded

pytestmark = pytest.mark.tvm


def check(model: OnnxModel, folder: Path, activations: str) -> list[int]:
    """All outputs are onnxruntime's; the elements of each constant of 8 bits."""
    path = expose_integers(quantize(model, folder, "QDQ", activations, per_channel=False))
    module = with_repeated_operands(integer_network(load(path), "uint8"), get_target("gap8"))
    assert all(isinstance(one, Match) for one in find(module))
    run, reference, rng = executable(module), exact_session(path, signed=True), np.random.default_rng(5)
    for _ in range(3):
        x = {"x": rng.normal(0, 1, model.shape).astype(np.float32)}
        for found, expected in zip(run(x), reference.run(None, x), strict=True):
            np.testing.assert_array_equal(found, expected)
    constants = [node.data for node in post_order(written(module)["main"]) if isinstance(node, relay.Constant)]
    return [math.prod(data.shape) for data in constants if data.dtype in ("int8", "uint8")]


@seeded(12, 40)
def test_along_any_axes(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    extents = rng.integers(1, 5, rng.integers(2, 6))
    own = np.where(rng.integers(0, 2, len(extents)), extents, 1)[rng.integers(0, 2) if extents[0] == 1 else 0 :]
    model = OnnxModel(extents.tolist(), seed)
    model.add("Abs")
    whole, values = model.current, model.constant(model.rng.normal(0, 1, own))
    if seed % 2:
        model.current, values = values, whole
    model.add("Add" if seed % 3 else "Mul", values)
    check(model, tmp_path, "QInt8" if seed % 5 else "QUInt8")


@pytest.mark.parametrize("kind", ["Add", "Mul"])
@pytest.mark.parametrize(
    ("own", "stored"),
    [((1, 6, 9, 1), 9 * 7 * 6), ((6, 9, 1), 9 * 7 * 6), ((1, 6, 1, 7), 7 * 6), ((6, 1, 1), 6), ((9, 7), 9 * 7)],
)
def test_of_maps(tmp_path: Path, kind: str, own: tuple[int, ...], stored: int) -> None:
    """Only what is repeated in the middle of rows, columns and channels, as a map lies, is written out."""
    model = OnnxModel((1, 3, 9, 7))
    model.conv(6, (1, 1))
    model.add(kind, model.constant(model.rng.normal(0, 1, own)))
    model.conv(4, (1, 1))
    assert sorted(check(model, tmp_path, "QUInt8")) == sorted([3 * 6, 6 * 4, stored])


@pytest.mark.parametrize("axes", [[1, 3], [2], [0, 2], [1, 2, 3], [3]])
def test_computed_operands(tmp_path: Path, axes: list[int]) -> None:
    """Channels first is another order of axes than channels last."""
    model = OnnxModel((2, 6, 9, 7))
    whole = model.add("Abs")
    model.add("ReduceMax", axes=axes)
    model.add("Mul", whole)
    check(model, tmp_path, "QUInt8")
