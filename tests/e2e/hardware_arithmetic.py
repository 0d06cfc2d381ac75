"""NE16's own output stage in NumPy, written from its register documentation, fed by the bytes a compiled layer carries.

The parameters are unpacked here from the packed constants, so that packing, driver and model are checked as well.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from match.dispatch.plan import LayerDecision, LayerPlan
from match.ir.layer import Axis, Dim
from match.target.operands import FILTER, WEIGHTS
from tests.e2e.tflite_arithmetic import Array, Output
from tests.e2e.tflite_network import Network

MULTIPLIERS = {"norm_quant_8": np.dtype("u1"), "norm_quant_16": np.dtype("<u2"), "norm_quant_32": np.dtype("<u4")}
OPERATORS = {"CONV_2D": "conv2d", "DEPTHWISE_CONV_2D": "depthwise_conv2d", "FULLY_CONNECTED": "dense"}


def round_up(number: int, multiple: int) -> int:
    """`number` rounded up to a multiple."""
    return -(-number // multiple) * multiple


@dataclass(frozen=True)
class Unpacked:
    """A layer's constants: filters (K, FY, FX, C), depthwise (K, FY, FX, 1); NE16's bias, multiplier and shift (K,)."""

    filters: Array
    bias: Array
    multiplier: Array
    shift: Array


def filter_axes(plan: LayerPlan) -> tuple[Axis, ...]:
    """The axes of the filter's array."""
    components = plan.schedule.operand(WEIGHTS).components
    return next(component.axes for component in components if component.name == FILTER)


def row_bytes(plan: LayerPlan, channels: int) -> int:
    """Bytes of an output channel's filter over `channels` input channels, with what the layout rounds up."""
    axes = filter_axes(plan)
    extents = {**plan.layer.extents, Dim.C: channels}
    return math.prod(axis.length(extents[axis.dim]) for axis in axes if axis.dim is not Dim.K)


