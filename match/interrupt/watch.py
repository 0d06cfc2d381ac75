"""Ctrl-C in the command line: at any moment a line on stderr and exit status 130, with nothing left behind.

No exception is raised for it. One would appear in Python that TVM calls from C++, where it is printed and forgotten,
and not at all while C++ computes. Instead a thread waits for the signal, which the interpreter reports to a pipe at
once. The thread ends the programs that this process has started, removes what is unfinished, and ends the process.

Only the program `match` does so. Python programs that import the package keep their own handling of signals.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from match.interrupt.unfinished import discard

INTERRUPTED = 130
"""Exit status, as shells report it of a program that Ctrl-C ended."""

MESSAGE = "interrupted."

_PAUSE = 0.3  # seconds at most until the main thread, where it executes Python, has stopped
_PATIENCE = 1.0  # seconds for other programs to end by themselves
_CLEAR_LINE_SHOW_CURSOR = "\r\x1b[2K\x1b[?25h"
_PR_SET_CHILD_SUBREAPER = 36


def watch() -> None:
    """End this process on Ctrl-C from now on, unless it was started to ignore it; to be called by the main thread."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        return
    stopped = threading.Event()

    def stop(*_: object) -> NoReturn:
        stopped.set()
        while True:
            time.sleep(3600)

    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    threading.Thread(target=_end, args=(reading, stopped), name="interrupt", daemon=True).start()
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, stop)
    # The last thing before the interpreter goes and threads with it: all is done and stays so.
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)


def _end(pipe: int, stopped: threading.Event) -> NoReturn:
    while signal.SIGINT not in os.read(pipe, 1):
        pass
    stopped.wait(_PAUSE)
    with suppress(Exception):
        _end_programs()
    with suppress(Exception):
        discard()
    with suppress(OSError):
        os.write(2, ((_CLEAR_LINE_SHOW_CURSOR if os.isatty(2) else "") + f"match: {MESSAGE}\n").encode())
    os._exit(INTERRUPTED)


def _end_programs() -> None:
    """End all descendants of this process: by request, so that compilers remove their files, then by force."""
    # Those whose parents end first become children of this process, so that none is lost.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    asked: set[int] = set()
    deadline = time.monotonic() + _PATIENCE
    while running := _descendants():
        force = time.monotonic() > deadline
        for process in running:
            if force or process not in asked:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL if force else signal.SIGTERM)
        asked |= running
        time.sleep(0.01)


def _descendants() -> set[int]:
    """Processes below this one that have not ended."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                state, parent = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
                if state != "Z":
                    parents[int(entry.name)] = int(parent)
    found: set[int] = set()
    below = {os.getpid()}
    while below:
        below = {process for process, parent in parents.items() if parent in below} - found
        found |= below
    return found
