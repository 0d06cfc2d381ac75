"""The picture of a memory plan: every area where the plan has it, nothing over anything else."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

import match
from match.codegen.project import project_files
from match.report import Report
from match.report.memory_areas import held, network_areas, planned_areas, with_image
from match.report.memory_picture import memory_picture
from match.report.schema import MemoryPlanSummary, MemoryStep, MemorySummary, TensorPlace

pytestmark = pytest.mark.cc

SVG = "{http://www.w3.org/2000/svg}"
MAIN, PROGRAM = 65536, 3072
DIGITS = Path(match.__file__).parent / "devtools" / "demo" / "digits.onnx"


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
    picture = ElementTree.fromstring(memory_picture("", planned_areas(report, plan)))
    main = next(group for group in picture.iter(f"{SVG}g") if group.attrib["id"] == "L2")
    lines = [float(line.attrib["y1"]) for line in main.iter(f"{SVG}line")]
    top, base = min(lines), max(lines)
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
    callers, program = found["inputs and outputs", "the caller's"], found["the program", "estimated"]
    assert callers[2] + callers[3] == pytest.approx(program[2], abs=2)
    assert program[2:] == pytest.approx((MAIN - PROGRAM, PROGRAM), abs=2)
    assert found["activations", "second"][:2] == pytest.approx((1, 4), abs=0.01)
    assert found["activations", "second"][2] < 0, "it is in the other memory"
    assert len(found) == len(expected) + 4  # those, and the constants in external memory


def test_names_and_sizes_are_written(report: Report, plan: MemoryPlanSummary) -> None:
    picture = ElementTree.fromstring(memory_picture("a network", planned_areas(report, plan)))
    texts = {text.text for text in picture.iter(f"{SVG}text")}
    assert {"a<b", "second", "third", "fourth", "L2", "64 KiB", "L3", "39 KiB of constants", "a network"} <= texts
    width, height = map(float, picture.attrib["viewBox"].split()[2:])
    for bar in picture.iter(f"{SVG}rect"):
        x, y, wide, high = (float(bar.attrib.get(name, 0)) for name in ("x", "y", "width", "height"))
        assert x + wide <= width
        assert y + high <= height


def test_nothing_in_external_memory_but_constants(report: Report, plan: MemoryPlanSummary) -> None:
    plain = msgspec.structs.replace(plan, external_bytes=plan.image_bytes, tensors=plan.tensors[:1])
    assert ("activations", "second") not in bars(report, plain)


def test_constants_in_external_memory_are_there_all_the_time(report: Report, plan: MemoryPlanSummary) -> None:
    """40,000 bytes of them, and behind these a tensor from the second to the last step."""
    external = with_image(planned_areas(report, plan))
    assert external is not None
    assert (external.name, external.size, external.used) == ("L3", 1 << 20, 48000)
    assert [(area.first, area.last, area.offset, area.bytes) for area in external.areas] == [
        (0, 3, 0, 40000),
        (1, 3, 40000, 8000),
    ]
    assert [held(external.areas, step) for step in range(4)] == [40000, 48000, 48000, 48000]


def test_an_older_report_does_not_say(report: Report) -> None:
    with pytest.raises(match.InputError, match=r"^the report does not say where tensors lie in memory; compile"):
        network_areas(report)


@pytest.fixture(scope="module")
def compiled() -> match.CompiledModel:
    """A network that main memory holds, with layers on modules and operators on the control core."""
    return match.compile(DIGITS, "gap9", fuse=False)


def test_what_fits_main_memory_lies_where_the_c_has_it(compiled: match.CompiledModel) -> None:
    """Constants, the workspace of the generated C, and the caller's; nothing alive together overlaps."""
    network = compiled._network
    written = project_files(network, compiled._target)["src/network.c"]
    areas = network_areas(compiled.report)
    totals = compiled.report.totals
    assert areas.main.used == totals.l2_peak_bytes + totals.program_bytes
    (program,) = (area for area in areas.main.areas if area.kind == "the program")
    assert (program.offset, program.bytes) == (totals.l2_peak_bytes, totals.program_bytes)
    constants, live, callers = (
        [area for area in areas.main.areas if area.kind == kind]
        for kind in ("constants that stay", "activations", "inputs and outputs")
    )
    assert sum(area.bytes for area in constants) == totals.constant_bytes
    assert callers[0].bytes == 4 * (16 * 16 + 10), "float32 image and scores"
    assert callers[0].offset - totals.constant_bytes == network.workspace_bytes
    assert max(area.offset + area.bytes for area in live) <= callers[0].offset
    for area in live:
        # The C of `main` says where each tensor is that a layer writes.
        assert area.offset - totals.constant_bytes in workspace_addresses(written)
    for step in range(len(areas.steps)):
        alive = [area for area in areas.main.areas if area.first <= step <= area.last]
        assert held(areas.main.areas, step) == sum(area.bytes for area in alive)
    for writer, reader in (("conv2d_4", "add_7"), ("conv2d_5", "conv2d_6")):
        (area,) = (area for area in live if area.text == writer)
        assert (areas.steps[area.first], areas.steps[area.last]) == (writer, reader)


