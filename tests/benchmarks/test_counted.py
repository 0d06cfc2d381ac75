"""The benchmark that counts whole networks: its sums, and today's predictions beside what was counted last."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from rich.console import Console

import benchmarks.counted.__main__ as command
import benchmarks.counted.count as counting
import match
from benchmarks.counted.count import SEVERAL, compiled, kind_of, name_of, predictions
from benchmarks.counted.results import Layer, by_kind, by_network, joined, schema, sums
from benchmarks.counted.table import summary
from match.errors import InputError, OptionError, ToolchainError
from match.report.schema import LayerSummary
from tests.sampled import sampled
from tests.schemas import in_order

pytestmark = pytest.mark.cc

COUNTED = command.read(command.FILE).layers
ON_RTL = [layer for layer in COUNTED if layer.platform == "rtl" and layer.network in command.NETWORKS]
ON_GVSOC = [layer for layer in COUNTED if layer.platform == "gvsoc"]
NETWORKS = sorted({layer.network for layer in ON_RTL})
CORE = "core"
ON_CORE = sorted({name.removesuffix(f", {CORE}") for name in {one.network for one in ON_GVSOC} if name.endswith(CORE)})
"""Networks all of whose layers the control core was given."""
DRIFT = 0.03
"""How far predictions may drift, for the layers of a kind and for a network."""
ENOUGH = 5_000
"""Cycles of a kind in a network, below which a call's own cycles are most of it."""


FOLDER = Path(__file__).parents[1] / "tflite/networks"


def model_of(network: str) -> str:
    """The zoo's name, or the file of the tests' network of that name."""
    try:
        match.zoo.build(network)
    except OptionError:
        return str(FOLDER / f"{network}.tflite")
    return network


def layer(network: str, kind: str, predicted: int, counted: int, name: str = "one", unit: str = "cluster") -> Layer:
    cycles = {"predicted": predicted, "counted": counted}
    return Layer(revision="0", network=network, platform="rtl", layer=name, unit=unit, kind=kind, **cycles)


def test_schema_is_that_of_the_results() -> None:
    assert in_order(json.loads(command.FILE.with_name("schema.json").read_text())) == in_order(schema())


def test_sums() -> None:
    layers = [layer("b", "add", 90, 100), layer("a", "add", 30, 20), layer("a", "dense", 5, 4, "two")]
    kinds = sums(layers, by_kind)
    assert list(kinds.items()) == [(("rtl", "cluster", "add"), (2, 120, 120)), (("rtl", "cluster", "dense"), (1, 5, 4))]
    assert {name: one.error for name, one in sums(layers, by_network).items()} == {
        ("rtl", "a"): pytest.approx(35 / 24 - 1),
        ("rtl", "b"): pytest.approx(-0.1),
    }


def test_networks_that_are_counted_again_take_the_place_of_what_was_counted() -> None:
    before = [layer("a", "add", 1, 1), layer("a", "dense", 2, 2, "gone"), layer("b", "add", 3, 3)]
    assert joined(before, [layer("a", "add", 9, 9)]) == (layer("a", "add", 9, 9), layer("b", "add", 3, 3))


def test_what_moved_is_told_of_layers_that_were_there() -> None:
    before = [layer("a", "add", 100, 200), layer("b", "dense", 50, 50)]
    now = [layer("a", "add", 100, 150), layer("a", "add", 77, 77, "added"), layer("c", "dense", 10, 10)]
    text = io.StringIO()
    Console(file=text, width=120).print(summary(("platform", "unit", "kind"), now, before, by_kind))
    add, dense = [line.split() for line in text.getvalue().splitlines() if " cluster " in line]
    assert add == ["rtl", "cluster", "add", "2", "177", "227", "-22.0%", "-25.0%"]
    assert dense == ["rtl", "cluster", "dense", "1", "10", "10", "+0.0%"]


