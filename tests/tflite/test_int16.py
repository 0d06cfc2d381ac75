"""Every operator that TFLite Micro has a kernel of 16 bits for, byte for byte against TFLite Micro."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy.typing as npt
import pytest

import match
from tests.tflite.case import written
from tests.tflite.cases.int16 import by_operator
from tests.tflite.compare import TARGET, Arrays, compare, in_c, in_numpy, in_relay

pytestmark = pytest.mark.cc

CASES = by_operator()


def sanitized(path: Path, samples: Arrays) -> list[npt.NDArray[Any]]:
    """The generated C on this machine, with sanitizers."""
    compiled = match.compile(path, target=TARGET, numerics="exact")
    outputs = compiled.run(samples, sanitize=True)
    return [outputs[tensor.name] for tensor in compiled.report.model.outputs]


@pytest.mark.parametrize("name", CASES)
def test_graph(tmp_path: Path, name: str) -> None:
    """All cases of an operator in one file, as the graph's classes compute them."""
    file = written(CASES[name])
    compare(file.data, tmp_path / f"{name}.tflite", file.samples(8), file.outputs, in_numpy)


@pytest.mark.parametrize("name", CASES)
def test_integer_form(tmp_path: Path, name: str) -> None:
    """All cases of an operator in one file, in integer form."""
    file = written(CASES[name])
    compare(file.data, tmp_path / f"{name}.tflite", file.samples(8), file.outputs, in_relay)


@pytest.mark.parametrize("start", range(2))
def test_in_c(tmp_path: Path, start: int) -> None:
    """A case of every operator in C, many operators in a file."""
    file = written([CASES[name][-1] for name in list(CASES)[start::2]])
    compare(file.data, tmp_path / "network.tflite", file.samples(4), file.outputs, in_c)


@pytest.mark.sweep
@pytest.mark.parametrize("name", CASES)
def test_generated_c(tmp_path: Path, name: str) -> None:
    """All cases of an operator in one file, in C, where nothing is undefined."""
    file = written(CASES[name])
    compare(file.data, tmp_path / f"{name}.tflite", file.samples(4), file.outputs, sanitized)