def workspace_addresses(network: str) -> set[int]:
    """Offsets into the workspace in the C of a network."""
    return {int(found) for found in re.findall(r"workspace \+ (\d+)", network)}


def test_scratchpads_have_each_layers_buffers(compiled: match.CompiledModel) -> None:
    areas = network_areas(compiled.report)
    (scratchpad,) = areas.others
    layers = {layer.name: layer for layer in compiled.report.layers if layer.l1_bytes}
    assert (scratchpad.name, scratchpad.size, len(layers)) == ("L1", 116 * 1024, 9)
    for step, name in enumerate(areas.steps):
        buffers = [area for area in scratchpad.areas if area.first == area.last == step]
        assert bool(buffers) == (name in layers)
        for low, high in pairwise(buffers):
            assert low.offset + low.bytes == high.offset
        if name in layers:
            assert 0 <= layers[name].l1_bytes - held(buffers, step) < 64, "alignment"


def test_a_group_lies_where_its_c_has_it() -> None:
    """What is fetched, written and needed by kernels; whatever is in use at once lies side by side."""
    compiled = match.compile(DIGITS, "gap9")
    areas = network_areas(compiled.report)
    (scratchpad,) = areas.others
    (text,) = (text for name, text in project_files(compiled._network, compiled._target).items() if "group" in name)
    fetched = {name: offsets_of(text, rf"fetch_{name}\(&transfers\[\d+\], ") for name in ("input", "weights")}
    assigned = {name: offsets_of(text, rf"tiles\[\d+\]\.{name} = ") for name in ("output", "scratch")}
    own = [area for area in scratchpad.areas if area.placed]
    for kind, offsets in {**fetched, "output": assigned["output"], "the kernel's own": assigned["scratch"]}.items():
        assert {area.offset for area in own if area.kind == kind} == offsets, kind
    for moment in {area.begin for area in own}:
        alive = sorted((area for area in own if area.is_taken(own[0].first, moment)), key=lambda area: area.offset)
        assert all(low.offset + low.bytes <= high.offset for low, high in pairwise(alive))
        assert sum(area.bytes for area in alive) <= held(scratchpad.areas, own[0].first) <= scratchpad.used
    assert scratchpad.used <= scratchpad.size
    (group,) = (layer for layer in compiled.report.layers if layer.name == areas.steps[own[0].first])
    assert group.schedule is not None
    kernels = re.findall(r"_start\(match_\w+, &tiles", text)
    assert sum(operator.calls for operator in group.operators) == group.schedule.kernel_calls == len(kernels)
    assert [operator.calls for operator in group.operators] == [1] * len(kernels)
    read, call = list[tuple[int, int]](), 0
    for line in text.splitlines():
        read += ((offset, call) for offset in offsets_of(line, r"tiles\[\d+\]\.(?:weights|parameters) = "))
        call += "_start(match_" in line
    for room in group.schedule.rooms:
        if room.kind == "constants":
            inside = range(room.offset, room.offset + room.bytes)
            assert room.operator == min(call for offset, call in read if offset in inside and 2 * call >= room.first)


def offsets_of(text: str, before: str) -> set[int]:
    """Where in L1 the C of a group has what comes after a pattern."""
    return {int(found or 0) for found in re.findall(rf"{before}l1(?: \+ (\d+))?", text)}


def test_the_picture_of_any_network(compiled: match.CompiledModel, tmp_path: Path) -> None:
    compiled.save_memory_map(tmp_path / "memory.svg")
    picture = ElementTree.parse(tmp_path / "memory.svg").getroot()
    panels = {group.attrib["id"]: group for group in picture.iter(f"{SVG}g")}
    assert list(panels) == ["L2", "L1"]
    texts = [str(text.text) for text in panels["L1"].iter(f"{SVG}text")]
    assert {"input", "weights", "output", "L1"} <= set(texts)
    assert any(text.startswith("L1, 116 KiB: at most") and text.endswith("in conv2d_5") for text in texts)
    assert len(list(picture.iter(f"{SVG}path"))) == 2, "a frame around each peak"
    with pytest.raises(match.OptionError, match=r"^a memory map is written as .svg, not into .*x.png; choose"):
        compiled.save_memory_map(tmp_path / "x.png")
    with pytest.raises(match.OptionError, match=r"^a timeline is written as .json or .svg, not into .*x.png; choose"):
        compiled.save_timeline(tmp_path / "x.png")
    assert [path.name for path in tmp_path.iterdir()] == ["memory.svg"]