def test_wrong_options_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="there is no platform 'chip'; choose one of: rtl, gvsoc"):
        command.main(on="chip")
    file = tmp_path / "none.json"
    file.write_text("{}")
    with pytest.raises(InputError, match=r"none\.json is no result of this benchmark"):
        command.main(on="rtl", last=file)


def test_a_function_of_several_operators_is_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the control core, whose functions have no prediction where one core executes all of it."""

    def known(name: str, module: str, cycles: int) -> SimpleNamespace:
        shapes = {"input_shapes": ((1, 8),), "output_shapes": ((1, 8),), "platform_cycles": {"rtl": 2 * cycles}}
        return SimpleNamespace(name=name, op="add", module=module, cycles=cycles, schedule=None, **shapes)

    layers = [known("a", "cpu", 10), known("b", "cpu", 20), known("c", "cluster", 70), known("free", "cpu", 0)]
    calls = [(("a", "b", "free"), 33), (("c",), 77), (("free",), 1)]
    measured = SimpleNamespace(layers=[SimpleNamespace(layers=names, count=number) for names, number in calls])
    host = np.ones(3)
    model = SimpleNamespace(
        report=SimpleNamespace(layers=layers),
        measure=lambda **_: ({"y": np.ones(3)}, measured),
        run=lambda **_: {"y": host},
    )
    monkeypatch.setattr(counting, "compiled", lambda *_, **__: model)
    on_gvsoc, on_rtl = (counting.count("network", platform) for platform in ("gvsoc", "rtl"))
    rows = [(one.layer, one.unit, one.kind, one.predicted, one.counted) for one in on_gvsoc]
    assert rows == [("a+b+free", "cpu", "several operators", 30, 33), ("c", "cluster", "add", 70, 77)]
    assert [(one.layer, one.predicted) for one in on_rtl] == [("c", 140)]
    host[1] = 0
    with pytest.raises(ToolchainError, match="network on gvsoc has other outputs than on the host: y"):
        counting.count("network", "gvsoc")


@pytest.mark.parametrize("network", sampled(NETWORKS, ["mobilenet_v3_small-0.5-64", "ds_cnn"]))
def test_predictions_are_near_what_was_counted(network: str) -> None:
    """A change of a cost model, or of a kernel that is followed by none, shows here: count the network again then."""
    again = today([one for one in ON_RTL if one.network == network], compiled(network, "rtl"), "rtl")
    assert abs(next(iter(sums(again, by_network).values())).error) < DRIFT
    for name, kind in sums(again, by_kind).items():
        if kind.counted >= ENOUGH:
            assert abs(kind.error) < 0.05, name


@pytest.mark.parametrize("network", sampled(ON_CORE, ["shufflenet_v2-0.5-64"]))
def test_predictions_are_near_what_the_control_core_took(network: str) -> None:
    """Out of L2, from which a program's instructions come some percent faster or slower as it is linked."""
    counted = [one for one in ON_GVSOC if one.network == name_of(network, module=CORE)]
    again = today(counted, compiled(model_of(network), "gvsoc", module=CORE), "gvsoc")
    assert abs(next(iter(sums(again, by_network).values())).error) < 0.08
    for name, kind in sums(again, by_kind).items():
        if kind.counted >= ENOUGH and name[1] == CORE:
            assert abs(kind.error) < 0.15, name


def today(counted: list[Layer], model: match.CompiledModel, platform: str) -> list[Layer]:
    """The layers of a network that were counted one by one, with what is predicted today."""
    known = predictions(model.report, platform)
    kinds = {name: (kind_of(one), cycles) for name, (one, cycles) in known.items()}
    alone = [one for one in counted if one.kind != SEVERAL]
    assert {one.layer: one.kind for one in alone} == {one.layer: kinds[one.layer][0] for one in alone}
    several = {name for one in counted if one.kind == SEVERAL for name in one.layer.split("+")}
    assert {one.layer for one in alone} == kinds.keys() - several
    return [layer(one.network, one.kind, kinds[one.layer][1], one.counted, unit=one.unit) for one in alone]


