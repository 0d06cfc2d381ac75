"""Points shared out among the workers of a Dask cluster: one that there is, or processes of this machine."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from match.compiled.sent import SentNetwork
from match.compiled.stations import Asked
from match.errors import ToolchainError
from match.sweeping.libraries import library

_Answer = TypeVar("_Answer")

_LOGGING = {"DASK_LOGGING__DISTRIBUTED": "critical"}
"""Environment variables with which Dask's processes are told what to log."""

_ALLOCATION = {"MALLOC_MMAP_THRESHOLD_": str(32 << 20), "MALLOC_TRIM_THRESHOLD_": str(64 << 20)}
"""Environment variables of glibc: with Dask's own, workers give back the memory of each array, a fifth of the time."""

_PATIENCE = 20
"""Seconds until a scheduler has to answer, and to have a worker."""


class Cluster:
    """A connection to a cluster, and the networks that its workers were given."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._sent: dict[int, Any] = {}

    def answers(
        self, ask: Callable[[SentNetwork, Asked], _Answer], asked: Sequence[tuple[int, SentNetwork, Asked]]
    ) -> Iterator[tuple[int, _Answer]]:
        """The answer of a function for each point, with the point's number, as they come.

        Points are asked in their order. A worker that dies loses nothing: others have what it had, or make it again.

        Raises:
            ToolchainError: a point ends every worker that has it, or the scheduler is gone.
        """
        distributed = library("distributed")
        numbers = {
            self._client.submit(ask, self._given(sent), one, pure=False, priority=-place): number
            for place, (number, sent, one) in enumerate(asked)
        }
        try:
            for future in distributed.as_completed(list(numbers), loop=self._client.loop):
                yield numbers[future], future.result()
        except distributed.scheduler.KilledWorker as error:
            raise ToolchainError(
                "a point ended several workers one after the other; they may lack memory, see the logs of Dask."
            ) from error
        except (distributed.client.FutureCancelledError, OSError) as error:
            raise ToolchainError(
                "the Dask scheduler is gone; start it again, points that were predicted are kept."
            ) from error

    def _given(self, sent: SentNetwork) -> Any:
        """The network on the cluster, where each worker that needs it reads it once."""
        if id(sent) not in self._sent:
            self._sent[id(sent)] = self._client.submit(_received, sent, pure=False)
        return self._sent[id(sent)]


def _received(sent: SentNetwork) -> SentNetwork:
    return sent


@contextmanager
def connected(scheduler: str | None, jobs: int) -> Generator[Cluster]:
    """A connection to the scheduler at an address or, without one, to `jobs` processes that end with it.

    Raises:
        ToolchainError: Dask is not installed, or there is no scheduler or worker.
    """
    distributed = library("distributed")
    with _quiet(), _local(distributed, jobs) if scheduler is None else _there(scheduler) as address:
        try:
            client = distributed.Client(address, set_as_default=False, timeout=_PATIENCE)
        except (OSError, ValueError) as error:
            raise ToolchainError(
                f"there is no Dask scheduler at {scheduler}: start one (`dask scheduler`), or leave --scheduler out."
            ) from error
        with client:
            try:
                client.wait_for_workers(1, timeout=_PATIENCE)
            except TimeoutError as error:
                raise ToolchainError(
                    f"the Dask scheduler at {scheduler} has no worker: start some (`dask worker {scheduler}`)."
                ) from error
            yield Cluster(client)


@contextmanager
def _there(scheduler: str) -> Generator[Any]:
    yield scheduler


@contextmanager
def _local(distributed: Any, jobs: int) -> Generator[Any]:
    """Workers that do not import the caller's main module, unlike those of Dask's LocalCluster."""
    subprocess = library("distributed.deploy.subprocess")
    worker = {
        "cls": subprocess.SubprocessWorker,
        "options": {"worker_kwargs": {"nthreads": 1, "memory_limit": 0, "dashboard": False, "silence_logs": "ERROR"}},
    }
    scheduler = {
        "cls": distributed.Scheduler,
        "options": {"host": "127.0.0.1", "port": 0, "dashboard_address": "127.0.0.1:0"},
    }
    with (
        _environment(_ALLOCATION),
        distributed.SpecCluster(
            workers=dict.fromkeys(range(jobs), worker), scheduler=scheduler, worker=worker, silence_logs=logging.ERROR
        ) as cluster,
    ):
        yield cluster


@contextmanager
def _quiet() -> Generator[None]:
    """Keeps Dask, here and in processes that are started, from telling of workers that start, end or died."""
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client", "distributed.scheduler")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        with _environment(_LOGGING):
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextmanager
def _environment(variables: Mapping[str, str]) -> Generator[None]:
    """Environment variables of processes that are started meanwhile."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
