"""A page opened in a browser: what is drawn, what clicks and keys do, and that names of models do no harm."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import pytest

import match
from match.report import Report, encode
from match.report.html import Page, page
from match.report.html.legible import legible, printable
from match.report.layer_rows import layer_rows
from tests.cli.conftest import Command, command, project
from tests.report.html.conftest import DIGITS, Opened, Opener

__all__ = ["command", "project"]

pytestmark = pytest.mark.cc

TABS = ("overview", "graph", "layers", "timeline", "roofline", "memory")
ROWS = "#layers tbody tr:not(.operator)"
"""Those of layers."""

EVIL = "</script><script>window.harmed = 1</script><img src=x onerror='window.harmed = 2'>{0} $$x^2$$ @name"
TURNED = "abc\u202egnp.exe"


@pytest.mark.parametrize(("width", "scheme"), [(375, "dark"), (1024, "light"), (1920, "dark")])
def test_every_tab_is_drawn(opened: Opener, digits_page: Page, width: int, scheme: str) -> None:
    """No message on the console, no request but for the file, nothing wider than the window."""
    shown = opened(digits_page, width, scheme)
    assert tuple(tab.removeprefix("tab-") for tab in ids(shown, "[role=tab]")) == TABS
    for name in TABS:
        shown.tab(name)
        panel = shown.page.locator(f"#panel-{name}")
        assert panel.is_visible()
        for chart in panel.locator(".chart").all():
            assert chart.locator("canvas").count(), f"a picture of {name} is empty"
            assert chart.bounding_box()["height"] > 100
        assert shown.page.evaluate("document.documentElement.scrollWidth") <= width
    assert shown.console == []
    assert [url.partition(":")[0] for url in shown.requests] == ["file"]


def ids(shown: Opened, query: str) -> list[str]:
    return shown.page.locator(query).evaluate_all("parts => parts.map((part) => part.id)")


def test_a_click_on_a_layer_changes_the_details(opened: Opener, digits_page: Page, digits: Report) -> None:
    shown = opened(digits_page)
    shown.tab("layers")
    assert not shown.page.locator("#details").is_visible()
    for place in (1, 4):
        layer = digits.layers[place]
        shown.page.click(f"#layers tr[data-layer='{place}'] td:nth-child(3)")
        told = shown.details()
        assert told.startswith(layer.name)
        assert f"{layer.cycles:,} cycles" in told
        for operand in layer.schedule.operands if layer.schedule else ():
            assert operand.name in told
        assert shown.page.locator(f"{ROWS}[aria-current=true]").get_attribute("data-layer") == str(place)
        assert shown.page.url.endswith(f"#layers/{place}")
    shown.tab("timeline")  # which is drawn now, with the layer that is selected
    assert selected(shown, "timeline") == {4}
    shown.page.keyboard.press("Escape")
    assert selected(shown, "timeline") == set()
    assert not shown.page.locator("#details").is_visible()


def selected(shown: Opened, chart: str) -> set[int]:
    """The layers whose bars stand out in a picture."""
    expression = (
        "model.renderers.flatMap(({ data_source: { data, selected } }) => "
        "selected.indices.filter((i) => i >= 0).map((i) => data.layer[i]))"
    )
    return set(shown.figure(chart, expression))


def test_energy_is_told_by_unit_and_called_an_estimate(digits: Report) -> None:
    assert digits.totals.energy_pj is not None
    html = page(digits).html
    assert f"{digits.totals.energy_pj / 1e6:,.3f} µJ" in html
    assert "for one inference, from estimates" in html
    _, _, table = html.partition("Energy by unit, in nJ")
    rows = re.findall(r"</th><td class='number'>([\d,]+)</td>", table.partition("</table>")[0])
    assert sum(int(row.replace(",", "")) for row in rows) == pytest.approx(digits.totals.energy_pj / 1e3, abs=2)
    measured = msgspec.structs.replace(digits, target=msgspec.structs.replace(digits.target, estimated_energy=False))
    assert "from estimates" not in page(measured).html


def test_a_tap_on_a_bar_selects_its_layer_in_all_pictures(opened: Opener, digits_page: Page, digits: Report) -> None:
    shown = opened(digits_page)
    shown.tab("overview")
    shown.tab("timeline")
    longest = max(range(len(digits.layers)), key=lambda place: digits.layers[place].cycles)
    begin = sum(layer.cycles for layer in digits.layers[:longest])
    middle = (begin + digits.layers[longest].cycles / 2) * 1e6 / digits.target.clock_hz
    left, top = shown.figure("timeline", "[view.canvas_view.el.getBoundingClientRect()].flatMap((b) => [b.x, b.y])")
    x, y = shown.figure("timeline", f"[view.frame.x_scale.compute({middle}), view.frame.y_scale.compute(0)]")
    shown.page.mouse.click(left + x, top + y)
    assert shown.details().startswith(digits.layers[longest].name)
    for chart in ("cycles", "timeline"):
        assert selected(shown, chart) == {longest}


def test_the_table_has_the_columns_of_csv_and_sorts(opened: Opener, digits_page: Page, digits: Report) -> None:
    shown = opened(digits_page)
    shown.tab("layers")
    headings = shown.page.locator("#layers thead th").all_inner_texts()
    assert [heading.split(" ↕")[0].replace(" ", "_") for heading in headings] == list(layer_rows(digits)[0])
    cycles = [layer.cycles for layer in digits.layers]
    column = headings.index(next(one for one in headings if one.startswith("cycles")))
    for wanted in (sorted(cycles, reverse=True), sorted(cycles)):
        shown.page.click(f"#layers thead th:nth-child({column + 1}) button")
        cells = shown.page.locator(f"{ROWS} td:nth-child({column + 1})").all_inner_texts()
        assert [int(cell.replace(",", "")) for cell in cells] == wanted
    shown.page.fill("#search", "conv2d ne16")
    found = [layer for layer in digits.layers if layer.module == "ne16" and "conv2d" in f"{layer.name} {layer.op}"]
    assert shown.page.locator(f"{ROWS}:visible").count() == len(found) > 0
    assert shown.page.inner_text("#found") == f"{len(found)} of {len(digits.layers)} layers"


def test_operators_stand_below_their_layer_however_it_is_sorted(opened: Opener, digits_page: Page) -> None:
    shown = opened(digits_page)
    shown.tab("layers")

    def places() -> list[str]:
        return shown.page.locator("#layers tbody tr").evaluate_all("rows => rows.map((row) => row.dataset.layer)")

    before = [list(same) for _, same in groupby(places())]
    assert max(map(len, before)) > 2
    shown.page.click("#layers thead th:nth-child(4) button")
    after = [list(same) for _, same in groupby(places())]
    assert sorted(before) == sorted(after)
    assert before != after
    shown.page.fill("#search", "avg_pool2d")
    assert [row.split("\t")[0] for row in shown.page.locator("#layers tbody tr:visible").all_inner_texts()] == [
        "group_8_13",
        "avg_pool2d",
    ]
    assert shown.page.inner_text("#found") == "1 of 8 layers"
    shown.page.uncheck("#operators")
    assert shown.page.locator("#layers tbody tr.operator:visible").count() == 0
    assert shown.console == []


def test_the_operators_of_a_group_and_what_they_share_add_up(opened: Opener, digits_page: Page, digits: Report) -> None:
    """In the bars, in the table, in the details; and the bars of its kernels have the operators' names."""
    shown = opened(digits_page)
    (place,) = (place for place, layer in enumerate(digits.layers) if layer.op == "group")
    group = digits.layers[place]
    own = [one.cycles or 0 for one in group.operators]
    wanted = [*own, group.cycles - sum(own)]
    shown.tab("overview")
    tops = shown.figure(
        "cycles", "model.renderers.map(({ data_source: { data } }) => [[...data.layer], [...data.top]])"
    )
    highest = [max(heights) for heights in zip(*(top for _, top in tops), strict=True)]
    assert [top for bar, top in zip(tops[0][0], highest, strict=True) if bar == place] == wanted
    shown.tab("layers")
    rows = [
        row.split("\t") for row in shown.page.locator(f"#layers tr.operator[data-layer='{place}']").all_inner_texts()
    ]
    column = list(layer_rows(digits)[0]).index("cycles")
    assert [int(row[column].replace(",", "")) for row in rows] == wanted
    assert [row[0] for row in rows] == [*(one.op for one in group.operators), "shared"]
    shown.page.click(f"#layers tr[data-layer='{place}'] td:nth-child(3) >> nth=0")
    told = shown.details()
    assert all(f"{cycles:,}" in told for cycles in wanted)
    shown.tab("timeline")
    kernels = shown.figure(
        "timeline",
        "model.renderers.flatMap(({ data_source: { data } }) => data.layer.map((layer, i) => [layer, data.text?.[i]]))",
    )
    assert {text for layer, text in kernels if layer == place} >= {
        f"{one.op}, {number} of {len(own)} in {group.name}" for number, one in enumerate(group.operators, 1)
    }


