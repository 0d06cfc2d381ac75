"""Cortex-M: the core computes layers out of its RAM and flash, on a PC and on each core under QEMU."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

import match
from match.devtools.check import check_target
from match.devtools.check.description import description_problems
from match.devtools.demo import INPUT, load_images
from match.errors import CapacityError, OptionError
from match.mapping.memory import Memory
from match.target.registry import get_target
from tests.e2e import tflite_network

pytestmark = pytest.mark.cc

CORES = ("cortex_m4", "cortex_m7", "cortex_m33", "cortex_m55")
BOARDS = (*CORES, "nucleo_f446re", "pico_2")
DEMO = Path(match.__file__).parent / "devtools" / "demo"


@pytest.mark.parametrize("name", BOARDS)
def test_description(name: str) -> None:
    assert description_problems(get_target(name)) == ()


@pytest.mark.parametrize("name", CORES)
def test_every_kernel_is_in_the_project(name: str) -> None:
    package = Path(match.__file__).parent
    kernels = {path.relative_to(package) for path in (package / "kernels" / "cortex_m").glob("*.c")}
    for platform in get_target(name).platforms:
        assert kernels <= set(platform.sources)


@pytest.mark.sweep
@pytest.mark.parametrize("name", BOARDS)
def test_layers_equal_tvm(name: str) -> None:
    check = check_target(get_target(name))
    assert check.problems == ()
    assert all(coverage.taken for coverage in check.coverage)


@pytest.mark.usefixtures("qemu_arm")
@pytest.mark.parametrize("name", CORES)
def test_digits_on_the_core(name: str) -> None:
    """A Cortex-M computes what the PC does."""
    compiled = match.compile(DEMO / "digits.onnx", name)
    images = load_images(DEMO / "digits.npz")[0][:2]
    (right,), (outputs,) = (compiled.run({INPUT: images}, on=on).values() for on in ("host", "qemu"))
    assert np.array_equal(outputs, right)


NETWORKS = ("pretrainedResnet_quant", "vww_96_int8", "kws_ref_model", "ad01_int8")
EACH_RUN = {("kws_ref_model", "cortex_m4"), ("ad01_int8", "cortex_m55")}
WAYS = [
    pytest.param(*way, marks=() if way in EACH_RUN else pytest.mark.sweep) for way in itertools.product(NETWORKS, CORES)
]


@pytest.mark.usefixtures("qemu_arm")
@pytest.mark.parametrize(("network", "name"), WAYS)
def test_networks_equal_tflite_micro(network: str, name: str, models_dir: Path) -> None:
    path = models_dir / f"{network}.tflite"
    read = tflite_network.read(path)
    tensor = read.tensors[read.input]
    inputs = np.random.default_rng(7).integers(-128, 128, (2, *tensor.shape)).astype(np.int8)
    compiled = match.compile(path, name, numerics="exact")
    outputs, measured = compiled.measure({tensor.name: inputs}, on="qemu")
    (output,) = outputs.values()
    assert np.array_equal(output, tflite_network.run_micro(path, inputs))
    assert measured.total > 0


def test_constants_are_in_flash(models_dir: Path) -> None:
    """RAM has activations alone: a network whose constants it could not hold fits."""
    chip = get_target("nucleo_f446re")
    report = match.predict(models_dir / "ad01_int8.tflite", chip)
    assert report.totals.constant_bytes > chip.main_memory.size
    assert report.totals.l2_peak_bytes < 8192
    assert chip.flash is not None
    chip.flash = Memory("flash", report.totals.constant_bytes)
    with pytest.raises(CapacityError, match=r"bytes of nucleo_f446re's flash, which has .* for the program; "):
        match.predict(models_dir / "ad01_int8.tflite", chip)


def test_there_is_no_l1() -> None:
    with pytest.raises(OptionError, match="cortex_m4 has no module with a scratchpad"):
        get_target("cortex_m4", l1=8192)
