"""Fixtures that every area of the test suite shares."""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

PROJECT = Path(__file__).resolve().parent.parent
CROSS_COMPILERS = ("riscv64-unknown-elf-gcc", "arm-none-eabi-gcc")


@pytest.hookimpl(tryfirst=True)
def pytest_configure() -> None:
    """Properties are tried on the same examples each time, however slow the machine is.

    `--hypothesis-profile=random` draws others in each run. A failure prints what makes it come again: a few examples in
    a hundred are constants of the modules that are loaded, which are not the same in each process. This comes first, as
    settings take what they do not give from the profile of that moment, and so that the option of hypothesis' own
    plugin has the last word.
    """
    common = settings(deadline=None, database=None, print_blob=True, suppress_health_check=(HealthCheck.too_slow,))
    settings.register_profile("repeatable", common, derandomize=True)
    settings.register_profile("random", common, derandomize=False)
    settings.load_profile("repeatable")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that use a simulator's fixture are in its tier."""
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        for tier, simulators in {"qemu": {"qemu", "qemu_arm"}, "rtl": {"rtl"}}.items():
            if simulators & fixtures:
                item.add_marker(tier)


@pytest.fixture(scope="session")
def models_dir() -> Path:
    """Folder of the MLPerf Tiny models: $MATCH_MODELS, else shared/models beside the project; skips without either."""
    given = os.environ.get("MATCH_MODELS")
    candidates = [Path(given)] if given else [PROJECT.parent / "shared" / "models"]
    for folder in candidates:
        if folder.is_dir():
            return folder
    pytest.skip(f"no folder of MLPerf Tiny models: {candidates[0]} does not exist; set MATCH_MODELS to one")


@pytest.fixture(scope="session")
def qemu() -> None:
    """Tests that use it are skipped without QEMU for RV32 and a compiler for programs without an operating system."""
    for tool in ("qemu-system-riscv32", "riscv64-unknown-elf-gcc"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not on the PATH")


@pytest.fixture(scope="session")
def qemu_arm() -> None:
    """The same for Arm's cores."""
    for tool in ("qemu-system-arm", "arm-none-eabi-gcc"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not on the PATH")


@pytest.fixture(scope="session")
def rtl(own_cache: None) -> None:
    """Tests that use it are skipped without what builds the simulated core, which takes half a minute, once for all."""
    from match.run.rtl.simulator import CORE_PACKAGE, default_folder, simulator  # loads TVM, which others do without

    for tool in ("verilator", "g++", "riscv64-unknown-elf-gcc"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not on the PATH")
    if importlib.util.find_spec(CORE_PACKAGE.replace("-", "_")) is None:
        pytest.skip(f"{CORE_PACKAGE} is not installed")
    with pytest.MonkeyPatch.context() as environment:
        if shutil.which("ccache"):
            environment.setenv("OBJCACHE", "ccache")
        simulator(default_folder())


@pytest.fixture(scope="session", autouse=True)
def quick_builds(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """Projects are built with -O1, with which sanitized code compiles faster, and through ccache where there is one.

    Kernels and drivers are the same files in every project that a test builds.
    """
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("CFLAGS", "-O1")
        if shutil.which("ccache") and "CC" not in os.environ:
            environment.setenv("CC", "ccache cc")
            environment.setenv("CMAKE_C_COMPILER_LAUNCHER", "ccache")
            environment.setenv("CCACHE_NOHASHDIR", "1")  # the folder is another one each time
            # Also where a build tool names it from the root. The root itself would not do: ccache would name headers of
            # the system as seen from the folder, and so compile the same file anew at each depth.
            environment.setenv("CCACHE_BASEDIR", tempfile.gettempdir())
            # Under the name of another compiler, ccache calls that one.
            folder = tmp_path_factory.mktemp("ccache")
            for compiler in filter(shutil.which, CROSS_COMPILERS):
                (folder / compiler).symlink_to(shutil.which("ccache") or "ccache")
            environment.setenv("PATH", str(folder), prepend=os.pathsep)
        yield


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """Schedules, networks and the simulated core are cached in a folder of this run, never in the user's.

    Processes that test at the same time share it: it is in the folder above each one's own.
    """
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("MATCH_CACHE_DIR", str(shared / "cache"))
        yield


@pytest.fixture(scope="session", autouse=True)
def one_search_process() -> Generator[None]:
    """Compilations search in one process unless told otherwise: other processors have other tests to run."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("match.compilation.options.available_processors", lambda: 1)
        yield


@pytest.fixture(scope="session")
def browser() -> Generator[Any]:
    """Chromium without a window. A process may have one only, so that all tests share it."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("Chromium is not installed")
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with driver.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()
