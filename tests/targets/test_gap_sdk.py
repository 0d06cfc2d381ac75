"""Platforms on the vendor's SDK: all of a network's C against headers that stand in for the SDK's."""

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
from match.targets.pulp.memory import L1_STACKS
from tests.gap_sdk.sdk import (
    CHIPS,
    DECLARATIONS,
    PICOLIBC,
    STAND_IN,
    SYSTEMS,
    Compiler,
    CompilerError,
    Headers,
    build,
    check_declarations,
    plain_flags,
    stand_in,
)

pytestmark = pytest.mark.cc

DIGITS = Path(match.__file__).parent / "devtools" / "demo" / "digits.onnx"

NAMES = re.compile(r"\b((?:pi|pmsis|eu|hal)_\w+)\(")
"""A function of the SDK, where it is declared."""

IN_FREERTOS = "hal_eu_evt_mask_wait_and_clr"
IN_PULPOS = "eu_evt_maskWaitAndClr"
OF_NE16 = {IN_FREERTOS, IN_PULPOS}


@pytest.fixture(scope="module")
def compiler() -> Compiler:
    found = Compiler.found("riscv64-unknown-elf-gcc")
    if shutil.which("riscv64-unknown-elf-gcc") is None or not PICOLIBC.is_dir():
        pytest.skip("riscv64-unknown-elf-gcc or picolibc is not installed")
    assert found is not None
    return found


def declared(chip: str, system: str) -> set[str]:
    """Functions of the headers that stand in for the SDK's."""
    headers = [*STAND_IN.glob("*.h"), *STAND_IN.glob("bsp/**/*.h"), *(STAND_IN / chip).glob("*.h")]
    found = {name for header in headers for name in NAMES.findall(header.read_text())}
    return found - {IN_PULPOS if system == "freertos" else IN_FREERTOS} - (OF_NE16 if chip == "gap8" else set())


@pytest.mark.parametrize(("chip", "system"), [("gap8", "pulpos"), ("gap9", "freertos")])
def test_networks_compile_against_stand_ins(chip: str, system: str, compiler: Compiler, tmp_path: Path) -> None:
    """With and without each option, in L2 and in external memory; of what is declared nothing is without use."""
    headers = stand_in(chip, system)
    inside, outside = tmp_path / "digits", tmp_path / "outside"
    match.compile(DIGITS, chip).save(inside)
    match.compile(integers("ds_cnn"), chip, l1=20000, l2=30000).save(outside)
    macros = "-DPULP_TIMEOUT_US=1000000 -DMATCH_PULP_NO_HWLOOP"
    missing = undefined(build(inside, compiler, headers))
    missing |= undefined(build(inside, compiler, headers, "TRACE=1", "DUMP=1", macros=macros))
    missing |= undefined(build(outside, compiler, headers))
    missing |= undefined(build(outside, compiler, headers, macros=macros))
    assert {name for name in missing if name.startswith(("pi_", "pmsis_", "eu_", "hal_"))} == declared(chip, system)
    assert not [name for name in missing if name.startswith(("pulp_", "gap9_", "ne16_", "match_"))]


def undefined(program: Path) -> set[str]:
    """What an object leaves to the SDK."""
    tool = ["riscv64-unknown-elf-nm", "-u", str(program)]
    names = subprocess.run(tool, capture_output=True, text=True, check=True)
    return {line.split()[-1] for line in names.stdout.splitlines()}


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("chip", CHIPS)
def test_stand_ins_declare_what_the_sdk_declares(chip: str, system: str, compiler: Compiler) -> None:
    """Each by its type, in a file that `python -m tests.gap_sdk` compiles against the SDK itself."""
    check_declarations(compiler, stand_in(chip, system))
    stated = set(re.findall(r"^IS\(((?:pi|pmsis|eu|hal)_\w+),\s", DECLARATIONS.read_text(), re.MULTILINE))
    assert declared("gap9", system) | OF_NE16 == {name for name in stated if not name.endswith("_t")}


def test_a_declaration_that_differs_is_found(compiler: Compiler, tmp_path: Path) -> None:
    shutil.copytree(STAND_IN, tmp_path / "stand_in")
    header = tmp_path / "stand_in/bsp/ram.h"
    header.write_text(header.read_text().replace("int32_t pi_ram_open", "int16_t pi_ram_open"))
    flags = (f"-I{tmp_path}/stand_in/gap8", f"-I{tmp_path}/stand_in", "-D__GAP8__")
    with pytest.raises(CompilerError, match="pi_ram_open"):
        check_declarations(compiler, Headers("another SDK", flags))


def test_the_master_has_the_stack_that_layers_need(compiler: Compiler, tmp_path: Path) -> None:
    """Where each chip's SDK takes it from: of GAP9 in the configuration of the cluster, of GAP8 in each task."""
    platform = Path(match.__file__).parent / "targets/pulp/gap_sdk"
    header = (platform / "pulp_platform.h").read_text()
    assert f"#define PULP_MASTER_STACK {L1_STACKS.master}\n" in header
    assert f"#define PULP_WORKER_STACK {L1_STACKS.worker}\n" in header
    match.compile(DIGITS, "gap9", modules=["cluster"]).save(tmp_path)
    source = "targets/pulp/gap_sdk/pulp_gap_sdk.c"
    folders = [f"-I{tmp_path / folder}" for folder in ("include", *re.findall(r"\S+", included(tmp_path)))]
    for chip, master in (("gap8", "chip.task.stack_size"), ("gap9", "chip.configuration.cc_stack_size")):
        flags = [*plain_flags(chip, "pulpos"), *folders, "-O1", "-E", "-P"]
        text = subprocess.check_output([compiler.command, *flags, str(tmp_path / source)], text=True)
        stacks = re.findall(r"(\S+stack_size) = (\w+);", text)
        assert stacks == [(master, str(L1_STACKS.master)), ("chip.task.slave_stack_size", str(L1_STACKS.worker))]


def included(project: Path) -> str:
    """The folders of headers of the SDK's platform in a project."""
    command = ["make", "-pn", "-C", str(project), "PLATFORM=gap_sdk"]
    printed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found = re.search(r"^INCLUDE := (.*)$", printed, re.MULTILINE)
    assert found
    return found[1]


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


def test_kernels_of_the_sdks_build_have_their_loops_of_dot_products(compiler: Compiler, tmp_path: Path) -> None:
    """Without a word of the integrator about the instruction set; loops have no branches."""
    match.compile(DIGITS, "gap9", modules=["cluster"]).save(tmp_path / "digits")
    build(tmp_path / "digits", compiler, stand_in("gap9", "freertos"))
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
