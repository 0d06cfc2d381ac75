"""RELU_0_TO_1 and RELU_N1_TO_1, which TFLite Micro lacks: a change of scale by its LEAKY_RELU, clipped by NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from match.frontend import load
from match.passes.pipeline import integer_network
from tests.passes.running import executable
from tests.passes.tflite_models import Micro, TfliteModel

pytestmark = pytest.mark.tvm

SHAPE = (1, 1, 1, 256)


def activation(name: str, x: tuple[float, int], y: tuple[float, int], dtype: str) -> bytes:
    model = TfliteModel()
    inputs, output = (model.tensor(SHAPE, dtype, *own) for own in (x, y))
    if name == "LEAKY_RELU":
        model.operator(name, [inputs], output, "LeakyReluOptions", alpha=1.0)
    else:
        model.operator(name, [inputs], output)
    return model.build([inputs], [output])


@pytest.mark.parametrize(("name", "least"), [("RELU_0_TO_1", 0), ("RELU_N1_TO_1", -1)])
@pytest.mark.parametrize(
    ("x", "y"), [((0.02, -13), (0.02, -13)), ((0.031, 5), (0.0117, -128)), ((0.01, -128), (1 / 255, -20))]
)
def test_clipped_change_of_scale(
    name: str, least: int, x: tuple[float, int], y: tuple[float, int], tmp_path: Path
) -> None:
    levels = np.arange(-128, 128, dtype=np.int8).reshape(SHAPE)
    (changed,) = Micro(activation("LEAKY_RELU", x, y, "int8"), 1)(levels)
    low, high = (y[1] + round(bound / float(np.float32(y[0]))) for bound in (least, 1))
    path = tmp_path / "model.tflite"
    path.write_bytes(activation(name, x, y, "int8"))
    model = load(path)
    (ours,) = executable(integer_network(model))({model.inputs[0].name: levels})
    assert len(np.unique(changed)) > 30
    assert np.array_equal(ours, np.clip(changed.astype(int), low, min(high, 127)))
