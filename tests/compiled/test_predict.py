"""A prediction without C is that of the compilation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import match
from match import zoo
from match.compilation.arguments import CompileArguments
from match.errors import CapacityError, OptionError
from match.relay import relay
from match.report import Report
from tests.cli.conftest import DIGITS

pytestmark = pytest.mark.cc

WITHOUT_TVM = ("workspace", "totals")


def same(predicted: Report, compiled: Report) -> None:
    """All but the seconds, and what is estimated of main memory."""
    for field in Report.__struct_fields__:
        if field not in WITHOUT_TVM:
            assert getattr(predicted, field) == getattr(compiled, field), field
    one, other = (msgspec.to_builtins(report.totals) for report in (predicted, compiled))
    for name in ("compile_seconds", "l2_peak_bytes", "inside_bytes", "constant_bytes", "program_bytes"):
        del one[name], other[name]
    assert one == other


@pytest.fixture
def no_build(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError("nothing is to be built")

    monkeypatch.setattr(relay, "build", refused)


@pytest.mark.parametrize(
    ("network", "target", "options"),
    [
        ("digits", "gap9", {}),
        ("digits", "gap9", {"l1": "16k", "modules": ["cluster"], "settings": {"dma.bytes": 4}}),
        ("digits", "diana", {"objective": "bytes"}),
        ("digits", "gap8", {"numerics": "exact", "fuse": False}),
        ("unet-0.1-32", "gap9", {}),
    ],
)
def test_all_but_main_memory_is_that_of_the_compilation(
    network: str, target: str, options: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    model = DIGITS if network == "digits" else match.load(zoo.build(network))
    compiled = match.compile(model, target, **options)
    request.getfixturevalue("no_build")
    predicted = match.predict(model, target, **options)
    same(predicted, compiled.report)
    if all(layer.module != "cpu" for layer in compiled.layers):
        assert predicted.totals.l2_peak_bytes == compiled.report.totals.l2_peak_bytes


@pytest.mark.usefixtures("no_build")
def test_what_lies_in_the_workspace_together_lies_apart() -> None:
    workspace = match.predict(zoo.build("ssd-0.1-64"), "gap9", fuse=False).workspace
    assert workspace is not None
    taken = np.zeros((len(workspace.steps), workspace.bytes), np.int8)
    for buffer in workspace.buffers:
        taken[buffer.first : buffer.last + 1, buffer.offset : buffer.offset + buffer.bytes] += 1
    assert taken.max() == 1
    assert taken[:, -8:].any()


def test_a_network_that_main_memory_may_not_hold_is_placed_as_for_c() -> None:
    options: dict[str, Any] = {"l1": "8k", "l2": 20000}
    compiled = match.compile(DIGITS, "gap9", **options).report
    predicted = match.predict(DIGITS, "gap9", **options)
    assert compiled.memory
    same(predicted, compiled)
    assert predicted.totals.l2_peak_bytes == compiled.totals.l2_peak_bytes


@pytest.mark.parametrize(
    ("options", "error"),
    [({"l2": 100}, CapacityError), ({"l1": 16}, CapacityError), ({"settings": {"x": 1}}, OptionError)],
)
def test_errors_are_those_of_a_compilation(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error) as compiled:
        match.compile(DIGITS, "gap9", **options)
    with pytest.raises(error) as predicted:
        match.predict(DIGITS, "gap9", **options)
    assert str(compiled.value) == str(predicted.value)


def test_inputs_and_outputs_of_another_type_are_predicted() -> None:
    """A quantize that becomes the caller's costs nothing."""
    given: CompileArguments = {"input_type": "int8", "output_type": "float32", "name": "other", "cache": False}
    predicted, compiled = match.predict(DIGITS, "gap9", **given), match.compile(DIGITS, "gap9", **given).report
    assert (predicted.model.name, predicted.totals.cycles) == ("other", compiled.totals.cycles)
    assert [tensor.dtype for tensor in predicted.model.outputs] == ["float32"]


def test_a_prediction_shows_itself() -> None:
    assert match.predict(DIGITS, "gap9").show()._repr_html_()


@pytest.mark.parametrize("network", ["activations", "mobilenet_v3"])
def test_constants_of_the_control_core_are_about_those_of_its_c(network: str) -> None:
    """Tables have the type of what they give, weights bytes."""
    path = Path(__file__).resolve().parents[1] / "tflite" / "networks" / f"{network}.tflite"
    compiled = match.compile(path, "gap9", modules=[], cache=False, jobs=1).report.totals.constant_bytes
    estimated = match.predict(path, "gap9", modules=[], cache=False, jobs=1).totals.constant_bytes
    assert estimated == pytest.approx(compiled, rel=0.05)
