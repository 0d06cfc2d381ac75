"""Functions of several tensors, and means of such functions: what is in between is rounded to 8 bits.

Quantizers leave sums of three tensors, products with a gate, layers to which a tensor is added, and means of all these
in floating point. Of two tensors of 8 bits, one table has all that a function can be. Of more, what is in between is
rounded to 8 bits of a scale that holds it, until each function is one of two. A level then stands for all numbers that
are rounded to it: intervals tell that no output is more than a step off what floating point gives, or the function is
left to floating point.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import reduce

import numpy as np

from match.arithmetic.element_functions import ElementFunction, Step
from match.arithmetic.interface import QuantizedType
from match.graph.constants import numbers_of
from match.graph.elements import Dequantize
from match.graph.moves import Move
from match.graph.real_functions import is_function
from match.graph.real_functions import real as real_function
from match.graph.reals import REAL, RealAverage, RealClip, RealFunction
from match.graph.reductions import RealReduction
from match.graph.value import Value, computed
from match.ir.dtypes import value_range
from match.rewrites.quantized_groups.element_functions import function_of, joined
from match.rewrites.quantized_groups.intervals import InNumbers, Limits, Range, Rounded, grid
from match.rewrites.quantized_groups.means import mean
from match.rewrites.quantized_groups.moves import moved, without_moves
from match.rewrites.quantized_groups.quantities import Dequantized, dequantized
from match.rewrites.quantized_groups.reductions import reduction
from match.rewrites.quantized_groups.scaled_layers import ScaledLayer

_ALL: Range = (-math.inf, math.inf)

_MOST_OFF = 0.9
"""Steps of the output by which the numbers of a mean may be off before it is rounded."""

_LAYER_OFF = 0.5 + 1 / 16
"""Levels that a layer's outputs are off by: they are rounded, and before a fraction that its bias is rounded to."""

_MEAN_OFF = 0.5 + 1 / 64
"""Levels that a mean is off by: it is rounded, and its factor has many more bits."""

_MOST_OPERATORS = 64
"""What so many operators make of tensors is no step near after roundings between all of them."""

_WITHIN = RealFunction | RealClip | RealAverage | RealReduction | Move

_PRODUCT = ElementFunction(2, (), (Step("multiply", (0, 1), (), REAL),), None)


def rounded_between(real: Value, output: QuantizedType, clip: Limits) -> Value | None:
    """A function of 8-bit tensors and of a layer, or a mean of one, in 8 bits; None where a step is not enough."""
    if _is_long(real):
        return None
    between = _Between(output.dtype)
    if isinstance(real.operator, RealAverage | RealReduction):
        return between.mean(real, output, clip)
    low, high = (
        (end + half - output.zero_point) * float(output.scale) for end, half in zip(clip, (-0.5, 0.5), strict=True)
    )
    made = between.of_two(real, (low, high))
    found = None if made is None else between.in_numbers(made)
    outputs = None if found is None else found.in_bytes(output, clip)
    return None if outputs is None or outputs.off(output, clip) > 1 else outputs.value


