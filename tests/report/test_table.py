"""The table says what the report holds, calls predictions predictions, and cuts nothing off in a file."""

from __future__ import annotations

import io
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

import match
from match.report import Report, show
from match.report.schema import MeasuredLayers, Measurement, OperatorSummary
from match.target.registry import get_target

pytestmark = pytest.mark.tvm


def text_of(report: Report) -> str:
    console = Console(file=io.StringIO(), width=80)
    show(report, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_table_names_everything(report: Report) -> None:
    text = text_of(report)
    conv = next(line for line in text.splitlines() if line.startswith("conv "))
    for part in (
        "array",
        "73,728",
        "5,000",
        "62.5%",
        "compute",
        "OY 3/8 K 8/16",
        "I2 W2 O1",
        "cores 9,000",
        "1.50% off",
        "0.025",
        "14.75",
        "23.0%",
        "5,680",
    ):
        assert part in conv
    assert "array [1]" in next(line for line in text.splitlines() if line.startswith("softmax "))
    assert "[1] array refused because it has no such operator" in text
    assert "…" not in text


def test_what_cycles_go_into_is_one_line(report: Report) -> None:
    causes = {"compute": 490, "transfers": 180, "offload": 120, "external memory": 210}
    totals = msgspec.structs.replace(report.totals, cycles=1000, causes=causes)
    shown = text_of(msgspec.structs.replace(report, totals=totals))
    assert "Cycles: compute 49%, transfers 18%, offload and calls 12%, waits for external memory 21%." in shown


def test_cycles_are_called_predicted(report: Report) -> None:
    text = text_of(report)
    assert "predicted" in text
    assert "Predicted: 8,000 cycles, 0.040 ms at 200 MHz, 9.22 MAC/cycle" in text
    assert "not exact in 1 layer;" in text


def test_what_the_core_may_round_otherwise_is_said(report: Report) -> None:
    assert "Floating point" not in text_of(report)
    layers = tuple(msgspec.structs.replace(layer, exact=layer.name != "softmax") for layer in report.layers)
    totals = msgspec.structs.replace(report.totals, inexact_layers=1)
    text = text_of(msgspec.structs.replace(report, layers=layers, totals=totals))
    assert "Floating point: 1 layer may round otherwise than the reference" in text
    row = next(line for line in text.splitlines() if line.startswith("softmax "))
    assert " no " in row


def test_what_is_in_integers_in_place_of_floating_point_is_said(report: Report) -> None:
    layers = tuple(
        msgspec.structs.replace(layer, exact=False, floating=False, op="softmax") if layer.name == "softmax" else layer
        for layer in report.layers
    )
    totals = msgspec.structs.replace(report.totals, inexact_layers=1)
    text = text_of(msgspec.structs.replace(report, layers=layers, totals=totals))
    assert "In integers: 1 layer where the reference has floating point, with outputs within one step of its." in text
    assert "Floating point" not in text
    assert " within 1 " in next(line for line in text.splitlines() if line.startswith("softmax "))


def test_bits_of_weights_are_told_where_some_are_fewer_than_a_byte_has(report: Report) -> None:
    assert "weight" not in text_of(report)
    conv, softmax = report.layers
    operators = (OperatorSummary("conv2d", 73728, 1024, weight_bits=3), OperatorSummary("add", 0, 1024))
    chain = msgspec.structs.replace(conv, name="chain", operators=operators, weight_bits=None)
    lines = text_of(msgspec.structs.replace(report, layers=(conv, chain, softmax))).splitlines()
    header = next(number for number, line in enumerate(lines) if "weight " in line)
    begin = lines[header].index("weight ")
    cells = [line[begin : begin + len("weight")].strip() for line in lines[header + 1 : header + 8]]
    assert cells == ["bits", "──────", "8", "", "3", "", ""]


HEADERS = {
    "tensor": "model/relu",
    "shapes": "1x8x8x8 > 1x8x8x16",
    "MACs": "73,728",
    "share": "62.5%",
    "ms": "0.025",
    "MAC per cycle": "14.75",
    "of peak": "23.0%",
    "bound": "compute",
    "constant bytes": "1,296",
    "bytes moved": "5,680",
    "loops (tile/extent)": "OY 3/8 K 8/16",
    "buffers": "I2 W2 O1",
    "exact": "1.50% off",
    "other modules": "cores 9,000",
}


def on_terminal(report: Report, width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, force_terminal=True, no_color=True, color_system=None)
    show(report, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize("width", [40, 48, 60, 72, 80, 90, 100, 110, 120, 160, 200])
def test_what_a_narrow_terminal_does_not_show_is_named(report: Report, width: int) -> None:
    lines = on_terminal(report, width)
    text = " ".join(" ".join(lines).split())
    assert all(len(line) <= width for line in lines)
    assert "…" not in text
    named, _, _ = text.partition("Not shown, since this terminal is too narrow: ")[2].partition(";")
    missing = named.split(", ") if named else []
    assert [title for title, cell in HEADERS.items() if cell not in text.partition("Predicted:")[0]] == missing
    assert "5,000" in text
    assert ("[1] array refused because" in text) == ("other modules" not in missing)
    assert ("'off' is the share" in text) == ("exact" not in missing)
    assert bool(missing) == (width < 180)


def test_the_narrowest_terminal_folds_names(report: Report) -> None:
    """Names, and columns of what was counted, are not cut off either."""
    name = "divide+clip+add+subtract+cast+add+cast_0"
    group = MeasuredLayers(layers=(name,), functions=("f",), count=123456789)
    measurement = Measurement("qemu", "instructions", "command", 1, 123456789, (group,))
    layers = (msgspec.structs.replace(report.layers[0], name=name), *report.layers[1:])
    lines = on_terminal(msgspec.structs.replace(report, layers=layers, measured=(measurement,)), 40)
    assert all(len(line) <= 40 for line in lines)
    assert "…" not in "".join(lines)
    begin = next(n for n, line in enumerate(lines) if line.startswith(name[:8]))
    assert name == "".join(line.split()[0] for line in lines[begin : begin + -(-len(name) // 13)])
    text = " ".join(" ".join(lines).split())
    assert "123,456,789" in text


def test_what_is_counted_is_told_beside_the_predicted_cycles(report: Report) -> None:
    said = {
        platform.name: platform.counted
        for target in ("gap8", "gap9")
        for platform in get_target(target).platforms
        if target == "gap9" or platform.name == "qemu"
    }
    assert said["qemu"].endswith("of layers on NE16 the driver alone.")
    assert "transfers take no time" in said["rtl"]
    plain = next(platform for platform in get_target("gap8").platforms if platform.name == "qemu").counted
    assert plain
    assert "NE16" not in plain
    group = MeasuredLayers(layers=(report.layers[0].name,), functions=("f",), count=5)
    measurement = Measurement("qemu", "instructions", "command", 1, 5, (group,), said["qemu"])
    lines = text_of(msgspec.structs.replace(report, measured=(measurement,))).splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("Measured on qemu: 5 instructions"))
    assert said["qemu"] in " ".join(lines[at + 1 : at + 4])


def test_the_parts_of_an_operator_are_one_row(report: Report) -> None:
    """With the sums of them, and the channels that it has lost as a whole."""
    conv, softmax, *rest = report.layers
    parts = [
        msgspec.structs.replace(
            conv, name=f"part_{number}", source="scores", parts=3, removed_channels=2 * (number == 0)
        )
        for number in range(3)
    ]
    other = msgspec.structs.replace(conv, name="other", source="scores")
    layers = (*parts, msgspec.structs.replace(softmax, source="scores", parts=3), other, *rest)
    counted = tuple(MeasuredLayers((layer.name,), ("f",), 100) for layer in layers)
    measurement = Measurement("gvsoc", "cycles", "DIR", 1, 100 * len(layers), counted)
    text = text_of(msgspec.structs.replace(report, layers=layers, measured=(measurement,)))
    (row,) = [line for line in text.splitlines() if line.startswith("part_")]
    assert row.startswith("part_0 in 3 parts ")
    cycles = sum(layer.cycles for layer in (*parts, softmax))
    for cell in (f"{3 * conv.macs:,}", f"{cycles:,}", "400"):
        assert cell in row, cell
    assert "Removed: 2 channels in 1 operator" in text
    assert len([line for line in text.splitlines() if line.startswith("other ")]) == 1


def test_channels_removed_inside_of_groups_are_told(models_dir: Path) -> None:
    def removed(*, fuse: bool) -> tuple[dict[str, int], str]:
        report = match.compile(models_dir / "vww_96_int8.tflite", "gap9", modules=("cluster",), fuse=fuse).report
        operators = [operator for layer in report.layers for operator in layer.operators or (layer,) if operator.macs]
        sentence = next(line for line in text_of(report).splitlines() if line.startswith("Removed: "))
        return {operator.source: operator.removed_channels for operator in operators}, sentence

    alone, together = removed(fuse=False), removed(fuse=True)
    assert together == alone
    channels = [count for count in alone[0].values() if count]
    assert alone[1].startswith(f"Removed: {sum(channels)} channels in {len(channels)} operators")
