"""The harness, compiled once for each number of cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.kernels.arm import CORES, Program
from tests.kernels.declared import HEADERS, kernel_table
from tests.kernels.harness import Harness
from tests.kernels.toolchain import PROJECT, SANITIZE, STRICT, compile_c, gap9_sources


@pytest.fixture(scope="session")
def harness_for(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[int], Harness]]:
    """A function from a number of cores to the harness of a cluster of that size."""
    folder = tmp_path_factory.mktemp("harness")
    table = kernel_table(folder, *HEADERS)
    started: dict[int, Harness] = {}

    def harness(cores: int) -> Harness:
        if cores not in started:
            sources = [*gap9_sources(), PROJECT / "tests" / "kernels" / "harness.c", table]
            options = (*STRICT, *SANITIZE, f"-DPULP_CLUSTER_CORES={cores}")
            started[cores] = Harness(compile_c(sources, folder / f"harness{cores}", *options))
        return started[cores]

    yield harness
    for one in started.values():
        one.close()


@pytest.fixture(scope="session")
def harness(harness_for: Callable[[int], Harness]) -> Harness:
    """The harness of the whole cluster."""
    return harness_for(8)


@pytest.fixture(scope="session")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Program]:
    """A function from a core's name to the harness of kernels/cortex_m for it."""
    built: dict[str, Program] = {}

    def program(core: str) -> Program:
        if core not in built:
            built[core] = Program(CORES[core], tmp_path_factory.mktemp(core))
        return built[core]

    return program
