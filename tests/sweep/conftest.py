"""A Dask cluster of two workers for all tests, and a sweep of a small network."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

import match
from match.sweeping import cluster
from tests.cli.conftest import DIGITS, command
from tests.report.html.conftest import browser

__all__ = ["browser", "command"]

distributed = pytest.importorskip("distributed", reason="sweeps need Dask")

AXES: dict[str, Any] = {"l1": ["16k", "64k"], "dma.bytes": [4, 8], "modules": ["cluster", "cluster+ne16"]}


@pytest.fixture(scope="session")
def dask() -> Generator[Any]:
    """A client of two workers, in processes of their own."""
    with (
        cluster._quiet(),
        cluster._local(distributed, 2) as own,
        distributed.Client(own, set_as_default=False) as client,
    ):
        client.wait_for_workers(2)
        yield client


@pytest.fixture(scope="session")
def scheduler(dask: Any) -> str:
    return dask.scheduler.address


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(scope="session")
def swept(scheduler: str, folder: Path) -> Any:
    return match.sweep(DIGITS, "gap9", AXES, scheduler=scheduler, cache=folder)
