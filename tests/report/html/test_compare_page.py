"""Two reports as a page: the comparison's own numbers, pictures of both that are linked."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

import match
from match.report import Report, encode
from match.report.compare import compare
from match.report.html import Page, compare_page
from tests.cli.conftest import Command, command
from tests.report.html.conftest import DIGITS, Opener
from tests.report.html.test_page import EVIL, TURNED

__all__ = ["command"]

pytestmark = pytest.mark.cc

TABS = ("overview", "layers", "timeline", "memory")


@pytest.fixture(scope="module")
def other() -> Report:
    """The same network without the accelerator, one operator at a time."""
    return match.compile(DIGITS, "gap9", modules=["cluster"], fuse=False).report


@pytest.fixture(scope="module")
def both(digits: Report, other: Report) -> Page:
    return compare_page(digits, other)


@pytest.mark.parametrize(("width", "scheme"), [(375, "light"), (1920, "dark")])
def test_every_tab_is_drawn(opened: Opener, both: Page, width: int, scheme: str) -> None:
    shown = opened(both, width, scheme)
    assert [tab.lower() for tab in shown.page.locator("[role=tab]").all_inner_texts()] == list(TABS)
    for name in TABS:
        shown.tab(name)
        for chart in shown.page.locator(f"#panel-{name} .chart").all():
            assert chart.locator("canvas").count()
        assert shown.page.evaluate("document.documentElement.scrollWidth") <= width
    assert shown.console == []
    assert [url.partition(":")[0] for url in shown.requests] == ["file"]


def test_lines_are_those_of_the_comparison(opened: Opener, both: Page, digits: Report, other: Report) -> None:
    comparison = compare(digits, other)
    shown = opened(both)
    shown.tab("layers")
    rows = [row.split("\t") for row in shown.page.locator("#layers tbody tr").all_inner_texts()]
    assert len(rows) == len(comparison.layers)
    for row, layer in zip(rows, comparison.layers, strict=True):
        cycles = ["" if one is None else f"{one:,}" for one in (layer.a_cycles, layer.b_cycles, layer.difference)]
        assert row[1:4] == cycles


def test_a_line_is_selected_in_both(opened: Opener, both: Page, digits: Report, other: Report) -> None:
    """Its details have what moved and the layers of both sides, and both timelines mark these."""
    comparison = compare(digits, other)
    line, layer = max(enumerate(comparison.layers), key=lambda one: one[1].difference)
    shown = opened(both)
    shown.tab("timeline")
    shown.tab("layers")
    shown.page.click(f"#layers tr[data-layer='{line}'] td:nth-child(3)")
    told = shown.details()
    assert told.startswith(layer.name)
    assert all(f"A: {one}" in told for one in layer.a_layers)
    assert all(f"B: {one}" in told for one in layer.b_layers)
    for side, report, names in (("a", digits, layer.a_layers), ("b", other, layer.b_layers)):
        chosen = shown.figure(
            f"timeline-{side}",
            "model.renderers.filter(({ glyph }) => glyph.type === 'Quad').flatMap(({ data_source: { data, selected } })"
            " => selected.indices.filter((i) => i >= 0 && data.bottom[i] < 0).map((i) => data.name[i]))",
        )
        assert sorted(chosen) == sorted(names)
        assert {one.name for one in report.layers} >= set(chosen)


def test_both_timelines_show_the_same_time(opened: Opener, both: Page, digits: Report, other: Report) -> None:
    shown = opened(both)
    shown.tab("timeline")

    def spans() -> list[list[float]]:
        return [shown.figure(f"timeline-{side}", "[model.x_range.start, model.x_range.end]") for side in "ab"]

    first, second = spans()
    assert first == second
    longest = max(report.totals.cycles / report.target.clock_hz for report in (digits, other))
    assert first[1] == pytest.approx(1.02 * longest * 1e6)
    shown.page.click("#panel-timeline [data-view=in] >> nth=1")
    first, second = spans()
    assert first == second
    assert first[1] < 0.8 * longest * 1e6


def test_names_of_models_do_no_harm(opened: Opener, digits: Report, other: Report) -> None:
    layers = [
        msgspec.structs.replace(layer, name=f"{EVIL}{place}", source=TURNED) for place, layer in enumerate(other.layers)
    ]
    made = compare_page(digits, msgspec.structs.replace(other, layers=tuple(layers)))
    assert "\u202e" not in made.html
    shown = opened(made)
    for name in TABS:
        shown.tab(name)
    shown.tab("layers")
    shown.page.click("#layers tbody tr td:nth-child(3) >> nth=-1")
    assert EVIL in shown.details()
    assert shown.page.evaluate("window.harmed") is None
    assert shown.console == []


def test_the_command(command: Command, tmp_path: Path, digits: Report, other: Report, both: Page) -> None:
    for name, report in (("a", digits), ("b", other)):
        (tmp_path / f"{name}.json").write_bytes(encode(report))
    done = command("compare", tmp_path / "a.json", tmp_path / "b.json", "--html", tmp_path / "c.html")
    assert done.status == 0
    assert "what moved" in done.out
    assert (tmp_path / "c.html").read_text(encoding="utf-8") == both.html
    wrong = command("compare", tmp_path / "a.json", tmp_path / "b.json", "--html", tmp_path / "c.txt")
    assert wrong.error == f"a page is written as .html or .htm, not into {tmp_path / 'c.txt'}; choose such a name."