def unpack(plan: LayerPlan) -> Unpacked:
    """Take the packed constants of a convolution or dense layer apart, on NE16 or (filters alone) on the cluster."""
    assert plan.requantizer is not None
    layer, name = plan.layer, plan.requantizer.name
    loops = [loop for loop in plan.schedule.loops if loop.dim in (Dim.K, Dim.C)]
    assert len({loop.dim for loop in loops}) == len(loops)
    tile = next((loop.tile for loop in loops if loop.dim is Dim.K), layer.k)
    reduced = next((loop.tile for loop in loops if loop.dim is Dim.C), layer.c)
    planes, depthwise = plan.module == "ne16", layer.op == "depthwise_conv2d"
    positions = layer.fy * layer.fx
    windows = "laid_out" in plan.operators[0].kernel  # all of a window are channels of one position
    bits = layer.weight_bits
    if windows:
        reduced, positions = layer.c * positions, 1
    if planes:
        filter_bytes = positions * (round_up(tile, 16) if depthwise else tile * round_up(reduced, 16)) // 8 * bits
    else:
        filter_bytes = tile * row_bytes(plan, reduced)
    block_bytes = round_up(filter_bytes, 4) + round_up(tile * plan.requantizer.parameter_bytes, 4)
    blocks = list(itertools.product(range(0, layer.k, tile), range(0, layer.c, reduced)))
    if [loop.dim for loop in loops] == [Dim.C, Dim.K]:
        blocks.sort(key=lambda block: (block[1], block[0]))
    parts: dict[int, list[tuple[Array, Array, Array, Array]]] = {}
    for number, (first, begin) in enumerate(blocks):
        channels = min(tile, layer.k - first)
        block = plan.constants[number * block_bytes :][:block_bytes]
        rows, columns = (1, channels) if depthwise and planes else (channels, min(reduced, layer.c - begin))
        if windows:
            columns = reduced
        if planes:
            groups = -(-columns // 16)
            packed = np.frombuffer(block, "u1", rows * groups * positions * 2 * bits)
            each = np.unpackbits(packed, bitorder="little").reshape(rows, groups, bits, positions, 16).astype(np.int64)
            values = (each << np.arange(bits)[:, None, None]).sum(axis=2) - 2 ** (bits - 1)
            filters = values.transpose(0, 2, 1, 3).reshape(rows, positions, groups * 16)[..., :columns]
        else:
            filters = np.frombuffer(block, "i1", rows * row_bytes(plan, columns)).astype(np.int64)
            filters = filters.reshape(rows, -1)[:, : positions * columns].reshape(rows, positions, columns)
        if depthwise and planes:
            filters = filters.transpose(2, 1, 0)
        if (windows or not planes) and layer.op == "conv2d":  # by columns
            filters = filters.reshape(channels, layer.fx, layer.fy, -1).transpose(0, 2, 1, 3)
        filters = filters.reshape(channels, layer.fy, layer.fx, -1)
        none = np.zeros(channels, np.int64)
        mine = parts.setdefault(first, [])
        if name not in MULTIPLIERS:
            mine.append((filters, none, none, none))
            continue
        multiplier = MULTIPLIERS[name]
        parameters = block[round_up(filter_bytes, 4) :]
        mine.append(
            (
                filters,
                np.frombuffer(parameters, "<i4", channels).astype(np.int64),
                np.frombuffer(parameters, multiplier, channels, 4 * channels).astype(np.int64),
                np.frombuffer(parameters, "u1", channels, (4 + multiplier.itemsize) * channels).astype(np.int64),
            )
        )
    tiles = [(np.concatenate([part[0] for part in mine], axis=-1), *mine[0][1:]) for mine in parts.values()]
    return Unpacked(*(np.concatenate(arrays) for arrays in zip(*tiles, strict=True)))


def same_channels(filters: Array, own: Array) -> list[int]:
    """The channels of `filters` that `own` has, in order: a compiler may leave out channels that are constant."""
    found: list[int] = []
    for channel in own:
        start = found[-1] + 1 if found else 0
        found.append(next(k for k in range(start, len(filters)) if np.array_equal(filters[k], channel)))
    return found


def wrap32(x: Array) -> Array:
    """The lower 32 bits as a signed number."""
    return ((x + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


def output_stage(constants: Unpacked, kept: list[int], from_reference: Array, default: Output) -> Output:
    """NE16's output stage as a map from TFLite's accumulators.

    `from_reference` is added to those of the channels that the hardware computes, `kept`, to get the hardware's own;
    the other channels keep the `default` stage, which is constant for them.
    """

    def apply(accumulator: Array) -> Array:
        outputs = default(accumulator)
        total = wrap32((accumulator[..., kept] + from_reference) * constants.multiplier + constants.bias)
        outputs[..., kept] = np.clip(total >> constants.shift, 0, 255) - 128
        return outputs

    return apply


def output_stages(
    layers: Sequence[LayerDecision], network: Network, values: Mapping[int, Array]
) -> dict[int, Callable[[Output], Output]]:
    """For each operator of the network whose layer is not exact: the hardware's output stage, from the default one.

    `values` are the tensors for any input, which show what the channels hold that the compiler found constant.
    """
    free = [layer for layer in layers if layer.plan is not None and layer.op in OPERATORS.values()]
    kept: dict[int, list[int]] = {network.input: list(range(network.tensors[network.input].shape[-1]))}
    stages: dict[int, Callable[[Output], Output]] = {}
    for index, operator in enumerate(network.operators):
        before = kept[operator.inputs[0]]
        if operator.name not in OPERATORS:
            kept[operator.output] = before
            continue
        source = network.tensors[operator.inputs[0]]
        filters, bias = (network.tensors[i].data for i in operator.inputs[1:3])
        assert filters is not None
        assert bias is not None
        shape, window = network.tensors[operator.output].shape, filters.shape[1:3] if filters.ndim == 4 else (1, 1)
        decision = next((layer for layer in free if matches(layer, operator.name, shape, window)), None)
        if decision is None:  # on the control core, which computes TFLite's own integers
            kept[operator.output] = list(range(shape[-1]))
            continue
        free.remove(decision)
        assert decision.plan is not None
        fit = next(candidate.fit for candidate in decision.candidates if candidate.module == decision.module)
        constants = unpack(decision.plan)
        if operator.name == "DEPTHWISE_CONV_2D":
            filters = filters.transpose(3, 1, 2, 0)
            channels = filters[before]
            after = [before[k] for k in same_channels(channels, constants.filters)]
            computed = filters[after]
        else:
            filters = filters.reshape(len(filters), *(filters.shape[1:] if filters.ndim == 4 else (1, 1, -1)))
            after = same_channels(filters[..., before], constants.filters)
            computed = filters[after]
        kept[operator.output] = after
        if fit is None or fit.exact:
            continue
        # The hardware's accumulator has no bias yet, sees uint8 inputs, 128 above TFLite's and without zero point, and
        # only those channels that are not constant.
        from_reference = (source.zero_point + 128) * computed.sum(axis=(1, 2, 3)) - bias[after]
        if operator.name != "DEPTHWISE_CONV_2D":
            x = values[operator.inputs[0]]
            left_out = [c for c in range(x.shape[-1]) if c not in before]
            levels = x.reshape(-1, x.shape[-1])[0, left_out] + 128
            from_reference = from_reference - computed[..., left_out].sum(axis=(1, 2)) @ levels
        stages[index] = partial(output_stage, constants, after, from_reference)
    return stages


def matches(layer: LayerDecision, operator: str, shape: tuple[int, ...], window: tuple[int, ...]) -> bool:
    """Whether a decision can be about an operator with this output shape and filter size."""
    assert layer.plan is not None
    own = layer.plan.layer
    rows, columns = (shape[1], shape[2]) if len(shape) == 4 else (1, 1)
    return (
        own.op == OPERATORS[operator]
        and (own.oy, own.ox, own.fy, own.fx) == (rows, columns, *window)
        and own.k <= shape[-1]
    )
