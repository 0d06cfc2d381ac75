"""Platforms on the vendor's SDK: all of a network's C against the declarations of the SDK that it uses."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import match
from benchmarks.memory.networks import integers
from match.errors import ToolchainError
from match.run import RUNNERS
from match.run.runner import Job

pytestmark = pytest.mark.cc

HERE = Path(__file__).parent
DIGITS = Path(match.__file__).parent / "devtools" / "demo" / "digits.onnx"
PICOLIBC = Path("/usr/lib/picolibc/riscv64-unknown-elf/include")
FLAGS = ("-O2", "-misa-spec=2.2", "-march=rv32imc", "-mabi=ilp32", f"-isystem {PICOLIBC}", f"-I{HERE / 'pmsis'}")


def declared() -> set[str]:
    """Functions of the headers that stand in for the SDK's."""
    text = "".join(header.read_text() for header in (HERE / "pmsis").rglob("*.h"))
    return set(re.findall(r"\b(p(?:i|msis)_\w+)\(", text))


@pytest.mark.parametrize("target", ["gap8", "gap9"])
def test_networks_compile_against_the_sdks_declarations(target: str, tmp_path: Path) -> None:
    """With and without each option, in L2 and in external memory; of what is declared nothing is without use."""
    if shutil.which("riscv64-unknown-elf-gcc") is None or not PICOLIBC.is_dir():
        pytest.skip("riscv64-unknown-elf-gcc or picolibc is not installed")
    match.compile(DIGITS, target).save(tmp_path / "digits")
    match.compile(integers("ds_cnn"), target, l1=20000, l2=30000).save(tmp_path / "outside")
    macros = "-DPULP_TIMEOUT_US=1000000 -DMATCH_PULP_NO_HWLOOP"
    missing = undefined(tmp_path / "digits") | undefined(tmp_path / "digits", macros, "TRACE=1", "DUMP=1")
    missing |= undefined(tmp_path / "outside") | undefined(tmp_path / "outside", macros)
    of_the_sdk = {name for name in missing if name.startswith(("pi_", "pmsis_"))}
    assert of_the_sdk == declared()
    assert not [name for name in missing if name.startswith(("pulp_", "gap9_", "ne16_", "match_"))]


def undefined(project: Path, macros: str = "", *options: str) -> set[str]:
    """What a project's object for the SDK, built with macros and variables of its Makefile, leaves to it."""
    shutil.rmtree(project / "build", ignore_errors=True)
    compiler = ["PLATFORM=gap_sdk", "CC=riscv64-unknown-elf-gcc", f"CFLAGS={' '.join(FLAGS)} {macros}"]
    command = ["make", "-s", "-C", str(project), "WERROR=1", *compiler, *options]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not built.returncode, built.stderr
    assert not built.stderr, built.stderr
    (program,) = (project / "build").glob("gap_sdk*/network")
    tool = ["riscv64-unknown-elf-nm", "-u", str(program)]
    names = subprocess.run(tool, capture_output=True, text=True, check=True)
    return {line.split()[-1] for line in names.stdout.splitlines()}


def test_programs_are_left_to_the_sdk(tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match=r"link .*network into one and start that"):
        RUNNERS["sdk"].run(Job(tmp_path / "network", b"", (), "the program"))


DOT_PRODUCT = (0x57, 1, 0x54)
HARDWARE_LOOP = (0x7B, 4)


def instructions(binary: Path) -> list[int]:
    """The words of 32 bits in the code of an object."""
    command = ["riscv64-unknown-elf-objdump", "-d", str(binary)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [int(word, 16) for word in re.findall(r"^\s*[0-9a-f]+:\s+([0-9a-f]{8})\s", printed, re.MULTILINE)]


def test_kernels_of_the_sdks_build_have_their_loops_of_dot_products(tmp_path: Path) -> None:
    """Without a word of the integrator about the instruction set; loops have no branches."""
    if shutil.which("riscv64-unknown-elf-gcc") is None or not PICOLIBC.is_dir():
        pytest.skip("riscv64-unknown-elf-gcc or picolibc is not installed")
    match.compile(DIGITS, "gap9", modules=["cluster"]).save(tmp_path / "digits")
    command = ["make", "-s", "-C", str(tmp_path / "digits"), "WERROR=1", "PLATFORM=gap_sdk"]
    options = ["CC=riscv64-unknown-elf-gcc", f"CFLAGS={' '.join(FLAGS)}", "lib"]
    built = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert not built.returncode, built.stderr
    folder = tmp_path / "digits/build/gap_sdk/kernels/pulp"
    for name in ("match_pulp_matmul", "match_pulp_depthwise_strips"):
        words = instructions(folder / f"{name}.o")
        assert DOT_PRODUCT in {(word & 0x7F, word >> 12 & 7, word >> 25) for word in words}, name
    looped = {(word & 0x7F, word >> 12 & 7) for word in instructions(folder / "match_pulp_matmul.o")}
    assert HARDWARE_LOOP in looped


def test_builds_that_would_clash_over_hardware_loops_are_refused(tmp_path: Path) -> None:
    """With a stand-in for a compiler that has the SDK's built-in functions, and so hardware loops of its own."""
    kernels = Path(match.__file__).parent / "kernels"
    source = tmp_path / "stand_in.c"
    source.write_text('#define __riscv 32\n#undef __has_builtin\n#include "match_pulp_simd.h"\n')
    command = ["cc", "-E", f"-I{kernels / 'pulp'}", f"-I{kernels / 'include'}", str(source)]

    def refusal(*macros: str) -> str:
        done = subprocess.run([*command, *macros], capture_output=True, text=True, check=False)
        return done.stderr if done.returncode else ""

    assert "makes hardware loops of its own" in refusal("-DMATCH_PULP_ISA_XPULP2")
    assert "exclude each other" in refusal("-DMATCH_PULP_ISA_XPULP2", "-DMATCH_PULP_ISA_GAP")
    assert not refusal("-DMATCH_PULP_ISA_XPULP2", "-DMATCH_PULP_NO_HWLOOP")
    assert not refusal("-DMATCH_PULP_ISA_AUTO")
    assert not refusal("-DMATCH_PULP_ISA_GAP")
