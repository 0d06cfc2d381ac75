"""STM32H743: its description holds together, its kernels compute what they should, and a network runs on it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import match
from match.devtools import demo
from match.devtools.check import check_target
from match.devtools.demo import INPUT, load_images, run_demo

import stm32h743
from stm32h743.target import Stm32h743

HERE = Path(stm32h743.__file__).resolve().parent
KERNELS = Path(match.__file__).resolve().parent / "kernels"
COMPILER, EMULATOR = "arm-none-eabi-gcc", "qemu-system-arm"
DIGITS = Path(demo.__file__).parent / "digits.onnx"


def test_layers_of_every_pattern_equal_tvm() -> None:
    """The module's C computes what TVM's C does, and no pattern is idle."""
    check = check_target(Stm32h743())
    assert check.problems == ()
    assert all(coverage.taken for coverage in check.coverage)
    assert {"gate", "conv2d+max_pool2d"} <= {coverage.op for coverage in check.coverage}


def test_small_scratchpads_force_tiles() -> None:
    """The same where layers have to be cut."""
    assert check_target(match.get_target(Stm32h743(), l1=6144)).problems == ()


def test_digits() -> None:
    """A trained network still reads digits."""
    result = run_demo("stm32h743")
    assert result.right > 0.95 * result.images
    assert any(layer.module != "cpu" for layer in result.report.layers)


@pytest.mark.skipif(not all(map(shutil.which, (COMPILER, EMULATOR))), reason=f"there is no {COMPILER} or {EMULATOR}")
def test_cortex_m7() -> None:
    """A Cortex-M7 computes what the PC does."""
    compiled = match.compile(DIGITS, "stm32h743")
    images = load_images(DIGITS.with_name("digits.npz"))[0][:2]
    (right,), (outputs,) = (compiled.run({INPUT: images}, on=on).values() for on in ("host", "qemu"))
    assert np.array_equal(outputs, right)


@pytest.mark.skipif(shutil.which(COMPILER) is None, reason=f"there is no {COMPILER}")
@pytest.mark.parametrize(
    "source",
    [HERE / "gate.c", HERE / "mdma.c", HERE / "chip.c", *(KERNELS / "chip").glob("*.c")],
    ids=lambda source: source.name,
)
def test_the_chip_compiler_takes_it(source: Path, tmp_path: Path) -> None:
    """What runs on the chip alone compiles without a warning."""
    core = ("-mcpu=cortex-m7", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv5-d16", "--specs=picolibc.specs")
    warnings = ("-std=c11", "-O3", "-Wall", "-Wextra", "-Werror")
    headers = (f"-I{KERNELS / 'include'}", f"-I{KERNELS / 'chip'}", f"-I{HERE}")
    command = [COMPILER, *core, *warnings, *headers, "-c", str(source), "-o", str(tmp_path / "out.o")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
