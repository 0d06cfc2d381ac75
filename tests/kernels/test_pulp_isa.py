"""The cluster's kernels compiled for the instruction sets that match_pulp_simd.h knows."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from tests.kernels.declared import HEADERS, kernel_table
from tests.kernels.harness import Harness
from tests.kernels.int16_tiles import int16_on, maxima
from tests.kernels.pulp_tiles import (
    accumulate_on,
    conv2d_scratch,
    convolve_on,
    depthwise_scratch,
    extremum_on,
    pool_on,
)
from tests.kernels.reference import FORMS, Geometry
from tests.kernels.toolchain import PACKAGE, PROJECT, STRICT, compile_c, gap9_sources

pytestmark = pytest.mark.cc

COMPILER = "riscv64-unknown-elf-gcc"
RV32 = ("-misa-spec=2.2", "-march=rv32imc", "-mabi=ilp32", "--specs=picolibc.specs")
DOT_PRODUCTS = {
    "XPULP2": {(0x57, 1, 0x54), (0x57, 1, 0x50), (0x57, 0, 0x5C)},
    "COREV": {(0x7B, 1, 0x50), (0x7B, 1, 0x4C), (0x7B, 0, 0x54)},
}
"""Opcode, funct3, funct7 of those that add to sums: unsigned by signed bytes and by unsigned ones, signed halves."""
LOOPS = {"XPULP2": (0x7B, 4, 2, 4), "COREV": (0x2B, 4, 4, 0)}
"""Opcode and funct3 of lp.setup and cv.setup; bytes of its immediate's unit, and of the last instruction if the
immediate does not count it."""
CONVOLUTIONS = re.findall(
    r"^void (match_pulp_\w*(?:conv2d|pointwise|dense|matrices)\w*)\(",
    (PACKAGE / "kernels" / "pulp" / "match_pulp.h").read_text(),
    re.MULTILINE,
)
"""Kernels whose outputs are sums of products of activations and weights."""

KERNELS = sorted((PACKAGE / "kernels" / "pulp").glob("*.c"))
SAME = Geometry(11, 11, (5, 6), (3, 3), (1, 1), (1, 1), (1, 1, 1, 1), (0, 0))
POINTS = Geometry(13, 11, (5, 6), (1, 1), (1, 1), (1, 1), (0, 0, 0, 0), (0, 0))


def compiled_for_rv32(folder: Path, *options: str) -> list[Path]:
    """Every kernel, compiled without warnings."""
    if shutil.which(COMPILER) is None:
        pytest.skip(f"{COMPILER} is not installed (Debian: gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf)")
    include = [f"-I{PACKAGE / 'kernels' / name}" for name in ("include", "pulp")]
    objects = [folder / f"{source.stem}.o" for source in KERNELS]
    for source, binary in zip(KERNELS, objects, strict=True):
        command = [COMPILER, *STRICT, *RV32, *options, *include, "-c", str(source), "-o", str(binary)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
    return objects


def test_compile_for_rv32(tmp_path: Path) -> None:
    """Cores without dot products; others are below."""
    assert compiled_for_rv32(tmp_path, "-O1")


@dataclass(frozen=True)
class Code:
    """A function, disassembled: addresses of dot products; where hardware loops begin, and where they have ended."""

    dots: frozenset[int]
    loops: tuple[tuple[int, int], ...]

    @property
    def in_loops(self) -> list[int]:
        """For each hardware loop the dot products in it."""
        return [sum(first <= dot < end for dot in self.dots) for first, end in self.loops]


def disassembled(binary: Path, isa: str) -> dict[str, Code]:
    """Functions by name. The disassembler knows none of these instructions, but where each begins, and its word."""
    command = ["riscv64-unknown-elf-objdump", "--disassemble", str(binary)]
    words: dict[str, dict[int, int]] = {}
    name = ""
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        if found := re.match(r"[0-9a-f]+ <([^.][^>]*)>:", line):  # names of labels begin with a dot
            name = found[1]
        elif found := re.match(r"\s*([0-9a-f]+):\s+([0-9a-f]{8})\s", line):
            words.setdefault(name, {})[int(found[1], 16)] = int(found[2], 16)
    opcode, funct3, unit, last = LOOPS[isa]

    def code(words: dict[int, int]) -> Code:
        dots = {at for at, word in words.items() if (word & 0x7F, word >> 12 & 7, word >> 25) in DOT_PRODUCTS[isa]}
        loops = [(at, word >> 20) for at, word in words.items() if (word & 0x7F, word >> 12 & 7) == (opcode, funct3)]
        return Code(frozenset(dots), tuple((at + 4, at + length * unit + last) for at, length in loops))

    return {name: code(found) for name, found in words.items()}


@pytest.mark.parametrize("isa", ["XPULP2", "COREV"])
def test_convolutions_are_hardware_loops_of_dot_products(isa: str, tmp_path: Path) -> None:
    """In what a linker takes for each kernel: a loop whose dot products share loads.

    No function has dot products alone. Of the functions that multiply matrices each has such a loop, but those for
    vectors shorter than a word.
    """
    objects = compiled_for_rv32(tmp_path, "-O2", "-ffunction-sections", f"-DMATCH_PULP_ISA_{isa}")
    code = b"".join(binary.read_bytes() for binary in objects)
    words = {int.from_bytes(code[at : at + 4], "little") for at in range(0, len(code) - 3, 2)}
    assert DOT_PRODUCTS[isa] <= {(word & 0x7F, word >> 12 & 7, word >> 25) for word in words}
    assert len(CONVOLUTIONS) > 15
    for kernel in CONVOLUTIONS:
        binary = tmp_path / kernel
        linked = ["riscv64-unknown-elf-ld", "-m", "elf32lriscv", "-r", "--gc-sections", f"--entry={kernel}"]
        subprocess.run([*linked, f"--undefined={kernel}", *objects, "-o", str(binary)], check=True)
        functions = disassembled(binary, isa)
        assert max((count for code in functions.values() for count in code.in_loops), default=0) >= 4, kernel
        alone = {name for name, code in functions.items() if code.dots and not any(code.in_loops)}
        assert alone <= {"sum_of"}, f"{kernel}; sum_of adds up the bytes of a row, once for all products"
    products = disassembled(tmp_path / "match_pulp_matmul.o", isa)
    rest = {"match_pulp_choose_loops", "match_pulp_correct", "match_requantize_with", "finish_block", "look_up"}
    without = {name for name, code in products.items() if not any(code.in_loops)} - rest
    assert {name for name in without if "short" not in name} == set()


def test_kernels_fit_the_stack_of_a_core(tmp_path: Path) -> None:
    """By the compiler's own account of frames and calls; 128 bytes of the kilobyte are left to what starts kernels."""
    if shutil.which(COMPILER) is None:
        pytest.skip(f"{COMPILER} is not installed (Debian: gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf)")
    include = [f"-I{PACKAGE / 'kernels' / folder}" for folder in ("include", "pulp")]
    frames: dict[str, int] = {}
    calls: dict[str, set[str]] = {}
    for source in KERNELS:
        binary = tmp_path / f"{source.stem}.o"
        command = [COMPILER, "-O2", *RV32, "-DMATCH_PULP_ISA_XPULP2", *include, "-fcallgraph-info=su"]
        environment = {**os.environ, "CCACHE_DISABLE": "1"}  # it keeps no such accounts
        subprocess.run([*command, "-c", str(source), "-o", str(binary)], check=True, env=environment)
        graph = binary.with_suffix(".ci").read_text()
        frames |= {name: int(size) for name, size in re.findall(r'node: { title: "([^"]+)" .*\\n(\d+) bytes', graph)}
        for caller, callee in re.findall(r'edge: { sourcename: "([^"]+)" targetname: "([^"]+)"', graph):
            calls.setdefault(caller, set()).add(callee)

    def deepest(name: str) -> int:
        return frames.get(name, 0) + max(map(deepest, calls.get(name, ())), default=0)

    depths = {name: deepest(name) for name in frames if name.startswith("match_pulp_")}
    assert len(depths) > 20
    assert max(depths.values()) <= 1024 - 128, depths


