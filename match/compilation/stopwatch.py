"""Seconds spent in each phase of a compilation, and what is told of it while it runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

Progress = Callable[[str], None]
"""Is told what is under way, in a few words."""


def unheard(text: str) -> None:
    """The progress that nobody watches."""


Passed = Callable[[str, Callable[[], str]], None]
"""Is told that a pass is done: its name, and a function that gives the network that it left, as text."""


def unread(name: str, network: Callable[[], str]) -> None:
    """The passes whose networks nobody reads."""


class Stopwatch:
    """Wall-clock seconds by phase, in the order in which phases were first entered, inner phases taken off."""

    def __init__(self, progress: Progress = unheard, passed: Passed = unread) -> None:
        """`passed` is told of each pass; networks that an earlier compilation left in the cache are made anew then."""
        self.passed = passed
        self.seconds: dict[str, float] = {}
        self._running: list[str] = []
        self._since = 0.0
        self._progress = progress

    @contextmanager
    def phase(self, name: str) -> Generator[None]:
        """Counts the time inside the ``with`` block as `name`'s."""
        self.seconds.setdefault(name, 0.0)
        self._lap()
        self._running.append(name)
        self._progress(name)
        try:
            yield
        finally:
            self._lap()
            self._running.pop()

    def count(self, done: int, of: int) -> None:
        """Tells how much of the phase that is running is done."""
        self._progress(f"{self._running[-1]}, {done} of {of}")

    def _lap(self) -> None:
        now = time.perf_counter()
        if self._running:
            self.seconds[self._running[-1]] += now - self._since
        self._since = now
