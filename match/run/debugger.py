"""Programs for a chip without an operating system, which a debugger writes into its flash and starts."""

from __future__ import annotations

from typing import NoReturn

from match.errors import ToolchainError
from match.run.runner import Job


def run(job: Job) -> NoReturn:
    """Say what is to be done with the program.

    Raises:
        ToolchainError: always.
    """
    raise ToolchainError(
        f"{job.what} is for the chip: start {job.program} with a debugger that has semihosting, as `{job.program.name} "
        f"INPUTS OUTPUTS`, and give what it prints to `match measure`."
    )
