"""Platforms on the vendor's SDK: all of a network's C against the declarations of the SDK that it uses."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import match
from match.errors import ToolchainError
from match.run import RUNNERS
from match.run.runner import Job

HERE = Path(__file__).parent
DIGITS = Path(match.__file__).parent / "demo" / "digits.onnx"
PICOLIBC = Path("/usr/lib/picolibc/riscv64-unknown-elf/include")
FLAGS = ("-O2", "-misa-spec=2.2", "-march=rv32imc", "-mabi=ilp32", f"-isystem {PICOLIBC}", f"-I{HERE / 'pmsis'}")


def declared() -> set[str]:
    """Functions of the headers that stand in for the SDK's."""
    text = "".join(header.read_text() for header in (HERE / "pmsis").rglob("*.h"))
    return set(re.findall(r"\b(p(?:i|msis)_\w+)\(", text))


@pytest.mark.parametrize("target", ["gap8", "gap9"])
def test_networks_compile_against_the_sdks_declarations(target: str, tmp_path: Path) -> None:
    if shutil.which("riscv64-unknown-elf-gcc") is None or not PICOLIBC.is_dir():
        pytest.skip("riscv64-unknown-elf-gcc or picolibc is not installed")
    match.compile(DIGITS, target).save(tmp_path / "digits")
    command = [
        "make",
        "-s",
        "-C",
        str(tmp_path / "digits"),
        "WERROR=1",
        "PLATFORM=gap_sdk",
        "CC=riscv64-unknown-elf-gcc",
    ]
    built = subprocess.run([*command, f"CFLAGS={' '.join(FLAGS)}"], capture_output=True, text=True, check=False)
    assert not built.returncode, built.stderr
    assert not built.stderr, built.stderr
    program = tmp_path / "digits" / "build" / "gap_sdk" / "network"
    names = subprocess.run(["riscv64-unknown-elf-nm", "-u", str(program)], capture_output=True, text=True, check=True)
    missing = {line.split()[-1] for line in names.stdout.splitlines()}
    of_the_sdk = {name for name in missing if name.startswith(("pi_", "pmsis_"))}
    assert of_the_sdk == declared()
    assert not [name for name in missing if name.startswith(("pulp_", "gap9_", "ne16_", "match_"))]


def test_programs_are_left_to_the_sdk(tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match=r"link .*network into one and start that"):
        RUNNERS["sdk"](Job(tmp_path / "network", b"", (), "the program"))
