"""Calls the programs that building and running need, and says in a sentence what went wrong with them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from match.errors import ToolchainError

_KEYWORDS = re.compile(r"undefined reference|undefined symbol|error|status|not found|overflowed", re.IGNORECASE)


def need(tools: Sequence[str], what: str, advice: str = "install it") -> None:
    """Raise ToolchainError if one of `tools` is not installed; `what` needs it, the beginning of the sentence."""
    for tool in tools:
        if shutil.which(tool) is None:
            raise ToolchainError(f"{what} needs {tool!r}, which is not on the PATH; {advice}.")


def need_machine(machine: Sequence[str], what: str) -> None:
    """Raise ToolchainError if the program of a machine, a command line, is not installed, which runs `what`."""
    need(machine[:1], f"running {what}")


def execute(command: Sequence[str], what: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, its output caught, in `folder` (None: here).

    Raises ToolchainError if it cannot be started.
    """
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, cwd=folder)
    except OSError as error:
        raise ToolchainError(f"{what} cannot be started: {error.strerror or error}.") from error


def check(status: int, text: str, what: str) -> None:
    """Raise ToolchainError with the line of `text`, all that a command printed, that says why it failed, if it did."""
    if status == 0:
        return
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    key = next((line for line in lines if _KEYWORDS.search(line)), None)
    reason = key or (lines[-1] if lines else f"exit status {status}")
    raise ToolchainError(f"{what} failed: {reason.rstrip('.')}.")


def call(command: Sequence[str], what: str) -> str:
    """What a command prints, which is not shown; raises ToolchainError with the line that says what went wrong."""
    done = execute(command, what)
    check(done.returncode, done.stderr + done.stdout, what)
    return done.stdout
