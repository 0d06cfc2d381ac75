"""Roofline, memory and measurements of a page, against numbers worked out by hand."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from match.report import Report
from match.report.beside import Beside, beside
from match.report.html import Page, page
from match.report.memory_areas import held, network_areas
from match.report.roofline import Reached, Roofline, rooflines
from match.report.schema import AccuracySummary, MeasuredLayers, Measurement, ValidatedLayer, ValidatedSummary
from tests.report.html.conftest import Opener

pytestmark = pytest.mark.cc


def test_what_a_layer_reaches_is_under_the_roof(report: Report) -> None:
    """The hand-made layer: 73,728 MACs in 5,000 cycles, 5,680 bytes in 1,500 of the DMA."""
    assert rooflines(report) == (Roofline("array", 64, 5680 / 1500, (Reached(0, 73728 / 5680, 73728 / 5000),)),)


def test_no_module_with_macs_has_no_roofline(report: Report) -> None:
    layers = tuple(msgspec.structs.replace(layer, macs=0) for layer in report.layers)
    assert rooflines(msgspec.structs.replace(report, layers=layers)) == ()


def measurement(platform: str, unit: str, *groups: tuple[tuple[str, ...], int]) -> Measurement:
    layers = tuple(MeasuredLayers(names, (f"f{n}",), count) for n, (names, count) in enumerate(groups))
    total = sum(count for _, count in groups)
    return Measurement(platform, unit, "run", 1, total, layers)  # type: ignore[arg-type]


def test_the_chip_is_compared_with_its_prediction(report: Report) -> None:
    counted = measurement("chip", "cycles", (("conv",), 6000), (("softmax",), 2500), ((), 10))
    assert beside(report, counted) == (
        Beside((0,), ("f0",), 5000, 6000),
        Beside((1,), ("f1",), 3000, 2500),
        Beside((), ("f2",), 0, 10),
    )


def test_instructions_are_compared_with_nothing(report: Report) -> None:
    counted = measurement("qemu", "instructions", (("conv", "softmax"), 6000))
    assert beside(report, counted) == (Beside((0, 1), ("f0",), None, 6000),)


def test_less_than_the_chip_has_its_own_prediction(report: Report) -> None:
    first, second = report.layers
    less = (msgspec.structs.replace(first, platform_cycles={"rtl": 70}), second)
    counted = measurement("rtl", "cycles", (("conv",), 77), (("softmax",), 5))
    assert [one.predicted for one in beside(msgspec.structs.replace(report, layers=less), counted)] == [70, None]


def test_measurements_are_a_tab(opened: Opener, digits: Report) -> None:
    names = [layer.name for layer in digits.layers]
    counted = measurement("chip", "cycles", *(((name,), 1000 + place) for place, name in enumerate(names)))
    shown = opened(page(msgspec.structs.replace(digits, measured=(counted,))))
    shown.tab("measured")
    rows = shown.page.locator("#panel-measured tbody tr").all_inner_texts()
    assert [row.split("\t")[:3] for row in rows] == [
        [layer.name, f"{layer.cycles:,}", f"{1000 + place:,}"] for place, layer in enumerate(digits.layers)
    ]
    tops = shown.figure("measured-0", "model.renderers.map(({ data_source: { data } }) => [...data.top])")
    assert tops == [[layer.cycles for layer in digits.layers], [1000 + place for place in range(len(names))]]
    shown.page.click(f"#panel-measured .link >> text={names[2]}")
    assert f"{1002:,} cycles" in shown.details()
    assert shown.console == []


def test_each_memory_has_its_areas_and_its_fullest_moment(opened: Opener, digits_page: Page, digits: Report) -> None:
    shown = opened(digits_page)
    shown.tab("memory")
    network = network_areas(digits)
    for number, memory in enumerate((network.main, *network.others)):
        drawn = shown.figure(
            f"memory-{number}",
            "model.renderers.flatMap(({ data_source: { data } }) => data.text.map((text, i) => "
            "[data.left[i], data.right[i], data.bottom[i], data.top[i]]))",
        )
        wanted = [[a.first + a.begin - 0.5, a.last + a.end - 0.5, a.offset, a.offset + a.bytes] for a in memory.areas]
        assert np.allclose(sorted(drawn), sorted(wanted), rtol=0, atol=1e-9)
        in_use = [held(memory.areas, step) for step in range(len(network.steps))]
        fullest = in_use.index(max(in_use))
        frame = "model.center.filter((one) => one.type === 'BoxAnnotation').map((one) => [one.left, one.right])"
        assert shown.figure(f"memory-{number}", frame) == [[fullest - 0.5, fullest + 0.5]]
        heading = shown.page.locator("#panel-memory section").nth(number).inner_text()
        assert heading.startswith(memory.name)
        assert f"fullest: {max(in_use) / 1024:.1f} KiB" in heading
        assert f"in {network.steps[fullest]}" in heading


def test_a_legend_hides_what_it_names(opened: Opener, digits_page: Page) -> None:
    shown = opened(digits_page)
    shown.tab("memory")
    visible = "model.renderers.filter((one) => one.visible).map((one) => one.name)"
    before = shown.figure("memory-0", visible)
    assert "activations" in before
    button = "[data-of='memory-0'] [data-shows='activations']"
    shown.page.click(button)
    assert shown.page.get_attribute(button, "aria-pressed") == "false"
    assert shown.figure("memory-0", visible) == [name for name in before if name != "activations"]
    shown.page.focus(button)
    shown.page.keyboard.press("Enter")
    assert shown.figure("memory-0", visible) == before


def test_an_older_report_is_a_page_with_fewer_tabs(opened: Opener, report: Report) -> None:
    """It does not say when units work, where tensors lie, nor what layers read."""
    shown = opened(page(report))
    tabs = shown.page.locator("[role=tab]").all_inner_texts()
    assert tabs == ["Overview", "Graph", "Layers", "Roofline"]
    for name in tabs:
        shown.tab(name.lower())
    assert shown.console == []


def test_what_was_validated_is_on_the_page(opened: Opener, digits: Report) -> None:
    layer = digits.layers[2]
    found = ValidatedSummary(
        platform="host",
        reference="onnxruntime",
        samples=80,
        verdict="as announced",
        elements=800,
        equal=529,
        compared="digits: generated C on host and onnxruntime, 80 samples",
        found=("As announced: 271 of 800 elements differ.", "More is said here."),
        accuracy=AccuracySummary(80, 76, 78, (0.879, 0.98), (0.913, 0.993), 77, (0.9, 0.99)),
        layers=(ValidatedLayer(layer.name, 1000, 34, 1.0, 2), ValidatedLayer(digits.layers[0].name, 256, 0, 0.0, 0)),
    )
    shown = opened(page(msgspec.structs.replace(digits, validated=(found,))))
    shown.tab("overview")
    cards = shown.page.locator("#panel-overview .stat").all_inner_texts()
    assert "Beside onnxruntime\nas announced\n\n80 samples of the C on host" in cards
    (accuracy,) = (card for card in cards if card.startswith("Accuracy"))
    assert "95.00%" in accuracy
    assert "87.9% to 98.0%" in accuracy
    assert "onnxruntime 97.50%, exact numerics 96.25%" in accuracy
    panel = shown.page.inner_text("#panel-overview")
    assert all(text in panel for text in (found.compared, *found.found))
    shown.tab("layers")
    for place, told in ((2, "34 of 1,000 elements differ, by up to 1, and up to 2 is known"), (0, "all 256 elements")):
        shown.page.click(f"#layers tr[data-layer='{place}'] td:nth-child(3) >> nth=0")
        assert told in shown.details()
    assert shown.console == []