def test_keys_move_between_tabs(opened: Opener, digits_page: Page) -> None:
    shown = opened(digits_page)
    shown.page.focus("#tab-overview")
    for key, name in (("ArrowRight", TABS[1]), ("End", TABS[-1]), ("ArrowRight", TABS[0]), ("ArrowLeft", TABS[-1])):
        shown.page.keyboard.press(key)
        assert ids(shown, "[role=tab][aria-selected=true]") == [f"tab-{name}"]
        assert ids(shown, "[role=tabpanel]:visible") == [f"panel-{name}"]


def test_the_timeline_is_zoomed_without_a_mouse(opened: Opener, digits_page: Page) -> None:
    shown = opened(digits_page)
    shown.tab("timeline")

    def span() -> float:
        return shown.figure("timeline", "model.x_range.end - model.x_range.start")

    whole = span()
    shown.page.focus("[data-view=in]")
    shown.page.keyboard.press("Enter")
    assert span() == pytest.approx(whole / 2)
    shown.page.click("[data-view=all]")
    assert span() == pytest.approx(whole)


def test_pictures_follow_the_theme(opened: Opener, digits_page: Page) -> None:
    shown = opened(digits_page, scheme="dark")
    shown.tab("timeline")

    def ink() -> list[str]:
        return shown.figure(
            "timeline", "[document.documentElement.dataset.theme, model.below[0].major_label_text_color]"
        )

    assert ink() == ["dark", "#e7ebf0"]
    shown.page.click("#theme")
    assert ink() == ["light", "#1b2027"]


