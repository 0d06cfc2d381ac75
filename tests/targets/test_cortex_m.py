"""Cortex-M: the core computes layers out of its RAM and flash, on a PC and on each core under QEMU."""

from __future__ import annotations

import itertools
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import match
from match.devtools.check import check_target
from match.devtools.check.description import description_problems
from match.devtools.demo import INPUT, load_images
from match.errors import CapacityError, OptionError, ToolchainError
from match.mapping.memory import Memory
from match.run import build, qemu, read_manifest, run
from match.run.counts import read_log
from match.run.runner import Job
from match.run.tools import call
from match.target.registry import get_target
from match.targets.cortex_m.target import CortexMBoard
from tests.e2e import tflite_network

pytestmark = pytest.mark.cc

CORES = ("cortex_m4", "cortex_m7", "cortex_m33", "cortex_m55")
BOARDS = (
    *CORES,
    "nano_33_ble",
    "nucleo_f446re",
    "nucleo_h7a3zi",
    "nucleo_u575zi",
    "pico_2",
    "stm32f746g_disco",
)
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


@pytest.mark.usefixtures("qemu_arm")
def test_the_boards_program(tmp_path: Path) -> None:
    """QEMU's STM32F405 has the board's memories, and a counter of cycles that stays at 0."""
    project, images = tmp_path / "project", load_images(DEMO / "digits.npz")[0][:2]
    compiled = match.compile(DEMO / "digits.onnx", "nucleo_f446re", output=project)
    machine = "qemu-system-arm", "-M", "netduinoplus2"
    program = build(project, "chip", counted=True)
    finished = qemu.run(Job(program, images.tobytes(), machine, "the program"))
    (right,) = compiled.run({INPUT: images}).values()
    assert finished.outputs == right.tobytes()
    log = tmp_path / "uart.log"
    log.write_text(finished.printed)
    counts = read_log(log, read_manifest(project).calls, "nucleo", "cycles")
    assert (counts.samples, counts.total) == (2, 0)
    with pytest.raises(ToolchainError, match=r"is for the chip: start .*/network with a debugger that has semihosting"):
        run(project, {INPUT: images}, on="chip")


@pytest.mark.parametrize("name", ["cortex_m7", "pico_2"])
def test_a_boards_program_is_linked(name: str, tmp_path: Path) -> None:
    """Code in flash, variables in RAM, by the addresses of the board."""
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("arm-none-eabi-gcc is not on the PATH")
    target = get_target(name)
    assert isinstance(target, CortexMBoard)
    match.compile(DEMO / "digits.onnx", target, output=tmp_path / "project")
    program = build(tmp_path / "project", "chip", counted=True)
    listing = call(["arm-none-eabi-objdump", "-h", str(program)], "listing sections")
    at = dict(re.findall(r"^ *\d+ (\S+) +[0-9a-f]+ +([0-9a-f]+)", listing, re.MULTILINE))
    assert int(at[".init"], 16) == target.board.flash_at
    assert target.board.ram_at <= int(at[".bss"], 16) < target.board.ram_at + target.board.ram_bytes


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
