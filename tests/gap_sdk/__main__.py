"""Compiles what runs on GAP8 and GAP9 against an SDK: ``GAP_SDK_HOME=... python -m tests.gap_sdk``."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import tempfile
from pathlib import Path

import match
from benchmarks.memory.networks import integers
from tests.gap_sdk.sdk import CHIPS, SYSTEMS, Compiler, CompilerError, Headers, build, check_declarations, of_sdk

DIGITS = Path(match.__file__).parent / "devtools" / "demo" / "digits.onnx"


def main() -> int:
    """The exit status: 0 if all compiles."""
    parser = argparse.ArgumentParser(prog="python -m tests.gap_sdk", description=__doc__)
    parser.add_argument("chips", nargs="*", choices=[*CHIPS, []], metavar="CHIP", help=" or ".join(CHIPS))
    parser.add_argument("--system", choices=SYSTEMS, help="one of the SDK's operating systems; by default both")
    parser.add_argument("--flags", help="of the compiler, for the headers of an SDK that lie elsewhere")
    parser.add_argument("--compiler", help="by default the SDK's, or riscv64-unknown-elf-gcc with picolibc")
    options = parser.parse_args()
    home = os.environ.get("GAP_SDK_HOME")
    compiler = Compiler.found(options.compiler)
    if home is None or not Path(home).is_dir() or compiler is None:
        sys.stderr.write("GAP_SDK_HOME has to be the SDK's folder, and a RISC-V compiler on the PATH\n")
        return 2
    sys.stdout.write(f"compiler: {compiler.command}\n")
    good = True
    for chip in options.chips or CHIPS:
        for system in [options.system] if options.system else SYSTEMS[:1] if options.flags else SYSTEMS:
            try:
                if options.flags is not None:
                    headers = Headers(f"{chip} by --flags", tuple(shlex.split(options.flags)))
                else:
                    headers = of_sdk(Path(home), chip, system)
                check(chip, compiler, headers)
            except CompilerError as failed:
                sys.stdout.write(f"{chip} with {system} does not compile:\n{failed}\n")
                good = False
    return 0 if good else 1


def check(chip: str, compiler: Compiler, headers: Headers) -> None:
    """Declarations, and two projects: one in L2, one with external memory.

    Raises:
        CompilerError: if something does not compile.
    """
    check_declarations(compiler, headers)
    sys.stdout.write(f"{headers.about}: declarations are as the platform takes them to be\n")
    with tempfile.TemporaryDirectory() as folder:
        inside, outside = Path(folder, "digits"), Path(folder, "outside")
        match.compile(DIGITS, chip).save(inside)
        match.compile(integers("ds_cnn"), chip, l1=20000, l2=30000).save(outside)
        for project in (inside, outside):
            for macros in ("", "-DPULP_TIMEOUT_US=1000000 -DMATCH_PULP_NO_HWLOOP"):
                build(project, compiler, headers, macros=macros)
                count = len(list(project.glob("build/gap_sdk/**/*.o")))
                sys.stdout.write(f"{headers.about}: project {project.name}: {count} files without a warning {macros}\n")


if __name__ == "__main__":
    sys.exit(main())
