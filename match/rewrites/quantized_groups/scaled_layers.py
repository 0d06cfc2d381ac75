"""Layers whose channels are scaled and moved after them: batch normalization that training left there.

Exporters leave it after layers whose weights are quantized while the network is trained. Together, the layer and the
normalization compute ``slope * sums + offset`` for each channel, and so does a requantization: the slopes multiply the
scales of the weights, the offsets are added to the bias. The bias is rounded to fractions of a sum, so that few outputs
are a step off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from match.arithmetic import real_numbers
from match.arithmetic.biases import LARGEST_INPUT, fraction_bits
from match.arithmetic.interface import QuantizedType
from match.graph.constants import numbers_of
from match.graph.reals import RealConvolution, RealFunction, RealProduct, RealTransposed
from match.graph.value import Value
from match.quantized.scaled import scaled
from match.rewrites.quantized_groups.element_functions import Reals
from match.rewrites.quantized_groups.layers import biased_layer, integer_layer, sums_of

LEVEL_DTYPE = "uint8"
"""The type of the levels that `ScaledLayer.levels` gives."""

_LAYERS = RealConvolution | RealTransposed | RealProduct

_NEGLIGIBLE = 2.0**-8
"""Share of an output's step by which a channel may move outputs and be taken for constant."""

_STEPS: MappingProxyType[str, Callable[..., Reals]] = MappingProxyType(
    {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide}
)


@dataclass(frozen=True, eq=False)
class ScaledLayer:
    """A layer, and what becomes of each of its channels x: ``slope * x + offset``, both of shape (channels,)."""

    real: Value
    slope: Reals
    offset: Reals

    @classmethod
    def of(cls, real: Value) -> ScaledLayer | None:
        """The layer that ends in a tensor, with what scales and moves its channels; None of other tensors."""
        steps: list[tuple[Callable[..., Reals], Reals]] = []
        while not isinstance(real.operator, _LAYERS):
            biased = biased_layer(real)
            if biased is not None and isinstance(biased.operator, _LAYERS):
                real = biased
                continue
            step = _channel_step(real)
            if step is None:
                return None
            real, function, numbers = step
            steps.insert(0, (function, numbers))
        if isinstance(real.operator, RealTransposed) and steps and real.operator.groups > 1:
            return None
        slope, offset = np.ones(real.shape[-1]), np.zeros(real.shape[-1])
        for function, numbers in steps:
            offset = function(offset, numbers)
            slope = function(slope, numbers) if function in (np.multiply, np.divide) else slope
        if integer_layer(real) is None or not np.isfinite([slope, offset]).all():
            return None
        return cls(real, slope, offset)

    @property
    def is_scaled(self) -> bool:
        """Whether anything comes after the layer."""
        return bool(np.any(self.slope != 1) or np.any(self.offset))

    def quantized(self, output: QuantizedType, clip: tuple[int, int]) -> Value | None:
        """The outputs in 8 bits, a step off at most; None if no integers are near enough.

        Weights of a channel with a negative slope change their signs. A channel whose sums hardly move its outputs is
        constant.
        """
        layer = integer_layer(self.real)
        assert layer is not None, "which is asked before"
        inputs, bias = layer.inputs.quantization, layer.bias
        channels = len(layer.by_output)
        slope = np.float64(inputs.scale) * np.broadcast_to(layer.scales, channels) * self.slope
        reach = LARGEST_INPUT * np.abs(layer.by_output).sum(axis=1)
        idle = np.abs(slope) * reach < _NEGLIGIBLE * output.scale
        scales = (np.where(idle, output.scale / 2, np.abs(slope)) / inputs.scale).astype(np.float32)
        step = np.float64(inputs.scale) * scales
        offset = (slope * np.ldexp(bias.integers, -bias.bits) + self.offset) / step
        bits = fraction_bits(float((reach + np.abs(offset)).max()))
        if bits is None or np.any(step > output.scale):
            return None
        signs = np.where(idle, 0, np.sign(slope)).astype(np.int64)
        along = [-1 if axis == layer.axis else 1 for axis in range(layer.kernel.ndim)]
        sums = sums_of(self.real, layer.inputs, layer.kernel * signs.reshape(along))
        accumulator = sums.accumulator(inputs, scales, np.rint(np.ldexp(offset, bits)).astype(np.int64), bits)
        return scaled(sums, accumulator, output, clip, real_numbers, exact=False)

    def times(self, slopes: Reals) -> ScaledLayer:
        """The layer with each channel times a number, or one for all."""
        return replace(self, slope=self.slope * slopes, offset=self.offset * slopes)

    def levels(self, low: float, step: np.float32) -> Value | None:
        """The outputs less `low`, in 256 levels that are `step` apart; the first level is 0."""
        moved = replace(self, offset=self.offset - low)
        return moved.quantized(QuantizedType(step, 0, LEVEL_DTYPE), (0, 255))


def scaled_layer(real: Value, output: QuantizedType, clip: tuple[int, int]) -> Value | None:
    """A layer whose channels are scaled or moved, in 8 bits; None of other tensors."""
    layer = ScaledLayer.of(real)
    return None if layer is None or not layer.is_scaled else layer.quantized(output, clip)


def _channel_step(real: Value) -> tuple[Value, Callable[..., Reals], Reals] | None:
    """A tensor, and what an operator does to each of its channels, the last axis, with a number; else None."""
    if not isinstance(real.operator, RealFunction) or real.operator.function not in _STEPS:
        return None
    function, (x, other) = real.operator.function, real.inputs
    if function in ("add", "multiply") and numbers_of(other) is None:
        x, other = other, x
    numbers = numbers_of(other)
    if numbers is None or x.shape != real.shape or numbers.size not in (1, numbers.shape[-1] if numbers.ndim else 1):
        return None
    return x, _STEPS[function], numbers.reshape(-1).astype(np.float64)
