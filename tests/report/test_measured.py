"""What calls are counted for: the layers that they say they compute."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest

import match
from match.codegen.network import Call
from match.devtools.zoo import resnet8
from match.dispatch.plan import WITHOUT_CODE
from match.errors import InputError, ModelError
from match.report import Report, encode
from match.report.measured import add_to_report, measured, measurement
from match.report.schema import LayerSummary
from match.run import CallCount, Counts
from tests.report.conftest import DOCS
from tests.report.test_table import text_of

pytestmark = pytest.mark.cc


def layer(name: str, module: str = "cpu", macs: int = 0) -> LayerSummary:
    op = name.rpartition("_")[0]
    return LayerSummary(name, op, module, macs, 1, 1, None, None, None, None, None, 0, None, None, ())


def counted(calls: list[Call]) -> Counts:
    return Counts("qemu", "instructions", "x", 1, tuple(CallCount(call, 10**n) for n, call in enumerate(calls)))


def found(layers: list[LayerSummary], calls: list[Call]) -> list[tuple[tuple[str, ...], int]]:
    """Layers and counts where call n costs 10^n."""
    counts = counted(calls)
    result = measurement(layers, counts)
    assert [name for group in result.layers for name in group.functions] == [call.function for call in calls]
    assert result.total == counts.total == sum(group.count for group in result.layers)
    return [(group.layers, group.count) for group in result.layers]


def test_calls_say_which_layers_they_compute() -> None:
    """A conversion may be a part of the operator that reads it; the reshape has no function."""
    layers = [layer("layout_0"), layer("softmax_1"), layer("reshape_2"), layer("dense_3", "array")]
    calls = [Call("softmax_1", ("layout_0", "softmax_1")), Call("x_3_dense", ("dense_3",))]
    assert found(layers, calls) == [(("layout_0", "softmax_1"), 1), (("dense_3",), 10)]


def test_calls_of_one_layer_are_added_up() -> None:
    layers = [layer("pool_0"), layer("dense_1", "array")]
    calls = [Call("cast_0", ("pool_0",)), Call("x_1_dense", ("dense_1",)), Call("pool_0", ("pool_0",))]
    assert [(one.layers, one.functions, one.count) for one in measurement(layers, counted(calls)).layers] == [
        (("pool_0",), ("cast_0", "pool_0"), 101),
        (("dense_1",), ("x_1_dense",), 10),
    ]


def test_every_operator_of_a_network_is_one_call() -> None:
    """On the control core as well, but for those that give a tensor another shape."""
    compiled = match.compile(resnet8(), "diana", modules=["digital"], cache=False, jobs=1)
    computed = [name for call in compiled._network.calls for name in call.layers]  # pyright: ignore[reportPrivateUsage]
    with_code = [one.name for one in compiled.layers if one.op not in WITHOUT_CODE]
    assert sorted(computed) == sorted(with_code)


def test_a_report_gets_what_was_counted(report: Report, tmp_path: Path) -> None:
    numbered = msgspec.structs.replace(report.layers[0], name="conv2d_0", source="features/conv")
    report = msgspec.structs.replace(report, layers=(numbered, *report.layers[1:]))
    path = tmp_path / "report.json"
    path.write_bytes(encode(report))
    name = report.layers[1].name
    calls = (CallCount(Call("x_0_conv2d", ("conv2d_0",)), 1234567), CallCount(Call("softmax_1", (name,)), 89))
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