def test_names_of_models_do_no_harm(opened: Opener, digits: Report) -> None:
    layers = tuple(
        msgspec.structs.replace(layer, name=f"{EVIL}{place}", source=f"{TURNED}{EVIL}")
        for place, layer in enumerate(digits.layers)
    )
    model = msgspec.structs.replace(digits.model, name=EVIL + TURNED)
    made = page(msgspec.structs.replace(digits, layers=layers, model=model))
    assert "\u202e" not in made.html
    shown = opened(made)
    assert shown.page.inner_text("h1") == EVIL + printable(TURNED) == EVIL + "abc⟨U+202E⟩gnp.exe"
    for name in TABS:
        shown.tab(name)
        for chart in shown.page.locator(f"#panel-{name} .chart").all():
            box = chart.bounding_box()
            shown.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            shown.page.wait_for_timeout(100)
    shown.tab("layers")
    shown.page.click("#layers tr[data-layer='2'] td:nth-child(3)")
    assert shown.details().startswith(f"{EVIL}2")
    assert shown.page.evaluate("window.harmed") is None
    assert shown.console == []


def test_what_does_not_print_is_written_out() -> None:
    assert printable("a\nb\u2066c\u0000\ud800é") == "a b⟨U+2066⟩c⟨U+0000⟩⟨U+D800⟩é"


def test_only_texts_of_a_report_change(digits: Report) -> None:
    assert legible(digits) == digits


def test_equal_reports_give_equal_pages(digits_page: Page, digits: Report, tmp_path: Path) -> None:
    """In this process, which has drawn others before, and in another one whose hashes are other ones."""
    assert page(digits).html == digits_page.html
    (tmp_path / "report.json").write_bytes(encode(digits))
    code = (
        "import sys; from pathlib import Path; from match.report import decode; from match.report.html import page; "
        "page(decode(Path(sys.argv[1]).read_bytes())).save(sys.argv[2])"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "report.json"), str(tmp_path / "page.html")]
    subprocess.run(command, check=True, env={"PYTHONHASHSEED": "1", "PATH": ""})
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == digits_page.html


def test_a_notebook_shows_the_page_in_a_frame(compiled: match.CompiledModel, tmp_path: Path) -> None:
    shown = compiled.report.show()
    frame = shown._repr_html_()
    assert re.match(r'<iframe srcdoc="&lt;!doctype html&gt;', frame)
    assert shown.html == page(compiled.report).html
    with pytest.raises(match.OptionError, match=r"^a page is written as .html or .htm, not into .*x.txt; choose"):
        shown.save(tmp_path / "x.txt")


