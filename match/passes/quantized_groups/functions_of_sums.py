"""Functions of a layer's outputs that nothing quantizes in front of them, such as ``x * sigmoid(x)`` behind sums.

The layer's outputs become 8 bits of the numbers between which the function changes, or two times 8 bits, each from a
layer of its own; the function is a table, or a sum of two (`match.passes.parts_of_functions`). Outputs are within one
step of what the reference computes in floating point.
"""

from __future__ import annotations

import numpy as np

from match.arithmetic.interface import QuantizedType
from match.passes.element_functions import function_behind
from match.passes.parts_of_functions import UNCHANGED, Steps, in_parts, in_steps
from match.passes.quantized_groups.linear import LEVEL_DTYPE, is_layer, linear_levels
from match.relay import relay
from match.relay.rewrite import New

_LEAST, _LARGEST = -20, 20
"""Powers of two between which it is looked for where a function changes last."""


def function_of_sums(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """A function of each output of a convolution or dense layer."""
    layer, function = function_behind(expr, _layer) or (None, None)
    if layer is None or function is None:
        return None
    steps = in_steps(function, output)
    reach = _reach(steps)
    parted = None if reach is None else in_parts(steps, output, reach)
    if parted is None:
        return None
    maps: list[relay.Expr] = []
    for part in parted.parts:
        levels = linear_levels(layer, part.low, np.float32(part.step), new)
        if levels is None:
            return None
        maps.append(levels.x)
    return parted.of(maps, LEVEL_DTYPE)


def _layer(expr: relay.Expr) -> relay.Expr | None:
    """An expression, if it is the outputs of a layer in floating point."""
    return expr if is_layer(expr) else None


def _reach(steps: Steps) -> float | None:
    """The least power of two beyond that a function of numbers does not change; None if it goes on changing."""
    sides = [sign * np.ldexp(np.linspace(0.5, 1, 256), _LARGEST) for sign in (1, -1)]
    ends = [steps(side[-1:]) for side in sides]
    for power in range(_LARGEST, _LEAST, -1):
        changed = (np.abs(steps(side) - end).max() > UNCHANGED for side, end in zip(sides, ends, strict=True))
        if any(changed):
            return None if power == _LARGEST else 2.0**power
        sides = [side / 2 for side in sides]
    return None
