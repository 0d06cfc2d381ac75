"""The PULP platform without an operating system keeps the contract that the host's keeps, on one core."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from match.target.hardware import Platform
from match.targets.gap9.target import Gap9
from tests.kernels.test_platform import COMPUTE, MEMORY, OK, PLATFORM, TRANSFER
from tests.kernels.toolchain import PACKAGE, PROJECT, compile_for

pytestmark = pytest.mark.cc

SCENARIOS = {
    "late_copy_out": [5, OK, 6, OK],
    "missing_wait": [TRANSFER],
    "lost_transfer": [TRANSFER],
    "second_wait": [TRANSFER],
    "copy_outside_l1": [TRANSFER],
    "whole_l1": [1, 1, 1, 1, 1, OK],
    "whole_l2": [1, 1, OK],
    "leaked_block": [MEMORY],
    "kernel_without_wait": [COMPUTE],
    "ne16_without_wait": [COMPUTE],
    "job_queue": [0, -2, 70, 0x001, 1, -2, 71, 0x101, -1, 0x100, 0, 2, 0x001, 1, 0, OK],
    "closed": [PLATFORM, 1, PLATFORM],
}


@pytest.fixture(scope="module")
def platform() -> Platform:
    return next(platform for platform in Gap9().platforms if platform.name == "qemu")


@pytest.fixture(scope="module")
def program(qemu: None, platform: Platform, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """platform_scenarios.c for the bare core."""
    sources = [*(PACKAGE / source for source in platform.sources), PROJECT / "tests/kernels/platform_scenarios.c"]
    return compile_for(platform, sources, tmp_path_factory.mktemp("qemu") / "scenarios")


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(program: Path, platform: Platform, name: str, tmp_path: Path) -> None:
    console = tmp_path / "console"
    quiet = ["-nographic", "-monitor", "none", "-serial", "none", "-chardev", f"file,id=console,path={console}"]
    semihosting = ["-semihosting-config", f"enable=on,target=native,chardev=console,arg={name}"]
    command = [*platform.machine, *quiet, *semihosting, "-kernel", str(program)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (result.returncode, result.stderr) == (0, "")
    assert [int(line) for line in console.read_text().split()] == SCENARIOS[name]