def test_kinds_are_predicted_as_they_were_counted() -> None:
    """The sums of all networks together, as they were predicted when they were counted."""
    for name, kind in sums(ON_RTL, by_kind).items():
        assert abs(kind.error) < DRIFT, name


def _by_network() -> list[Any]:
    """Each network that was counted on GVSoC; those that are known to be further off fail until they are not."""
    beyond = pytest.mark.xfail(strict=True, reason="one group of NE16 and lookups in strips, predicted 9.4 % high")
    marks = {"super_resolution": [beyond]}
    errors = {name: one.error for (_, name), one in sums(ON_GVSOC, by_network).items()}
    return [pytest.param(error, marks=marks.get(name, []), id=name) for name, error in errors.items()]


@pytest.mark.parametrize("error", _by_network())
def test_networks_are_predicted_near_what_eight_cores_took(error: float) -> None:
    """A network is counted for the first time, its first layer among it, for which nothing is in the caches."""
    assert abs(error) <= 0.08


def test_kinds_are_predicted_near_what_eight_cores_took() -> None:
    """Those of at least four layers on a module: TVM's C on the control core has a model of its own."""
    kinds = {name: one for name, one in sums(ON_GVSOC, by_kind).items() if one.layers >= 4 and name[1] != "cpu"}
    assert {name: one.error for name, one in kinds.items() if abs(one.error) > 0.1} == {}


@pytest.mark.parametrize(
    ("inputs", "output", "kind"),
    [
        (((1, 4, 4, 8), (1, 4, 4, 8)), (1, 4, 4, 8), "add"),
        (((1, 4, 4, 8), (1, 1, 1, 8)), (1, 4, 4, 8), "add, a value for each channel"),
        (((1, 4, 4, 8), (1, 4, 4, 1)), (1, 4, 4, 8), "add, a value for each pixel"),
        (((1, 4, 4, 8), (8,)), (1, 4, 4, 8), "add"),
        (((9, 8), (9, 8)), (9, 8), "add"),
    ],
)
def test_kind(inputs: tuple[tuple[int, ...], ...], output: tuple[int, ...], kind: str) -> None:
    found = SimpleNamespace(op="add", schedule=None, input_shapes=inputs, output_shapes=(output,))
    assert kind_of(cast(LayerSummary, found)) == kind


@pytest.mark.parametrize(
    ("op", "input_", "output", "tile", "kind"),
    [
        ("conv2d", (1, 6, 6, 8), (1, 6, 6, 4), {"FY": 3, "FX": 3}, "conv2d 3x3, at most 36 pixels"),
        ("conv2d", (1, 6, 7, 8), (1, 6, 7, 4), {"FY": 1, "FX": 1}, "conv2d 1x1, at most 144 pixels"),
        ("conv2d", (1, 13, 12, 8), (1, 13, 12, 4), {"FY": 3, "FX": 1}, "conv2d 3x1"),
        ("conv2d", (1, 6, 6, 3), (1, 6, 6, 4), {"FY": 3, "FX": 3}, "conv2d 3x3, at most 3 channels"),
        ("depthwise_conv2d", (1, 3, 3, 3), (1, 1, 1, 3), {"FY": 3, "FX": 3}, "depthwise_conv2d 3x3, one pixel"),
        ("max_pool2d", (1, 9, 9, 3), (1, 8, 8, 3), {}, "max_pool2d, stride 1"),
        ("max_pool2d", (1, 9, 9, 3), (1, 4, 4, 3), {}, "max_pool2d, stride 2"),
    ],
)
def test_kind_by_geometry(
    op: str, input_: tuple[int, ...], output: tuple[int, ...], tile: dict[str, int], kind: str
) -> None:
    schedule = SimpleNamespace(tile=tile)
    found = SimpleNamespace(op=op, schedule=schedule, input_shapes=(input_,), output_shapes=(output,))
    assert kind_of(cast(LayerSummary, found)) == kind
