"""Checks in a process beside, which a fault in C++ may end."""

from __future__ import annotations

import multiprocessing
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from tests.mutated_models.check import Checked, check

_SECONDS = 60
"""After which a file is said to take too long."""


def checked(kind: str, seeds: Iterable[int]) -> Iterator[Checked]:
    """What became of the file of each seed."""
    pool = _pool()
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            try:
                result = pool.submit(check, kind, seed, Path(folder)).result(timeout=_SECONDS)
            except BrokenProcessPool:
                pool, result = _pool(), Checked(seed, wrong="the process ended")
            except TimeoutError:
                for process in pool._processes.values():
                    process.kill()
                pool, result = _pool(), Checked(seed, wrong=f"more than {_SECONDS} seconds")
            yield result
    pool.shutdown()


def _pool() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
