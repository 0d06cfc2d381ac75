"""Both drivers of the cluster's DMA, on a PC: the registers of the open platform, and the SDK's calls."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import match
from tests.gap_sdk.sdk import STAND_IN

pytestmark = pytest.mark.cc

PACKAGE = Path(match.__file__).parent
HERE = Path(__file__).parent
SDK = (STAND_IN / "gap9", STAND_IN)
STRICT = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-g", "-O1")
LOW_ADDRESSES = ("-no-pie", "-fno-pie")
"""Drivers keep addresses in 32 bits; with these, those of static data fit."""

FOLDERS = ("kernels/include", "targets/pulp/include")


def build_and_run(tmp_path: Path, driver: Path, dma: str, *platform: Path) -> None:
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    own = tmp_path / driver.name  # apart from the folder of the real registers
    own.write_text(driver.read_text())
    include = [f"-I{folder}" for folder in (HERE / "mchan", *platform, *(PACKAGE / f for f in FOLDERS))]
    program = tmp_path / "program"
    sources = [str(own), str(HERE / "mchan" / dma), str(HERE / "mchan" / "test_mchan.c")]
    warnings = ("-Wno-pointer-to-int-cast", "-Wno-int-to-pointer-cast")
    command = [compiler, *STRICT, *warnings, *LOW_ADDRESSES, *include, *sources, "-o", str(program)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not built.returncode, built.stderr
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stdout + done.stderr


def test_registers(tmp_path: Path) -> None:
    folder = PACKAGE / "targets/pulp_open/bare"
    shutil.copy(folder / "pulp_platform.h", tmp_path)
    shutil.copy(folder / "pulp_open_cluster.h", tmp_path)
    build_and_run(tmp_path, folder / "pulp_open_dma.c", "mchan_registers.c", tmp_path)


def test_calls_of_the_sdk(tmp_path: Path) -> None:
    folder = PACKAGE / "targets/pulp/gap_sdk"
    build_and_run(tmp_path, folder / "pulp_gap_sdk_dma.c", "mchan_pmsis.c", folder, *SDK)
