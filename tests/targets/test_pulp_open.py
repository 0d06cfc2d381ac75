"""The open PULP platform: GAP9's modules in a smaller L1, and programs without an operating system for it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import match
from match.codegen.manifest import MANIFEST
from match.run import random_inputs, read_manifest
from match.target.registry import get_target
from match.targets.gap9.target import Gap9
from match.targets.pulp.memory import L1_STACKS
from match.targets.pulp_open.target import PulpOpen

pytestmark = pytest.mark.cc

PACKAGE = Path(match.__file__).parent
DIGITS = PACKAGE / "devtools" / "demo" / "digits.onnx"
KIB = 1024
L1, L1_BYTES = 0x1000_0000, 64 * KIB
L2, L2_BYTES = 0x1C00_0000, 0x19_0000
STACKS = 12 * KIB


class Section(NamedTuple):
    name: str
    address: int
    size: int
    flags: str


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's network on both modules."""
    directory = tmp_path_factory.mktemp("pulp_open") / "digits"
    match.compile(DIGITS, "pulp_open").save(directory)
    return directory


@pytest.fixture(scope="module")
def program(project: Path) -> Path:
    """Its program for the chip; that it builds means that no compiler had anything to say."""
    if shutil.which("riscv64-unknown-elf-gcc") is None:
        pytest.skip("riscv64-unknown-elf-gcc is not on the PATH")
    command = ["make", "-s", "-C", str(project), "PLATFORM=bare", "CC=riscv64-unknown-elf-gcc", "CFLAGS=-O2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    assert not done.stderr, done.stderr
    return project / "build" / "bare" / "network"


def tool(name: str, *arguments: str) -> str:
    return subprocess.run(
        [f"riscv64-unknown-elf-{name}", *arguments], capture_output=True, text=True, check=True
    ).stdout


def symbols(program: Path) -> dict[str, int]:
    rows = (line.split() for line in tool("nm", str(program)).splitlines())
    return {row[-1]: int(row[0], 16) for row in rows if len(row) == 3}


def sections(program: Path) -> list[Section]:
    pattern = re.compile(r"\s*\[\s*\d+\] (\S+)\s+\S+\s+([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+) [0-9a-f]+\s+([A-Zxop]*)")
    found = map(pattern.match, tool("readelf", "-SW", str(program)).splitlines())
    return [Section(m[1], int(m[2], 16), int(m[3], 16), m[4]) for m in found if m]


def test_it_is_installed() -> None:
    target = get_target("pulp_open")
    assert isinstance(target, PulpOpen)
    assert [platform.name for platform in target.platforms] == ["host", "qemu", "rtl", "bare"]
    assert [platform.place for platform in target.platforms] == ["host", "qemu", "rtl", "gvsoc"]


def test_modules_are_gap9s_in_another_l1() -> None:
    own, other = PulpOpen().modules, Gap9().modules
    assert [type(module) for module in own] == [type(module) for module in other]
    assert {module.scratchpad_bytes for module in own} == {L1_BYTES - STACKS, 0}
    assert PulpOpen().main_memory == Gap9().main_memory


def test_outputs_are_gap9s(project: Path) -> None:
    """What is computed does not depend on how large L1 is, nor on how layers are cut, nor, exact, on who has them."""
    inputs = random_inputs(read_manifest(project), 5)
    own, other = (match.compile(DIGITS, target, numerics="exact").run(inputs) for target in ("pulp_open", "gap9"))
    assert own.keys() == other.keys()
    assert all(np.array_equal(own[name], other[name]) for name in own)


def test_the_program_lies_in_l2(program: Path) -> None:
    allocated = [section for section in sections(program) if "A" in section.flags]
    assert {".text", ".rodata", ".bss"} <= {section.name for section in allocated}
    for section in allocated:
        assert section.address >= L2
        assert section.address + section.size <= L2 + L2_BYTES, section.name
    writable = [section for section in allocated if "W" in section.flags]
    assert not [section.name for section in writable if "X" in section.flags]


def test_cores_start_where_registers_can_point(program: Path) -> None:
    start = symbols(program)["match_pulp_open_start"]
    assert start % 256 == 0
    header = tool("readelf", "-h", str(program))
    assert int(re.search(r"Entry point address:\s+(\S+)", header)[1], 16) == start  # type: ignore[index]


def test_activations_and_stack_fit_behind_the_program(project: Path, program: Path) -> None:
    found = symbols(program)
    end = max(section.address + section.size for section in sections(program) if "A" in section.flags)
    assert found["__heap_start"] >= end
    assert found["__stack"] == L2 + L2_BYTES
    assert found["__stack"] - found["__heap_end"] == 8 * KIB
    header = next((project / "include").glob("digits.h")).read_text()
    sizes = {name: int(value) for name, value in re.findall(r"#define (\w+_BYTES) (\d+)", header)}
    needed = sum(sizes[f"DIGITS_{name}_BYTES"] for name in ("WORKSPACE", "INPUT_IMAGE", "OUTPUT_SCORES"))
    assert found["__heap_end"] - found["__heap_start"] >= needed


def test_blocks_and_stacks_share_l1(project: Path) -> None:
    makefile = (project / "Makefile").read_text()
    assert f"-DPULP_L1_BYTES={L1_BYTES - STACKS}" in makefile
    registers = (PACKAGE / "targets/pulp_open/bare/pulp_open_registers.h").read_text()
    assert f"#define PULP_OPEN_STACKS (8 * PULP_OPEN_WORKER_STACK + {L1_STACKS.master})" in registers
    assert f"#define PULP_OPEN_WORKER_STACK {L1_STACKS.worker}\n" in registers


def test_kernels_use_xpulpv2(program: Path) -> None:
    """The matrix loops do, whether this network needs them or not; the disassembler does not know the instructions."""
    text = tool("objdump", "-d", str(program.parent / "kernels" / "pulp" / "match_pulp_matmul.o"))
    words = re.findall(r"^\s*[0-9a-f]+:\s+([0-9a-f]{8})\s", text, re.MULTILINE)
    opcodes = [int(word, 16) & 0x7F for word in words]
    assert opcodes.count(0x7B) > 3  # lp.setup
    assert opcodes.count(0x57) > 8  # pv.sdotusp.b and others


def test_manifest_names_the_simulator(project: Path) -> None:
    assert (project / MANIFEST).is_file()
    bare = next(platform for platform in read_manifest(project).platforms if platform.name == "bare")
    assert (bare.on, bare.runner, bare.counts) == ("gvsoc", "gvsoc", "cycles")
