"""The four MLPerf Tiny networks and the demo's on one RV32IMC core without an operating system, under QEMU."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import match
from match.devtools.demo import INPUT, OUTPUT, load_images
from match.report.schema import Measurement
from match.run import build
from match.validation.exact_session import exact_session
from tests.e2e import tflite_network

pytestmark = pytest.mark.cc

DEMO = Path(match.__file__).parent / "devtools" / "demo"
NETWORKS = (
    ("pretrainedResnet_quant", "gap9"),
    ("kws_ref_model", "pulp_open"),
    pytest.param("vww_96_int8", "gap8", marks=pytest.mark.sweep),
    ("ad01_int8", "gap8"),
)
SAMPLES = 2


@pytest.mark.usefixtures("qemu")
@pytest.mark.parametrize(("name", "target"), NETWORKS)
def test_networks_equal_tflite_micro_and_are_counted(name: str, target: str, models_dir: Path) -> None:
    path = models_dir / f"{name}.tflite"
    network = tflite_network.read(path)
    tensor = network.tensors[network.input]
    inputs = np.random.default_rng(11).integers(-128, 128, (SAMPLES, *tensor.shape)).astype(np.int8)
    compiled = match.compile(path, target, numerics="exact")
    outputs, measured = compiled.measure({tensor.name: inputs}, on="qemu")
    (output,) = outputs.values()
    assert np.array_equal(output, tflite_network.run_micro(path, inputs))
    check_counts(measured, compiled)


def check_counts(measured: Measurement, compiled: match.CompiledModel) -> None:
    """Every layer but reshapes is counted once; a core has no instruction that does more than one MAC."""
    assert (measured.platform, measured.unit, measured.samples) == ("qemu", "instructions", SAMPLES)
    names = [name for group in measured.layers for name in group.layers]
    assert len(set(names)) == len(names)
    assert {layer.name for layer in compiled.layers} - set(names) <= {
        layer.name for layer in compiled.layers if layer.op == "reshape"
    }
    assert measured.total == sum(group.count for group in measured.layers)
    by_name = {name: group for group in measured.layers for name in group.layers}
    for layer in compiled.layers:
        if layer.plan is not None:
            (function,) = by_name[layer.name].functions
            assert function == layer.plan.symbol
        if layer.plan and [unit.name for unit in layer.plan.units] == ["cluster"]:
            assert by_name[layer.name].count > layer.macs


@pytest.mark.usefixtures("qemu")
def test_the_demo_on_both_platforms(tmp_path: Path) -> None:
    compiled = match.compile(DEMO / "digits.onnx", "gap9", numerics="exact", output=tmp_path / "digits")
    images, _ = load_images(DEMO / "digits.npz")
    outputs, measured = compiled.measure({INPUT: images[:5]}, on="qemu")
    assert np.array_equal(outputs[OUTPUT], compiled.run({INPUT: images[:5]}, sanitize=True)[OUTPUT])
    session = exact_session(DEMO / "digits.onnx")
    expected = [session.run([OUTPUT], {INPUT: image})[0] for image in images[:5]]
    assert [array.argmax() for array in outputs[OUTPUT]] == [array.argmax() for array in expected]
    assert compiled.measure({INPUT: images[:5]}, on="qemu")[1] == measured

    program = build(tmp_path / "digits", "qemu")
    symbols = subprocess.run(["riscv64-unknown-elf-nm", "-S", program], check=True, capture_output=True, text=True)
    sizes = {
        line.split()[-1]: int(line.split()[1], 16) for line in symbols.stdout.splitlines() if len(line.split()) > 3
    }
    assert (sizes["l1_memory"], sizes["l2_memory"]) == (116 * 1024, 1536 * 1024)
