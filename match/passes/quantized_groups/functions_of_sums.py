"""Functions of a layer's outputs that nothing quantizes in front of them, such as ``x * sigmoid(x)`` after sums.

The layer's outputs become 8 bits of the numbers between which the function changes, or two times 8 bits, each from a
layer of its own; the function is a table, or a sum of two (`match.arithmetic.parts_of_functions`). Outputs are within
one step of what the reference computes in floating point.
"""

from __future__ import annotations

import numpy as np

from match.arithmetic.interface import QuantizedType
from match.arithmetic.parts_of_functions import in_parts, in_steps, reach_of
from match.passes.element_functions import function_behind
from match.passes.parts_added import added
from match.passes.quantized_groups.linear import LEVEL_DTYPE, layer_itself, linear_levels
from match.relay import relay
from match.relay.rewrite import New


def function_of_sums(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """A function of each output of a convolution or dense layer."""
    layer, function = function_behind(expr, layer_itself) or (None, None)
    if layer is None or function is None:
        return None
    steps = in_steps(function, output)
    reach = reach_of(steps)
    parted = None if reach is None else in_parts(steps, output, reach)
    if parted is None:
        return None
    maps: list[relay.Expr] = []
    for part in parted.parts:
        levels = linear_levels(layer, part.low, np.float32(part.step), new)
        if levels is None:
            return None
        maps.append(levels.x)
    return added(parted, maps, LEVEL_DTYPE)
