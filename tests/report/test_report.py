"""The report's sums and its JSON, against numbers worked out by hand."""

from __future__ import annotations

import json
import re

import jsonschema
import pytest

from match.errors import ModelError
from match.ir.layer import Op
from match.report import Report, decode, encode
from match.report.schema import BufferSummary, TimelineBar
from match.report.text import schema
from tests.report.conftest import DOCS

pytestmark = pytest.mark.tvm


def test_totals_are_the_sums_over_the_layers(report: Report) -> None:
    totals = report.totals
    assert totals.cycles == 5000 + 3000
    assert totals.milliseconds == pytest.approx(8000 / 200e6 * 1e3)
    assert report.model.macs == 16 * 8 * 8 * 8 * 9
    assert totals.macs_per_cycle == pytest.approx(73728 / 8000)
    assert totals.l2_peak_bytes == 5000
    assert totals.constant_bytes == 2000
    assert totals.bytes_moved == 768 + 3888 + 1024
    assert totals.inexact_layers == 1


def test_cycles_by_module_add_up(report: Report) -> None:
    by_module = {module.name: (module.layers, module.cycles) for module in report.target.modules}
    assert by_module == {"array": (1, 5000), "cores": (0, 0), "cpu": (1, 3000)}


def test_layer_on_a_module(report: Report) -> None:
    layer = report.layers[0]
    assert (layer.module, layer.bound, layer.cycles) == ("array", "compute", 5000)
    assert (layer.compute_cycles, layer.dma_cycles, layer.overhead_cycles) == (4000, 1500, 600)
    assert layer.requantization is not None
    assert (layer.requantization.exact, layer.requantization.share, layer.requantization.max_step) == (False, 0.015, 1)
    assert layer.schedule is not None
    assert [(loop.dim, loop.count, loop.tile, loop.extent) for loop in layer.schedule.loops] == [
        ("OY", 3, 3, 8),
        ("K", 2, 8, 16),
    ]
    assert layer.schedule.tile == {"K": 8, "C": 8, "OY": 3, "OX": 8, "FY": 3, "FX": 3}
    operands = {operand.name: operand for operand in layer.schedule.operands}
    # Three output rows of a 3x3 filter need five input rows of 8 x 8; eight filters are 8·9·8 and 8·9 bytes.
    assert operands["input"].buffers == (BufferSummary(memory="L1", depth=1, buffers=2, bytes=320),)
    assert operands["weights"].buffers[0].bytes == 576 + 72
    assert operands["output"].buffers[0].bytes == 3 * 8 * 8
    assert operands["weights"].bytes_moved == 3888
    assert layer.l1_bytes == 2 * 320 + 2 * 648 + 192 + 100
    assert layer.constant_bytes == 16 * (8 * 3 * 3 + 9)
    assert layer.weight_bits == 8


def test_layer_on_the_cpu(report: Report) -> None:
    layer = report.layers[1]
    assert (layer.module, layer.schedule, layer.bound, layer.requantization) == ("cpu", None, None, None)
    assert (layer.constant_bytes, layer.weight_bits) == (None, None)
    assert [(candidate.module, candidate.cycles, candidate.refusal) for candidate in layer.candidates] == [
        ("array", None, "it has no such operator")
    ]


def test_json_round_trip(report: Report) -> None:
    assert decode(encode(report)) == report


def test_json_follows_the_published_schema(report: Report) -> None:
    published = json.loads((DOCS / "report.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(published)
    document = json.loads(encode(report))
    jsonschema.validate(document, published)
    del document["totals"]["cycles"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, published)


SECTIONS = {
    "Top level": ("Report",),
    "model": ("ModelSummary", "TensorSummary", "StateSummary"),
    "target": ("TargetSummary", "EnlargedMemory", "MemorySummary", "ModuleSummary"),
    "options": ("OptionsSummary",),
    "totals": ("Totals",),
    "layers": ("LayerSummary", "CandidateSummary", "RunnerUpSummary", "MovedSummary", "OperatorSummary"),
    "schedule": ("ScheduleSummary", "LoopSummary", "OperandSummary", "BufferSummary", "RoomSummary"),
    "requantization": ("RequantizationSummary",),
    "advice": ("Advice",),
    "moved_outputs": ("MovedOutputs", "MovedOutput"),
    "measured": ("Measurement", "MeasuredLayers"),
    "validated": ("ValidatedSummary", "ValidatedLayer", "AccuracySummary"),
    "sizes": ("Size",),
    "memory": ("MemoryPlanSummary", "MemoryStep", "TensorPlace"),
    "workspace": ("WorkspaceSummary", "WorkspaceBuffer"),
    "timeline": ("TimelineSummary", "TimelineBar"),
}
"""The structs whose fields each section of docs/report.md explains."""


def test_every_field_is_documented() -> None:
    written = re.findall(r"^##+ `?(.+?)`?\n((?:(?!##).*\n)*)", (DOCS / "report.md").read_text(), re.MULTILINE)
    texts = {struct: text for title, text in written for struct in SECTIONS.get(title, ())}
    for struct, definition in schema()["$defs"].items():
        for field in definition.get("properties", TimelineBar.__struct_fields__):  # a bar is an array
            assert f"`{field}`" in texts[struct], f"docs/report.md does not explain {field} of {struct}"


def test_every_operator_is_documented() -> None:
    text = (DOCS / "report.md").read_text().partition("### Operators\n")[2].partition("\n### ")[0]
    assert set(re.findall(r"`(\w+)`", text)) - {"op"} == {op.value for op in Op} - {Op.OWN.value}


@pytest.mark.parametrize("data", [b"", b"{}", b'{"schema_version": 2}', b"\xff"])
def test_foreign_json_is_refused(data: bytes) -> None:
    with pytest.raises(ModelError, match=r"report\.json"):
        decode(data)
