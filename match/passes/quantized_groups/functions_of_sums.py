"""Functions of a layer's outputs that nothing quantizes in front of them, such as ``x * sigmoid(x)`` behind sums.

The layer's outputs become 8 bits of the numbers between which the function changes, or two times 8 bits, each from a
layer of its own; the function is a table, or a sum of two (`match.passes.parts_of_functions`). Outputs are within one
step of what the reference computes in floating point.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from match.arithmetic.interface import QuantizedType
from match.ir.constants import LOOKUP_SUM_FRACTION
from match.ir.dtypes import value_range
from match.passes.element_functions import ELEMENTWISE, ElementFunction, function_of
from match.passes.parts_of_functions import Reals, parts_of, tables_of
from match.passes.quantized_groups.linear import is_layer, linear
from match.relay import integer_form, relay
from match.relay.objects import operands
from match.relay.rewrite import New, is_call, shape

_DTYPE = "uint8"
_LEAST, _LARGEST = -20, 20
"""Powers of two between which it is looked for where a function changes last."""

_UNCHANGED = 1 / 16
"""Steps that a function may change by beyond that."""


def function_of_sums(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """A function of each output of a convolution or dense layer."""
    layer, function = _layer_behind(expr) or (None, None)
    if layer is None or function is None:
        return None
    steps = _Steps(function, output)
    reach = _reach(steps)
    parts = None if reach is None else parts_of(steps, reach)
    if parts is None:
        return None
    extents = shape(layer)
    maps: list[relay.Expr] = []
    for part in parts:
        first = np.full((extents[1], *(1 for _ in extents[2:])), -part.low, np.float32)
        levels = QuantizedType(np.float32(part.step), value_range(_DTYPE)[0], _DTYPE)
        part_of = linear(relay.add(layer, relay.const(first)), levels, new)
        if part_of is None:
            return None
        maps.append(part_of)
    tables = tables_of(steps, parts)
    tables[0] += 0.5
    added = np.rint(np.ldexp(tables, LOOKUP_SUM_FRACTION)).astype(np.int64)
    clip = value_range(output.dtype)
    if len(maps) == 1:
        outputs = (added[0] >> LOOKUP_SUM_FRACTION).clip(*clip)
        return integer_form.lookup(maps[0], outputs, _DTYPE, output.dtype, real=True)
    return integer_form.lookup_sum(maps[0], maps[1], (_DTYPE, _DTYPE), added, clip, output.dtype, real=True)


@dataclass(frozen=True, eq=False)
class _Steps:
    """A function in steps of what it is quantized to, clipped but not rounded."""

    function: ElementFunction
    output: QuantizedType

    def __call__(self, numbers: Reals) -> Reals:
        values = self.function(numbers.reshape(-1).astype(np.float32)).astype(np.float64).reshape(numbers.shape)
        steps = values / float(self.output.scale) + self.output.zero_point
        return steps.clip(*value_range(self.output.dtype))


def _reach(steps: _Steps) -> float | None:
    """The least power of two beyond that a function of numbers does not change; None if it goes on changing."""
    sides = [sign * np.ldexp(np.linspace(0.5, 1, 256), _LARGEST) for sign in (1, -1)]
    ends = [steps(side[-1:]) for side in sides]
    for power in range(_LARGEST, _LEAST, -1):
        changed = (np.abs(steps(side) - end).max() > _UNCHANGED for side, end in zip(sides, ends, strict=True))
        if any(changed):
            return None if power == _LARGEST else 2.0**power
        sides = [side / 2 for side in sides]
    return None


def _layer_behind(expr: relay.Expr) -> tuple[relay.Expr, ElementFunction] | None:
    """The outputs of a layer, in floating point, that an expression is a function of, and the function."""
    pending, seen = [expr], {expr}
    for one in pending:
        if one is not expr and is_layer(one):
            function = function_of(expr, one)
            if function is not None and function.sources == (one,) and function.axis is None:
                return one, function
        if is_call(one, *ELEMENTWISE):
            pending += [operand for operand in operands(one) if operand not in seen]
            seen.update(operands(one))
    return None
