"""A choice that a constant mask makes for each element: products with 0 and 1, exact as quantizing chooses nothing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from match.arithmetic.interface import QuantizedType
from match.arithmetic.onnxruntime import quantize
from match.graph.constants import numbers_of
from match.graph.make import arithmetic, array_of, constant
from match.graph.pairs import Addition
from match.graph.real_functions import is_function
from match.graph.reals import RealFunction
from match.graph.value import Value, computed
from match.rewrites.quantized_groups.pairs import multiplied
from match.rewrites.quantized_groups.quantities import Dequantized

Limits = tuple[int, int]
Mask = npt.NDArray[np.bool_]


def chosen(
    real: Value, output: QuantizedType, clip: Limits, quantized: Callable[[Value], Value | None]
) -> Value | None:
    """What `quantized` makes of the tensors that are chosen from, with the outputs' quantization; else None.

    Each element is one of a tensor, or one of another tensor or of constants, as a constant mask has it.

    With one number for all, a mask of channels makes a table for each channel instead.
    """
    if not is_function(real, "where"):
        return None
    mask = array_of(real.inputs[0])
    if mask is None:
        return _of_two_numbers(real, output, clip)
    masks: tuple[Mask, Mask] = mask.astype(np.bool_), ~mask.astype(np.bool_)
    kept: list[tuple[Value, Mask]] = []
    fixed: list[tuple[npt.NDArray[np.int64], Mask]] = []
    for x, own in zip(real.inputs[1:], masks, strict=True):
        numbers = numbers_of(x)
        levels = None if numbers is not None or x.shape != real.shape else quantized(x)
        if numbers is not None:
            fixed.append((quantize(numbers.astype(np.float32), output, clip), own))
        elif levels is not None:
            kept.append((levels, own))
    if not kept or len(kept) + len(fixed) != 2:
        return None
    if fixed and fixed[0][0].size == 1 and sum(extent > 1 for extent in mask.shape) < 2:
        return None
    dtype, low = output.dtype, output.limits[0]
    if fixed and np.ptp(fixed[0][0]) == 0:  # the distance from that number is kept, or is nothing
        return _masked(*kept[0], int(fixed[0][0].flat[0]), dtype)
    parts = [_masked(x, own, low, dtype) for x, own in kept]
    for levels, own in fixed:
        parts.append(constant(np.where(own, levels, low).astype(dtype)))
    total = Addition(multipliers=(1, 1), bias=-low, shift=0, clip=output.limits, dtype=dtype)
    return computed(total, *parts)


def _of_two_numbers(real: Value, output: QuantizedType, clip: Limits) -> Value | None:
    """A choice between two constants by truth values that are computed; None of other tensors."""
    condition, *others = real.inputs
    numbers = [numbers_of(x) for x in others]
    levels = [
        constant(quantize(x.astype(np.float32), output, clip).astype(output.dtype)) for x in numbers if x is not None
    ]
    if len(levels) < 2 or isinstance(condition.operator, RealFunction):
        return None
    return arithmetic("where", condition, *levels)


def _masked(x: Value, mask: Mask, number: int, dtype: str) -> Value:
    """An 8-bit tensor where a mask is set, a number elsewhere."""
    own, ones = (QuantizedType(np.float32(1), zero, dtype) for zero in (number, 0))
    return multiplied(Dequantized(x, own), Dequantized(constant(mask.astype(dtype)), ones), own, own.limits)
