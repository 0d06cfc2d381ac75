"""Runs kernels on the simulated core: one process, a request for each kernel call."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path
from types import TracebackType

from match.errors import ToolchainError

_STATUS = {1: "ran out of cycles", 2: "accessed an address outside of its memory"}


class Simulator:
    """The core with firmware in its memory. A context manager: the process ends with it."""

    def __init__(self, core: Path, firmware: Path) -> None:
        self._process = subprocess.Popen([core, firmware], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self, address: int, image: bytes, result: tuple[int, int], most_cycles: int) -> tuple[int, bytes]:
        """Put `image` at `address`, run; cycles of the kernel call and the bytes of `result` (address, number).

        Raises:
            ToolchainError: the program did not end in `most_cycles`, or left its memory.
        """
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise ValueError("the process has no pipes")
        stdin.write(struct.pack("<2I", address, len(image)) + image + struct.pack("<3I", *result, most_cycles))
        stdin.flush()
        answer = stdout.read(8 + result[1])
        if len(answer) != 8 + result[1]:
            raise ToolchainError("the simulated core's program ended; build it again.")
        status, cycles = struct.unpack_from("<2I", answer)
        if status:
            raise ToolchainError(f"a kernel on the simulated core {_STATUS[status]}.")
        return cycles, answer[8:]

    def __enter__(self) -> Simulator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()
