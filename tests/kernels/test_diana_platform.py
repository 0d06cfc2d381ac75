"""The DIANA host platform keeps its contract and reports what breaks it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.kernels.toolchain import PROJECT, SANITIZE, STRICT, compile_c, host_sources

pytestmark = pytest.mark.cc

OK, PLATFORM, MEMORY, TRANSFER, COMPUTE = 0, -1, -2, -3, -4


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sources = [*host_sources("diana"), PROJECT / "tests" / "kernels" / "diana_scenarios.c"]
    output = tmp_path_factory.mktemp("diana_platform") / "scenarios"
    return compile_c(sources, output, *STRICT, *SANITIZE, target="diana")


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("blocking_copies", [1, OK, 9, OK, 5, OK, OK]),
        ("missing_wait", [TRANSFER]),
        ("second_wait", [TRANSFER]),
        ("copy_outside", [TRANSFER]),
        ("whole_memories", [1, 1, OK]),
        ("leaked_weights", [MEMORY]),
        ("late_kernel", [OK, 0, COMPUTE, OK, 1, COMPUTE]),
        ("kernel_without_wait", [COMPUTE]),
        ("closed", [PLATFORM, 1, OK, PLATFORM]),
    ],
)
def test_scenario(program: Path, name: str, printed: list[int]) -> None:
    result = subprocess.run([program, name], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert [int(line) for line in result.stdout.split()] == printed
