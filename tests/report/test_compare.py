"""A comparison says what moved between two compilations and why, and nothing of what did not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

import match
from match.errors import InputError
from match.report import Report, encode
from match.report.compare import Change, compare, schema
from match.report.compare import encode as encode_comparison
from match.report.schema import OperatorSummary
from tests.cli.conftest import DIGITS, Command, command

__all__ = ["command"]

pytestmark = pytest.mark.cc

DOCS = Path(__file__).resolve().parents[2] / "docs"


def changed(report: Report, **fields: Any) -> Report:
    """The report with other fields of its first layer."""
    first, *others = report.layers
    return msgspec.structs.replace(report, layers=(msgspec.structs.replace(first, **fields), *others))


def test_a_report_equals_itself(report: Report) -> None:
    comparison = compare(report, report)
    assert all(layer.same for layer in comparison.layers)
    assert all(total.a == total.b for total in comparison.totals)
    assert [layer.name for layer in comparison.layers] == [layer.name for layer in report.layers]


def test_what_has_no_report(report: Report) -> None:
    with pytest.raises(InputError, match="3 has no report to compare; give a project folder"):
        compare(report, 3)  # type: ignore[arg-type]


def test_every_aspect_that_moves_is_told(report: Report) -> None:
    first = report.layers[0]
    assert first.schedule
    slower = changed(report, cycles=first.cycles + 7, bound="dma", l1_bytes=first.l1_bytes + 1)
    (moved,) = [layer for layer in compare(report, slower).layers if not layer.same]
    assert (moved.name, moved.difference) == (first.name, 7)
    assert [change.aspect for change in moved.changes] == ["cycles", "bound", "l1"]
    other = changed(report, schedule=msgspec.structs.replace(first.schedule, loops=first.schedule.loops[:1]))
    (moved,) = [layer for layer in compare(report, other).layers if not layer.same]
    (change,) = moved.changes
    assert change.aspect == "schedule"
    assert change.a.startswith("OY 3/8 K 8/16; ")
    assert change.b.startswith("OY 3/8; ")
    operators = (OperatorSummary("conv2d", 1, 1, weight_bits=8), OperatorSummary("dense", 1, 1, weight_bits=3))
    (moved,) = [layer for layer in compare(report, changed(report, operators=operators)).layers if not layer.same]
    assert moved.changes == (Change("weight_bits", "8", "8+3"),)


def test_why_a_layer_changes_its_module(report: Report) -> None:
    first = report.layers[0]
    refused = tuple(
        msgspec.structs.replace(offer, cycles=None, refusal="it has no room") if offer.module == first.module else offer
        for offer in first.candidates
    )
    cores = changed(report, module="cores", candidates=refused)
    (moved,) = [layer for layer in compare(report, cores).layers if not layer.same]
    why = f"in B, {first.module} refused because it has no room"
    assert moved.changes == (Change("module", first.module, "cores", why),)


def test_layers_of_one_side(report: Report) -> None:
    shorter = msgspec.structs.replace(report, layers=report.layers[1:])
    gone = compare(report, shorter).layers[0]
    assert (gone.name, gone.a_cycles, gone.b_cycles) == (report.layers[0].name, report.layers[0].cycles, None)
    assert compare(shorter, report).layers[-1].a_cycles is None


def test_layers_are_those_of_one_tensor(report: Report) -> None:
    """Whatever they are called; where a tensor has no name of its own, or two layers compute it, by name."""

    def called(*names: tuple[str, str]) -> Report:
        first = report.layers[0]
        layers = (msgspec.structs.replace(first, name=name, source=source) for name, source in names)
        return msgspec.structs.replace(report, layers=tuple(layers))

    a = called(
        ("pad_0", ""), ("conv2d_1", "relu"), ("conv2d_2", "relu_1"), ("dense_3", "scores"), ("dense_4", "scores")
    )
    b = called(("pad_0", ""), ("layout_1", ""), ("conv2d_2", "relu"), ("chain_3_4", "relu_1"), ("dense_3", "scores"))
    pairs = [
        (layer.name, layer.b_name, layer.a_cycles is None, layer.b_cycles is None) for layer in compare(a, b).layers
    ]
    assert pairs == [
        ("pad_0", None, False, False),
        ("conv2d_1", "conv2d_2", False, False),
        ("conv2d_2", "chain_3_4", False, False),
        ("dense_3", None, False, False),
        ("dense_4", None, False, True),
        ("layout_1", None, True, False),
    ]


def test_two_compilations(command: Command, tmp_path: Path) -> None:
    """Without the accelerator, its layers are on the cluster, and the totals are those of the reports."""
    both = match.compile(DIGITS, "gap9", output=tmp_path / "both", fuse=False)
    one = match.compile(DIGITS, "gap9", modules=["cluster"], output=tmp_path / "one", fuse=False)
    comparison = match.compare(both, tmp_path / "one" / "report.json")
    totals = {total.name: (total.a, total.b) for total in comparison.totals}
    assert totals["cycles"] == (both.report.totals.cycles, one.report.totals.cycles)
    ne16 = {layer.name for layer in both.layers if layer.module == "ne16"}
    reasons = {
        layer.name: change for layer in comparison.layers for change in layer.changes if change.aspect == "module"
    }
    assert ne16
    kept = {layer.name for layer in comparison.layers if layer.b_cycles is not None}
    for name in ne16 & kept:
        assert (reasons[name].a, reasons[name].why) == ("ne16", "B has no ne16")
    table = command("compare", tmp_path / "both", tmp_path / "one")
    assert (table.status, table.err) == (0, "")
    assert f"{one.report.totals.cycles:,}" in table.out
    assert "B has no ne16" in table.out
    printed = command("compare", tmp_path / "both", tmp_path / "one", "--json")
    assert printed.out.encode() == encode_comparison(comparison)
    jsonschema.validate(json.loads(printed.out), json.loads((DOCS / "compare.schema.json").read_text()))


def test_what_is_no_report_is_one_sentence(command: Command, report: Report, tmp_path: Path) -> None:
    good = tmp_path / "good.json"
    good.write_bytes(encode(report))
    (tmp_path / "bad.json").write_text("{}")
    assert "cannot be read" in command("compare", good, tmp_path).error
    assert "no report of this version" in command("compare", tmp_path / "bad.json", good).error


def test_every_field_is_documented() -> None:
    text = (DOCS / "compare.md").read_text()
    for name in ("Side", "Total", "Change", "LayerChange", "Comparison"):
        for field in schema()["$defs"][name]["properties"]:
            assert f"`{field}`" in text, f"docs/compare.md does not explain {field}"


@pytest.mark.parametrize("name", ["Comparison", "compare"])
def test_it_is_offered_by_the_package(name: str) -> None:
    assert name in match.__all__
    assert getattr(match, name)
