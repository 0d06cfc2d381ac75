"""The benchmark of energies: its data, its predictions, what it writes."""

from __future__ import annotations

import io
import json
from pathlib import Path

import jsonschema
import msgspec
import pytest
from rich.console import Console
from typer.testing import CliRunner

import match
import match.devtools.demo
from benchmarks.command import app, read
from benchmarks.energy import __main__ as command
from benchmarks.energy.objectives import ObjectiveResult, chosen, objectives_rows, objectives_table
from benchmarks.energy.published import EnergyCell, EnergyResult, cells, figures, predicted, published_table
from benchmarks.energy.results import Results, schema
from benchmarks.published.cells import Convolution, Network, published
from match.report import show
from tests.sampled import sampled
from tests.schemas import in_order

pytestmark = pytest.mark.cc

DIGITS = Path(match.devtools.demo.__file__).parent / "digits.onnx"
SCHEMA = Path(command.__file__).with_name("schema.json")
CONVOLUTION = Network(convolution=Convolution(channels=16, filters=16, size=8, filter=3))
CELL = EnergyCell(target="gap9", network="conv", source="here", pj_per_mac=1.0, milliseconds=0.1)


def printed(table: object) -> str:
    file = io.StringIO()
    Console(file=file, width=300).print(table)
    return file.getvalue()


def test_cells_name_networks_and_have_one_figure_each() -> None:
    known = published().networks
    for cell in cells():
        assert cell.network in known
        assert (cell.microjoules is None) != (cell.pj_per_mac is None)
        assert cell.source
    assert {cell.target for cell in cells()} == {"gap8", "gap9", "diana"}


def test_factors_are_of_energy_and_of_power() -> None:
    found = predicted(CELL, CONVOLUTION, Path())
    macs = 16 * 16 * 9 * 64
    assert found.macs == macs
    assert found.published_pj == macs
    assert found.predicted_pj is not None
    assert found.predicted_milliseconds is not None
    assert found.ratio is not None
    assert found.ratio == found.predicted_pj / macs
    assert found.power_ratio == pytest.approx(found.ratio * 0.1 / found.predicted_milliseconds)
    row = printed(published_table([found])).splitlines()[-1]
    assert all(part in row for part in ("1 pJ/MAC", f"{found.ratio:.2f}", "here"))


def test_what_cannot_be_predicted_is_listed_with_the_reason() -> None:
    found = predicted(CELL, Network(file="missing.tflite"), Path())
    assert found.ratio is None
    assert "missing.tflite" in printed(published_table([found]))


LAST = read(command.FILE, Results)
NETWORKS = sorted({(one.target, one.network) for one in LAST.objectives})


def test_all_cells_were_predicted_last() -> None:
    assert [one.cell for one in LAST.published] == list(cells())


@pytest.mark.parametrize("cell", sampled(cells(), [one for one in cells() if one.network in {"Auto-encoder"}]), ids=str)
def test_what_was_predicted_last_is_predicted_today(cell: EnergyCell, models_dir: Path) -> None:
    """Else: python -m benchmarks.energy -o benchmarks/energy/predicted.json; make pages."""
    (last,) = (one for one in LAST.published if one.cell == cell)
    assert figures(last) == figures(predicted(cell, published().networks[cell.network], models_dir))


@pytest.mark.parametrize(
    ("target", "network"), sampled(NETWORKS, [(target, "ad01_int8.tflite") for target, _ in NETWORKS])
)
def test_what_objectives_brought_last_they_bring_today(target: str, network: str, models_dir: Path) -> None:
    """Else as above."""
    last = [one for one in LAST.objectives if (one.target, one.network) == (target, network)]
    assert objectives_rows(last) == objectives_rows(chosen(models_dir / network, target))
    assert not any(one.is_dear for one in last)


@pytest.mark.parametrize("target", ["gap8", "gap9", "pulp_open", "diana"])
def test_no_objective_takes_many_cycles_for_little_energy(target: str) -> None:
    latency, energy, product, bounded = chosen(DIGITS, target)
    assert (latency.cycles_factor, latency.energy_factor) == (1.0, 1.0)
    assert not any(one.is_dear for one in (energy, product, bounded))
    assert energy.energy_pj <= min(product.energy_pj, bounded.energy_pj) <= latency.energy_pj
    assert bounded.cycles <= 1.1 * latency.cycles
    least = min(one.energy_pj * one.cycles for one in (latency, energy, bounded))
    assert product.energy_pj * product.cycles <= least * (1 + 1e-9)
    table = printed(objectives_table([latency, energy, product, bounded]))
    assert f"{latency.cycles:,} cycles" in table
    assert f"{energy.cycles_factor:.3f}, {energy.energy_factor:.3f}" in table


def test_reports_say_what_was_bounded_and_that_energies_are_estimates() -> None:
    report = match.predict(DIGITS, "gap9", objective="energy", at_most="latency=1.10x")
    assert (report.options.objective, report.options.at_most) == ("energy", "latency=1.1x")
    assert report.target.estimated_energy
    file = io.StringIO()
    show(report, Console(file=file, width=300))
    text = file.getvalue()
    assert "objective energy, at most latency=1.1x" in text
    assert "µJ predicted, from estimates" in text


def test_what_is_dear() -> None:
    one = ObjectiveResult(
        target="gap9",
        network="n",
        objective="energy",
        at_most=None,
        cycles=2,
        energy_pj=1.0,
        cycles_factor=2.0,
        energy_factor=0.984,
    )
    assert one.is_dear
    assert not msgspec.structs.replace(one, cycles_factor=1.2).is_dear
    assert not msgspec.structs.replace(one, energy_factor=0.9).is_dear


def test_schema_is_current() -> None:
    """To update: write json.dumps(benchmarks.energy.results.schema(), indent=2) and a newline to the file."""
    assert in_order(json.loads(SCHEMA.read_text())) == in_order(schema())


def test_command_writes_what_its_schema_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "cells", lambda: (msgspec.structs.replace(CELL, network="DS-CNN"),))
    monkeypatch.setattr(command, "networks", lambda _: [DIGITS])
    file = tmp_path / "results.json"
    arguments = ["--models", str(tmp_path), "--target", "gap9", "--output", str(file)]
    outcome = CliRunner().invoke(app(command.main), arguments)
    assert outcome.exit_code == 0, outcome.output
    jsonschema.validate(json.loads(file.read_text()), json.loads(SCHEMA.read_text()))
    results = msgspec.json.decode(file.read_bytes(), type=Results)
    assert [one.objective for one in results.objectives] == ["latency", "energy", "edp", "energy"]
    (missing,) = results.published
    assert isinstance(missing, EnergyResult)
    assert missing.unavailable
