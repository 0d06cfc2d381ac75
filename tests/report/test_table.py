"""The table says what the report holds, calls predictions predictions, and cuts nothing off in a file."""

from __future__ import annotations

import io

import msgspec
from rich.console import Console

from match.report import Report, show


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
    ):
        assert part in conv
    assert "array [1]" in next(line for line in text.splitlines() if line.startswith("softmax "))
    assert "[1] array refused because it has no such operator" in text
    assert "…" not in text


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
    assert "Floating point: 1 layer on the control core may round otherwise than the reference" in text
    row = next(line for line in text.splitlines() if line.startswith("softmax "))
    assert " no " in row


def test_a_narrow_terminal_gets_fewer_columns_not_broken_ones(report: Report) -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=True, no_color=True)
    show(report, console)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "5,000" in text
    assert "62.5%" in text
    assert "buffers" not in text
    assert "…" not in text
