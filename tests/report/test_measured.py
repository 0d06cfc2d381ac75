"""What calls are counted for: which layers TVM's functions compute, with the functions of real networks."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest

from match.codegen.network import Call
from match.errors import InputError, ModelError
from match.report import Report, encode
from match.report.measured import add_to_report, measured, measurement
from match.report.schema import LayerSummary
from match.run import CallCount, Counts
from tests.report.conftest import DOCS
from tests.report.test_table import text_of

pytestmark = pytest.mark.cc

REQUANTIZE = ("cast", "multiply", "add", "right_shift", "clip", "cast")


def layer(name: str, module: str = "cpu", macs: int = 0) -> LayerSummary:
    op = name.rpartition("_")[0]
    return LayerSummary(name, op, module, macs, 1, 1, None, None, None, None, None, 0, None, None, ())


def found(layers: list[LayerSummary], calls: list[Call]) -> list[tuple[tuple[str, ...], int]]:
    """Layers and counts where call n costs 10^n."""
    counts = Counts("qemu", "instructions", "x", 1, tuple(CallCount(call, 10**n) for n, call in enumerate(calls)))
    result = measurement(layers, counts)
    assert [name for group in result.layers for name in group.functions] == [call.function for call in calls]
    assert result.total == counts.total == sum(group.count for group in result.layers)
    return [(group.layers, group.count) for group in result.layers]


def by_tvm(*operators: str, macs: int = 0) -> Call:
    return Call("tvmgen_x_fused_" + "_".join(operators), operators, macs)


def test_layers_on_modules_are_known_by_their_number() -> None:
    """Also where the network's name has numbers in it; the reshape has no function."""
    layers = [layer("lookup_0", "array"), layer("avg_pool2d_1", "array"), layer("reshape_2"), layer("dense_3", "array")]
    names = ("match_vww_96_int8_0_lookup", "match_vww_96_int8_1_avg_pool2d", "match_vww_96_int8_3_dense")
    assert found(layers, [Call(name) for name in names]) == [
        (("lookup_0",), 1),
        (("avg_pool2d_1",), 10),
        (("dense_3",), 100),
    ]


def test_another_shape_is_no_part_of_what_the_core_computed_before() -> None:
    layers = [layer("avg_pool2d_0"), layer("reshape_1"), layer("dense_2", "array")]
    calls = [by_tvm("nn.avg_pool2d", *REQUANTIZE), Call("match_x_2_dense")]
    assert found(layers, calls) == [(("avg_pool2d_0",), 1), (("dense_2",), 10)]


def test_sums_on_a_module_are_one_layer_and_their_requantization_another() -> None:
    layers = [layer("conv2d_0", "array", 9), layer("requantize_0"), layer("conv2d_1", "array", 9), layer("add_2")]
    calls = [
        Call("match_x_0_conv2d_sums"),
        by_tvm(*REQUANTIZE),
        Call("match_x_1_conv2d"),
        by_tvm("cast", "multiply", "cast", "multiply", "add", *REQUANTIZE[2:]),
    ]
    assert found(layers, calls) == [
        (("conv2d_0",), 1),
        (("requantize_0",), 10),
        (("conv2d_1",), 100),
        (("add_2",), 1000),
    ]


def test_a_residual_block_on_the_control_core() -> None:
    """TVM computes the shortcut last and adds in the same loop; padding belongs to the convolution behind it."""
    layers = [
        layer("lookup_0"),
        *(layer(f"conv2d_{number}", macs=macs) for number, macs in ((1, 131), (2, 1179), (3, 2359))),
        layer("add_4"),
        layer("avg_pool2d_5"),
        layer("dense_6", macs=640),
        layer("cast+subtract_7"),
        layer("nn.softmax_8"),
        layer("divide+clip_9"),
    ]
    calls = [
        by_tvm("cast", "add", "take"),
        by_tvm("nn.pad"),
        by_tvm("nn.conv2d", *REQUANTIZE, macs=1179),
        by_tvm("nn.conv2d", *REQUANTIZE, "cast", "multiply", macs=2359),
        by_tvm("nn.conv2d", *REQUANTIZE, "cast", "multiply", "add", *REQUANTIZE[2:], macs=131),
        by_tvm("cast", "sum"),
        by_tvm(*REQUANTIZE, "reshape"),
        by_tvm("nn.dense", *REQUANTIZE, "cast", "subtract", macs=640),
        by_tvm("nn.softmax", "divide", "clip"),
    ]
    assert found(layers, calls) == [
        (("lookup_0",), 1),
        (("conv2d_2",), 110),
        (("conv2d_3",), 1000),
        (("conv2d_1", "add_4"), 10**4),
        (("avg_pool2d_5",), 10**5 + 10**6),
        (("dense_6", "cast+subtract_7"), 10**7),
        (("nn.softmax_8", "divide+clip_9"), 10**8),
    ]


def test_operators_between_modules() -> None:
    """An addition of its own, and a function whose operators no layer is called by."""
    layers = [layer("conv2d_0", "array", 9), layer("add_1"), layer("conv2d_2", "array", 9), layer("mean_3")]
    scaled = ("cast", "multiply")
    calls = [
        Call("match_x_0_conv2d"),
        by_tvm(*scaled, *scaled, "add", *REQUANTIZE[2:]),
        Call("match_x_2_conv2d"),
        by_tvm("sum", "divide"),
    ]
    assert found(layers, calls) == [(("conv2d_0",), 1), (("add_1",), 10), (("conv2d_2",), 100), (("mean_3",), 1000)]


def test_nothing_is_lost_without_a_layer() -> None:
    assert found([layer("conv2d_0", "array", 9)], [Call("match_x_0_conv2d"), by_tvm("copy")]) == [
        (("conv2d_0",), 1),
        ((), 10),
    ]


def test_a_report_gets_what_was_counted(report: Report, tmp_path: Path) -> None:
    numbered = msgspec.structs.replace(report.layers[0], name="conv2d_0", source="features/conv")
    report = msgspec.structs.replace(report, layers=(numbered, *report.layers[1:]))
    path = tmp_path / "report.json"
    path.write_bytes(encode(report))
    calls = (CallCount(Call("match_x_0_conv2d"), 1234567), CallCount(by_tvm("nn.softmax"), 89))
    for samples in (1, 3):
        new = add_to_report(path, Counts("qemu", "instructions", "emulate network", samples, calls))
    assert [(one.platform, one.samples, one.total) for one in new.measured] == [("qemu", 3, 1234656)]
    assert msgspec.structs.replace(new, measured=()) == report
    document = json.loads(path.read_bytes())
    jsonschema.validate(document, json.loads((DOCS / "report.schema.json").read_text()))
    assert document["measured"][0]["layers"][0]["count"] == 1234567
    assert document["measured"][0]["layers"][0]["sources"] == ["features/conv"]
    text = text_of(new)
    assert "1,234,567" in text
    assert "Measured on qemu: 1,234,656 instructions for one inference (mean of 3), by emulate network." in text
    other = measured(new, msgspec.structs.replace(new.measured[0], platform="board", unit="cycles"))
    assert [one.platform for one in other.measured] == ["qemu", "board"]


def test_no_report(tmp_path: Path) -> None:
    counts = Counts("qemu", "instructions", "x", 1, ())
    with pytest.raises(InputError, match="cannot be read"):
        add_to_report(tmp_path / "report.json", counts)
    (tmp_path / "report.json").write_text("{}")
    with pytest.raises(ModelError, match="does not follow"):
        add_to_report(tmp_path / "report.json", counts)
