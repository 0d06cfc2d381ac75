"""The benchmark on RTL: what it needs, what it writes and, in the slow tier, what it measures."""

from __future__ import annotations

import importlib.util
import json
import shutil
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.rtl import __main__ as command
from benchmarks.rtl import shapes, toolchain
from benchmarks.rtl.fit import COUNTED, LATER, fit, predicted
from benchmarks.rtl.results import Measurement, schema, summary
from benchmarks.rtl.run import run
from benchmarks.rtl.simulator import Simulator
from match.cost_models.measured import FILE, measured, written
from match.cost_models.measured import _numbers as read_again  # pyright: ignore[reportPrivateUsage]
from match.cost_models.pulp_cycles import KernelCycles
from match.cost_models.pulp_loops import is_pointwise
from match.errors import OptionError, OutputError, ToolchainError
from match.ir.layer import Op
from match.run.rtl.simulator import CORE_PACKAGE, simulator
from tests.schemas import in_order

pytestmark = pytest.mark.cc

SCHEMA = Path(command.__file__).with_name("schema.json")
MATRIX = (Op.CONV2D, Op.DENSE)


def measurement(cycles: int, predicted: float) -> Measurement:
    return Measurement(group="x", layer="x", form="int64", macs=8, cycles=cycles, predicted=predicted)


def test_schema_is_that_of_the_results() -> None:
    assert in_order(json.loads(SCHEMA.read_text())) == in_order(schema())


def test_summary() -> None:
    one = summary("x", [measurement(100, 110), measurement(200, 190), measurement(50, 51)])
    assert (one.calls, one.tau) == (3, 1.0)
    assert one.worst_error == pytest.approx(0.1)
    assert one.mean_error == pytest.approx((0.1 + 0.05 + 0.02) / 3)
    assert summary("x", [measurement(100, 2), measurement(200, 1)]).tau == -1


def test_no_layer_is_fitted_and_tested() -> None:
    geometries = {case.layer.geometry for case in shapes.fitted()}
    assert not any(case.layer.geometry in geometries for case in shapes.tested())


def test_fit_finds_constants_that_made_the_cycles() -> None:
    cases = shapes.fitted()
    known = asdict(KernelCycles.measured())
    made = KernelCycles(**{name: value * (1 if name in COUNTED else 1.5) for name, value in known.items()})
    cycles = [predicted(case, made) for case in cases]
    constants = replace(made, **fit(cases, [round(one) for one in cycles]))
    np.testing.assert_allclose([predicted(case, constants) for case in cases], cycles, rtol=0.01)


def test_constants_that_are_written_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the fit leaves out keeps its value, whole numbers have no point, and nothing but the values changes."""
    file = tmp_path / "constants.json"
    before = FILE.read_text()
    file.write_bytes(written({"call": 180.0, "pair": 24.25}))
    lines = zip(before.splitlines(), file.read_text().splitlines(), strict=True)
    changed = [after.strip() for one, after in lines if one != after]
    assert changed == ['"call": 180,', '"pair": 24.25,']
    monkeypatch.setattr("match.cost_models.measured.FILE", file)
    read_again.cache_clear()
    try:
        assert (KernelCycles.measured().call, KernelCycles.measured().block) == (180, measured("kernel")["block"])
    finally:
        monkeypatch.undo()
        read_again.cache_clear()


def test_calls_with_short_vectors_do_not_change_what_others_are_priced_at() -> None:
    cases = shapes.fitted()
    # Windows that are no pixels are copied, into whole words.
    short = [case.layer.op in MATRIX and is_pointwise(case.layer) and case.layer.c < 4 for case in cases]
    cycles = [round(predicted(case)) for case in cases]
    slower = [2 * count if is_short else count for count, is_short in zip(cycles, short, strict=True)]
    before, after = fit(cases, cycles), fit(cases, slower)
    assert {name for name in before if before[name] != after[name]} == set(LATER)


def test_whole_layers_have_rates_to_reach() -> None:
    """A part of one that is called alike has none: it takes up sums, in other loops."""
    assert {case.name for case in shapes.required()} == set(shapes.REQUIRED)
    parts = [case for case in shapes.tested() if case.layer.name in shapes.REQUIRED and not case.begin]
    assert parts
    assert not {case.name for case in parts} & set(shapes.REQUIRED)


def test_expected_outputs_are_spread() -> None:
    for case in shapes.tested():
        values = np.unique(case.tensors.expected)
        assert len(values) > min(8, case.tensors.expected.size // 4), case


@pytest.mark.parametrize(("missing", "sentence"), [("verilator", "verilator is not"), ("gcc", "gcc is not installed")])
def test_missing_tools_are_one_sentence(
    missing: str, sentence: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    build = simulator if missing == "verilator" else lambda folder: toolchain.firmware(folder, "corev")
    with pytest.raises(ToolchainError, match=sentence):
        build(tmp_path)


def test_unknown_group_is_one_sentence() -> None:
    with pytest.raises(OptionError, match="there is no group 'x'; choose one of: required, fitted, tested"):
        command.main(group="x")


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(OutputError, match=r"^programs cannot be kept in .*file: File exists; name another folder by"):
        command.main(group="required", folder=file)


@pytest.mark.sweep
def test_measured_rates_and_errors(tmp_path: Path) -> None:
    """Every output is compared with NumPy on the way."""
    for tool in ("verilator", toolchain.COMPILER):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    if importlib.util.find_spec("pythondata_cpu_cv32e40p") is None:
        pytest.skip(f"{CORE_PACKAGE} is not installed")
    with Simulator(simulator(tmp_path), toolchain.firmware(tmp_path, "corev")) as core:
        measurements = list(run(core, ["required", "tested"]))
    for one in measurements:
        if one.required is not None:
            assert one.rate >= one.required, one
    result = summary("tested", [one for one in measurements if one.group == "tested"])
    assert result.mean_error < 0.05
    assert result.worst_error < 0.15
    assert result.tau >= 0.97
