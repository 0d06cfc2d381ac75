"""What a runner is: what gives a program its samples and brings back what comes out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Job:
    """A program to be run once.

    `inputs` are samples, each its tensors one after the other; `machine` is `Platform.machine` of the platform that the
    program was built for; `what` names the program in sentences about errors. `image` is the file that it looks for in
    flash, if any.
    """

    program: Path
    inputs: bytes
    machine: tuple[str, ...]
    what: str
    image: Path | None = None


@dataclass(frozen=True)
class Finished:
    """What a program that returned 0 left: its outputs (as many samples), what it printed, and how it was called.

    `command` is for readers: the program by its name, files in capitals.
    """

    outputs: bytes
    printed: str
    command: str


@dataclass(frozen=True)
class Runner:
    """How programs are run: `run` raises ToolchainError if a tool is missing or the program fails.

    `check` is asked before a program is built: it is given `Job.machine` and `Job.what`, and raises ToolchainError if a
    tool is missing.
    """

    run: Callable[[Job], Finished]
    check: Callable[[tuple[str, ...], str], None] = lambda machine, what: None
