"""Talks to arm_harness.c: runs kernels of kernels/cortex_m on this machine and on Arm's cores under QEMU."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np
import pytest

from tests.kernels.declared import kernel_table
from tests.kernels.harness import Bytes, TileFields, View
from tests.kernels.toolchain import PACKAGE, PROJECT, SANITIZE, STRICT

MEMORY = "__flash=0", "__flash_size=0x400000", "__ram=0x20000000", "__ram_size=0x400000", "__stack_size=0x8000"
SMALL_MEMORY = "__flash=0", "__flash_size=0x80000", "__ram=0x20000000", "__ram_size=0x80000", "__stack_size=0x8000"
SECURE_MEMORY = (
    "__flash=0x10000000",
    "__flash_size=0x400000",
    "__ram=0x38000000",
    "__ram_size=0x400000",
    "__stack_size=0x8000",
)
SECONDS = 120


@dataclass(frozen=True)
class Core:
    """A core under QEMU: how the compiler names it, the machine that has it, its memory, instructions of a tick."""

    cpu: str
    machine: str
    memory: tuple[str, ...]
    tick: float


CORES = {
    "host": None,
    "m4": Core("cortex-m4", "mps2-an386", MEMORY, 40),
    "m7": Core("cortex-m7", "mps2-an500", MEMORY, 40),
    "m33": Core("cortex-m33", "mps2-an505", SECURE_MEMORY, 50),
    "m55": Core("cortex-m55", "mps3-an547", SMALL_MEMORY, 31.25),
}


@dataclass(frozen=True)
class Call:
    """A kernel call, and what its output holds afterwards.

    lag: bytes by which the output begins before the input that it lies over; -1: it lies elsewhere.
    """

    kernel: str
    fields: TileFields
    output: Bytes
    expected: Bytes
    input: Bytes | bytes = b""
    weights: bytes = b""
    parameters: bytes = b""
    addend: Bytes | bytes = b""
    scratch: int = 0
    negative_step: int = 0
    groups: int = 0
    lag: int = -1

    def request(self) -> bytes:
        """As arm_harness.c reads it. Scratch holds what others have left."""
        arrays = self.input, self.addend, self.weights, self.parameters, self.output, b"\xa5" * self.scratch
        head = struct.pack(
            "<i48s25iqii", 1, self.kernel.encode(), *astuple(self.fields), self.negative_step, self.groups, self.lag
        )
        blocks = (array if isinstance(array, bytes) else array.tobytes() for array in arrays)
        return head + b"".join(struct.pack("<i", len(block)) + block for block in blocks)


def expected_in(target: View, outputs: Bytes) -> Bytes:
    """The block of a view with these outputs in it."""
    block = target.block.copy()
    np.lib.stride_tricks.as_strided(block, target.tile.shape, target.tile.strides)[...] = outputs
    return block


class Program:
    """The harness for a core, or for this machine with sanitizers."""

    def __init__(self, core: Core | None, folder: Path, level: str = "-O2") -> None:
        self.core = core
        self.folder = folder
        self.path = folder / "harness"
        kernels = PACKAGE / "kernels"
        sources = [*sorted((kernels / "cortex_m").glob("*.c")), PROJECT / "tests" / "kernels" / "arm_harness.c"]
        sources.append(kernel_table(folder, "cortex_m/match_arm.h"))
        include = [f"-I{kernels / name}" for name in ("cortex_m", "include")]
        if core is None:
            command = [*os.environ.get("CC", "cc").split(), *STRICT, *SANITIZE]
            link: list[str] = []
        else:
            flags = f"-mcpu={core.cpu}", "-mfloat-abi=hard", "--specs=picolibc.specs", "--oslib=semihost"
            command = ["arm-none-eabi-gcc", *STRICT, level, *flags]
            link = ["--crt0=semihost", *(f"-Wl,--defsym={symbol}" for symbol in core.memory)]
        for tool in (command[0], *([] if core is None else ["qemu-system-arm"])):
            if shutil.which(tool) is None:
                pytest.skip(f"no {tool}")
        self._call([*command, *include, *sources, "-o", self.path, *link])

    def run(self, calls: Sequence[Call]) -> list[tuple[float, Bytes]]:
        """Instructions, if they are counted, and the output of each call."""
        (self.folder / "requests").write_bytes(b"".join(call.request() for call in calls) + bytes(4))
        command: list[str | Path] = [self.path]
        if self.core is not None:
            command = ["qemu-system-arm", "-M", self.core.machine, "-nographic", "-icount", "shift=0"]
            command += ["-semihosting-config", "enable=on,target=native", "-kernel", self.path]
        self._call(command)
        answers, at = (self.folder / "answers").read_bytes(), 0
        results: list[tuple[float, Bytes]] = []
        for call in calls:
            (ticks,) = struct.unpack_from("<i", answers, at)
            output = np.frombuffer(answers, np.uint8, len(call.output), at + 4)
            at += 4 + len(call.output)
            results.append((ticks * (self.core.tick if self.core else 0), output))
        assert at == len(answers)
        return results

    def check(self, calls: Sequence[Call]) -> None:
        """All calls leave what they should, and write nowhere else."""
        for number, (call, (_, output)) in enumerate(zip(calls, self.run(calls), strict=True)):
            np.testing.assert_array_equal(output, call.expected, f"call {number}: {call.kernel} {call.fields}")

    def _call(self, command: Sequence[str | Path]) -> None:
        result = subprocess.run(
            list(map(str, command)), cwd=self.folder, capture_output=True, text=True, check=False, timeout=SECONDS
        )
        if result.returncode or result.stderr:
            pytest.fail(result.stdout + result.stderr)
