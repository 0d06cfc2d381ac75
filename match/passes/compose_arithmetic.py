"""Integer networks: chains of integer operators that bring values back to 8 bits take the integer form.

Such a chain ends in ``cast(clip(...), 8-bit)`` and is made of additions, multiplications, shifts, divisions and clips
by constants, in 32 or 64 bits that it never leaves. Around the sums of a convolution, dense layer or pooling, or a
product of two tensors, it becomes one requantization; around one 8-bit tensor a table; around two what gives the same
results for all pairs (`functions_of_two`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from match.arithmetic.line_fit import NoLineError, fit_line
from match.ir.dtypes import levels, value_range
from match.ir.requantization import Int64Array, Requantization
from match.ir.step_function import StepFunction
from match.passes.chain_ranges import channel_values, stays_within
from match.passes.functions_of_two import function_of_two
from match.relay import integer_form, relay, tvm
from match.relay.readers import (
    read_absolute_difference,
    read_lookup_line,
    read_lookup_sum,
    read_requantized,
)
from match.relay.rewrite import New, constant, dtype, is_8bit, is_call, operator_name, rewrite, shape

Numbers = npt.NDArray[Any]

_STEPS = (
    *("add", "subtract", "multiply", "right_shift", "floor_divide", "clip", "maximum", "cast"),
    *("nn.bias_add", "nn.relu"),
)
_WIDE = ("int32", "int64")
_IN_FORM = (read_requantized, read_lookup_sum, read_lookup_line, read_absolute_difference)
"""Readers of chains that are in integer form."""

_LARGEST_SUM, _LARGEST, _LARGEST_SHIFT = 1 << 31, 1 << 62, 63


@dataclass(frozen=True)
class ComposeArithmetic:
    """Writes chains of integer operators in integer form, where there is one; others stay as they are."""

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, _rule)


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    if not is_8bit(call) or not is_call(call, "cast"):
        return None
    top = call.args[0]
    while is_call(top, "cast") and dtype(top) in _WIDE:
        top = top.args[0]
    if not is_call(top, "clip") or dtype(top) not in _WIDE:
        return None
    if any(read(call) is not None for read in _IN_FORM):  # already, with as many parameters as it has to have
        return None
    clip, leaves = (int(top.attrs.a_min), int(top.attrs.a_max)), _leaves(top)
    low, high = value_range(dtype(call))
    if leaves is None or not all(map(shape, leaves)) or not low <= clip[0] <= clip[1] <= high:
        return None  # single numbers have no channels
    if not stays_within(top, leaves):
        return None
    if len(leaves) == 1 and dtype(leaves[0]) == "int32":
        return _of_sums(top, leaves[0], clip, dtype(call), new)
    if not all(is_8bit(leaf) for leaf in leaves) or not _uniform(top, leaves):
        return None
    if len(leaves) == 1:
        (x,) = leaves
        return integer_form.lookup(new(x), _evaluate(top, {x: levels(dtype(x))}), dtype(x), dtype(call))
    if len(leaves) == 2 and shape(leaves[0]) == shape(leaves[1]):
        return _of_pairs(top, (leaves[0], leaves[1]), clip, dtype(call), new)
    return None


def _leaves(expr: relay.Expr) -> list[relay.Expr] | None:
    """What a chain is computed from: sums of 32 bits or tensors of 8; None if something else is in it."""
    found: list[relay.Expr] = []
    stack = [expr]
    while stack:
        current = stack.pop()
        if constant(current) is not None:
            continue
        if current is not expr and (is_8bit(current) or _begins_a_chain(current)):
            if current not in found:
                found.append(current)
        elif operator_name(current) in _STEPS:
            stack += reversed(current.args)
        else:
            return None
    return found


def _begins_a_chain(expr: relay.Expr) -> bool:
    """Whether an expression is int32, and a product of two tensors or no step of a chain."""
    product = is_call(expr, "multiply") and all(constant(factor) is None for factor in expr.args)
    return dtype(expr) == "int32" and (product or operator_name(expr) not in _STEPS)


def _of_sums(top: relay.Call, leaf: relay.Expr, clip: tuple[int, int], out_dtype: str, new: New) -> relay.Expr | None:
    """A chain that requantizes sums or products."""
    requantization = _requantization(top, leaf, clip) or _tabulated(top, leaf, clip)
    if requantization is None:
        return None
    products: list[relay.Expr] = leaf.args[:] if is_call(leaf, "multiply") else []
    factors = [factor.args[0] for factor in products if is_call(factor, "cast")]
    if len(factors) == 2 and all(map(is_8bit, factors)) and _uniform(top, [leaf]):
        one = requantization.take(np.zeros(1, np.intp))
        return integer_form.multiply(new(factors[0]), new(factors[1]), (0, 0), one, out_dtype)
    return integer_form.requantize(new(leaf), requantization, out_dtype)


def _requantization(expr: relay.Expr, leaf: relay.Expr, clip: tuple[int, int]) -> Requantization | None:
    """``(leaf * M + B) >> S`` per channel, if that is what the chain computes for any sum of 32 bits."""
    channels = shape(leaf)[-1]
    steps: list[tuple[str, Numbers]] = []
    while expr != leaf:
        name, operand = operator_name(expr), expr.args[0]
        if name == "nn.relu":
            steps.append(("maximum", np.zeros(channels, object)))
        elif name == "clip":
            ends = ("minimum", expr.attrs.a_max), ("maximum", expr.attrs.a_min)
            steps += [(bound, np.full(channels, int(end), object)) for bound, end in ends]
        elif name != "cast":
            at = 1 if constant(expr.args[1]) is not None else 0
            values, operand = channel_values(expr.args[at], channels), expr.args[1 - at]
            if values is None or (at == 0 and name not in ("add", "multiply", "maximum")):
                return None
            steps.append(("add", -values) if name == "subtract" else (name.removeprefix("nn.bias_"), values))
        expr = operand
    return _line(steps[::-1], channels, clip)


def _line(steps: Sequence[tuple[str, Numbers]], channels: int, clip: tuple[int, int]) -> Requantization | None:
    """Steps, the first one first, as one line that is clipped at the end."""
    multiplier, bias, shift = np.ones(channels, object), np.zeros(channels, object), np.zeros(channels, object)
    low, high = (np.full(channels, sign * _LARGEST, object) for sign in (-1, 1))
    for position, (name, values) in enumerate(steps):
        limited = any(step in ("maximum", "minimum") for step, _ in steps[:position])
        if name == "multiply" and not np.any(shift) and (not limited or np.all(values > 0)):
            multiplier, bias = multiplier * values, bias * values
            low, high = (low * values, high * values) if limited else (low, high)
        elif name == "add":
            bias = bias + (values << shift)
            low, high = (low + values, high + values) if limited else (low, high)
        elif name == "right_shift":
            shift = shift + values
            low, high = (low >> values, high >> values) if limited else (low, high)
        elif name == "maximum":
            low, high = np.maximum(low, values), np.maximum(high, values)
        elif name == "minimum":
            low, high = np.minimum(low, values), np.minimum(high, values)
        else:
            return None
    low, high = np.clip(low, *clip), np.clip(high, *clip)
    small = np.all(np.abs(multiplier) * _LARGEST_SUM + np.abs(bias) < _LARGEST) and np.all(shift < _LARGEST_SHIFT)
    if not small or np.any(low != low[0]) or np.any(high != high[0]):
        return None
    ends = int(low[0]), int(high[0])
    return Requantization(multiplier.astype(np.int64), bias.astype(np.int64), shift.astype(np.int64), ends)


def _tabulated(expr: relay.Expr, leaf: relay.Expr, clip: tuple[int, int]) -> Requantization | None:
    """The requantization of window sums whose outputs for all possible sums are those of the chain."""
    sums = _window_sums(leaf)
    if sums is None or not _uniform(expr, [leaf]):
        return None
    outputs = _evaluate(expr, {leaf: sums})
    if np.any(np.diff(outputs) < 0):
        return None
    thresholds = sums[0] + np.searchsorted(outputs, np.arange(clip[0] + 1, clip[1] + 1))
    ends = sums[:1], sums[-1:]
    steps = StepFunction(*ends, clip, thresholds[None, :], np.zeros(1, np.bool_))
    rising = np.flatnonzero((outputs > outputs[0]) & (outputs < outputs[-1]))
    slope = 1.0 if len(rising) < 2 else (outputs[rising[-1]] - outputs[rising[0]]) / max(1, rising[-1] - rising[0])
    try:
        line = fit_line(steps, np.array([slope or 1.0]))
    except NoLineError:
        return None
    return line.take(np.zeros(shape(leaf)[-1], np.intp))


def _window_sums(leaf: relay.Expr) -> Int64Array | None:
    """Every sum that a pooling of 8-bit values can have, ascending."""
    if is_call(leaf, "nn.avg_pool2d") and is_call(leaf.args[0], "multiply"):
        wide, count = leaf.args[0].args[0], int(leaf.attrs.pool_size[0]) * int(leaf.attrs.pool_size[1])
    elif is_call(leaf, "sum"):
        wide = leaf.args[0]
        count = int(np.prod(shape(wide)) // np.prod(shape(leaf)))
    else:
        return None
    if not is_call(wide, "cast") or not is_8bit(wide.args[0]):
        return None
    low, high = value_range(dtype(wide.args[0]))
    return np.arange(low * count, high * count + 1, dtype=np.int64)


def _of_pairs(
    top: relay.Call,
    operands: tuple[relay.Expr, relay.Expr],
    clip: tuple[int, int],
    out_dtype: str,
    new: New,
) -> relay.Expr:
    """A function of two tensors, equal for all pairs of their values."""
    dtypes = dtype(operands[0]), dtype(operands[1])
    a, b = (levels(each) for each in dtypes)
    outputs = _evaluate(top, {operands[0]: a[:, None], operands[1]: b[None, :]})
    middle = len(a) // 2, len(b) // 2
    exact = _evaluate_smooth(top.args[0], dict(zip(operands, (a[:, None], b[None, :]), strict=True)))
    slopes = (
        float(exact[middle[0] + 1, middle[1]] - exact[middle]),
        float(exact[middle[0], middle[1] + 1] - exact[middle]),
    )
    first, second = (new(x) for x in operands)
    return function_of_two(first, second, outputs, dtypes, slopes, clip, out_dtype)


def _uniform(expr: relay.Expr, leaves: Sequence[relay.Expr]) -> bool:
    """Whether all constants of a chain are single numbers."""
    stack = [expr]
    while stack:
        current = stack.pop()
        array = constant(current)
        if array is not None and array.size != 1:
            return False
        if array is None and current not in leaves:
            stack += current.args
    return True


def _evaluate(expr: relay.Expr, values: Mapping[relay.Expr, Int64Array]) -> Int64Array:
    """What a chain computes, in 64 bits."""
    return _walk(expr, values, smooth=False).astype(np.int64)


def _evaluate_smooth(expr: relay.Expr, values: Mapping[relay.Expr, Int64Array]) -> npt.NDArray[np.float64]:
    """What it would compute without rounding and clipping: its slopes are those of the plane near it."""
    return _walk(expr, values, smooth=True).astype(np.float64)


def _walk(expr: relay.Expr, values: Mapping[relay.Expr, Int64Array], *, smooth: bool) -> Numbers:
    if expr in values:
        return values[expr]
    array = constant(expr)
    if array is not None:
        return array.reshape(-1)[0]
    x, *others = (_walk(argument, values, smooth=smooth) for argument in expr.args)
    match operator_name(expr):
        case "add" | "nn.bias_add":
            return x + others[0]
        case "subtract":
            return x - others[0]
        case "multiply":
            return x * others[0]
        case "right_shift":
            return x / 2.0 ** others[0] if smooth else x >> others[0]
        case "floor_divide":
            return x / others[0] if smooth else x // others[0]
        case "clip":
            return x if smooth else np.clip(x, int(expr.attrs.a_min), int(expr.attrs.a_max))
        case "maximum":
            return x if smooth else np.maximum(x, others[0])
        case "nn.relu":
            return x if smooth else np.maximum(x, 0)
        case _:
            return x
