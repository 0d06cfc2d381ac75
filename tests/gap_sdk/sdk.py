"""Headers of the vendor's SDK, and compilation of a chip's C against them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
STAND_IN = HERE / "stand_in"
DECLARATIONS = HERE / "declarations.c"
PICOLIBC = Path("/usr/lib/picolibc/riscv64-unknown-elf/include")
VENDOR = "riscv32-unknown-elf-gcc"
PLAIN = "riscv64-unknown-elf-gcc"

CHIPS = ("gap8", "gap9")
STANDARDS = {"pulpos": "gnu11", "freertos": "gnu99"}
"""Standards of the SDK's Makefiles with each operating system; with PulpOS it is its compiler's own."""

SYSTEMS = tuple(STANDARDS)


class CompilerError(Exception):
    """What the compiler, or make, said."""


@dataclass(frozen=True)
class Headers:
    """Flags of the compiler for one chip's headers; `about` says whose they are, `standard` which C goes with them."""

    about: str
    flags: tuple[str, ...]
    standard: str = "gnu11"


def stand_in(chip: str, system: str) -> Headers:
    """The headers of this folder that declare what is used of a chip's SDK."""
    about = f"headers that stand in for the SDK of {chip} with {system}"
    return Headers(about, (f"-I{STAND_IN / chip}", f"-I{STAND_IN}", *_defined(chip, system)), STANDARDS[system])


def of_sdk(home: Path, chip: str, system: str) -> Headers:
    """The headers of the SDK as it is published, with one of its operating systems; of GAP9 that is none."""
    interface = [home / "rtos/pmsis/api/include", home / "rtos/pmsis/bsp/include"]
    flags = _defined(chip, system)
    about = f"{chip.upper()} with {system}"
    if chip == "gap9":
        folders, about = [STAND_IN / "gap9_system", STAND_IN, *interface], f"the interface of {about}"
    elif system == "freertos":
        folders, flags = [*_of_freertos(home / "rtos/freeRTOS", chip), *interface], (*flags, *_FREERTOS)
    else:
        pulpos = [home / "gap8/rtos/pulp" / part / "include" for part in ("pulp-os", "archi_pulp", "hal_pulp")]
        folders, flags = [*pulpos, *interface], (*flags, "-include", "rt/chips/gap/config.h")
    return _headers(about, folders, flags, STANDARDS[system])


def _headers(about: str, folders: Sequence[Path], flags: Sequence[str], standard: str) -> Headers:
    missing = [str(folder) for folder in folders if not folder.is_dir()]
    if missing:
        raise CompilerError(f"there is no {missing[0]}: say with --flags where the headers of {about} are")
    return Headers(about, (*(f"-isystem{folder}" for folder in folders), *flags), standard)


def _defined(chip: str, system: str) -> tuple[str, ...]:
    return ("-D__riscv__", f"-D__{chip.upper()}__", *(["-D__FREERTOS__"] if system == "freertos" else []))


def _of_freertos(freertos: Path, chip: str) -> list[Path]:
    vendor = freertos / "vendors/gwt"
    own = vendor / chip / "pmsis"
    return [
        freertos / "freertos_kernel/include",
        freertos / f"freertos_kernel/portable/GCC/RI5CY-{chip.upper()}",
        freertos / "demos/gwt/config" / chip,
        vendor,
        vendor / chip / "include",
        vendor / "libs/include",
        vendor / "libs/printf",
        vendor / "pmsis/include",
        vendor / "pmsis/rtos/include",
        own,
        own / "include",
        own / "include/cores/TARGET_RISCV_32",
        own / "include/pmsis/implem",
        own / "include/pmsis/targets",
    ]


_FREERTOS = tuple(
    f"-D{macro}"
    for macro in (
        "PMSIS_DRIVERS=1",
        "FEATURE_CLUSTER=1",
        "CHIP_VERSION=1",
        "__GAP__",
        "__RISCV_ARCH_GAP__=1",
        "__PLATFORM_BOARD__",
        "__PLATFORM__=ARCHI_PLATFORM_BOARD",
        "__USE_TCDM_MALLOC__=1",
        "__FC_MALLOC_NATIVE__=0",
        "__L2_MALLOC_NATIVE__=0",
        "__PMSIS_L2_MALLOC_NATIVE__=0",
    )
)
"""Macros that the SDK's Makefiles define with it."""


@dataclass(frozen=True)
class Compiler:
    """A RISC-V compiler, and the flags that the chips' code needs with it."""

    command: str
    flags: tuple[str, ...]

    @classmethod
    def found(cls, command: str | None = None) -> Compiler | None:
        """`command`, or the vendor's compiler, or a plain one with picolibc; None if there is none of them."""
        if command is not None:
            return cls(command, _plain() if PLAIN in command else ())
        if shutil.which(VENDOR):
            return cls(VENDOR, ())
        return cls(PLAIN, _plain()) if shutil.which(PLAIN) and PICOLIBC.is_dir() else None


def plain_flags(chip: str, system: str) -> tuple[str, ...]:
    """What riscv64-unknown-elf-gcc is called with for a chip's C, against the headers that stand in for the SDK's."""
    return (*_plain(), *stand_in(chip, system).flags)


def _plain() -> tuple[str, ...]:
    assembler = f"-Wa,{HERE / 'vendor_instructions.s'}"
    return ("-misa-spec=2.2", "-march=rv32imc", "-mabi=ilp32", f"-isystem{PICOLIBC}", assembler)


def check_declarations(compiler: Compiler, headers: Headers) -> None:
    """Compile what the platform takes the SDK's declarations to be.

    Raises:
        CompilerError: where the headers say something else.
    """
    _call(
        [
            compiler.command,
            f"-std={headers.standard}",
            *compiler.flags,
            *headers.flags,
            "-fsyntax-only",
            str(DECLARATIONS),
        ]
    )


def build(project: Path, compiler: Compiler, headers: Headers, *options: str, macros: str = "") -> Path:
    """The object of a project for the SDK, its platform's C included, without a warning; `options` are make's.

    Raises:
        CompilerError: what make and the compiler said.
    """
    shutil.rmtree(project / "build", ignore_errors=True)
    flags = " ".join(["-O2", *compiler.flags, *headers.flags, *([macros] if macros else [])])
    warnings = "WARNINGS=-Wall -Wextra -Werror -Wno-unused-function"  # the SDK's inline functions
    variables = ["PLATFORM=gap_sdk", f"STANDARD={headers.standard}", f"CC={compiler.command}", f"CFLAGS={flags}"]
    _call(["make", "-s", "-C", str(project), *variables, warnings, *options])
    (program,) = (project / "build").glob("gap_sdk*/network")
    return program


def _call(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode or done.stderr:
        raise CompilerError(done.stderr.strip() or done.stdout.strip())
