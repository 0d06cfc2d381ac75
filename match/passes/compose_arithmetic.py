"""Integer networks: chains of integer operators that bring values back to 8 bits take the integer form.

Such a chain ends in ``cast(clip(...), 8-bit)`` and is made of additions, multiplications, shifts, divisions and clips
by constants. Around the sums of a convolution, dense layer or pooling it becomes one requantization; around one
8-bit tensor a table; around two what gives the same results for all pairs (`functions_of_two`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from match.arithmetic.line_fit import NoLineError, fit_line
from match.ir.dtypes import levels, value_range
from match.ir.requantization import Int64Array, Requantization
from match.ir.step_function import StepFunction
from match.passes.functions_of_two import function_of_two
from match.relay import integer_form, relay, tvm
from match.relay.readers import read_requantized
from match.relay.rewrite import New, constant, dtype, is_8bit, is_call, operator_name, rewrite, shape

Numbers = npt.NDArray[Any]

_STEPS = ("add", "multiply", "right_shift", "floor_divide", "clip", "maximum", "cast")
_LARGEST_SUM, _LARGEST = 1 << 31, 1 << 62


@dataclass(frozen=True)
class ComposeArithmetic:
    """Writes chains of integer operators in integer form, where there is one; others stay as they are."""

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, _rule)


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    if not (
        is_8bit(call) and is_call(call, "cast") and is_call(call.args[0], "clip") and dtype(call.args[0]) == "int64"
    ):
        return None
    if read_requantized(call) is not None:  # in integer form already, with as many parameters as it has to have
        return None
    clip = int(call.args[0].attrs.a_min), int(call.args[0].attrs.a_max)
    leaves = _leaves(call.args[0])
    if leaves is None or not all(shape(leaf) for leaf in leaves):
        return None  # single numbers have no channels
    if len(leaves) == 1 and dtype(leaves[0]) == "int32":
        requantization = _requantization(call.args[0].args[0], leaves[0], clip) or _tabulated(
            call.args[0], leaves[0], clip
        )
        return None if requantization is None else integer_form.requantize(new(leaves[0]), requantization, dtype(call))
    if not all(is_8bit(leaf) for leaf in leaves) or not _uniform(call.args[0]):
        return None
    if len(leaves) == 1:
        (x,) = leaves
        outputs = _evaluate(call.args[0], {x: levels(dtype(x))})
        return integer_form.lookup(new(x), outputs, dtype(x), dtype(call))
    if len(leaves) == 2 and shape(leaves[0]) == shape(leaves[1]):
        return _of_pairs(call, (leaves[0], leaves[1]), clip, new)
    return None


def _leaves(expr: relay.Expr) -> list[relay.Expr] | None:
    """What a chain is computed from: sums of 32 bits or tensors of 8; None if something else is in it."""
    found: list[relay.Expr] = []
    stack = [expr]
    while stack:
        current = stack.pop()
        if constant(current) is not None:
            continue
        if current is not expr and (is_8bit(current) or dtype(current) == "int32"):
            if current not in found:
                found.append(current)
        elif operator_name(current) in _STEPS:
            stack += reversed(current.args)
        else:
            return None
    return found


def _requantization(expr: relay.Expr, leaf: relay.Expr, clip: tuple[int, int]) -> Requantization | None:
    """``(leaf * M + B) >> S`` per channel, if that is what the chain computes for any sum of 32 bits."""
    channels = shape(leaf)[-1]
    steps: list[tuple[str, Int64Array]] = []
    while expr != leaf:
        name = operator_name(expr)
        if name == "cast":
            expr = expr.args[0]
            continue
        if name == "clip":
            return None
        operand, number = expr.args if constant(expr.args[1]) is not None else reversed(expr.args)
        values = constant(number)
        if values is None or values.size not in (1, channels) or (values.size > 1 and values.shape[-1] != channels):
            return None
        steps.append((name, np.broadcast_to(values.astype(np.int64).reshape(-1), (channels,))))
        expr = operand
    multiplier, bias = np.ones(channels, object), np.zeros(channels, object)
    shift = np.zeros(channels, np.int64)
    for position, (name, values) in enumerate(reversed(steps)):
        last = position == len(steps) - 1
        if name == "multiply":
            multiplier, bias = multiplier * values, bias * values
        elif name == "add":
            bias = bias + values
        elif name == "right_shift" and last:
            shift = values
        else:
            return None
    if np.any(np.abs(multiplier) * _LARGEST_SUM + np.abs(bias) >= _LARGEST):
        return None
    return Requantization(multiplier.astype(np.int64), bias.astype(np.int64), np.array(shift), clip)


def _tabulated(expr: relay.Expr, leaf: relay.Expr, clip: tuple[int, int]) -> Requantization | None:
    """The requantization of window sums whose outputs for all possible sums are those of the chain."""
    sums = _window_sums(leaf)
    if sums is None or not _uniform(expr):
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


def _of_pairs(call: relay.Call, operands: tuple[relay.Expr, relay.Expr], clip: tuple[int, int], new: New) -> relay.Expr:
    """A function of two tensors, equal for all pairs of their values."""
    dtypes = dtype(operands[0]), dtype(operands[1])
    a, b = (levels(each) for each in dtypes)
    outputs = _evaluate(call.args[0], {operands[0]: a[:, None], operands[1]: b[None, :]})
    middle = len(a) // 2, len(b) // 2
    exact = _evaluate_smooth(call.args[0].args[0], dict(zip(operands, (a[:, None], b[None, :]), strict=True)))
    slopes = (
        float(exact[middle[0] + 1, middle[1]] - exact[middle]),
        float(exact[middle[0], middle[1] + 1] - exact[middle]),
    )
    first, second = (new(x) for x in operands)
    return function_of_two(first, second, outputs, dtypes, slopes, clip, dtype(call))


def _uniform(expr: relay.Expr) -> bool:
    """Whether all constants of a chain are single numbers."""
    stack, result = [expr], True
    while stack and result:
        current = stack.pop()
        array = constant(current)
        if array is not None:
            result = array.size == 1
        elif current is expr or not (is_8bit(current) or dtype(current) == "int32"):
            stack += current.args
    return result


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
        case "add":
            return x + others[0]
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
        case _:
            return x
