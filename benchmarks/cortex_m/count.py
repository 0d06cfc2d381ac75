"""Compiles a network for a core, runs it under QEMU, and says what it takes."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

import match
from match.errors import OutputError
from match.run.size import size

NETWORKS = {
    "ResNet8": "pretrainedResnet_quant",
    "VWW": "vww_96_int8",
    "DS-CNN": "kws_ref_model",
    "auto-encoder": "ad01_int8",
}
"""The networks of MLPerf Tiny, by the names of their files."""

TARGETS = ("cortex_m4", "cortex_m7", "cortex_m33", "cortex_m55")


class Counted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A network on a core, with exact numerics.

    predicted: cycles. instructions: of one inference, counted under QEMU at the level that the project's Makefile has.
    ram: bytes of activations with inputs and outputs, scratch of kernels included. constants: bytes. text: bytes of the
    program's code, C library included.
    """

    network: str
    target: str
    predicted: int
    instructions: int
    ram: int
    constants: int
    text: int


class Results(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the benchmark writes: networks in their order, each on all cores."""

    schema_version: int = 1
    counted: tuple[Counted, ...]


def count(network: str, target: str, folder: Path) -> Counted:
    """What a network takes on a core, once its outputs were compared with TFLite Micro's.

    Raises:
        OutputError: they differ.
    """
    compiled = match.compile(folder / f"{NETWORKS[network]}.tflite", target, numerics="exact")
    if not compiled.validate(samples=2, on="qemu").equal:
        raise OutputError(f"{network} on {target} computes other outputs than TFLite Micro.")
    _, measured = compiled.measure(seed=0, on="qemu")
    totals = compiled.report.totals
    with TemporaryDirectory() as project:
        compiled.save(project)
        text = size(Path(project), "qemu").text
    return Counted(
        network=network,
        target=target,
        predicted=totals.cycles,
        instructions=measured.total,
        ram=totals.l2_peak_bytes,
        constants=totals.constant_bytes,
        text=text,
    )
