"""Calls make, and says in a sentence what went wrong with the commands that it runs."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from match.errors import OutputError, ToolchainError
from match.files.output import check_folder
from match.interrupt.unfinished import scratch_folder
from match.run.tools import check, execute

_OWN = re.compile(r"make(\[\d+\])?: \*\*\*")
_WAITING = re.compile(_OWN.pattern + r" Waiting for unfinished jobs")
_FAILED = re.compile(_OWN.pattern + r" \[(.*: )?(?P<made>\S+)\] (Error (?P<status>\d+)|(?P<signal>.+))")


def make(directory: Path, folder: Path, compiler: str, options: Sequence[str], advice: str) -> None:
    """Build a project with the command `compiler` and further variables of its Makefile, which writes into `folder`.

    Raises:
        OutputError: if that cannot be written, or there is no room for temporary files.
        ToolchainError: if make cannot be started, or a command fails: with the line in which that says why, or, where
            it says nothing, with how it ended and `advice`, the rest of a sentence.
    """
    what = f"make in {directory}"
    jobs = f"-j{os.cpu_count() or 1}"
    variables = ["-s", "-C", str(directory), jobs, f"CC={compiler}", *options]
    try:
        with scratch_folder("match-make-") as temporary:  # a compiler that is ended by force leaves its files there
            # Messages are read: in English.
            done = execute(["env", "LC_ALL=C", f"TMPDIR={temporary}", "make", *variables], what)
    except OSError as error:
        raise OutputError(f"compilers cannot write temporary files: {error.strerror or error}; set TMPDIR.") from error
    if done.returncode:
        check_folder(folder)  # many commands at a time would each say so
    lines = (done.stderr + done.stdout).splitlines()
    said = [line for line in lines if not _OWN.match(line)]
    failed = next(filter(None, map(_FAILED.match, lines)), None)
    if done.returncode and failed and (failed["signal"] or not said):
        signal = failed["signal"]
        ending = f"was ended by a signal ({signal})" if signal else f"ended with exit status {failed['status']}"
        raise ToolchainError(
            f"{what} failed: {compiler!r} {ending} and did not say why when it made {failed['made']}; {advice}."
        )
    check(done.returncode, "\n".join(said or [line for line in lines if not _WAITING.match(line)]), what)