def test_built_in_functions_of_the_gap_sdk(tmp_path: Path) -> None:
    """With stand-ins for them: what kernels make of their arguments is what NumPy says."""
    folder = PROJECT / "tests" / "kernels"
    options = (*STRICT, "-O1", "-DMATCH_PULP_ISA_GAP", "-include", str(folder / "gap_builtins.h"))
    sources = [*gap9_sources(), folder / "harness.c", kernel_table(tmp_path, *HEADERS)]
    harness = Harness(compile_c(sources, tmp_path / "harness", *options))
    try:
        for form in FORMS:
            convolve_on(harness, SAME, "match_pulp_conv2d", conv2d_scratch(SAME, 8), form)
            convolve_on(harness, SAME, "match_pulp_depthwise_conv2d", depthwise_scratch(SAME, 8), form)
            convolve_on(harness, POINTS, "match_pulp_pointwise", 0, form)
            convolve_on(harness, replace(POINTS, channels_in=3), "match_pulp_pointwise", 0, form)
            parts, margin = [(0, 4), (4, 9), (9, 11), (11, 13)], ((0, 0, 0, 0), (0, 0, 0, 0))
            accumulate_on(harness, POINTS, margin, "pointwise", form, parts, np.random.default_rng(4))
            pool_on(harness, SAME, form)
        no_gaps = (0, 0, 0, 0), (0, 0, 0, 0)
        int16_on(harness, "conv2d", SAME, no_gaps, (-(1 << 15), (1 << 15) - 1), np.random.default_rng(4))
        maxima(harness, SAME, no_gaps, np.random.default_rng(4))
        for kernel, shared in itertools.product(("maximum", "minimum"), ("", "channel")):
            extremum_on(harness, kernel, POINTS, [(0, 0, 0, 0)] * 3, shared, 4)
    finally:
        harness.close()
