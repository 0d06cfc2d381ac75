"""Builds CV32E40P as a program: its open RTL, by Verilator, with the memories and devices that are in this folder."""

from __future__ import annotations

import fcntl
import hashlib
import importlib
import os
import shutil
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from match.errors import ToolchainError
from match.files.output import whole_file
from match.interrupt.unfinished import scratch_folder
from match.run.tools import call

CORE_PACKAGE = "pythondata-cpu-cv32e40p"

_HERE = Path(__file__).parent
_PACKAGES = ("cv32e40p_apu_core_pkg", "cv32e40p_fpu_pkg", "cv32e40p_pkg")
_UNUSED = {"cv32e40p_top.sv", "cv32e40p_fp_wrapper.sv", "cv32e40p_register_file_latch.sv"}
_VERILATOR = (
    *("--cc", "--exe", "--build", "-j", "2", "-O3", "--noassert", "--x-assign", "fast", "--x-initial", "fast"),
    *("--top-module", "cv32e40p_core", "-GCOREV_PULP=1", "-CFLAGS", "-O3 -std=c++17", "-MAKEFLAGS", "OPT_FAST=-O3"),
    *("-Wno-fatal", "-Wno-lint", "-Wno-style", "-Wno-BLKANDNBLK"),
)


def default_folder() -> Path:
    """Where the program is kept: beside schedules, in the folder of MATCH_CACHE_DIR or the user's for this compiler."""
    given = os.environ.get("MATCH_CACHE_DIR")
    if given:
        return Path(given) / "rtl"
    from platformdirs import user_cache_path

    return user_cache_path("match-compiler") / "rtl"


def simulator(folder: Path) -> Path:
    """The core as a program, built once and kept in `folder`; core.cpp says how it is called.

    Raises:
        ToolchainError: if Verilator, a C++ compiler or the core's sources are not installed, or it does not build.
    """
    check_installed()
    verilator, rtl = installed("verilator", "verilator"), _core_sources()
    units = [rtl / "rtl" / "include" / f"{name}.sv" for name in _PACKAGES]
    units += sorted(path for path in (rtl / "rtl").glob("cv32e40p_*.sv") if path.name not in _UNUSED)
    units += [rtl / "bhv" / "cv32e40p_sim_clock_gate.sv", _HERE / "core.cpp"]
    place = folder / f"core-{digest([*units, *sorted(_HERE.glob('*.h'))], _VERILATOR)}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(folder), scratch_folder("build-", folder) as work:
            if not place.exists():
                options = (*_VERILATOR, "--Mdir", str(work), f"-I{rtl / 'rtl' / 'include'}")
                call([verilator, *options, *map(str, units), "-o", "core"], "building the core with verilator")
                with whole_file(place) as unfinished:
                    shutil.copy2(work / "core", unfinished)
    except OSError as error:
        reason = error.strerror or error
        raise ToolchainError(
            f"the simulated core cannot be built in {folder}: {reason}; set MATCH_CACHE_DIR."
        ) from error
    return place


def check_installed() -> None:
    """Raise ToolchainError if Verilator, a C++ compiler or the core's sources are not installed."""
    installed("verilator", "verilator")
    installed("g++", "g++")
    _core_sources()


def installed(name: str, packages: str) -> str:
    """The path of a tool; raises ToolchainError with the Debian `packages` that have it."""
    found = shutil.which(name)
    if found is None:
        raise ToolchainError(f"{name} is not installed; on Debian: apt-get install {packages}.")
    return found


def digest(files: Sequence[Path], options: Sequence[str]) -> str:
    """A name for what is built of files with options."""
    found = hashlib.sha256("\n".join(options).encode())
    for file in files:
        found.update(file.read_bytes())
    return found.hexdigest()[:16]


def _core_sources() -> Path:
    try:
        package = importlib.import_module(CORE_PACKAGE.replace("-", "_"))
    except ImportError as error:
        raise ToolchainError(f"the core's sources are not installed; pip install {CORE_PACKAGE}.") from error
    return Path(str(package.data_location))


@contextmanager
def _alone(folder: Path) -> Generator[None]:
    """One process at a time; the others find what it has built."""
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
