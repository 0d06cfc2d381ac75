"""The first sentence names the flaw that a network has; a network without one gets none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import match
from match.report import Report
from match.report.advice import LEAST_SHARE, advise
from match.report.changes import Change, Otherwise
from match.report.layer_rows import causes_of
from match.report.schema import (
    CandidateSummary,
    LayerSummary,
    MemoryPlanSummary,
    MemorySummary,
    ModuleSummary,
    MovedOutput,
    MovedOutputs,
    RequantizationSummary,
)
from tests.cli.conftest import DIGITS
from tests.devtools.zoo.reference import small
from tests.e2e.test_quantized_recurrent import network as recurrent_network
from tests.e2e.test_quantized_recurrent import weights_of
from tests.passes.onnx_models import OnnxModel, quantize
from tests.passes.test_states import Recurrent
from tests.passes.trained_models import TrainedModel
from tests.report import flawed_networks
from tests.report.test_table import text_of
from tests.tflite.case import NONE, VALID, Network

pytestmark = pytest.mark.cc


def layer(
    name: str, module: str = "array", *, cycles: int, macs: int = 0, op: str = "conv2d", **other: Any
) -> LayerSummary:
    """A layer of no other properties."""
    fields: dict[str, Any] = {
        **dict.fromkeys(("compute_cycles", "dma_cycles", "overhead_cycles", "energy_pj", "schedule")),
        "outputs": 1,
        "bound": "compute",
        "l1_bytes": 0,
        "requantization": None,
        "candidates": (),
        **other,
    }
    return LayerSummary(name=name, op=op, module=module, macs=macs, cycles=cycles, **fields)


def network(report: Report, *layers: LayerSummary) -> Report:
    """The report of other layers, on "array" and the control core."""
    cycles = sum(one.cycles for one in layers)
    modules = tuple(
        ModuleSummary(name, (), sum(one.module == name for one in layers), 0, 0) for name in ("array", "cpu")
    )
    return msgspec.structs.replace(
        report,
        layers=layers,
        model=msgspec.structs.replace(report.model, macs=sum(one.macs for one in layers)),
        target=msgspec.structs.replace(report.target, modules=modules),
        totals=msgspec.structs.replace(report.totals, cycles=cycles, causes=causes_of(layers)),
    )


FLAWS = [
    ("ad01_int8.tflite", "diana", {"modules": ["digital"]}, "idle module", "scales that are powers of two"),
    ("float_input", "gap9", {}, "float border", "input is in floating point"),
    ("float_output", "gap9", {}, "float border", "output is in floating point"),
    ("float_inside", "gap9", {}, "float operators", "inside the network: floating point"),
    ("channels_first", "gap9", {"modules": ["ne16"]}, "channels first", "channels last (NHWC)"),
    ("wide_filters", "gap9", {"modules": ["ne16"]}, "idle module", "its filter is 5x5"),
    ("few_channels_first", "gap9", {"modules": ["ne16"], "fuse": False}, "slow layer", "conv2d_0 reaches"),
    (
        "concatenations",
        "gap9",
        {"modules": ["ne16"]},
        "control core",
        "concatenate runs on the control core in one place",
    ),
    ("pooling", "diana", {"modules": ["digital"]}, "control core", "max_pool2d runs on the control core in one place"),
    ("odd_scales", "diana", {}, "idle module", "quantize with scales that are powers of two"),
    ("even_scales", "diana", {}, "layouts", "change their layout 2 times"),
    ("large_filters", "gap9", {"modules": ["cluster"], "l1": 3000}, "memory", "with --l1 6000 the network"),
]
SWEPT = [
    ("digits", "diana", {}, "idle module", "zero point 0"),
    ("keyword_spotting.onnx", "diana", {}, "idle module", "uint8"),
    ("pretrainedResnet_quant.tflite", "gap9", {"modules": ["cluster"], "l1": 1200}, "memory", "--l1"),
]
SOUND = [
    ("ad01_int8.tflite", "gap9"),
    ("plain", "gap8"),
    ("separable", "gap9"),
    ("residual", "pulp_open"),
    ("pooling", "gap9"),
]
SWEPT_SOUND = [
    ("pretrainedResnet_quant.tflite", "gap9"),
    ("kws_ref_model.tflite", "gap9"),
    ("vww_96_int8.tflite", "gap9"),
    ("keyword_spotting.onnx", "pulp_open"),
]


def compiled(name: str, target: str, models_dir: Path, options: dict[str, Any]) -> Report:
    made = getattr(flawed_networks, name, None)
    model = flawed_networks.network(made()) if made else DIGITS if name == "digits" else models_dir / name
    return match.compile(model, target, **options).report


@pytest.mark.parametrize(
    ("name", "target", "options", "kind", "words"),
    [*FLAWS, *(pytest.param(*case, marks=pytest.mark.sweep) for case in SWEPT)],
)
def test_the_first_sentence_names_the_flaw(
    name: str, target: str, options: dict[str, Any], kind: str, words: str, models_dir: Path
) -> None:
    report = compiled(name, target, models_dir, options)
    first = report.advice[0]
    assert first.kind == kind
    assert words in first.sentence
    assert first.warning == (kind == "idle module")
    cycles = sum(one.cycles for one in report.layers if one.name in first.layers)
    assert first.cycles == cycles or (first.cycles < cycles and (kind == "slow layer" or first.change))
    assert len(report.advice) <= 5
    assert [one.cycles for one in report.advice] == sorted((one.cycles for one in report.advice), reverse=True)
    assert f"{'Warning' if first.warning else 'Advice'} 1: {first.sentence}" in text_of(report)


@pytest.mark.parametrize(
    ("name", "target"), [*SOUND, *(pytest.param(*case, marks=pytest.mark.sweep) for case in SWEPT_SOUND)]
)
def test_a_network_without_a_flaw_gets_no_advice(name: str, target: str, models_dir: Path) -> None:
    report = compiled(name, target, models_dir, {})
    assert report.advice == ()
    assert "Advice" not in text_of(report)


def image_of_real_numbers(folder: Path) -> Any:
    """A large image with channels first, which is quantized first of all."""
    model = Recurrent(1, 8, 40, 40)
    own = model.node("Conv", model.x, model.weights(8, 8, 1, 1))
    return model.write(folder, model.node("Add", model.quantized(own, 0.05, 128), model.h))


def averages(folder: Path) -> Any:
    """A mean that onnxruntime computes in floating point, and modules in integers within a step."""
    model = OnnxModel((1, 16, 24, 24))
    model.conv(16, (1, 1))
    model.add("AveragePool", kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1])
    model.conv(16, (1, 1))
    return quantize(model, folder, "QDQ", "QUInt8", per_channel=False)


def camera(folder: Path) -> Any:
    """Real numbers with channels first, where the first layer wants bytes with channels last."""
    model = OnnxModel((1, 3, 48, 48))
    model.conv(8, pads=[1, 1, 1, 1], strides=[2, 2])
    model.add("Relu")
    model.conv(8, pads=[1, 1, 1, 1], strides=[2, 2])
    model.add("GlobalAveragePool")
    model.add("Flatten")
    model.gemm(8, 4)
    return quantize(model, folder, "QDQ", "QUInt8", per_channel=False)


def enlarged(folder: Path) -> Any:
    """A large map of real numbers, of a small one."""
    model = OnnxModel((1, 8, 8, 8))
    model.add("ConvTranspose", model.constant(model.rng.normal(0, 0.2, (8, 4, 4, 4))), strides=[4, 4])
    return quantize(model, folder, "QDQ", "QUInt8", per_channel=False)


def turned(folder: Path) -> Any:
    """A TFLite file with channels first."""
    model = Network()
    x, last = model.input((1, 4, 64, 64), (0.05, 3)), model.tensor((1, 64, 64, 4), (0.05, 3))
    model.apply("TRANSPOSE", [x, model.constant([0, 2, 3, 1])], last)
    options = {"padding": VALID, "strideH": 2, "strideW": 2, "fusedActivationFunction": NONE}
    y, weights = model.tensor((1, 32, 32, 8), (0.3, 2)), model.weights((8, 2, 2, 4), 0.02)
    model.apply("CONV_2D", [last, weights], y, "Conv2DOptions", **options)
    path = folder / "turned.tflite"
    path.write_bytes(model.model.build([x], [y]))
    return path


def wide(folder: Path) -> Any:
    model = OnnxModel((1, 16, 32, 32))
    model.conv(32, pads=[1, 1, 1, 1])
    model.add("Relu")
    model.conv(32, group=32, pads=[1, 1, 1, 1])
    model.conv(16, (1, 1))
    return quantize(model, folder, "QDQ", "QUInt8", per_channel=True)


def rows(folder: Path) -> Any:
    model = OnnxModel((1, 256))
    for depth, units in ((256, 128), (128, 128), (128, 10)):
        model.gemm(depth, units)
    return quantize(model, folder, "QDQ", "QUInt8", per_channel=True)


def cells(kind: str, direction: str) -> Callable[[Path], Any]:
    """A recurrent layer in floating point."""
    weights = weights_of(kind, 1 if direction == "forward" else 2)
    return lambda folder: recurrent_network(kind, direction, weights)


def demo(folder: Path) -> Any:
    del folder
    return DIGITS


CURES = [
    (camera, "gap9", {}, "float border"),
    (camera, "gap8", {}, "float border"),
    (camera, "gap9", {"modules": ["ne16"]}, "float border"),
    (enlarged, "gap9", {}, "float border"),
    (turned, "gap9", {}, "float border"),
    (turned, "gap8", {}, "float border"),
    (wide, "gap9", {"fuse": False}, "float border"),
    (rows, "gap8", {"l1": 300, "modules": ["cluster"]}, "float border"),
    (image_of_real_numbers, "gap9", {}, "states"),
    (image_of_real_numbers, "gap8", {}, "states"),
    (averages, "gap9", {"numerics": "exact"}, "numerics"),
    (averages, "gap8", {"numerics": "exact"}, "numerics"),
    (cells("GRU", "forward"), "gap9", {}, "recurrent"),
    (cells("GRU", "bidirectional"), "gap9", {}, "recurrent"),
    (cells("LSTM", "forward"), "gap8", {}, "recurrent"),
    (cells("LSTM", "bidirectional"), "gap8", {}, "recurrent"),
    (demo, "gap9", {"fuse": False, "modules": ["cluster"]}, "one by one"),
    (demo, "gap9", {"l1": 600, "modules": ["cluster"]}, "memory"),
    (wide, "gap9", {"l1": 3000, "modules": ["cluster"]}, "memory"),
    (wide, "gap8", {"l1": 1500}, "memory"),
    (demo, "gap9", {"l2": 20_000}, "external memory"),
    (demo, "pulp_open", {"l2": 20_000}, "external memory"),
]


@pytest.mark.parametrize(("write", "target", "options", "kind"), CURES)
def test_following_the_first_sentence_gains_what_it_says(
    write: Callable[[Path], Any], target: str, options: dict[str, Any], kind: str, tmp_path: Path
) -> None:
    """Within a tenth; what was not done before is the only change."""
    model = write(tmp_path)
    before = match.predict(model, target, **options)
    first = before.advice[0]
    assert first.kind == kind
    followed = {**options, **first.change}
    after = match.compile(model, target, **followed).report
    gained = before.totals.cycles - after.totals.cycles
    assert gained == pytest.approx(first.cycles, rel=0.1)
    assert gained >= LEAST_SHARE * before.totals.cycles
    assert f"{before.totals.cycles - first.cycles:,} cycles instead of {before.totals.cycles:,}" in first.sentence


def test_scales_that_could_go_into_weights() -> None:
    """Beside the sentence on why a module refuses; not where that is done already, or would not be exact."""
    before = match.predict(DIGITS, "diana")
    (advice,) = (one for one in before.advice if one.kind == "scales")
    assert advice.change == {"rescale": True}
    assert advice.cycles == before.totals.cycles - match.predict(DIGITS, "diana", rescale=True).totals.cycles
    others = match.predict(DIGITS, "diana", rescale=True), match.predict(DIGITS, "diana", numerics="exact")
    assert not any(one.kind == "scales" for report in others for one in report.advice)


def test_what_is_inexact_is_told(models_dir: Path) -> None:
    report = compiled("nearly_even_scales", "diana", models_dir, {})
    assert report.moved_outputs is not None
    (output,) = report.moved_outputs.outputs
    assert (output.unit, output.largest) == ("steps", 2.0)
    assert f"Outputs that this moves: {output.differing:,} of {output.elements:,} in 4 random" in text_of(report)
    assert not [one for one in report.advice if one.kind == "inexact"]


def test_random_weights_lose_their_outputs() -> None:
    """A deep network, whose layers are a step off each, is told what exact numerics take."""
    model = small("mobilenet_v2", "int8")
    report = match.compile(model, "gap9").report
    advice = report.advice[-1]
    assert advice.kind == "inexact"
    exact = match.compile(model, "gap9", numerics="exact").report
    assert f"takes {exact.totals.cycles:,} predicted cycles instead of {report.totals.cycles:,}" in advice.sentence
    assert exact.moved_outputs is None


def test_a_slow_layer_is_held_against_its_like(report: Report) -> None:
    """The gain is what it takes more than at the rate of the best; up to a fourth of that rate nothing is said."""
    quick = layer("quick", cycles=1000, macs=40_000)
    slow = layer("slow", cycles=1000, macs=8_000)
    (advice,) = advise(network(report, quick, slow), Otherwise())
    assert (advice.kind, advice.layers, advice.cycles) == ("slow layer", ("slow",), 800)
    assert advise(network(report, quick, layer("slow", cycles=1000, macs=10_000)), Otherwise()) == ()
    assert (
        advise(network(report, quick, layer("slow", cycles=1000, macs=8_000, op="depthwise_conv2d")), Otherwise()) == ()
    )


def test_what_is_less_than_a_tenth_is_not_said(report: Report) -> None:
    work = layer("work", cycles=round(1000 * (1 - LEAST_SHARE)), macs=9000)
    joined = layer("joined", "cpu", cycles=round(1000 * LEAST_SHARE), op="concatenate")
    assert [one.kind for one in advise(network(report, work, joined), Otherwise())] == ["control core"]
    assert advise(network(report, work, layer("joined", "cpu", cycles=90, op="concatenate")), Otherwise()) == ()


def test_the_most_frequent_refusal_counts_macs(report: Report) -> None:
    def refused(name: str, macs: int, reason: str) -> LayerSummary:
        return layer(name, "cpu", cycles=macs, macs=macs, candidates=(CandidateSummary("array", refusal=reason),))

    few = [refused(f"few_{number}", 10, "it is small") for number in range(3)]
    (advice, *_) = advise(network(report, *few, refused("many", 1000, "it is large")), Otherwise())
    assert advice.kind == "idle module"
    assert "(97% of the MACs) it refused because it is large" in advice.sentence


def test_what_exact_numerics_cost_is_asked_where_outputs_move_by_much(report: Report) -> None:
    """By more than a tenth of their own power; else it is not even asked."""
    off = layer("conv", cycles=1000, macs=1000, requantization=RequantizationSummary("narrow", False, 0.2, 1))

    def told(cycles: int, *outputs: MovedOutput, memory: MemoryPlanSummary | None = None) -> str:
        moved = MovedOutputs(samples=4, outputs=outputs)
        own = msgspec.structs.replace(network(report, off), moved_outputs=moved)
        own = own if memory is None else msgspec.structs.replace(own, memory=memory)
        found = advise(own, Otherwise(whole=800, exact_whole=lambda: cycles))
        assert all((one.kind, one.cycles, one.layers) == ("inexact", 0, ("conv",)) for one in found)
        return found[0].sentence if found else ""

    much, little = MovedOutput("y", 40, 8, 90.0, 0.11, "steps"), MovedOutput("p", 10, 5, 0.009, 0.09, "real")
    assert told(1250, much, little).startswith(
        "Requantization in the modules' own forms moves outputs by much: 13 of 50 in 4 random samples, up to 90 steps "
        "and p by up to 0.009; "
        "--numerics exact moves none and takes 1,250 predicted cycles instead of 1,000 (+25.0%)."
    )
    plan = MemoryPlanSummary(MemorySummary("L3", 1 << 20), 60, 40, 40, 0, 90, 300, 200, 0.3, (), ())
    outside = "takes 1,000 predicted cycles instead of 800 (+25.0%), both with everything in main memory."
    assert told(1000, much, memory=plan).endswith(outside)
    assert told(1250, little) == ""
    one = MovedOutput("y", 40, 8, 1.0, 0.2, "steps")
    assert "8 of 40 in 4 random samples, up to 1 step;" in told(1250, one)


def test_requantizations_of_the_control_core_are_told_together(report: Report) -> None:
    scales = CandidateSummary("array", refusal="its scales are odd")
    rows = [layer(f"requantize_{n}", "cpu", cycles=100, op="requantize", candidates=(scales,)) for n in range(2)]
    sums = [layer(f"conv_{n}", cycles=50, macs=100) for n in range(2)]
    (advice,) = advise(network(report, *sums, *rows), Otherwise())
    assert (advice.kind, advice.cycles) == ("requantization", 200)
    assert "its scales are odd" in advice.sentence


@pytest.mark.parametrize("macs", [0, 500])
def test_layers_left_in_floating_point_are_told_with_the_form_that_has_them(report: Report, macs: int) -> None:
    inside = layer("transposed_1", "cpu", cycles=900, macs=macs, op="nn.conv2d_transpose", floating=True)
    ends = [layer(name, cycles=100, macs=1000) for name in ("conv2d_0", "conv2d_2")]
    (advice,) = advise(network(report, ends[0], inside, ends[1]), Otherwise())
    assert (advice.kind, advice.cycles, advice.layers) == ("float operators", 900, ("transposed_1",))
    assert ("in QDQ form" in advice.sentence) == bool(macs)
    (advice,) = advise(network(report, ends[0], inside, ends[1]), Otherwise(wide_activations=True))
    assert "quantize them to 8 bits" in advice.sentence
    assert "quantize these operators" not in advice.sentence


def test_what_the_model_quantizes_is_not_to_be_quantized(report: Report) -> None:
    """Floating point of an operator between a dequantize and a quantize, and of one that the model leaves in it."""
    mean = layer("mean_1", "cpu", cycles=900, op="mean", floating=True, source="mean")
    elu = layer("elu_2", "cpu", cycles=500, op="exp", floating=True, source="elu")
    ends = [layer(name, cycles=100, macs=1000) for name in ("conv2d_0", "conv2d_3")]
    both = advise(network(report, ends[0], mean, elu, ends[1]), Otherwise(quantized=lambda: frozenset({"mean"})))
    assert [(one.kind, one.layers) for one in both] == [
        ("float operators", ("mean_1",)),
        ("float operators", ("elu_2",)),
    ]
    assert "though the model quantizes what is read and written there" in both[0].sentence
    assert "quantize these operators, too" in both[1].sentence


@pytest.mark.parametrize(("kind", "attributes"), [("LpNormalization", {"axis": 1, "p": 1}), ("LRN", {"size": 3})])
def test_operators_that_a_model_quantizes(kind: str, attributes: dict[str, int]) -> None:
    """One is several operators of the graph, the other is read as Relay; no integers stand for either."""

    def advice(*, quantized: bool) -> str:
        model = TrainedModel([1, 6, 8, 8])
        model.quantize(0.02, "uint8", 128)
        model.conv(6, (1, 1))
        model.quantize(0.05, "uint8", 128)
        if not quantized:
            model.add("Sigmoid")
        model.add(kind, **attributes)
        model.quantize(0.02, "uint8", 10)
        model.conv(6, (1, 1))
        model.quantize(0.05, "uint8", 128)
        (told,) = (one for one in match.predict(model.build(), "gap9").advice if one.kind == "float operators")
        return told.sentence

    assert "though the model quantizes what is read and written there" in advice(quantized=True)
    assert "quantize these operators, too" in advice(quantized=False)


def test_what_modules_take_too_is_no_advice(report: Report) -> None:
    """The control core was chosen as it is faster: there is nothing to gain."""
    offers = CandidateSummary("array", cycles=1200), CandidateSummary("cpu", cycles=900)
    small = layer("conv2d_1", "cpu", cycles=900, macs=10, candidates=offers)
    assert advise(network(report, layer("conv2d_0", cycles=100, macs=100), small), Otherwise()) == ()


def test_scales_are_blamed_only_if_a_module_was_asked(report: Report) -> None:
    sums, row = layer("conv", cycles=100, macs=100), layer("requantize_1", "cpu", cycles=100, op="requantize")
    (advice,) = advise(network(report, sums, row), Otherwise())
    assert "scales" not in advice.sentence
    assert "it is no layer that modules have" in advice.sentence


def test_layers_too_small_for_their_offload(report: Report) -> None:
    small = [layer(f"conv_{n}", cycles=1000, macs=1000, compute_cycles=300, overhead_cycles=600) for n in range(3)]
    (advice,) = advise(network(report, *small), Otherwise())
    assert (advice.kind, advice.cycles) == ("offload", 1800)
    assert "To hand 3 layers to modules" in advice.sentence


def test_changes_are_predicted_only_where_enough_can_be_gained(report: Report) -> None:
    """Conversions of less than a tenth are not even asked about; nor are changes told that gain less."""
    asked: list[Change] = []

    def predict(change: Change) -> int:
        asked.append(change)
        return 950

    change = Change.of(input_type="uint8")
    known = Otherwise(cycles=predict, inputs=change)

    def convert(cycles: int) -> Report:
        first = layer("quantize_0", "cpu", cycles=cycles, op="quantize", floating=True, network_inputs=(0,))
        return network(report, first, layer("conv", cycles=1000 - cycles, macs=1000))

    assert not [one for one in advise(convert(90), known) if one.change]
    assert asked == []
    assert not [one for one in advise(convert(200), known) if one.change]
    assert asked == [change]
