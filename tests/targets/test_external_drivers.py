"""Drivers of external memory, on a PC: the SDK's calls, and the registers of the open platform."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

import match
from tests.gap_sdk.sdk import STAND_IN

pytestmark = pytest.mark.cc

PACKAGE = Path(match.__file__).parent
HERE = Path(__file__).parent
STRICT = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-g", "-O1", "-fsanitize=address,undefined")


def build_and_run(
    program: Path, drivers: Iterable[Path], ram: str, include: Iterable[Path], flags: Iterable[str]
) -> None:
    folders = (*include, PACKAGE / "kernels/include", PACKAGE / "targets/pulp/include", HERE / "ram")
    headers = ("-I", str(PACKAGE / "codegen/include"), *(f"-I{folder}" for folder in folders))
    sources = (*drivers, HERE / "ram" / ram, HERE / "ram" / "test_external.c")
    command = ["cc", *STRICT, *flags, *headers, *map(str, sources), "-o", str(program)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not built.returncode, built.stderr
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stdout + done.stderr


def test_calls_of_the_sdk(tmp_path: Path) -> None:
    folder = PACKAGE / "targets/pulp/gap_sdk/external"
    include = (folder, STAND_IN / "gap9", STAND_IN)
    drivers = sorted(folder.glob("*.c"))
    build_and_run(tmp_path / "program", drivers, "ram_pmsis.c", include, ["-DPULP_TEST_BYTES=65536"])


def test_registers(tmp_path: Path) -> None:
    """Drivers keep addresses in 32 bits, which those of static data fit without position-independent code."""
    folder = PACKAGE / "targets/pulp_open/bare/external"
    flags = ("-DPULP_TEST_BYTES=65536", "-DPULP_EXTERNAL_BYTES=65536", "-no-pie", "-fno-pie")
    include = (folder, HERE / "ram" / "registers")
    build_and_run(tmp_path / "program", sorted(folder.glob("*.c")), "ram_registers.c", include, flags)