def test_a_frame_of_a_notebook_is_drawn(browser: Any, digits_page: Page, tmp_path: Path) -> None:
    file = tmp_path / "notebook.html"
    file.write_text(f"<!doctype html><meta charset=utf-8><body>{digits_page._repr_html_()}", encoding="utf-8")
    tab = browser.new_page()
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.goto(file.as_uri())
    frame = tab.frame_locator("iframe")
    frame.locator("[data-chart=cycles][data-drawn]").wait_for()
    frame.locator("#tab-layers").click()
    frame.locator("#layers tr[data-layer='1'] td:nth-child(3)").click()
    assert frame.locator("#about > article:visible").count() == 1
    assert errors == []
    tab.close()


def test_the_selected_layer_is_in_sight_where_a_tab_is_opened(opened: Opener, digits: Report) -> None:
    shown = opened(page(many_times(digits, 40)))
    shown.page.evaluate("location.hash = 'overview/151'")
    shown.page.click("#next")
    assert shown.page.url.endswith("#overview/152")
    for name, part in (("layers", "tr[aria-current]:not(.operator)"), ("graph", "g[aria-current]")):
        shown.tab(name)
        box = shown.page.locator(f"#panel-{name} {part}").bounding_box()
        assert 0 < box["y"] < 900
        assert 0 < box["x"] < 1280


def many_times(report: Report, times: int) -> Report:
    """A network of the same layers, one after the other, `times` as many."""
    own, timeline = len(report.layers), report.timeline
    assert timeline is not None
    layers = tuple(
        msgspec.structs.replace(
            layer, name=f"{layer.name}_{time}", reads=tuple(own * time + one for one in layer.reads), network_outputs=()
        )
        for time in range(times)
        for layer in report.layers
    )
    bars = tuple(bars for _ in range(times) for bars in timeline.bars)
    return msgspec.structs.replace(report, layers=layers, timeline=msgspec.structs.replace(timeline, bars=bars))


def test_a_network_of_200_operators_is_less_than_5_mb(digits: Report) -> None:
    large = many_times(digits, 200 // len(digits.layers))
    assert len(large.layers) == 200
    assert len(page(large).html.encode()) < 5e6


def test_commands_write_the_same_page(command: Command, tmp_path: Path, digits_page: Page) -> None:
    project = tmp_path / "digits"
    command("compile", DIGITS, "-o", project, "--l1", "5k", "--modules", "cluster,ne16")
    done = command("report", project)
    assert (done.status, done.out, done.err) == (0, f"{project / 'report.html'}\n", "")
    made = (project / "report.html").read_text(encoding="utf-8")
    assert made == digits_page.html
    assert command("report", project / "report.json", "-o", tmp_path / "p.html", "-q").out == ""
    assert (tmp_path / "p.html").read_text(encoding="utf-8") == made


def test_wrong_arguments(command: Command, project: Path, tmp_path: Path) -> None:
    assert command("report", tmp_path).error.startswith(f"{tmp_path}/report.json cannot be read: No such file")
    assert command("report", project, "-o", tmp_path / "x.pdf").error == (
        f"a page is written as .html or .htm, not into {tmp_path / 'x.pdf'}; choose such a name."
    )
    assert "cannot write" in command("report", project, "-o", tmp_path / "no" / "x.html").error
    assert command("compile", DIGITS, "-o", tmp_path / "x", "--html", tmp_path / "x.pdf").error == (
        f"a page is written as .html or .htm, not into {tmp_path / 'x.pdf'}; choose such a name."
    )
    assert not any(tmp_path.iterdir())


def test_compile_writes_the_page_at_once(command: Command, tmp_path: Path) -> None:
    assert command("compile", DIGITS, "-o", tmp_path / "x", "--html", tmp_path / "x.html", "-q").out == ""
    assert command("report", tmp_path / "x", "-q").status == 0
    assert (tmp_path / "x.html").read_bytes() == (tmp_path / "x" / "report.html").read_bytes()


def test_without_the_libraries(
    command: Command, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "bokeh", None)
    monkeypatch.setitem(sys.modules, "bokeh.plotting", None)
    sentence = "pages need the Python package bokeh, which is not installed: `pip install 'match-compiler[html]'`."
    assert command("report", project).error == sentence
    assert command("compile", DIGITS, "-o", tmp_path / "x", "--html", tmp_path / "x.html").error == sentence
    assert not any(tmp_path.iterdir())
