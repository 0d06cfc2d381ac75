"""The cluster's kernels compiled for the instruction sets that match_pulp_simd.h knows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.kernels.harness import Harness
from tests.kernels.reference import FORMS, Geometry
from tests.kernels.test_pulp_kernels import accumulate_on, conv2d_scratch, convolve_on, depthwise_scratch, pool_on
from tests.kernels.toolchain import PACKAGE, PROJECT, STRICT, compile_c, gap9_sources

pytestmark = pytest.mark.cc

COMPILER = "riscv64-unknown-elf-gcc"
RV32 = ("-misa-spec=2.2", "-march=rv32imc", "-mabi=ilp32", "--specs=picolibc.specs")
DOT_PRODUCTS = {"XPULP2": (0x57, 1, 0x54), "COREV": (0x7B, 1, 0x50)}
"""Opcode, funct3 and funct7."""

KERNELS = sorted((PACKAGE / "kernels" / "pulp").glob("*.c"))
SAME = Geometry(11, 11, (5, 6), (3, 3), (1, 1), (1, 1), (1, 1, 1, 1), (0, 0))
POINTS = Geometry(13, 11, (5, 6), (1, 1), (1, 1), (1, 1), (0, 0, 0, 0), (0, 0))


@pytest.mark.parametrize("isa", ["XPULP2", "COREV", ""])
def test_compile_for_rv32(isa: str, tmp_path: Path) -> None:
    """Without warnings; dot products are single instructions where the core has them."""
    if shutil.which(COMPILER) is None:
        pytest.skip(f"{COMPILER} is not installed (Debian: gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf)")
    include = [f"-I{PACKAGE / 'kernels' / folder}" for folder in ("include", "pulp")]
    macros = [f"-DMATCH_PULP_ISA_{isa}"] if isa else []
    code = b""
    for source in KERNELS:
        binary = tmp_path / f"{source.stem}.o"
        command = [COMPILER, *STRICT, "-O1", *RV32, *macros, *include, "-c", str(source), "-o", str(binary)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        code += binary.read_bytes()
    if isa:
        words = {int.from_bytes(code[at : at + 4], "little") for at in range(0, len(code) - 3, 2)}
        assert DOT_PRODUCTS[isa] in {(word & 0x7F, word >> 12 & 7, word >> 25) for word in words}


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
    harness = Harness(compile_c([*gap9_sources(), folder / "harness.c"], tmp_path / "harness", *options))
    try:
        for form in FORMS:
            convolve_on(harness, SAME, "match_pulp_conv2d", conv2d_scratch(SAME, 8), form)
            convolve_on(harness, SAME, "match_pulp_depthwise_conv2d", depthwise_scratch(SAME, 8), form)
            convolve_on(harness, POINTS, "match_pulp_pointwise", 0, form)
            convolve_on(harness, replace(POINTS, channels_in=3), "match_pulp_pointwise", 0, form)
            parts, margin = [(0, 4), (4, 9), (9, 11), (11, 13)], ((0, 0, 0, 0), (0, 0, 0, 0))
            accumulate_on(harness, POINTS, margin, "pointwise", form, parts, np.random.default_rng(4))
            pool_on(harness, SAME, form)
    finally:
        harness.close()
