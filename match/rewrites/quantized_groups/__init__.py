"""Operators on real numbers between dequantize and quantize become operators on integers, as onnxruntime fuses them.

What moves elements is done on integers: a quantize goes in front of it, and a dequantize after it. An operator that no
kind fits keeps its dequantize and quantize.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from match.arithmetic.interface import QuantizedType
from match.arithmetic.onnxruntime import OnnxruntimeArithmetic, quantize
from match.graph.constants import numbers_of
from match.graph.elements import Dequantize, Quantize
from match.graph.gathers import Gather
from match.graph.integers import Clip, Extreme
from match.graph.make import arithmetic, constant, lookup, named
from match.graph.maximum import Maximum
from match.graph.moves import Concatenate, Move
from match.graph.reals import (
    REAL,
    RealAverage,
    RealClip,
    RealConvolution,
    RealFunction,
    RealMatrices,
    RealProduct,
    RealTransposed,
)
from match.graph.reductions import RealNormalization, RealReduction, RunningSum
from match.graph.resize import RealInterpolation
from match.graph.rewrite import rewrite
from match.graph.rows import RealSoftmax
from match.graph.value import Graph, Value, computed
from match.ir.float_border import FloatQuantization
from match.rewrites.channels_last import with_channels_last
from match.rewrites.quantized_groups.choices import chosen
from match.rewrites.quantized_groups.collected_rows import with_collected_rows
from match.rewrites.quantized_groups.collected_windows import with_pooled_windows
from match.rewrites.quantized_groups.element_functions import joined
from match.rewrites.quantized_groups.function_means import function_mean
from match.rewrites.quantized_groups.functions import function_of_elements
from match.rewrites.quantized_groups.functions_by_channel import function_by_channel
from match.rewrites.quantized_groups.functions_of_layers import function_of_sums
from match.rewrites.quantized_groups.interpolations import interpolation
from match.rewrites.quantized_groups.layers import biased_layer, layer
from match.rewrites.quantized_groups.left import with_real_sums
from match.rewrites.quantized_groups.matrices import matrices
from match.rewrites.quantized_groups.means import mean, multiplied_mean
from match.rewrites.quantized_groups.moves import with_moves_of_integers
from match.rewrites.quantized_groups.normalizations import normalization
from match.rewrites.quantized_groups.pairs import absolute_difference, pair
from match.rewrites.quantized_groups.products_of_rows import with_products_of_rows
from match.rewrites.quantized_groups.quantities import dequantized, quantization_of
from match.rewrites.quantized_groups.reductions import centred, reduction, running_sum
from match.rewrites.quantized_groups.rounded_between import rounded_between
from match.rewrites.quantized_groups.rows import softmax
from match.rewrites.quantized_groups.scaled_layers import scaled_layer
from match.rewrites.quantized_groups.scales_by_channel import with_one_scale
from match.rewrites.quantized_groups.slopes import close_slopes, slopes_of_sums
from match.rewrites.quantized_groups.written_normalizations import with_normalizations

Limits = tuple[int, int]

_MOST = 8
"""The most elements that are quantized for one that slices keep. A slice of numbers takes the control core some 50
cycles an element; to quantize one takes eight cores 3 to 4."""


def with_quantized_groups(graph: Graph) -> Graph:
    """The graph with integers in the place of what is quantized, whatever is asked of their exactness."""
    graph = with_moves_of_integers(with_collected_rows(with_products_of_rows(graph)))
    graph = with_moves_of_integers(with_channels_last(graph))
    graph = with_normalizations(with_one_scale(with_pooled_windows(graph)))
    return rewrite(graph, _Groups(()).rule)


def with_other_groups(graph: Graph, *, exact: bool) -> Graph:
    """The graph with integers in the place of what is left of quantized groups, and of layers that nothing quantizes.

    Without `exact`, outputs that the reference rounds in floating point may be within one step of it.
    """
    others = (slopes_of_sums,) if exact else (*_CLOSE, slopes_of_sums)
    return with_real_sums(rewrite(graph, _Groups(others).rule))


_Fusion = Callable[[Value, QuantizedType, Limits], Value | None]
"""What real numbers become in 8 bits between two limits; None for others."""

_CLOSE: tuple[_Fusion, ...] = (close_slopes, function_of_sums, function_by_channel, rounded_between)
"""Fusions whose outputs may be a step off, of what no other one fits."""


class _Groups:
    """Makes integers of what is quantized; real numbers that are quantized alike several times are so once.

    others: fusions of what no other one fits. `_levels` are integers in other scales.
    """

    def __init__(self, others: Sequence[_Fusion]) -> None:
        self._others = others
        self._made: dict[tuple[Value, QuantizedType, Limits], Value | None] = {}
        self._levels: dict[tuple[Value, QuantizedType, QuantizedType, Limits], Value] = {}

    def rule(self, value: Value, original: Value) -> Value:
        """What becomes of a tensor."""
        del original
        output = quantization_of(value.operator) if isinstance(value.operator, Quantize) else None
        if output is None or _keeps_few(value.inputs[0]):
            return value
        return self._quantized(value.inputs[0], output, output.limits, value.source) or value

    def _quantized(self, real: Value, output: QuantizedType, clip: Limits, source: str) -> Value | None:
        """Real numbers as 8 bits between two limits, called `source` in the model; None if no kind fits."""
        key = real, output, clip
        if key not in self._made:
            self._made[key] = self._fused(real, output, clip, source)
        return self._made[key]

    def _fused(self, real: Value, output: QuantizedType, clip: Limits, source: str) -> Value | None:
        match real.operator:
            case None:
                made = _unfused(real, output, clip)
            case Dequantize():
                return self._rescaled(real, output, clip, source)
            case RealClip(low=low, high=high):
                inner = self._quantized(real.inputs[0], output, _clipped(clip, (low, high), output), source)
                return inner or function_of_elements(real, output, clip)
            case Move() | Concatenate() | Maximum() | Extreme():
                return self._moved(real, output, clip, source)
            case Gather():
                made = self._gathered(real, output, clip)
            case RealConvolution() | RealTransposed() | RealProduct():
                made = layer(real, output, clip)
            case RealFunction():
                made = self._function(real, output, clip, source)
            case RealMatrices():
                made = matrices(real, output, clip)
            case RealAverage():
                made = mean(real, output, clip) or function_mean(real, output, clip)
            case RealReduction():
                made = reduction(real, output, clip) or function_mean(real, output, clip)
            case RealInterpolation():
                made = interpolation(real, output, clip)
            case RealNormalization():
                made = normalization(real, output, clip)
            case RunningSum():
                made = running_sum(real, output, clip)
            case RealSoftmax(logarithm=False):
                made = softmax(real, output, clip)
            case _:
                made = None
        made = made or next((found for fuse in self._others if (found := fuse(real, output, clip)) is not None), None)
        return None if made is None else named(made, source)

    def _rescaled(self, real: Value, output: QuantizedType, clip: Limits, source: str) -> Value | None:
        """Integers in another scale, or in the same; before they are moved where that makes more of them."""
        x = dequantized(real)
        if x is None:
            return None
        if x.quantization == output and clip == output.limits:
            return x.value
        moves, before = list[Move](), x.value
        while isinstance(before.operator, Move):
            moves.insert(0, before.operator)
            (before,) = before.inputs
        if before.tensor.elements >= x.value.tensor.elements:
            moves, before = [], x.value
        outputs = OnnxruntimeArithmetic().requantize(x.quantization, output, clip)
        key = before, x.quantization, output, clip
        if key not in self._levels:
            self._levels[key] = named(lookup(before, outputs.astype(output.dtype)), "" if moves else source)
        levels = self._levels[key]
        for move in moves:
            fill = 0 if move.padding_value is None else int(outputs[move.padding_value - x.quantization.limits[0]])
            levels = computed(replace(move, fill=fill), levels)
        return named(levels, source)

    def _gathered(self, real: Value, output: QuantizedType, clip: Limits) -> Value | None:
        """Rows of a constant table."""
        (table, indices), numbers = real.inputs, numbers_of(real.inputs[0])
        if numbers is None or real.operator is None or table.dtype != REAL:
            return None
        levels = constant(quantize(numbers.astype(np.float32), output, clip).astype(output.dtype))
        return computed(real.operator, levels, indices)

    def _function(self, real: Value, output: QuantizedType, clip: Limits, source: str) -> Value | None:
        """A function of elements."""
        biased = biased_layer(real)
        if biased is not None and (made := layer(biased, output, clip)) is not None:
            return made
        return (
            pair(real, output, clip)
            or absolute_difference(real, output, clip)
            or multiplied_mean(real, output, clip)
            or scaled_layer(real, output, clip)
            or normalization(real, output, clip)
            or centred(real, output, clip)
            or chosen(real, output, clip, lambda x: self._quantized(x, output, clip, source))
            or self._extremum(real, output, clip, source)
            or function_of_elements(real, output, clip)
        )

    def _extremum(self, real: Value, output: QuantizedType, clip: Limits, source: str) -> Value | None:
        """The larger or the smaller of two tensors: quantizing keeps their order.

        One of them may be constant, with numbers along several axes.
        """
        if not isinstance(real.operator, RealFunction) or real.operator.function not in ("maximum", "minimum"):
            return None
        for x in joined(real, real.operator.function):
            numbers = numbers_of(x)
            is_given = dequantized(x) is not None
            if not (is_given if numbers is None else sum(extent > 1 for extent in numbers.shape) > 1):
                return None
        tensors = sorted(real.inputs, key=lambda x: numbers_of(x) is not None)  # constants come last
        a, b = (self._operand(x, output, clip, source) for x in tensors)
        return None if a is None or b is None else arithmetic(real.operator.function, a, b)

    def _operand(self, real: Value, output: QuantizedType, clip: Limits, source: str) -> Value | None:
        """A tensor or constants as 8 bits."""
        return self._quantized(real, output, clip, source) if numbers_of(real) is None else _unfused(real, output, clip)

    def _moved(self, real: Value, output: QuantizedType, clip: Limits, source: str) -> Value | None:
        """What moves elements, on integers; they have the name of what computes them."""
        parts = [self._quantized(x, output, clip, source) for x in real.inputs]
        operator = real.operator
        if operator is None or not any(parts):
            return None
        known = [part or _unfused(x, output, clip) for x, part in zip(real.inputs, parts, strict=True)]
        if isinstance(operator, Move):
            (fill,) = quantize(np.array([operator.fill], np.float32), output, clip)
            operator = replace(operator, fill=int(fill))
        moved = computed(operator, *known)
        return moved if len(known) == 1 and known[0].source == source else named(moved, source)


def _unfused(real: Value, output: QuantizedType, clip: Limits) -> Value:
    """A constant becomes 8 bits here; an operator quantizes other real numbers, such as an input."""
    numbers = numbers_of(real)
    if numbers is not None:
        return constant(quantize(numbers.astype(np.float32), output, clip).astype(output.dtype))
    function = FloatQuantization(output.scale, output.zero_point, output.dtype, half_to_even=True)
    levels = computed(Quantize(function=function), real)
    return levels if clip == output.limits else computed(Clip(limits=clip, dtype=output.dtype), levels)


def _keeps_few(real: Value) -> bool:
    """Whether slices keep so little of an input that to quantize all of it would take longer than to slice numbers."""
    whole, kept, x = 0, 0, real
    while isinstance(x.operator, Move):
        if x.tensor.elements < x.inputs[0].tensor.elements:
            whole, kept = whole + x.inputs[0].tensor.elements, kept + x.tensor.elements
        (x,) = x.inputs
    return x.operator is None and whole > _MOST * kept


def _clipped(clip: Limits, bounds: tuple[float, float], output: QuantizedType) -> Limits:
    """The limits that an activation in front of a quantize leaves."""
    low, high = quantize(np.array(bounds, np.float32), output, output.limits)
    return max(clip[0], int(low)), min(clip[1], int(high))
