"""The picture of a memory plan: every area where the plan has it, nothing over anything else."""

from __future__ import annotations

from xml.etree import ElementTree

import msgspec
import pytest

from match.report import Report
from match.report.memory_picture import memory_picture
from match.report.schema import MemoryPlanSummary, MemoryStep, MemorySummary, TensorPlace

SVG = "{http://www.w3.org/2000/svg}"
MAIN = 65536


def step(name: str, constants: str, size: int, offset: int | None, at: int | None, block: int = 0) -> MemoryStep:
    return MemoryStep(name, constants, size, offset, at, block > 0, block, 30000 if block else None, 0)  # pyright: ignore


@pytest.fixture
def plan() -> MemoryPlanSummary:
    return MemoryPlanSummary(
        external_memory=MemorySummary("L3", 1 << 20),
        main_bytes=60000,
        external_bytes=48000,
        image_bytes=40000,
        operator_bytes=1000,
        whole_bytes=90000,
        traffic_cycles=10,
        exposed_cycles=5,
        hidden=0.5,
        steps=(
            step("a<b", "resident", 2000, 1000, None),
            step("second", "cut", 9000, None, None, 16384),
            step("third", "fetched", 8192, 4000, 0),
            step("fourth", "fetched", 4096, 16000, 3),
        ),
        tensors=(TensorPlace("t", 5000, False, 20000, 0, 2, (1, 2)), TensorPlace("u", 8000, True, 40000, 1, 3, (3,))),
    )


def bars(report: Report, plan: MemoryPlanSummary) -> dict[tuple[str, str], tuple[float, ...]]:
    """By what they are and say: first step, step behind the last, offset and bytes, all from pixels."""
    picture = ElementTree.fromstring(memory_picture(report, plan))
    lines = [float(line.attrib["y1"]) for line in picture.iter(f"{SVG}line")]
    top, base = min(lines), sorted(lines)[-2]
    found: dict[tuple[str, str], tuple[float, ...]] = {}
    _, *drawn = picture.iter(f"{SVG}rect")
    left = min(float(bar.attrib["x"]) for bar in drawn)
    width = (max(float(bar.attrib["x"]) + float(bar.attrib["width"]) for bar in drawn) - left) / len(plan.steps)
    for bar in drawn:
        x, y, wide, high = (float(bar.attrib[name]) for name in ("x", "y", "width", "height"))
        text = str(bar.findtext(f"{SVG}title"))
        scale = MAIN / (base - top)
        area = ((x - left) / width, (x - left + wide) / width, (base - y - high) * scale, high * scale)
        kind, _, rest = text.partition(", ")
        found[kind, rest.split(": ")[0]] = tuple(area)
    return found


def test_areas_of_main_memory(report: Report, plan: MemoryPlanSummary) -> None:
    found = bars(report, plan)
    expected = {
        ("constants that stay", "operators"): (0, 4, 0, 1000),
        ("constants that stay", "a<b"): (0, 4, 1000, 2000),
        ("constants on their way", "third"): (0, 2, 4000, 8192),
        ("constants in use", "third"): (2, 3, 4000, 8192),
        ("constants in use", "fourth"): (3, 4, 16000, 4096),
        ("blocks", "second"): (1, 2, 30000, 16384),
        ("activations", "a<b"): (0, 3, 20000, 5000),
    }
    for area, numbers in expected.items():
        assert found[area] == pytest.approx(numbers, abs=2), area
    callers = found["inputs and outputs", "the caller's"]
    assert callers[2] + callers[3] == pytest.approx(MAIN, abs=2)
    assert found["activations", "second"][:2] == pytest.approx((1, 4), abs=0.01)
    assert found["activations", "second"][2] < 0, "it is in the other memory"
    assert len(found) == len(expected) + 3  # those, and the constants in external memory


def test_names_and_sizes_are_written(report: Report, plan: MemoryPlanSummary) -> None:
    picture = ElementTree.fromstring(memory_picture(report, plan))
    texts = {text.text for text in picture.iter(f"{SVG}text")}
    assert {"a<b", "second", "third", "fourth", "L2: 64 KiB", "L3", "39 KiB of constants"} <= texts
    width, height = map(float, picture.attrib["viewBox"].split()[2:])
    for bar in picture.iter(f"{SVG}rect"):
        x, y, wide, high = (float(bar.attrib.get(name, 0)) for name in ("x", "y", "width", "height"))
        assert x + wide <= width
        assert y + high <= height


def test_nothing_in_external_memory_but_constants(report: Report, plan: MemoryPlanSummary) -> None:
    plain = msgspec.structs.replace(plan, external_bytes=plan.image_bytes, tensors=plan.tensors[:1])
    assert ("activations", "second") not in bars(report, plain)
