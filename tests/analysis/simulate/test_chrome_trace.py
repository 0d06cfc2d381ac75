"""Timelines as files for Perfetto."""

from __future__ import annotations

import itertools
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from match.analysis.simulate import Action, Kind, simulate
from match.analysis.timeline import write_timeline
from match.analysis.timeline.chrome_trace import CORE, Document, Mark, Span, Stretch, document
from match.analysis.trace import LayerTrace
from match.errors import OutputError
from tests.analysis.simulate.test_by_hand import RowCost, nested, rows_in_three_tiles

pytestmark = pytest.mark.unit


def lanes(made: Document) -> dict[str, list[Mark]]:
    """Bars by the name of their lane."""
    names = {mark.tid: str(mark.args["name"]) for mark in made.traceEvents if mark.name == "thread_name"}
    return {
        name: [mark for mark in made.traceEvents if mark.ph == "X" and mark.tid == tid] for tid, name in names.items()
    }


def two_layers() -> list[Stretch]:
    first, second = (simulate(schedule, RowCost()) for schedule in (rows_in_three_tiles(RowCost()), nested()))
    return [
        Stretch("first", "unit", first.events, first.cycles, "model/conv"),
        Stretch("softmax", "cpu", (), 38),
        Stretch("second", "unit", second.events, second.cycles),
    ]


def test_lanes() -> None:
    """Times are microseconds: two cycles at 2 MHz are one."""
    made = lanes(document("net", two_layers(), 2e6, "predicted"))
    assert list(made) == ["layers", "core", "DMA L1", "unit", "DMA L2"]
    bars = [(mark.name, mark.ts, mark.dur, mark.args) for mark in made["layers"]]
    assert bars == [
        ("first", 0, 199 / 2, {"unit": "unit", "model": "model/conv"}),
        ("softmax", 199 / 2, 38 / 2, {"unit": "cpu"}),
        ("second", 237 / 2, 362 / 2, {"unit": "unit"}),
    ]
    assert [(m.name, m.ts * 2, m.dur * 2) for m in made["unit"]][:4] == [
        ("first 0", 111, 20),
        ("first 1", 141, 20),
        ("first 2", 171, 20),
        ("second 0", 237 + 153, 20),
    ]
    assert [(m.name, m.ts * 2, m.dur * 2, m.args["bytes"]) for m in made["DMA L2"]][:2] == [
        ("input 0", 237 + 101, 40, 4),
        ("input 1", 237 + 142, 40, 4),
    ]
    assert ("wait for output 0", 133, 6) in [(m.name, m.ts * 2, m.dur * 2) for m in made["core"]]


def test_spans_beside_events() -> None:
    """They lie in their lanes, and transfers between main memory and the one outside are the latter's."""
    spans = (
        Span(CORE, "offload", "offload first", 0, 5),
        Span("DMA L3", "transfer", "constants of second", 2, 300, {"bytes": 8}),
    )
    _, softmax, second = two_layers()
    made = lanes(document("net", [msgspec.structs.replace(softmax, spans=spans), second], 1e6, "p", {"L2": "L3"}))
    assert "DMA L2" not in made
    assert [(m.name, m.ts, m.dur) for m in made["core"]][:1] == [("offload first", 0, 5)]
    bars = [(m.name, m.ts, m.dur, m.args) for m in made["DMA L3"]]
    assert bars[0] == ("constants of second", 2, 298, {"bytes": 8})
    assert [m.name for m in made["DMA L3 (2)"]][:2] == ["input 0", "input 1"], "while the others are under way"


def test_bars_of_a_lane_do_not_overlap() -> None:
    for name, bars in lanes(document("net", two_layers(), 1e6, "predicted")).items():
        assert all(a.ts + a.dur <= b.ts for a, b in itertools.pairwise(bars)), name


def test_a_trace_is_drawn_in_steps() -> None:
    """Two transfers that are under way together are in two lanes."""
    actions = (
        Action(Kind.FETCH, "input", "L1", 0, 0, 8),
        Action(Kind.FETCH, "weights", "L1", 0, 0, 4),
        Action(Kind.WAIT, "input", "L1", 0, 0, 8),
        Action(Kind.WAIT, "weights", "L1", 0, 0, 4),
    )
    made = lanes(document("net", [LayerTrace("layer", actions).stretch()], 1e6, "steps"))
    assert [(m.name, m.ts, m.dur) for m in made["layers"]] == [("layer", 0, 4)]
    assert [(m.name, m.ts, m.dur) for m in made["DMA L1"]] == [("input 0", 1, 2)]
    assert [(m.name, m.ts, m.dur) for m in made["DMA L1 (2)"]] == [("weights 0", 2, 2)]


def test_file(tmp_path: Path) -> None:
    write_timeline(tmp_path / "t.json", "net", two_layers(), 2e6, "predicted")
    made = msgspec.json.decode((tmp_path / "t.json").read_bytes(), type=Document)
    assert made == document("net", two_layers(), 2e6, "predicted")
    assert made.otherData == {"times": "predicted", "clock_hz": 2e6}


def test_picture(tmp_path: Path) -> None:
    """A bar for everything that takes time, from left to right as long as it takes; the rows are the lanes."""
    write_timeline(tmp_path / "t.svg", "a<b", two_layers(), 2e6, "predicted")
    picture = ElementTree.parse(tmp_path / "t.svg").getroot()
    made = document("a<b", two_layers(), 2e6, "predicted")
    marks = [mark for mark in made.traceEvents if mark.ph == "X"]
    _, *bars = picture.iter("{http://www.w3.org/2000/svg}rect")
    assert len(bars) == len(marks)
    x, y, width = ([float(bar.attrib[name]) for bar in bars] for name in ("x", "y", "width"))
    assert {mark.tid for mark in marks} == {(v - min(y)) / (max(y) - min(y)) * 4 for v in y}
    scale = width[0] / marks[0].dur
    assert all(w == pytest.approx(max(0.5, mark.dur * scale), abs=0.02) for w, mark in zip(width, marks, strict=True))
    assert all(v == pytest.approx(x[0] + mark.ts * scale, abs=0.02) for v, mark in zip(x, marks, strict=True))
    assert max(a + b for a, b in zip(x, width, strict=True)) <= float(picture.attrib["viewBox"].split()[2])
    texts = [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert {"a<b: predicted", *lanes(made), "offload", "idle", "wait"} <= set(texts)
    grounds = list(picture.iter("{http://www.w3.org/2000/svg}path"))
    assert len(grounds) == len(lanes(made)) - 1, "what is no layer's bar in a lane of a unit or a DMA is idle"
    assert all(ground[0].text == "idle" for ground in grounds)


def test_a_layer_has_the_model_s_name_where_there_is_room(tmp_path: Path) -> None:
    stretches = [Stretch(name, "array", (), cycles, "block/conv") for name, cycles in (("a", 60), ("b", 940))]
    write_timeline(tmp_path / "t.svg", "net", stretches, 1e6, "predicted")
    texts = {text.text for text in ElementTree.parse(tmp_path / "t.svg").iter("{http://www.w3.org/2000/svg}text")}
    assert {"a", "b: block/conv"} <= texts


def test_where_no_file_can_be(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot write"):
        write_timeline(tmp_path / "no" / "t.json", "net", [], 1e6, "predicted")
