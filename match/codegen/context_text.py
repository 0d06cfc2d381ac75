"""Fields of a kernel's context that are the same however its tile is cut."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from match.dispatch.plan import OperatorPlan
from match.ir.attributes import Broadcast, Interpolation, Transposition
from match.ir.layer import WIDEST_WEIGHTS, Axis, Layer, Op

WINDOWED = frozenset(
    {Op.CONV2D, Op.DEPTHWISE_CONV2D, Op.GROUPED_CONV2D, Op.AVG_POOL2D, Op.FLOAT_AVG_POOL2D, Op.MAX_POOL2D}
)

Fields = Iterable[tuple[str, str]]
"""Names of fields, and their values in C."""


def window_fields(layer: Layer) -> Iterator[tuple[str, str]]:
    """What a window is, beside its padding."""
    yield "filter_height", str(layer.fy)
    yield "filter_width", str(layer.fx)
    yield "stride_y", str(layer.stride[0])
    yield "stride_x", str(layer.stride[1])
    yield "dilation_y", str(layer.dilation[0])
    yield "dilation_x", str(layer.dilation[1])


def requantization_fields(operator: OperatorPlan) -> Iterator[tuple[str, str]]:
    """What a kernel is told of requantization beside its parameters."""
    if operator.negative_step:
        yield "negative_step", f"INT64_C({operator.negative_step})"
    if operator.shift:
        yield "shift", str(operator.shift)


def weight_fields(layer: Layer) -> Iterator[tuple[str, str]]:
    """What a kernel is told of weights beside where they are."""
    if layer.weight_bits < WIDEST_WEIGHTS:
        yield "weight_bits", str(layer.weight_bits)


def filling_fields(layer: Layer) -> Iterator[tuple[str, str]]:
    """The value of `pad_value` for kernels without windows."""
    if layer.op is Op.RESIZE:
        yield "pad_value", str(layer.get(Interpolation).zero_point)
    if layer.op is Op.GATHER:
        yield "pad_value", str(layer.pad_value)


def channels_in(layer: Layer, channels: str) -> str:
    """The field for the input's channels, which are `channels`; kernels/pulp/match_pulp.h has two other meanings."""
    if layer.op is Op.TRANSPOSE:
        return str(layer.get(Transposition).element_bytes)
    return "1" if layer.get(Broadcast).single_channel else channels


def seen_padding(axis: Axis, start: int, size: int) -> tuple[int, int]:
    """Padding before and after the indices of an input's axis that the windows of `size` outputs see together.

    Where none of them reaches the tensor, that is less than the layer's own.
    """
    begin = start * axis.stride - axis.before
    behind = begin + (size - 1) * axis.stride + axis.window
    return min(0, behind) - min(0, begin), max(0, behind - axis.limit)
