"""Builds what the benchmark runs: CV32E40P as a program (Verilator), the kernels as firmware (GCC)."""

from __future__ import annotations

import hashlib
import importlib
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import match
from match.errors import ToolchainError
from match.output import whole_file

HERE = Path(__file__).parent
KERNELS = Path(match.__file__).parent / "kernels"
CORE_PACKAGE = "pythondata-cpu-cv32e40p"
COMPILER = "riscv64-unknown-elf-gcc"

_PACKAGES = ("cv32e40p_apu_core_pkg", "cv32e40p_fpu_pkg", "cv32e40p_pkg")
_UNUSED = {"cv32e40p_top.sv", "cv32e40p_fp_wrapper.sv", "cv32e40p_register_file_latch.sv"}
_VERILATOR = (
    *("--cc", "--exe", "--build", "-j", "2", "-O3", "--noassert", "--x-assign", "fast", "--x-initial", "fast"),
    *("--top-module", "cv32e40p_core", "-GCOREV_PULP=1", "-CFLAGS", "-O3 -std=c++17", "-MAKEFLAGS", "OPT_FAST=-O3"),
    *("-Wno-fatal", "-Wno-lint", "-Wno-style", "-Wno-BLKANDNBLK"),
)
_GCC = (
    *("-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-misa-spec=2.2", "-march=rv32imc", "-mabi=ilp32"),
    *("--specs=picolibc.specs", "-nostartfiles"),
)

ISA = {"corev": ("-DMATCH_PULP_ISA_COREV",), "portable": ()}
"""What the kernels are compiled for: macros by name. This core executes no Xpulpv2."""


def simulator(folder: Path) -> Path:
    """The core as a program, built once and kept in `folder`.

    Raises:
        ToolchainError: if Verilator or the core's sources are not installed, or it does not build.
    """
    verilator = _tool("verilator", "verilator")
    rtl = _core_sources()
    units = [rtl / "rtl" / "include" / f"{name}.sv" for name in _PACKAGES]
    units += sorted(path for path in (rtl / "rtl").glob("cv32e40p_*.sv") if path.name not in _UNUSED)
    units += [rtl / "bhv" / "cv32e40p_sim_clock_gate.sv", HERE / "core.cpp"]
    place = folder / f"core-{_digest([*units], _VERILATOR)}"
    if not place.exists():
        work = folder / f"{place.name}.build"
        shutil.rmtree(work, ignore_errors=True)
        include = f"-I{rtl / 'rtl' / 'include'}"
        _run([verilator, *_VERILATOR, "--Mdir", str(work), include, *map(str, units), "-o", "core"], "the core")
        with whole_file(place) as unfinished:
            shutil.copy2(work / "core", unfinished)
        shutil.rmtree(work, ignore_errors=True)
    return place


def firmware(folder: Path, isa: str) -> Path:
    """The image of the kernels for one core, compiled for `isa`, kept in `folder`.

    Raises:
        ToolchainError: if the compiler is not installed or refuses the kernels.
    """
    gcc = _tool(COMPILER, "gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf")
    kernels = sorted((KERNELS / "pulp").glob("*.c"))
    headers = [*sorted((KERNELS / "pulp").glob("*.h")), *sorted((KERNELS / "include").glob("*.h"))]
    sources = [HERE / "boot.S", HERE / "firmware.c", *kernels]
    options = (*_GCC, *ISA[isa])
    place = folder / f"firmware-{_digest([HERE / 'firmware.ld', *sources, *headers], options)}"
    if not place.exists():
        elf = place.with_suffix(".elf")
        include = (f"-I{KERNELS / 'include'}", f"-I{KERNELS / 'pulp'}")
        script = ("-T", str(HERE / "firmware.ld"))
        _run([gcc, *options, *include, *script, *map(str, sources), "-o", str(elf)], "the kernels")
        with whole_file(place) as unfinished:
            objcopy = _tool("riscv64-unknown-elf-objcopy", "binutils-riscv64-unknown-elf")
            _run([objcopy, "-O", "binary", str(elf), str(unfinished)], "the kernels")
    return place


def _core_sources() -> Path:
    try:
        package = importlib.import_module(CORE_PACKAGE.replace("-", "_"))
    except ImportError as error:
        raise ToolchainError(f"the core's sources are not installed; pip install {CORE_PACKAGE}.") from error
    return Path(str(package.data_location))


def _tool(name: str, packages: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise ToolchainError(f"{name} is not installed; on Debian: apt-get install {packages}.")
    return found


def _run(command: Sequence[str], what: str) -> None:
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        lines = (result.stderr or result.stdout).splitlines()
        first = next((line for line in lines if "rror" in line), "no message")
        raise ToolchainError(f"{Path(command[0]).name} does not build {what}: {first.strip()}")


def _digest(files: Sequence[Path], options: Sequence[str]) -> str:
    digest = hashlib.sha256("\n".join(options).encode())
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
