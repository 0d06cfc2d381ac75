"""Normalizations of rows become integers, and so do functions of each element of what is normalized.

The reference computes in floating point. The outputs are within one step of the reference's.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from match.arithmetic.element_functions import ElementFunction
from match.arithmetic.interface import QuantizedType
from match.arithmetic.parts_of_functions import Reals, in_parts, in_steps
from match.graph.make import concatenated, cut, reshaped, transposed
from match.graph.moves import Move
from match.graph.reductions import RealNormalization
from match.graph.value import Value, computed
from match.quantized.normalized_rows import NormalizedRow, Steps
from match.rewrites.quantized_groups.element_functions import function_after, with_constant
from match.rewrites.quantized_groups.quantities import dequantized
from match.rewrites.quantized_groups.sums_of_parts import sum_of_parts

_MOST_PARTS = 64
"""The most rows with gains of their own: each becomes an operator."""

_OfRow = Callable[[NormalizedRow, Value, QuantizedType], Value | None]
"""What becomes of rows of 8 bits with a quantization, normalized alike; None of some."""


@dataclass(frozen=True, eq=False)
class _Normalized:
    """A normalization of a tensor, times a gain, with a bias: real numbers that are broadcast to the result."""

    operator: RealNormalization
    x: Value
    gain: Reals
    bias: Reals


def normalization(real: Value, output: QuantizedType, clip: tuple[int, int]) -> Value | None:
    """A normalization, or a function of each element of one; None for other numbers, and where integers do not fit."""
    found = _normalized(real)
    if found is not None:
        steps = Steps(float(output.scale), output.zero_point, clip, output.dtype)
        return _by_rows(real, found, lambda row, x, own: _rows(row, x, own, steps))
    after, function = function_after(real, _normalized) or (None, None)
    if after is None or function is None:
        return None
    of_row = _function(after, function, output, clip)
    return None if of_row is None else _by_rows(real, after, of_row)


def _normalized(real: Value) -> _Normalized | None:
    """A normalization, maybe in another shape, with gains and a bias."""
    whole, bias, gain = real, np.zeros(()), np.ones(())
    if (found := with_constant(real, "add")) is not None:
        real, bias = found
    while (found := with_constant(real, "multiply")) is not None:
        real, gain = found[0], gain * found[1]
    if isinstance(real.operator, Move) and real.operator.keeps_order:
        (real,) = real.inputs
    operator = real.operator
    if not isinstance(operator, RealNormalization):
        return None
    rank = len(real.shape)
    if real.shape != whole.shape and operator.axes != tuple(range(rank - len(operator.axes), rank)):
        return None
    return _Normalized(operator, real.inputs[0], *(np.broadcast_to(numbers, whole.shape) for numbers in (gain, bias)))


def _function(
    found: _Normalized, function: ElementFunction, output: QuantizedType, clip: tuple[int, int]
) -> _OfRow | None:
    """A function of a normalization: of one tensor of 8 bits, or the sum of what it is of two."""
    low, high = output.limits
    width = found.operator.count(found.x.tensor)
    gain, bias = (float(np.abs(values).max()) for values in (found.gain, found.bias))
    parted = in_parts(in_steps(function, output, clip), output, gain * width**0.5 + bias)
    if parted is None:
        return None

    def of_row(row: NormalizedRow, x: Value, own: QuantizedType) -> Value | None:
        steps = [Steps(part.step, low - part.low / part.step, (low, high), output.dtype) for part in parted.parts]
        maps = [normal for part in steps if (normal := _rows(row, x, own, part)) is not None]
        return sum_of_parts(parted, maps, clip) if len(maps) == len(steps) else None

    return of_row


def _rows(row: NormalizedRow, x: Value, own: QuantizedType, steps: Steps) -> Value | None:
    operator = row.of(own, steps)
    return None if operator is None else computed(operator, x, exact=False)


def _by_rows(real: Value, found: _Normalized, of_row: _OfRow) -> Value | None:
    """What becomes of a normalization's rows, which lie along axes that are put last."""
    source, operator, extents = dequantized(found.x), found.operator, found.x.shape
    if source is None or not np.isfinite([operator.epsilon, *found.gain.flat, *found.bias.flat]).all():
        return None
    order = [*(axis for axis in range(len(extents)) if axis not in operator.axes), *operator.axes]
    width = operator.count(found.x.tensor)
    gain, bias = (
        (values.transpose(order) if values.shape == extents else values).reshape(-1, width)
        for values in (found.gain, found.bias)
    )
    starts = _changes(gain, bias)
    if len(starts) > _MOST_PARTS:
        return None
    rows = transposed(source.value, order)
    turned = rows.shape
    if len(starts) > 1 or rows.shape[-1] != width:
        rows = reshaped(rows, (-1, width))
    parts: list[Value] = []
    for start, end in itertools.pairwise([*starts, len(gain)]):
        row = NormalizedRow(operator.epsilon, operator.centred, gain[start], bias[start])
        made = of_row(row, rows if len(starts) == 1 else cut(rows, 0, start, end), source.quantization)
        if made is None:
            return None
        parts.append(made)
    result = reshaped(concatenated(parts, 0), turned)
    return reshaped(transposed(result, np.argsort(order).tolist()), real.shape)


def _changes(*parameters: npt.NDArray[np.float64]) -> list[int]:
    """The rows that have other parameters than the row before, the first one among them."""
    changed = np.logical_or.reduce([np.any(values[1:] != values[:-1], axis=1) for values in parameters])
    return [0, *(np.flatnonzero(changed) + 1).tolist()]
