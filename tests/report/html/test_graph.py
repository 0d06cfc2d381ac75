"""The graph of a page: a box for each layer, none over another, an arrow for all that is read."""

from __future__ import annotations

import re
from itertools import combinations
from typing import NamedTuple

import msgspec
import pytest

from match.report import Report
from match.report.html import Page
from match.report.html.graph import graph
from tests.report.html.conftest import Opener

pytestmark = pytest.mark.cc


class Box(NamedTuple):
    x: float
    y: float
    width: float
    height: float


def boxes(drawn: str) -> dict[int | None, list[Box]]:
    """Boxes by the layer's place; None: those of the network's tensors."""
    found: dict[int | None, list[Box]] = {}
    pattern = r'<g (?:data-layer="(\d+)"|class="tensor").*?transform="translate\((\S+) (\S+)\)">.*?<rect class="box" '
    for place, x, y, width, height in re.findall(pattern + r'width="(\S+)" height="(\S+)"', drawn):
        box = Box(*map(float, (x, y, width, height)))
        found.setdefault(int(place) if place else None, []).append(box)
    return found


def ends(drawn: str) -> set[tuple[float, float, float, float]]:
    """Where arrows begin and end."""
    found = set[tuple[float, float, float, float]]()
    for path in re.findall(r'<path class="arrow" d="M(.*?)"', drawn):
        numbers = [float(one) for one in re.findall(r"-?[\d.]+", path)]
        found.add((*numbers[:2], *numbers[-2:]))  # type: ignore[arg-type]
    return found


def arrow(upper: Box, lower: Box) -> tuple[float, float, float, float]:
    return upper.x + upper.width / 2, upper.y + upper.height, lower.x + lower.width / 2, lower.y


def check(report: Report) -> None:
    drawn = str(graph(report))
    found = boxes(drawn)
    tensors = found.pop(None)
    assert sorted(place for place in found if place is not None) == list(range(len(report.layers)))
    for a, b in combinations([*tensors, *(box for (box,) in found.values())], 2):
        assert a.x + a.width <= b.x or b.x + b.width <= a.x or a.y + a.height <= b.y or b.y + b.height <= a.y
    wanted = {arrow(found[one][0], found[place][0]) for place, layer in enumerate(report.layers) for one in layer.reads}
    inputs, outputs = tensors[: len(report.model.inputs)], tensors[len(report.model.inputs) :]
    for place, layer in enumerate(report.layers):
        wanted |= {arrow(inputs[one], found[place][0]) for one in layer.network_inputs}
        wanted |= {arrow(found[place][0], outputs[one]) for one in layer.network_outputs}
    rounded = {tuple(round(one, 1) for one in numbers) for numbers in wanted}
    assert ends(drawn) == rounded


def test_boxes_and_arrows(digits: Report) -> None:
    check(digits)


def test_arrows_that_pass_many_boxes_parts_and_what_reads_nothing(digits: Report) -> None:
    """A network of 40 layers in two parts, with arrows over 1 to 30 rows, and a layer without any arrow."""
    first = digits.layers[0]

    def layer(place: int) -> object:
        reads = [one for one in (place - 1, place - 2, place - 7, place - 30) if one >= (20 if place > 20 else 0)]
        inputs = (0,) if place in (0, 20) else ()
        outputs = (0,) if place == 38 else ()
        alone = place in (0, 20, 39)
        return msgspec.structs.replace(
            first,
            name=f"layer_{place}",
            reads=() if alone else tuple(reads),
            network_inputs=inputs,
            network_outputs=outputs,
        )

    check(msgspec.structs.replace(digits, layers=tuple(layer(place) for place in range(40))))


def test_a_report_without_arrows(digits: Report) -> None:
    """An older one has none."""
    bare = [msgspec.structs.replace(one, reads=(), network_inputs=(), network_outputs=()) for one in digits.layers]
    check(msgspec.structs.replace(digits, layers=tuple(bare)))


def test_a_box_is_selected_by_mouse_and_by_keyboard(opened: Opener, digits_page: Page, digits: Report) -> None:
    shown = opened(digits_page)
    shown.tab("graph")
    shown.page.click("g[data-layer='1'] .box")
    assert shown.details().startswith(digits.layers[1].name)
    shown.page.focus("g[data-layer='2']")
    shown.page.keyboard.press("Enter")
    assert shown.details().startswith(digits.layers[2].name)
    current = shown.page.locator("g[aria-current=true]")
    assert [current.nth(n).get_attribute("data-layer") for n in range(current.count())] == ["2"]
    before = shown.page.locator(".graph svg").bounding_box()["width"]
    shown.page.click("[data-size=in]")
    assert shown.page.locator(".graph svg").bounding_box()["width"] == pytest.approx(1.25 * before, rel=0.01)
