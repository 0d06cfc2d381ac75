"""Layers whose scales are any real numbers, as TFLite's converter and onnxruntime's quantizer write them.

The scales of the small layers that are run are few bits long, so that narrow forms of requantization are exact for
them. A module that takes all of them may still refuse every layer of a real network.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from match.arithmetic.interface import Accumulator, Arithmetic, QuantizedType
from match.arithmetic.onnxruntime import OnnxruntimeArithmetic
from match.arithmetic.tflite import TfliteArithmetic
from match.compilation.options import Numerics
from match.devtools.check.form_probes import accepted_layers
from match.devtools.check.probes import Probe
from match.ir.layer import Op
from match.partitioning.pattern import Match
from match.requantize.form import choose_form
from match.target.hardware import HwModule

_LAYERS = Op.CONV2D, Op.DEPTHWISE_CONV2D, Op.DENSE
_WRITERS: tuple[tuple[str, Arithmetic], ...] = (
    ("TFLite's converter", TfliteArithmetic()),
    ("onnxruntime's quantizer", OnnxruntimeArithmetic()),
)
_INPUT_SCALE = np.float32(0.0213)
_SMALLEST, _LARGEST = 0.0031, 0.0177
"""The smallest and the largest scale of weights."""


def refused_scales(module: HwModule, types: Sequence[str]) -> Iterator[str]:
    """For each operator with weights that a module takes: what it says of real scales if it takes none of them."""
    ordinary = accepted_layers(module, types)
    for op in _LAYERS:
        rows = [(probe, row) for probe, row in ordinary if row.layer.op is op and row.accumulator is not None]
        told = [(writer, _refusal(module, probe, row, one)) for probe, row in rows for writer, one in _WRITERS]
        if told and all(refusal is not None for _, refusal in told):
            writer, refusal = told[0]
            yield f"takes no {op} with scales that are any real numbers, as {writer} writes them: {refusal}"


def _refusal(module: HwModule, probe: Probe, row: Match, arithmetic: Arithmetic) -> str | None:
    """Why a module refuses a layer once its scales are real numbers; None if it takes it."""
    assert row.accumulator is not None
    low, high = row.accumulator
    scales = np.geomspace(_SMALLEST, _LARGEST, len(low)).astype(np.float32)
    reach = float((np.maximum(np.abs(low), np.abs(high)) * scales).max()) * float(_INPUT_SCALE)
    output = QuantizedType(np.float32(reach / 1000), 0, probe.dtype)  # outputs are clipped at a part of what is reached
    limits = np.iinfo(probe.dtype)
    sums = Accumulator(np.zeros_like(low), low, high, _INPUT_SCALE, scales)
    constants = replace(row.constants, requantization=arithmetic.linear(sums, output, (limits.min, limits.max)))
    chosen = choose_form(module, row.layer, constants, row.accumulator, Numerics.HARDWARE)
    return chosen if isinstance(chosen, str) else None
