"""NE16's own output stage in NumPy, written from its register documentation, fed by the bytes a compiled layer carries.

The parameters are unpacked here from the packed constants, so that packing, driver and model are checked as well.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from match.layer import Dim
from match.plan import LayerDecision, LayerPlan
from tests.e2e.tflite_arithmetic import Array, Output
from tests.e2e.tflite_network import Network

MULTIPLIERS = {"norm_quant_8": np.dtype("u1"), "norm_quant_16": np.dtype("<u2"), "norm_quant_32": np.dtype("<u4")}
OPERATORS = {"CONV_2D": "conv2d", "DEPTHWISE_CONV_2D": "depthwise_conv2d", "FULLY_CONNECTED": "dense"}


def round_up(number: int, multiple: int) -> int:
    """`number` rounded up to a multiple."""
    return -(-number // multiple) * multiple


def parameters(plan: LayerPlan) -> tuple[Array, Array, Array]:
    """Biases, multipliers and shifts of all output channels of a layer on NE16, in order."""
    assert plan.requantizer is not None
    layer, multiplier = plan.layer, MULTIPLIERS[plan.requantizer.name]
    tiles = [loop.tile for loop in plan.schedule.loops if loop.dim is Dim.K]
    tile = tiles[0] if tiles else layer.k
    assert len(tiles) <= 1
    if layer.channelwise:
        filter_bytes = round_up(tile, 16) * layer.fy * layer.fx
    else:
        filter_bytes = tile * round_up(layer.c, 16) * layer.fy * layer.fx
    block_bytes = round_up(filter_bytes, 4) + round_up(tile * (5 + multiplier.itemsize), 4)
    biases: list[Array] = []
    multipliers: list[Array] = []
    shifts: list[Array] = []
    for number, first in enumerate(range(0, layer.k, tile)):
        channels = min(tile, layer.k - first)
        begin = number * block_bytes + round_up(filter_bytes, 4)
        block = plan.constants[begin : begin + channels * (5 + multiplier.itemsize)]
        biases.append(np.frombuffer(block, "<i4", channels).astype(np.int64))
        multipliers.append(np.frombuffer(block, multiplier, channels, 4 * channels).astype(np.int64))
        shifts.append(np.frombuffer(block, "u1", channels, (4 + multiplier.itemsize) * channels).astype(np.int64))
    return np.concatenate(biases), np.concatenate(multipliers), np.concatenate(shifts)


def wrap32(x: Array) -> Array:
    """The lower 32 bits as a signed number."""
    return ((x + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


def output_stage(plan: LayerPlan, from_reference: Array) -> Output:
    """NE16's output stage as a map from TFLite's accumulators; `from_reference` is added to get the hardware's."""
    bias, multiplier, shift = parameters(plan)

    def apply(accumulator: Array) -> Array:
        total = wrap32((accumulator + from_reference) * multiplier + bias)
        return np.clip(total >> shift, 0, 255) - 128

    return apply


def output_stages(layers: Sequence[LayerDecision], network: Network) -> dict[int, Output]:
    """For each operator of the network whose layer is not exact, the output stage of the hardware."""
    free = list(layers)
    stages: dict[int, Output] = {}
    for index, operator in enumerate(network.operators):
        if operator.name not in OPERATORS:
            continue
        source = network.tensors[operator.inputs[0]]
        filters, bias = (network.tensors[i].data for i in operator.inputs[1:3])
        assert filters is not None
        assert bias is not None
        shape = network.tensors[operator.output].shape
        decision = next(layer for layer in free if matches(layer, operator.name, shape, filters.shape))
        free.remove(decision)
        fit = next(c.fit for c in decision.candidates if c.module == decision.module) if decision.plan else None
        if decision.plan is None or fit is None or fit.exact:
            continue
        # The hardware's accumulator has no bias yet, and sees uint8 inputs, 128 above TFLite's, without zero point.
        axes = (0, 1, 2) if operator.name == "DEPTHWISE_CONV_2D" else tuple(range(1, filters.ndim))
        stages[index] = output_stage(decision.plan, (source.zero_point + 128) * filters.sum(axis=axes) - bias)
    return stages


def matches(layer: LayerDecision, operator: str, shape: tuple[int, ...], filters: tuple[int, ...]) -> bool:
    """Whether a decision is about an operator with this output shape and these filters."""
    if layer.plan is None:
        return layer.op == OPERATORS[operator]
    own = layer.plan.layer
    size = (shape[1], shape[2], shape[3]) if len(shape) == 4 else (1, 1, shape[1])
    filter_size = (filters[1], filters[2]) if len(filters) == 4 else (1, 1)
    return own.op == OPERATORS[operator] and (own.oy, own.ox, own.k) == size and (own.fy, own.fx) == filter_size