class _Between:
    """Rounds what is between tensors of 8 bits and an output of a type.

    What several functions read is rounded once: `_made` has what functions became, `_bytes` these in 8 bits, and
    `_tensors` the tensors of 8 bits by the real numbers that they stand for.
    """

    def __init__(self, dtype: str) -> None:
        self._dtype = dtype
        self._tensors: dict[Value, Rounded | None] = {}
        self._made: dict[tuple[Value, Range], Value | None] = {}
        self._bytes: dict[Value, Rounded | None] = {}

    def of_two(self, real: Value, needed: Range = _ALL) -> Value | None:
        """Real numbers as a function of at most two tensors of 8 bits; None where that is not to be had.

        needed: the range of numbers that outputs tell apart.
        """
        key = real, needed
        if key not in self._made:
            self._made[key] = self._of_two(real, needed)
        return self._made[key]

    def in_numbers(self, real: Value) -> InNumbers | None:
        """A function of at most two tensors of 8 bits; None where ranges do not tell its numbers."""
        function, sources = _PRODUCT, real.inputs
        is_product = self._is_product(real)
        if not is_product:
            found = function_of(real)
            if found is None or found.function.axis is not None:
                return None
            function, sources = found.function, found.sources
        tensors = [tensor for x in sources if (tensor := self._tensor(x)) is not None]
        if not 0 < len(tensors) == len(sources) <= 2 or (len(sources) == 1 and sources[0].shape != real.shape):
            return None
        known = [tensor.low is tensor.high for tensor in tensors]
        if function.turns and not all(known):
            return None
        lows, highs = grid([tensor.low for tensor in tensors]), grid([tensor.high for tensor in tensors])
        ends = [(low, low if one else high) for low, high, one in zip(lows, highs, known, strict=True)]
        low, high = function.bounds(*ends)
        reached = reduce(np.logical_and, grid([tensor.reached for tensor in tensors]))
        if np.isnan(low[reached]).any() or np.isnan(high[reached]).any():
            return None
        numbers = grid([tensor.x.quantization.numbers for tensor in tensors])
        return InNumbers(tensors, is_product, function(*numbers), low, high, reached)

    def mean(self, real: Value, output: QuantizedType, clip: Limits) -> Value | None:
        """A mean or a sum of a function, in 8 bits."""
        x, operator = self._rounded(real.inputs[0]), real.operator
        count = 1
        if isinstance(operator, RealReduction) and operator.function == "sum":
            count = operator.count(real.inputs[0].tensor)
        if x is None or x.off * count > _MOST_OFF * output.scale:
            return None
        numbers = replace(real, inputs=(self._numbers(x),), exact=False)
        return (mean if isinstance(operator, RealAverage) else reduction)(numbers, output, clip)

    def _of_two(self, real: Value, needed: Range) -> Value | None:
        if numbers_of(real) is not None or self._tensor(real) is not None:
            return real
        layer = ScaledLayer.of(real)
        if layer is not None:
            return self._layer(layer, needed)
        match real.operator:
            case RealClip(low=low, high=high):
                inner = self.of_two(real.inputs[0], (max(needed[0], low), min(needed[1], high)))
                return None if inner is None else replace(real, inputs=(inner,))
            case RealFunction(function="add"):
                return self._sum(real, needed)
            case RealFunction():
                return self._function(real)
            case RealAverage() | RealReduction(function="mean"):
                return self._own_mean(real)
            case Move(padding_value=None):
                return self._moved(real)
            case _:
                return None

    def _layer(self, layer: ScaledLayer, needed: Range) -> Value | None:
        """A layer's outputs; none are known beyond the range that is needed."""
        own = _type_of(needed, self._dtype)
        levels = None if own is None else layer.quantized(own, own.limits)
        if own is None or levels is None:
            return None
        off = np.float32(_LAYER_OFF) * own.scale
        low, high = own.numbers - off, own.numbers + off
        low[0], high[-1] = -np.inf, np.inf
        return self._numbers(Rounded(Dequantized(levels, own), low, high, np.full(256, True), math.inf))

    def _sum(self, real: Value, needed: Range) -> Value | None:
        """A sum of some terms, the smallest first: what they sum up to is rounded in as fine steps as can be.

        A layer comes last. It is known what it adds where the sum of the others and it is needed.
        """
        terms, layers = list[tuple[Range, Value]](), list[Value]()
        for term in joined(real, "add"):
            made = self.of_two(term)
            span = None if made is None else self._range(made)
            if made is None or span is None:
                layers.append(term)
            else:
                terms.append((span, made))
        if len(layers) > 1 or not terms:
            return None
        terms.sort(key=lambda one: one[0][1] - one[0][0])
        least, most = (sum(span[end] for span, _ in terms) for end in (0, 1))
        added = [self.of_two(layer, (needed[0] - most, needed[1] - least)) for layer in layers]
        (_, total), *others = terms
        return reduce(self._added, [*(term for _, term in others), *added], total)

    def _added(self, total: Value | None, term: Value | None) -> Value | None:
        return None if total is None or term is None else self._joint(real_function("add", total, term))

    def _function(self, real: Value) -> Value | None:
        """Any function of what its operands become."""
        operands = [made for x in real.inputs if (made := self.of_two(x)) is not None]
        return self._joint(replace(real, inputs=tuple(operands))) if len(operands) == len(real.inputs) else None

    def _joint(self, real: Value) -> Value | None:
        """A function of functions of at most two tensors each, these rounded where they have more than two together.

        Where a product repeats elements of one operand, both are rounded: a multiplication of modules repeats them.
        """
        tensors = [x for x in real.inputs if numbers_of(x) is None]
        repeats = is_function(real, "multiply") and len({x.shape for x in tensors}) > 1
        if not repeats and self._count(real) <= 2:
            return real
        operands: list[Value] = []
        for x in real.inputs:
            tensor = self._rounded(x) if x in tensors and self._count(x) > (0 if repeats else 1) else None
            operands.append(x if tensor is None else self._numbers(tensor))
        made = replace(real, inputs=tuple(operands))
        return made if self._count(made) <= 2 else None

    def _own_mean(self, real: Value) -> Value | None:
        """The mean of a function in the scale of that function."""
        x = self._rounded(real.inputs[0])
        if x is None:
            return None
        own = x.x.quantization
        levels = self.mean(real, own, own.limits)
        if levels is None:
            return None
        off = x.off + _MEAN_OFF * float(own.scale)
        ends = own.numbers - np.float32(off), own.numbers + np.float32(off)
        return self._numbers(Rounded(Dequantized(levels, own), *ends, np.full(256, True), off))

    def _moved(self, real: Value) -> Value | None:
        """What is moved is rounded before."""
        inner, moves = without_moves(real)
        x = self._rounded(inner)
        return None if x is None else self._numbers(replace(x, x=replace(x.x, value=reduce(moved, moves, x.x.value))))

    def _rounded(self, real: Value) -> Rounded | None:
        """Real numbers in 8 bits, in a scale that holds all that they can be, and 0."""
        made = self.of_two(real)
        known = None if made is None else self._tensor(made)
        if made is None or known is not None:
            return known
        if made not in self._bytes:
            self._bytes[made] = self._in_bytes(made)
        return self._bytes[made]

    def _in_bytes(self, real: Value) -> Rounded | None:
        numbers = self.in_numbers(real)
        if numbers is None:
            return None
        low, high = numbers.range
        with_zero = min(low, 0), max(high, 0)  # so that the zero point has 8 bits, as kernels of products take it
        own = _type_of(with_zero, self._dtype)
        return None if own is None else numbers.in_bytes(own, own.limits).rounded(own)

    def _tensor(self, real: Value) -> Rounded | None:
        """The tensor of 8 bits that real numbers are dequantized from."""
        if real not in self._tensors:
            x = dequantized(real)
            self._tensors[real] = None if x is None else Rounded.exactly(x)
        return self._tensors[real]

    def _numbers(self, tensor: Rounded) -> Value:
        """The real numbers of a tensor of 8 bits."""
        own = tensor.x.quantization
        real = computed(Dequantize(scale=own.scale, zero_point=own.zero_point), tensor.x.value)
        self._tensors[real] = tensor
        return real

    def _range(self, real: Value) -> Range | None:
        """The least and the largest number of a function of at most two tensors."""
        tensor, constant = self._tensor(real), numbers_of(real)
        if tensor is not None:
            return float(tensor.low[tensor.reached].min()), float(tensor.high[tensor.reached].max())
        if constant is not None:
            return float(constant.min()), float(constant.max())
        numbers = self.in_numbers(real)
        return None if numbers is None else numbers.range

    def _count(self, real: Value) -> int:
        """How many tensors real numbers are a function of."""
        if numbers_of(real) is not None:
            return 0
        found = None if self._is_product(real) else function_of(real)
        return len(set(real.inputs)) if found is None else len(found.sources)

    def _is_product(self, real: Value) -> bool:
        """Whether real numbers are products of those of two tensors of 8 bits."""
        return (
            is_function(real, "multiply")
            and len(set(real.inputs)) == 2
            and all(self._tensor(x) is not None for x in real.inputs)
        )


def _is_long(real: Value) -> bool:
    """Whether more operators end in real numbers than are worth a try."""
    seen, pending = {real}, [real]
    while pending and len(seen) <= _MOST_OPERATORS:
        inputs = [x for x in pending.pop().inputs if isinstance(x.operator, _WITHIN) and x not in seen]
        seen.update(inputs)
        pending += inputs
    return len(seen) > _MOST_OPERATORS


def _type_of(span: Range, dtype: str) -> QuantizedType | None:
    """The quantization that holds a range of numbers; None of one without ends, or of one number."""
    low, high = span
    smallest, largest = value_range(dtype)
    scale = np.float32((high - low) / (largest - smallest - 1))  # a step less, which the zero point may take
    if not (np.isfinite(scale) and scale > 0):
        return None
    return QuantizedType(scale, round(smallest - low / float(scale)), dtype)
