"""Compiles a network for a core, runs it under QEMU, and says what it takes."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import numpy as np

import match
from benchmarks.models import MLPERF_TINY
from match.errors import OutputError
from match.run.size import size

TARGETS = ("cortex_m4", "cortex_m7", "cortex_m33", "cortex_m55")


PUBLISHED = {
    "cortex_m4": ("microTVM with CMSIS-NN", {"ResNet8": 390.0, "VWW": 301.0, "DS-CNN": 99.8, "auto-encoder": 8.6}),
    "nucleo_h7a3zi": ("X-CUBE-AI", {"ResNet8": 40.8, "VWW": 23.8, "DS-CNN": 11.3, "auto-encoder": 1.23}),
}
"""Milliseconds of MLPerf Tiny's results on a target's board, and of which software; networks are the same files."""


class Counted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A network on a core, with exact numerics.

    predicted: cycles. instructions: of one inference, counted under QEMU at -O2, which the project's Makefile has;
    fastest and smallest: the same at -O3 and at -Os.
    ram: bytes of the workspace with inputs and outputs inside, and scratch of kernels. constants: bytes. text: bytes of
    the program's code, C library included. stack: bytes of whoever calls run.
    """

    network: str
    target: str
    predicted: int
    instructions: int
    fastest: int
    smallest: int
    ram: int
    constants: int
    text: int
    stack: int


class Beside(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A network on a board for which others published `measured` milliseconds, of `software`; `predicted` are ours."""

    network: str
    target: str
    software: str
    measured: float
    predicted: float


class Results(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the benchmark writes: networks in their order, each on all cores; and what is beside publications."""

    schema_version: int = 3
    counted: tuple[Counted, ...]
    beside: tuple[Beside, ...]


def count(network: str, target: str, folder: Path) -> Counted:
    """What a network takes on a core, once its outputs were compared with TFLite Micro's.

    Raises:
        OutputError: they differ.
    """
    compiled = match.compile(folder / f"{MLPERF_TINY[network]}.tflite", target, numerics="exact")
    if not compiled.validate(samples=2, on="qemu").equal:
        raise OutputError(f"{network} on {target} computes other outputs than TFLite Micro.")
    expected, counts = compiled.run(seed=0, on="qemu"), dict[str, int]()
    for level in ("-O2", "-O3", "-Os"):
        outputs, measured = compiled.measure(seed=0, on="qemu", flags=level)
        if any(not np.array_equal(outputs[name], array) for name, array in expected.items()):
            raise OutputError(f"{network} on {target} computes other outputs at {level}.")
        counts[level] = measured.total
    totals = compiled.report.totals
    with TemporaryDirectory() as project:
        compiled.save(project)
        sizes = size(Path(project), "qemu", "-O2")
    return Counted(
        network=network,
        target=target,
        predicted=totals.cycles,
        instructions=counts["-O2"],
        fastest=counts["-O3"],
        smallest=counts["-Os"],
        ram=totals.inside_bytes or 0,
        constants=totals.constant_bytes,
        text=sizes.text,
        stack=sum(filter(None, (sizes.control_stack, sizes.layer_stack, sizes.kernel_stack))),
    )


def beside(folder: Path) -> tuple[Beside, ...]:
    """What networks are predicted to take where others published what they take."""
    return tuple(
        Beside(
            network=network,
            target=target,
            software=software,
            measured=milliseconds,
            predicted=match.predict(
                folder / f"{MLPERF_TINY[network]}.tflite", target, numerics="exact"
            ).totals.milliseconds,
        )
        for target, (software, measured) in PUBLISHED.items()
        for network, milliseconds in measured.items()
    )
