"""What MATCH's own run-time adds to a layer on GAP9, by the terms of the cost models in its public repository.

The measured runs contain it, the code generated here does not: transfers are programmed from sizes that are known at
compile time, depthwise kernels read HWC, and NE16's driver passes channels that do not fill a group of 16 as a
remainder. Nothing of it overlaps with compute here, which makes it the most that it can be.
"""

from __future__ import annotations

import math

from match.dispatch.plan import LayerDecision
from match.ir.layer import Layer, Op
from match.mapping.schedule import Schedule

TRANSFER = 370
"""Cycles of each transfer beside the SDK's call (MATCH_SETUP_OVERHEAD: 920 in all, less 550)."""

ITERATION = 310
"""Cycles of each tile (MATCH_ITERATION_LATENCY and MATCH_EXECUTIONAL_MODEL_ITERATION_LATENCY)."""

COMMAND = 12
"""Cycles of each channel of a depthwise input that is turned from HWC into CHW, beside a cycle for each byte."""

PADDED_BYTE = 1.5
"""Cycles of each byte of a tensor that the cluster pads or cuts to a multiple of 16 channels for NE16."""

GROUP = 16


def runtime_cycles(decision: LayerDecision) -> float:
    """Cycles of a layer that was given to a module; none for the control core."""
    if decision.plan is None:
        return 0.0
    layer, schedule = decision.plan.layer, decision.plan.schedule
    moved = sum(_iterations(schedule, placement.depth) for placement in schedule.placements)
    cycles = TRANSFER * moved + ITERATION * _iterations(schedule, len(schedule.loops))
    if decision.module == "cluster" and layer.op is Op.DEPTHWISE_CONV2D:
        cycles += layer.k * (COMMAND + layer.iy * layer.ix)
    if decision.module == "ne16":
        cycles += PADDED_BYTE * _padded_bytes(layer)
    return cycles


def _iterations(schedule: Schedule, depth: int) -> int:
    """Iterations of the first loops, last tiles taken for whole ones."""
    return math.prod(-(-loop.extent // loop.tile) for loop in schedule.loops[:depth])


def _padded_bytes(layer: Layer) -> int:
    """Bytes of the input, and of a depthwise output, with channels rounded up to whole groups."""
    channels = -(-layer.input_channels // GROUP) * GROUP
    if channels == layer.input_channels:
        return 0
    output = layer.oy * layer.ox if layer.op is Op.DEPTHWISE_CONV2D else 0
    return channels * (layer.iy * layer.ix + output)
