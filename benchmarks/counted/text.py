"""Bytes of instructions of the kernels and of NE16's driver, as `match build` compiles them for the open PULP chip."""

from __future__ import annotations

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import match
from benchmarks.counted.count import TARGET, revision
from benchmarks.counted.results import Text
from match.errors import ToolchainError
from match.target.registry import get_target

_FOLDERS = ("kernels/pulp", "kernels/ne16")
_STANDARD = ("-std=c11", "-O2")


def texts() -> tuple[Text, ...]:
    """Those of each file.

    Raises:
        ToolchainError: the compiler is not installed, or does not take a file.
    """
    root, known = Path(match.__file__).parent, revision()
    files = [file for folder in _FOLDERS for file in sorted((root / folder).glob("*.c"))]
    return tuple(Text(revision=known, file=file.name, bytes=_bytes(root, file)) for file in files)


def _bytes(root: Path, file: Path) -> int:
    platform = get_target(TARGET).platforms[-1]
    assert platform.compiler is not None, "it is the chip's own"
    folders = (root / "codegen/include", root / "kernels/include", *(root / folder for folder in platform.include))
    defines = (f"-D{name}={value}" for name, value in platform.defines.items())
    with TemporaryDirectory() as folder:
        made = Path(folder) / "kernel.o"
        include = (f"-I{one}" for one in folders)
        flags = (*_STANDARD, *platform.flags, *defines, *include, "-c", str(file), "-o", str(made))
        _call(platform.compiler, *flags)
        sizes = _call(platform.compiler.replace("gcc", "size"), str(made))
    return int(sizes.splitlines()[1].split()[0])


def _call(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", "") or error
        raise ToolchainError(f"{command[0]} failed: {str(said).strip()[:300]}") from error
