"""Searches in parallel, in processes that load only what a search needs.

A worker is a Python process that calls `work`: it reads pickled problems from its standard input and writes replies to
its standard output, each after its length. It does not import the calling program, so any script may call the compiler,
and it has no copy of TVM or its threads. The caller searches, too. Workers start after `START_UP` seconds of search,
and only as many as have work for so long, so that short searches do not pay for them.
"""

from __future__ import annotations

import json
import math
import os
import pickle
import struct
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from typing import IO

from match.errors import CostModelError
from match.search.engine import engine
from match.search.entry import decode, encode
from match.search.problem import SearchProblem, Solution
from match.search.solve import solve

START_UP = 0.1
"""Seconds; about what it takes a worker to start."""

_START = (
    "import json, sys; sys.path[:] = json.loads(sys.stdin.buffer.readline()); "
    "from match.search.pool import work; work()"
)
_LENGTH = struct.Struct("<Q")
_READY, _SOLVED, _FAILED, _DECLINED = b"R", b"S", b"F", b"D"


def available_processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def solve_all(
    problems: Sequence[SearchProblem], jobs: int, count: Callable[[int, int], None] | None = None
) -> list[Solution]:
    """Solutions in the order of `problems`, found by up to `jobs` processes: the same for any number of them.

    If a worker cannot import a cost model, or dies, this process searches in its place. `count` is called with the
    number of searches that are done and their total.

    Raises:
        CostModelError: if a cost model fails; of several failures that of the first problem.
    """
    waiting = deque(sorted(range(len(problems)), key=lambda index: -_size(problems[index])))
    solved: dict[int, Solution] = {}
    failed: dict[int, CostModelError] = {}

    def solve_here(index: int) -> None:
        try:
            solved[index] = solve(problems[index])
        except CostModelError as error:
            failed[index] = error

    started = time.perf_counter()
    workers = _Workers(problems, waiting)
    try:
        while True:
            if count is not None:
                count(len(solved) + len(failed), len(problems))
            if (index := workers.take()) is not None:
                solve_here(index)
                elapsed = time.perf_counter() - started
                if not workers.running and elapsed > START_UP:
                    left = len(waiting) * elapsed / (len(solved) + len(failed))
                    workers.start(min(jobs - 1, len(waiting), math.ceil(left / START_UP)))
            elif (replied := workers.collect()) is not None:
                index, kind, content = replied
                if kind == _FAILED:
                    failed[index] = CostModelError(content.decode())
                elif kind == _SOLVED and (solution := decode(content, problems[index])) is not None:
                    solved[index] = solution
                else:
                    solve_here(index)
            else:
                break
    finally:
        workers.stop()
    if failed:
        raise failed[min(failed)]
    return [solved[index] for index in range(len(problems))]


def _size(problem: SearchProblem) -> int:
    """Grows with the time that a search takes."""
    return problem.layer.k * problem.layer.oy * problem.layer.ox


class _Workers:
    """Processes that solve what is `waiting`, the numbers of `problems`; a thread of this process talks to each."""

    def __init__(self, problems: Sequence[SearchProblem], waiting: deque[int]) -> None:
        self.running: list[subprocess.Popen[bytes]] = []
        self._problems = problems
        self._waiting = waiting
        self._lock = threading.Lock()
        self._handed_out = 0
        self._replies: SimpleQueue[tuple[int, bytes, bytes]] = SimpleQueue()
        self._threads: list[threading.Thread] = []

    def start(self, count: int) -> None:
        """Start as many, if this Python can."""
        if not sys.executable or getattr(sys, "frozen", False):
            return
        for _ in range(count):
            try:
                process = subprocess.Popen(
                    [sys.executable, "-c", _START],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                )
            except OSError:
                return
            self.running.append(process)
            thread = threading.Thread(target=self._talk, args=(process,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def take(self) -> int | None:
        """The next problem for this process."""
        with self._lock:
            return self._waiting.popleft() if self._waiting else None

    def collect(self) -> tuple[int, bytes, bytes] | None:
        """Wait for a reply: a problem's number, the reply's kind and content; None if no worker has a problem."""
        with self._lock:
            if not self._handed_out:
                return None
            self._handed_out -= 1
        return self._replies.get()

    def stop(self) -> None:
        """End them, whatever they do."""
        for process in self.running:
            process.kill()
        for thread in self._threads:
            thread.join()

    def _hand_out(self) -> int | None:
        with self._lock:
            if not self._waiting:
                return None
            self._handed_out += 1
            return self._waiting.popleft()

    def _talk(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(OSError, EOFError), process:
            process.stdin.write(json.dumps(sys.path).encode() + b"\n")
            _send(process.stdin, self._problems[0].engine.encode())
            if process.stdout.read(1) != _READY:
                return
            while (index := self._hand_out()) is not None:
                reply = index, _DECLINED, b""
                try:
                    with suppress(pickle.PicklingError, AttributeError, TypeError):
                        _send(process.stdin, pickle.dumps(self._problems[index]))
                        message = _receive(process.stdout)
                        reply = index, message[:1], message[1:]
                finally:
                    self._replies.put(reply)
            process.kill()


def work() -> None:
    """Solve the problems that come in until there are no more; the engine's name comes first."""
    incoming, outgoing = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a cost model prints is no reply
    engine(_receive(incoming).decode())
    outgoing.write(_READY)
    outgoing.flush()
    with suppress(EOFError):
        while True:
            _send(outgoing, _reply(_receive(incoming)))


def _reply(problem: bytes) -> bytes:
    try:
        solution = solve(pickle.loads(problem))
        return _SOLVED + encode(solution) if solution.lasting else _DECLINED
    except CostModelError as error:
        return _FAILED + str(error).encode()
    except Exception:  # noqa: BLE001 - the caller meets it, too
        return _DECLINED


def _send(stream: IO[bytes], message: bytes) -> None:
    stream.write(_LENGTH.pack(len(message)) + message)
    stream.flush()


def _receive(stream: IO[bytes]) -> bytes:
    (length,) = _LENGTH.unpack(_read(stream, _LENGTH.size))
    return _read(stream, length)


def _read(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data
