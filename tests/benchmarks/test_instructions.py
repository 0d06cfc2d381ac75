"""The benchmark of instructions: which counts stand beside each other, and how they are shown."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from typer.testing import CliRunner

from benchmarks.command import app
from benchmarks.instructions import __main__ as command
from benchmarks.instructions.count import layer_counts
from benchmarks.instructions.results import LayerCount, NetworkCount, table
from match.errors import OptionError
from match.report.schema import LayerSummary, MeasuredLayers

pytestmark = pytest.mark.cc

LAYERS = [
    LayerSummary(name, name, module, macs, 1, 1, None, None, None, None, None, 0, None, None, ())
    for name, module, macs in (("conv", "cluster", 600), ("add", "cluster", 0), ("scale", "cpu", 0), ("max", "cpu", 0))
]
KERNELS = [
    MeasuredLayers(("conv",), ("match_x_0_conv",), 1000),
    MeasuredLayers(("add",), ("match_x_1_add",), 200),
    MeasuredLayers(("scale", "max"), ("tvmgen_x_scale_max",), 50),
]
TVM = [
    MeasuredLayers(("conv", "add"), ("tvmgen_x_conv_add",), 3000),
    MeasuredLayers(("scale",), ("tvmgen_x_scale",), 40),
    MeasuredLayers(("max",), ("tvmgen_x_max",), 20),
]
EXPECTED = (
    LayerCount(("conv", "add"), "cluster", 600, 1200, 3000),
    LayerCount(("scale", "max"), "cpu", 0, 50, 60),
)


def test_layers_that_one_way_computes_together_are_counted_together() -> None:
    assert layer_counts(LAYERS, KERNELS, TVM) == EXPECTED
    assert [layer.ratio for layer in EXPECTED] == [2.5, 1.2]


def test_table() -> None:
    file = io.StringIO()
    Console(file=file, width=160).print(table([NetworkCount("net", EXPECTED, 1250, 3060, "emulate")]))
    rows = [line.split() for line in file.getvalue().splitlines() if line.startswith("net ")]
    assert rows == [
        ["net", "conv,", "add", "cluster", "600", "3,000", "1,200", "2.50", "0.500"],
        ["net", "scale,", "max", "cpu", "60", "50", "1.20"],
        ["net", "all", "600", "3,060", "1,250", "2.45", "0.480"],
    ]


def test_targets_without_such_a_platform() -> None:
    result = CliRunner().invoke(app(command.main), ["--target", "diana"])
    assert isinstance(result.exception, OptionError)
    with pytest.raises(OptionError, match="target 'diana' has no platform 'qemu' with a compiler of its own"):
        raise result.exception
