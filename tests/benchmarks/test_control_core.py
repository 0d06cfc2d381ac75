"""The benchmark of the control core: layers are summed up by operator, and its file has what is predicted today."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.command import read
from benchmarks.control_core.__main__ import FILE
from benchmarks.control_core.count import COUNTED, FILES, Layers, by_operator, predicted
from benchmarks.control_core.results import Operator, Results

pytestmark = pytest.mark.cc


def test_layers_are_summed_up_by_operator() -> None:
    """A function of several operators is nobody's."""
    cycles = [Layers("conv2d", 10, 100), Layers("add", 3, 4), Layers("conv2d", 1, 2), Layers("add+multiply", 5, 6)]
    instructions = [Layers("add", 7, 8), Layers("conv2d", 20, 30), Layers("conv2d", 2, 3)]
    add, conv2d = by_operator(cycles, instructions)
    assert add == Operator(op="add", layers=1, kernels=3, generated=4, kernel_instructions=7, generated_instructions=8)
    assert conv2d == Operator(
        op="conv2d", layers=2, kernels=11, generated=102, kernel_instructions=22, generated_instructions=33
    )


def test_networks_are_there() -> None:
    assert all((FILES / f"{network}.tflite").is_file() for network in COUNTED)


@pytest.mark.sweep
def test_what_the_documentation_has_is_predicted_today(models_dir: Path) -> None:
    """Else: `python -m benchmarks.control_core -o benchmarks/control_core/counted.json`, and `make pages`."""
    assert tuple(predicted(models_dir)) == read(FILE, Results).networks
