"""Programs that a vendor's SDK has to finish: this project builds them as far as it can, and does not run them."""

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
        f"{job.what} is an object for an application of the chip's SDK; link {job.program} into one and start that."
    )
