"""Builds what the benchmark runs on the simulated core (`match.run.rtl`): the kernels as firmware."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import match
from match.files.output import whole_file
from match.run.rtl.simulator import digest, installed
from match.run.tools import call

HERE = Path(__file__).parent
KERNELS = Path(match.__file__).parent / "kernels"
COMPILER = "riscv64-unknown-elf-gcc"

_GCC = (
    *("-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-misa-spec=2.2", "-march=rv32imc", "-mabi=ilp32"),
    *("--specs=picolibc.specs", "-nostartfiles"),
)


@functools.cache
def declared() -> tuple[str, ...]:
    """The kernels that match_pulp.h declares, in the order of their numbers."""
    header = (KERNELS / "pulp" / "match_pulp.h").read_text()
    return tuple(re.findall(r"^void (match_pulp_\w+)\(const match_tile_t", header, re.MULTILINE))


ISA = {"corev": ("-DMATCH_PULP_ISA_COREV",), "portable": ()}
"""What the kernels are compiled for: macros by name. This core executes no Xpulpv2."""


def firmware(folder: Path, isa: str) -> Path:
    """The image of the kernels for one core, compiled for `isa`, kept in `folder`.

    Raises:
        ToolchainError: if the compiler is not installed or refuses the kernels.
    """
    gcc = installed(COMPILER, "gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf")
    kernels = sorted((KERNELS / "pulp").glob("*.c"))
    headers = [*sorted((KERNELS / "pulp").glob("*.h")), *sorted((KERNELS / "include").glob("*.h"))]
    sources = [HERE / "boot.S", HERE / "firmware.c", *kernels]
    options = (*_GCC, *ISA[isa], f"-DKERNELS={','.join(declared())}")
    place = folder / f"firmware-{digest([HERE / 'firmware.ld', *sources, *headers], options)}"
    if not place.exists():
        elf = place.with_suffix(".elf")
        include = (f"-I{KERNELS / 'include'}", f"-I{KERNELS / 'pulp'}")
        script = ("-T", str(HERE / "firmware.ld"))
        call([gcc, *options, *include, *script, *map(str, sources), "-o", str(elf)], "building the kernels")
        with whole_file(place) as unfinished:
            objcopy = installed("riscv64-unknown-elf-objcopy", "binutils-riscv64-unknown-elf")
            call([objcopy, "-O", "binary", str(elf), str(unfinished)], "writing the image of the kernels")
    return place
