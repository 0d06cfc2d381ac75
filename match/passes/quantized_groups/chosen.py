"""A choice that a constant mask makes for each element: products with 0 and 1, exact as quantizing chooses nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from match.arithmetic.interface import QuantizedType
from match.arithmetic.onnxruntime import quantize
from match.ir.dtypes import value_range
from match.passes.quantized_groups.quantities import parameters, rescaled
from match.passes.quantized_groups.tables import table
from match.relay import relay
from match.relay.qnn import dequantized, real_constant
from match.relay.rewrite import New, constant, is_call, shape

Mask = npt.NDArray[np.bool_]

_STEP = np.float32(1)
"""The scale of all operands: 8-bit values are computed with as the integers that they are."""


def chosen(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """Each element is one of a tensor, or one of another tensor or of constants, as a constant mask has it.

    With one number for all, a mask of channels makes a table for each channel instead.
    """
    mask = constant(expr.args[0]) if is_call(expr, "where") else None
    if mask is None or not isinstance(expr, relay.Call):
        return None
    masks: tuple[Mask, Mask] = mask.astype(bool), ~mask.astype(bool)
    kept: list[tuple[relay.Expr, Mask]] = []
    fixed: list[tuple[npt.NDArray[np.int64], Mask]] = []
    for operand, own in zip(expr.args[1:], masks, strict=True):
        numbers = real_constant(operand)
        if numbers is not None:
            fixed.append((quantize(numbers, output, value_range(output.dtype)), own))
        elif shape(operand) == shape(expr) and (levels := _levels(operand, output, new)) is not None:
            kept.append((levels, own))
    if not kept or len(kept) + len(fixed) != 2:
        return None
    dtype, low = output.dtype, value_range(output.dtype)[0]
    if fixed and fixed[0][0].size == 1 and sum(extent > 1 for extent in mask.shape) < 2:
        return None
    if fixed and np.ptp(fixed[0][0]) == 0:  # the distance from that number is kept, or is nothing
        return _masked(*kept[0], int(fixed[0][0].flat[0]), dtype)
    parts = [_masked(x, own, low, dtype) for x, own in kept]
    for levels, own in fixed:
        extents = np.broadcast_shapes(levels.shape, own.shape)
        each = np.where(own, levels, low) if len(extents) else np.asarray(levels)
        parts.append(relay.const(each.astype(dtype)))
    kinds = [QuantizedType(_STEP, low, dtype)] * 3
    return relay.qnn.op.add(*parts, *(each for kind in kinds for each in parameters(kind)))


def _levels(operand: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """A tensor, or a function of each of its elements (scores of attention over a number), as the output is stored."""
    real = dequantized(operand)
    return table(operand, output, new) if real is None else rescaled(new(real.x), real.quantization, output)


def _masked(x: relay.Expr, mask: Mask, number: int, dtype: str) -> relay.Expr:
    """An 8-bit tensor where a mask is set, a number elsewhere."""
    kinds = [QuantizedType(_STEP, zero, dtype) for zero in (number, 0, number)]
    ones: Any = relay.const(mask.astype(dtype))
    return relay.qnn.op.mul(x, ones, *(each for kind in kinds for each in parameters(kind)))
