"""LSTM layers of TFLite files in C: on the cluster, and where no module takes them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import match
from match.errors import ModelError
from match.frontend import load
from tests.passes.tflite_models import Micro
from tests.tflite.case import Network, written
from tests.tflite.cases import by_operator
from tests.tflite.cases.recurrent import lstm
from tests.tflite.compare import compare, in_c

pytestmark = pytest.mark.cc

NAME = "UNIDIRECTIONAL_SEQUENCE_LSTM"


INT16: Mapping[str, Any] = {"dtype": "int16", "x": (2.1e-4, 0), "hidden": (2.0**-15, 0), "biases_as": "int64"}
"""What makes a layer one of 16 bits."""


def file(path: Path, size: int, units: int, steps: int, dtype: str = "int8", **how: Any) -> Path:
    """The file of a network of one layer."""
    network = Network()
    lstm(network, NAME, size=size, units=units, steps=steps, **{**(INT16 if dtype == "int16" else {}), **how})
    path.write_bytes(network.model.build([number for number, _ in network.inputs], list(network.outputs)))
    return path


def test_cluster(tmp_path: Path) -> None:
    """All cases of the operator, byte for byte."""
    cases = written(by_operator()[NAME])
    compare(cases.data, tmp_path / "network.tflite", cases.samples(8), cases.outputs, in_c)


@pytest.mark.parametrize("dtype", ["int8", "int16"])
@pytest.mark.parametrize(("l1", "taken"), [(None, ["cluster"]), (1 << 10, [])])
def test_a_layer_or_steps(tmp_path: Path, l1: int | None, taken: list[str], dtype: str) -> None:
    """What L1 has no room for becomes operators of each step; the same bytes come out of both."""
    size, units, steps = 5, 12, 2
    path = file(tmp_path / "network.tflite", size, units, steps, dtype)
    compiled = match.compile(path, "gap9", l1=l1, modules=["cluster"])
    layers = [layer for layer in compiled.layers if layer.op == "lstm"]
    assert [layer.module for layer in layers] == taken
    assert compiled.report.totals.inexact_layers == 0
    limits = np.iinfo(dtype)
    x = np.random.default_rng(3).integers(limits.min, limits.max + 1, (1, steps, size)).astype(dtype)
    (name,) = (tensor.name for tensor in compiled.report.model.inputs)
    outputs, traces = compiled.trace({name: x}, sanitize=True)
    for layer in layers:
        assert compiled.simulate(layer).actions in [trace.actions for trace in traces]
    (given,), (expected,) = outputs.values(), Micro(path.read_bytes(), 1)(x)
    assert np.array_equal(given.reshape(-1), expected.reshape(-1))
    assert len(np.unique(expected)) > 5


@pytest.mark.parametrize(
    ("how", "taken"),
    [
        ({"most": 1 << 29}, ["cluster"]),
        ({"most": 1 << 33}, []),
        ({"most": 1 << 29, "x": (1e-8, 0)}, []),
    ],
    ids=["within 32 bits", "beyond 32 bits", "shifts of more than 32"],
)
def test_what_kernels_of_16_bits_take(tmp_path: Path, how: dict[str, Any], taken: list[str]) -> None:
    """Sums and shifts that 32 bits do not hold are the control core's, and the same bytes."""
    path = file(tmp_path / "network.tflite", 4, 12, 5, "int16", **how)
    compiled = match.compile(path, "gap9", modules=["cluster"])
    assert [layer.module for layer in compiled.layers if layer.op == "lstm"] == taken
    x = np.random.default_rng(3).integers(-(1 << 15), 1 << 15, (1, 5, 4)).astype(np.int16)
    (given,) = compiled.run({compiled.report.model.inputs[0].name: x}, sanitize=True).values()
    (expected,) = Micro(path.read_bytes(), 1)(x)
    assert np.array_equal(given.reshape(-1), expected.reshape(-1))
    assert len(np.unique(expected)) > 5


@pytest.mark.parametrize(
    ("dtype", "how", "said"),
    [
        ("int16", {"x": (1e6, 0)}, "scales sums by .* scale by less than 16384"),
        ("int16", {"hidden": (1e-20, 0)}, "a factor of .* between its scales"),
        ("int8", {"hidden": (1e-20, 0)}, "a factor of .* between its scales"),
        ("int16", {"biases_as": "int32"}, "a bias of type int32 beside inputs of int16"),
        ("int16", {"hidden": (2.0**-15, 3)}, "the zero point 3, which 16-bit kernels take for 0"),
    ],
)
def test_what_no_kernel_takes(tmp_path: Path, dtype: str, how: dict[str, Any], said: str) -> None:
    with pytest.raises(ModelError, match=said):
        load(file(tmp_path / "network.tflite", 4, 3, 2, dtype, **how))


def test_the_control_core_has_the_steps_of_a_layer_that_a_module_is_worse_at(tmp_path: Path) -> None:
    """Where a module's price is above the core's, TVM gets operators that it knows."""
    path = file(tmp_path / "network.tflite", 1, 1, 1)
    compiled = match.compile(path, "gap9", modules=["cluster"])
    (layer,) = (layer for layer in compiled.layers if layer.op == "lstm")
    assert layer.module == "cpu"
    x = np.full((1, 1, 1), 77, np.int8)
    (given,) = compiled.run({compiled.report.model.inputs[0].name: x}).values()
    assert np.array_equal(given.reshape(-1), Micro(path.read_bytes(), 1)(x)[0].reshape(-1))
