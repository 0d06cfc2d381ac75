"""The four MLPerf Tiny networks on PULP chips: generated C equals TFLite Micro, or the hardware's own arithmetic."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import match
from tests.e2e import hardware_arithmetic, tflite_network
from tests.e2e.tflite_arithmetic import Array, Output
from tests.sampled import sampled

pytestmark = pytest.mark.cc

MODELS = ("pretrainedResnet_quant", "vww_96_int8", "kws_ref_model", "ad01_int8")
LARGE = "vww_96_int8"
CHIPS = [
    *((name, "gap9", modules) for name in MODELS for modules in (("cluster",), ("cluster", "ne16"))),
    *((name, "gap8", ("cluster",)) for name in ("pretrainedResnet_quant", "kws_ref_model")),
]
SWEPT = [(name, "gap9", ("cluster",)) for name in MODELS]
"""NE16 beside the cluster has the same operators of the largest network, and the same layers of ad01_int8; the cluster
has the layers of the two others on GAP8."""
SAMPLES = 10


def random_inputs(network: tflite_network.Network, count: int) -> npt.NDArray[np.int8]:
    """Inputs of shape (count, 1, ...)."""
    shape = network.tensors[network.input].shape
    return np.random.default_rng(7).integers(-128, 128, (count, *shape)).astype(np.int8)


def run_c(compiled: match.CompiledModel, network: tflite_network.Network, inputs: npt.NDArray[np.int8]) -> npt.NDArray:
    """Outputs of the generated C for a batch, checked by the sanitizers."""
    name = network.tensors[network.input].name
    return next(iter(compiled.run({name: inputs}, sanitize=True).values()))


@pytest.mark.parametrize(
    ("name", "target", "modules"),
    sampled(CHIPS, [chip for chip in CHIPS if chip not in SWEPT]),
)
def test_exact_networks_equal_tflite_micro(name: str, target: str, modules: tuple[str, ...], models_dir: Path) -> None:
    path = models_dir / f"{name}.tflite"
    network = tflite_network.read(path)
    inputs = random_inputs(network, SAMPLES)
    compiled = match.compile(path, target, modules=modules, numerics="exact")
    assert np.array_equal(run_c(compiled, network, inputs), tflite_network.run_micro(path, inputs))
    used = {unit.name for layer in compiled.layers if layer.plan for unit in layer.plan.units}
    assert ("ne16" in used) == ("ne16" in modules) or name == "ad01_int8"


def compared(hardware: Output, reference: Output) -> Output:
    """The hardware's output stage, held against TFLite's: at most one step apart, and that for few outputs."""

    def apply(accumulator: Array) -> Array:
        outputs = hardware(accumulator)
        distance = np.abs(outputs - reference(accumulator))
        assert distance.max() <= 1
        assert np.count_nonzero(distance) <= max(1, 0.02 * distance.size)
        return outputs

    return apply


@pytest.mark.parametrize("name", sampled(MODELS, {*MODELS} - {LARGE}))
def test_hardware_numerics_equal_the_hardware(name: str, models_dir: Path, tmp_path: Path) -> None:
    path = models_dir / f"{name}.tflite"
    network = tflite_network.read(path)
    inputs = random_inputs(network, 10)
    model = tflite_network.cut(path, network.logits, tmp_path / f"{name}.tflite")
    compiled = match.compile(model, "gap9", numerics="hardware", fuse=False)
    outputs = run_c(compiled, network, inputs)
    values = tflite_network.interpret(network, inputs[0])
    stages = hardware_arithmetic.output_stages(compiled.layers, network, values)

    def stage(index: int, default: Output) -> Output:
        return compared(stages[index](default), default) if index in stages else default

    for sample, output in zip(inputs, outputs, strict=True):
        expected = tflite_network.interpret(network, sample, stage)
        assert np.array_equal(output, expected[network.logits])
    if not stages:
        assert np.array_equal(outputs, tflite_network.run_micro(model, inputs))


def test_resnet8_leaves_nothing_to_tvm(models_dir: Path) -> None:
    compiled = match.compile(models_dir / "pretrainedResnet_quant.tflite", "gap9", fuse=False)
    on_modules = Counter(layer.op for layer in compiled.layers if layer.module != "cpu")
    assert (on_modules["conv2d"], on_modules["add"], on_modules["avg_pool2d"], on_modules["dense"]) == (9, 3, 1, 1)
    assert ("softmax", 10) in {(layer.op, layer.outputs) for layer in compiled.layers if layer.module == "core"}
    assert not [layer.op for layer in compiled.layers if layer.module == "cpu" and layer.op != "reshape"]


def test_resnet8_fits_eight_kilobytes(models_dir: Path, tmp_path: Path) -> None:
    """The im2col vectors of 64 channels alone take more: the cluster adds up some of the channels at a time."""
    path = models_dir / "pretrainedResnet_quant.tflite"
    network = tflite_network.read(path)
    inputs = random_inputs(network, 20)
    model = tflite_network.cut(path, network.logits, tmp_path / "logits.tflite")
    compiled = match.compile(model, "gap9", modules=("cluster",), numerics="exact", l1=8192, fuse=False)
    assert Counter(layer.module for layer in compiled.layers if layer.op == "conv2d") == {"cluster": 9}
    plans = [layer.plan for layer in compiled.layers if layer.plan]
    assert any(plan.layer.c == 64 and plan.schedule.partial_bytes for plan in plans)
    assert np.array_equal(run_c(compiled, network, inputs), tflite_network.run_micro(model, inputs))


@pytest.mark.parametrize("name", sampled(MODELS, ["kws_ref_model"]))
def test_compilation_is_repeatable(name: str, models_dir: Path, tmp_path: Path) -> None:
    path = models_dir / f"{name}.tflite"
    match.compile(path, "gap9", output=tmp_path / "first")
    match.compile(path, "gap9", output=tmp_path / "second")
    folders = (tmp_path / "first", tmp_path / "second")
    first, second = (
        {file.relative_to(folder): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}
        for folder in folders
    )
    reports = [json.loads((folder / "report.json").read_bytes()) for folder in folders]
    for report in reports:
        assert report["totals"].pop("compile_seconds")
    assert reports[0] == reports[1]
    assert first.keys() == second.keys()
    assert [str(file) for file in first if first[file] != second[file]] in ([], ["report.json"])
