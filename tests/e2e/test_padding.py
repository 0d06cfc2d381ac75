"""Padding that is in no window of a layer's own: a layer for each axis, in front of what reads it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import match
from match.validation.exact_session import exact_session
from tests.passes.trained_models import TrainedModel

pytestmark = pytest.mark.cc


def check(model: TrainedModel, folder: Path) -> None:
    """Every layer is on a module, and the C computes onnxruntime's numbers."""
    path = folder / "padded.onnx"
    onnx.save(model.build(), path)
    compiled = match.compile(path, "gap9", numerics="exact", cache=False)
    assert {layer.module for layer in compiled.layers} <= {"cluster", "ne16"}
    samples = np.random.default_rng(1).normal(0, 1, (3, *model.shape)).astype(np.float32)
    (found,) = compiled.run({"x": samples}, sanitize=True).values()
    session = exact_session(path)
    expected = np.stack([session.run(None, {"x": sample})[0] for sample in samples])
    assert len(np.unique(expected)) > 20
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("zero_point", "kernel", "pads"), [(0, (1, 1), (1, 1, 1, 1)), (9, (3, 1), (0, 2, 1, 0))])
def test_windows_of_padding_alone(tmp_path: Path, zero_point: int, kernel: tuple[int, int], pads: tuple[int]) -> None:
    """As a filter of one pixel on a padded map has in the corners."""
    model = TrainedModel((1, 5, 8, 9))
    model.quantize(0.03, "uint8", zero_point)
    model.conv(6, kernel, pads=pads, strides=[2, 2])
    model.quantize(0.03, "uint8", 90)
    check(model, tmp_path)


def test_padding_of_rows_and_columns(tmp_path: Path) -> None:
    model = TrainedModel((1, 5, 8, 9))
    model.quantize(0.03, "uint8", 128)
    model.add("Pad", model.constant(np.array([0, 0, 1, 3, 0, 0, 2, 1])), model.constant(np.float32(0.6)))
    model.quantize(0.03, "uint8", 128)
    model.add("Relu")
    model.quantize(0.02, "uint8", 0)
    check(model, tmp_path)
