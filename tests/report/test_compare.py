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
        ("dense_3, dense_4", "dense_3", False, False),
        ("layout_1", None, True, False),
    ]
    pairs = [(layer.name, layer.b_name) for layer in compare(a, a).layers]
    assert pairs == [(layer.name, None) for layer in a.layers], "as many of one name: layers of the same names"


def fused(report: Report, *layers: str) -> Report:
    """The report's first layer, once for each name, whose letters are its operators."""
    first, made = report.layers[0], []
    for name in layers:
        sources = [letter for letter in name if letter.isalpha()]
        operators = [OperatorSummary("conv2d", 10, 1, source=source) for source in sources]
        figures = {"macs": 10 * len(sources), "cycles": 100 * len(sources) + 1, "l1_bytes": len(sources)}
        many = tuple(operators) if len(sources) > 1 else ()
        made.append(msgspec.structs.replace(first, name=name, source=sources[-1], operators=many, **figures))
    return msgspec.structs.replace(report, layers=tuple(made))


@pytest.mark.parametrize(
    ("a", "b", "pairs"),
    [
        ("ab2 c", "a b2 c", ["ab2 | a, b2", "c | c"]),
        ("a b c", "abc", ["a, b, c | abc"]),
        ("ab cd e", "a bc d e", ["ab, cd | a, bc, d", "e | e"]),
        ("ab cd", "cd ab", ["ab | ab", "cd | cd"]),
        ("a b", "c ab d", ["a, b | ab", " | c", " | d"]),
        ("ab", "c", ["ab | ", " | c"]),
        ("a1 a2 b", "a3 b", ["a1, a2 | a3", "b | b"]),
        ("a1 a2", "a1 a2", ["a1 | a1", "a2 | a2"]),
    ],
)
def test_fusions_are_compared_with_what_they_are_of(report: Report, a: str, b: str, pairs: list[str]) -> None:
    first, second = fused(report, *a.split()), fused(report, *b.split())
    found = compare(first, second).layers
    assert [f"{', '.join(layer.a_layers)} | {', '.join(layer.b_layers)}" for layer in found] == pairs
    for layer in found:
        for side, names, cycles in ((first, layer.a_layers, layer.a_cycles), (second, layer.b_layers, layer.b_cycles)):
            assert (cycles or 0) == sum(one.cycles for one in side.layers if one.name in names)


def test_figures_of_sets(report: Report) -> None:
    (moved, same) = compare(fused(report, "abc", "d"), fused(report, "a", "bc", "d")).layers
    assert same.same
    assert (moved.name, moved.b_name, moved.a_cycles, moved.b_cycles) == ("abc", "a, bc", 301, 302)
    changes = {change.aspect: (change.a, change.b) for change in moved.changes}
    assert changes["fusion"] == ("abc", "a, bc")
    assert changes["l1"] == ("3", "2")
    assert not changes.keys() & {"macs", "bound", "schedule", "requantization"}
    whole, parts = changes["bytes"]
    assert int(parts.replace(",", "")) == 2 * int(whole.replace(",", ""))


@pytest.mark.parametrize("name", ["vww_96_int8.tflite"])
def test_chains_and_their_operators(name: str, models_dir: Path, command: Command, tmp_path: Path) -> None:
    """Nothing that the model names is in one of the two alone, and no part stands beside a whole."""
    both = [
        match.compile(models_dir / name, "gap9", fuse=fuse, output=tmp_path / str(fuse)).report
        for fuse in (True, False)
    ]
    comparison = compare(*both)
    alone = [layer for layer in comparison.layers if not (layer.a_layers and layer.b_layers)]
    assert [layer.b_layers for layer in alone] == [("lookup_0",)], "what turns int8 to uint8 has no name in the model"
    assert any(len(layer.b_layers) > 1 for layer in comparison.layers)
    for report, side in zip(both, ("a", "b"), strict=True):
        assert sum(getattr(layer, f"{side}_cycles") or 0 for layer in comparison.layers) == report.totals.cycles
        names = [name for layer in comparison.layers for name in getattr(layer, f"{side}_layers")]
        assert sorted(names) == sorted(layer.name for layer in report.layers)
    assert not any(change.aspect == "macs" for layer in comparison.layers for change in layer.changes)
    table = command("compare", tmp_path / "True", tmp_path / "False").out
    assert "conv2d_1, depthwise_conv2d_2, conv2d_3" in table
    assert table.count("only in") == 1


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
