"""The example of a new target works as its documentation says."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import match

pytestmark = pytest.mark.cc

if TYPE_CHECKING:
    from match.compiled.model import CompiledModel

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "minichip"


@pytest.fixture(scope="module")
def compiled(models_dir: Path) -> CompiledModel:
    """The keyword spotter on Minichip, with the network's own arithmetic."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(EXAMPLE)
        minichip = import_module("minichip.target")
    return match.compile(models_dir / "kws_ref_model.tflite", target=minichip.Minichip(), numerics="exact")


def test_the_engine_takes_convolutions_and_the_core_the_rest(compiled: CompiledModel) -> None:
    taken = {layer.op for layer in compiled.layers if layer.module == "engine"}
    assert taken == {"conv2d"}
    schedules = [layer.plan.schedule for layer in compiled.layers if layer.plan]
    assert any(schedule.loops for schedule in schedules), "16 kB force tiles"


def test_traces_equal_simulations(compiled: CompiledModel) -> None:
    (tensor,) = compiled.report.model.inputs
    _, traces = compiled.trace({tensor.name: np.zeros(tensor.shape, np.int8)})
    layers = [layer for layer in compiled.layers if layer.plan]
    assert [trace.actions for trace in traces] == [compiled.simulate(layer).actions for layer in layers]


def test_outputs_equal_tflite_micro(compiled: CompiledModel, models_dir: Path) -> None:
    runtime = pytest.importorskip("tflite_micro.python.tflite_micro").runtime
    interpreter = runtime.Interpreter.from_file(str(models_dir / "kws_ref_model.tflite"))
    (tensor,) = compiled.report.model.inputs
    samples = np.random.default_rng(0).integers(-128, 128, (10, *tensor.shape), dtype=np.int8)
    (outputs,) = compiled.run({tensor.name: samples}, sanitize=True).values()
    for sample, output in zip(samples, outputs, strict=True):
        interpreter.set_input(sample, 0)
        interpreter.invoke()
        assert np.array_equal(output, interpreter.get_output(0))
