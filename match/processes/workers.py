"""Questions answered in parallel, in processes that load only what the answers need.

A worker is a Python process that calls `work`: it reads pickled questions from its standard input and writes replies to
its standard output, each after its length. It does not import the calling program, so any script may call the compiler,
and it has no copy of TVM or its threads. The caller answers, too. Workers start after `START_UP` seconds of work, and
only as many as have work for so long, so that short compilations do not pay for them; once there they stay.
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
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import IO, Any, Self, TypeVar

from match.errors import MatchError

START_UP = 0.1
"""Seconds; about what it takes a worker to start."""

_Question = TypeVar("_Question")
_Answer = TypeVar("_Answer")

_Reply = tuple[int, bytes, Any]
"""A question's number, the kind of the reply, and its content."""

_START = (
    "import json, sys; sys.path[:] = json.loads(sys.stdin.buffer.readline()); "
    "from match.processes.workers import work; work()"
)
_LENGTH = struct.Struct("<Q")
_READY, _ANSWERED, _FAILED, _DECLINED = b"R", b"A", b"F", b"D"


def available_processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True, eq=False)
class _Task:
    """A question, its number among those of a call, and where a worker's reply to it goes."""

    number: int
    ask: Callable[[Any], Any]
    question: Any
    replies: SimpleQueue[_Reply]


class Workers:
    """Up to `jobs` processes that answer questions, this one among them; the others end with the ``with`` block."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._threads: list[threading.Thread] = []  # one talks to each process

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes:
            process.kill()
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads:
            thread.join()

    def answers(
        self,
        ask: Callable[[_Question], _Answer],
        questions: Sequence[_Question],
        size: Callable[[_Question], int],
        count: Callable[[int, int], None] | None = None,
    ) -> list[_Answer]:
        """The answers of a function in the order of the questions: the same for any number of processes.

        Questions of the largest `size` are answered first. Workers find the function by its name. If a worker cannot
        import what a question needs, or dies, this process answers the question itself. `count` is called with the
        number of answers so far and the number of questions.

        Raises:
            MatchError: if the function does; of several that of the first question.
        """
        replies: SimpleQueue[_Reply] = SimpleQueue()
        for number in sorted(range(len(questions)), key=lambda number: -size(questions[number])):
            self._tasks.put(_Task(number, ask, questions[number], replies))
        answered: dict[int, _Answer] = {}
        failed: dict[int, MatchError] = {}

        def tell(done: int) -> None:
            if count is not None and questions:
                count(done, len(questions))

        def answer_here(number: int) -> None:
            try:
                answered[number] = ask(questions[number])
            except MatchError as error:
                failed[number] = error

        started = time.perf_counter()
        try:
            tell(0)
            while (done := len(answered) + len(failed)) < len(questions):
                elapsed = time.perf_counter() - started
                if elapsed > START_UP and done:
                    left = self._tasks.qsize() * elapsed / done
                    self._start(min(self._jobs - 1, self._tasks.qsize(), math.ceil(left / START_UP)), ask)
                number, kind, content = self._reply(replies)
                if kind == _ANSWERED:
                    answered[number] = content
                elif kind == _FAILED:
                    failed[number] = content
                else:
                    answer_here(number)
                tell(done + 1)
        finally:
            while self._next() is not None:
                pass
        if failed:
            raise failed[min(failed)]
        return [answered[number] for number in range(len(questions))]

    def _reply(self, replies: SimpleQueue[_Reply]) -> _Reply:
        """A task for this process, as if a worker had declined it; without one the next reply."""
        task = self._next()
        return replies.get() if task is None else (task.number, _DECLINED, None)

    def _next(self) -> _Task | None:
        """A task that no process has."""
        with suppress(Empty):
            return self._tasks.get_nowait()
        return None

    def _start(self, count: int, ask: Callable[[Any], Any]) -> None:
        """Start workers until there are as many, if this Python can; they load what `ask` needs."""
        if not sys.executable or getattr(sys, "frozen", False):
            return
        for _ in range(count - len(self._processes)):
            try:
                process = subprocess.Popen(
                    [sys.executable, "-c", _START],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                )
            except OSError:
                return
            self._processes.append(process)
            self._threads.append(threading.Thread(target=self._talk, args=(process, ask), daemon=True))
            self._threads[-1].start()

    def _talk(self, process: subprocess.Popen[bytes], ask: Callable[[Any], Any]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(OSError, EOFError), process:
            process.stdin.write(json.dumps(sys.path).encode() + b"\n")
            _send(process.stdin, _pickled(ask) or b"")
            if process.stdout.read(1) != _READY:
                return
            while (task := self._tasks.get()) is not None:
                reply = task.number, _DECLINED, None
                try:
                    message = _pickled((task.ask, task.question))
                    if message is not None:
                        _send(process.stdin, message)
                        answer = _receive(process.stdout)
                        reply = task.number, answer[:1], pickle.loads(answer[1:]) if answer[1:] else None
                finally:
                    task.replies.put(reply)


def work() -> None:
    """Answer the questions that come in until there are no more; the first function that is asked comes first."""
    incoming, outgoing = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a cost model prints is no reply
    with suppress(Exception):
        pickle.loads(_receive(incoming))
    outgoing.write(_READY)
    outgoing.flush()
    with suppress(EOFError):
        while True:
            _send(outgoing, _reply(_receive(incoming)))


def _reply(message: bytes) -> bytes:
    try:
        ask, question = pickle.loads(message)
        try:
            return _ANSWERED + pickle.dumps(ask(question))
        except MatchError as error:
            return _FAILED + pickle.dumps(error)
    except Exception:  # noqa: BLE001 - the caller meets it, too
        return _DECLINED


def _pickled(something: object) -> bytes | None:
    """As bytes, if it can be: what is found by its name in a module."""
    with suppress(pickle.PicklingError, AttributeError, TypeError):
        return pickle.dumps(something)
    return None


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
