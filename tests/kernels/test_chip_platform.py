"""What stands in on a PC for chips with one module: transfers as late as they may be, and what breaks the contract."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.kernels.test_platform import OK, TRANSFER
from tests.kernels.toolchain import PACKAGE, PROJECT, SANITIZE, STRICT, compile_c

pytestmark = pytest.mark.cc

SOURCES = ("match_host_chip.c", "match_host_arena.c", "match_host_dma.c")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sources = [*(PACKAGE / "kernels/host" / name for name in SOURCES), PROJECT / "tests/kernels/chip_scenarios.c"]
    sizes = ("-DMATCH_CHIP_SCRATCHPAD_BYTES=256", "-DMATCH_CHIP_MAIN_BYTES=1024", f"-I{PACKAGE / 'kernels/chip'}")
    return compile_c(sources, tmp_path_factory.mktemp("chip") / "scenarios", *STRICT, *SANITIZE, *sizes)


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("late", [OK, 9, OK, 7]),
        ("waits", [TRANSFER, OK, TRANSFER]),
        ("outside", [TRANSFER, TRANSFER]),
        ("many", [OK, TRANSFER, OK]),
        ("room", [1, 1, 1, 1]),
    ],
)
def test_scenario(program: Path, name: str, printed: list[int]) -> None:
    result = subprocess.run([program, name], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert [int(line) for line in result.stdout.split()] == printed
