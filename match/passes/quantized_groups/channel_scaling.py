"""What scales and moves the channels of a convolution or dense layer: batch normalization that training left there.

Exporters leave it after layers whose weights are quantized while the network is trained. With it the layer is
``slope * sums + offset`` for each channel, which is what a requantization computes: slopes go into the scales of the
weights, offsets into the bias. The bias is rounded, to parts of a sum, so that few outputs are a step off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from match.arithmetic.biases import LARGEST_INPUT, fraction_bits
from match.arithmetic.interface import Float32Array, QuantizedType
from match.relay import relay
from match.relay.rewrite import constant, is_call, operator_name

Float64Array = npt.NDArray[np.float64]

_NEGLIGIBLE = 2.0**-8
"""Share of an output's step by which a channel may move outputs and be taken for constant."""


@dataclass(frozen=True, eq=False)
class QuantizedWeights:
    """Weights in the layout of their operator; scales and zero points: one, or one for each output channel."""

    values: npt.NDArray[np.integer]
    scales: Float32Array
    zero_points: npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class ChannelStep:
    """An operator with a constant, on x: what it is called, and the constant's numbers.

    axis: that of channels if the numbers are one for each of these alone; None if their shape is broadcast to x's.
    """

    x: relay.Expr
    operator: str
    numbers: npt.NDArray[np.floating]
    axis: int | None


@dataclass(frozen=True, eq=False)
class ChannelScaling:
    """What becomes of each channel's values x: ``slope * x + offset``, both of shape (channels,)."""

    slope: Float64Array
    offset: Float64Array


def channel_step(expr: relay.Expr) -> ChannelStep | None:
    """An addition, subtraction, multiplication or division of a constant; None for other expressions."""
    if not is_call(expr, "nn.bias_add", "add", "subtract", "multiply", "divide"):
        return None
    operator, x, other = operator_name(expr), *expr.args
    if operator in ("add", "multiply") and constant(other) is None:
        x, other = other, x
    numbers = constant(other)
    if numbers is None:
        return None
    return ChannelStep(x, operator, numbers, int(expr.attrs.axis) if operator == "nn.bias_add" else None)


def channel_scaling(steps: Sequence[ChannelStep], rank: int, axis: int, channels: int) -> ChannelScaling | None:
    """What steps, the first one first, make of `channels` along an axis of a tensor; None if they differ elsewhere."""
    slope, offset = np.ones(channels), np.zeros(channels)
    for step in steps:
        numbers = _by_channel(step, rank, axis, channels)
        if numbers is None:
            return None
        if step.operator == "multiply":
            slope, offset = slope * numbers, offset * numbers
        elif step.operator == "divide":
            slope, offset = slope / numbers, offset / numbers
        else:
            offset = offset - numbers if step.operator == "subtract" else offset + numbers
    return ChannelScaling(slope, offset) if np.isfinite([slope, offset]).all() else None


@dataclass(frozen=True, eq=False)
class ScaledLayer:
    """A layer whose sums, times ``2**bits`` and with its bias added, are ``2**bits`` times as fine as its scale."""

    weights: QuantizedWeights
    bias: npt.NDArray[np.int32]
    bits: int


def scaled(
    weights: QuantizedWeights,
    output_axis: int,
    bias: Float64Array,
    scaling: ChannelScaling,
    inputs: QuantizedType,
    output: QuantizedType,
) -> ScaledLayer | None:
    """The layer that computes what another one does before its channels are scaled; outputs are a step off at most.

    `bias`, of shape (channels,), is in the scale of the sums, and `output_axis` that of channels in the weights.
    Weights of a channel with a negative slope change their signs. A channel whose sums hardly move its outputs is
    constant. None if no integers are near enough.
    """
    channels = len(bias)
    zero_points = np.broadcast_to(weights.zero_points, channels)
    own = inputs.scale.astype(np.float64) * np.broadcast_to(weights.scales, channels)
    slope = own * scaling.slope
    by_channel = np.moveaxis(weights.values.astype(np.int64), output_axis, -1) - zero_points
    reach = LARGEST_INPUT * np.abs(by_channel).reshape(-1, channels).sum(axis=0)
    idle = np.abs(slope) * reach < _NEGLIGIBLE * output.scale
    by_channel = np.where(idle, 0, np.sign(slope).astype(np.int64) * by_channel) + zero_points
    scales = (np.where(idle, output.scale / 2, np.abs(slope)) / inputs.scale).astype(np.float32)
    step = inputs.scale.astype(np.float64) * scales
    offset = (slope * bias + scaling.offset) / step
    largest = float((reach + np.abs(offset)).max())
    ends = np.iinfo(weights.values.dtype)
    bits = fraction_bits(largest)
    fits = by_channel.min() >= ends.min and by_channel.max() <= ends.max
    if bits is None or not fits or np.any(step > output.scale):
        return None
    values = np.ascontiguousarray(np.moveaxis(by_channel, -1, output_axis)).astype(weights.values.dtype)
    fine = np.rint(offset * 2**bits).astype(np.int32)
    return ScaledLayer(QuantizedWeights(values, scales, zero_points.copy()), fine, bits)


def _by_channel(step: ChannelStep, rank: int, axis: int, channels: int) -> Float64Array | None:
    """The numbers of a step, one for each channel; None if they differ along another axis."""
    numbers = step.numbers.astype(np.float64)
    if numbers.size == 1:
        return np.full(channels, numbers.item())
    if step.axis is not None:
        return numbers.reshape(-1) if step.axis % rank == axis and numbers.size == channels else None
    expected = tuple(channels if dim == axis else 1 for dim in range(rank))
    extents = (1,) * (rank - numbers.ndim) + numbers.shape
    return numbers.reshape(-1) if extents == expected else None
