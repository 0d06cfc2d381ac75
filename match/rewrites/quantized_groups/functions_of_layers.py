"""What follows a layer's outputs that nothing quantizes in front of it, within one step of floating point.

A function of each output, such as ``x * sigmoid(x)`` after sums, is a table of the numbers between which it changes, in
8 bits, or a sum of several (`match.arithmetic.parts_of_functions`): each part is a layer of its own.
"""

from __future__ import annotations

import numpy as np

from match.arithmetic.interface import QuantizedType
from match.arithmetic.parts_of_functions import in_parts, in_steps, reach_of
from match.graph.value import Value
from match.rewrites.quantized_groups.element_functions import function_after
from match.rewrites.quantized_groups.scaled_layers import ScaledLayer
from match.rewrites.quantized_groups.sums_of_parts import sum_of_parts

Limits = tuple[int, int]


def function_of_sums(real: Value, output: QuantizedType, clip: Limits) -> Value | None:
    """A function of each output of a layer."""
    layer, function = function_after(real, ScaledLayer.of) or (None, None)
    if layer is None or function is None:
        return None
    steps = in_steps(function, output, clip)
    reach = reach_of(steps)
    parted = None if reach is None else in_parts(steps, output, reach)
    if parted is None:
        return None
    maps = [levels for part in parted.parts if (levels := layer.levels(part.low, np.float32(part.step))) is not None]
    return sum_of_parts(parted, maps, clip) if len(maps) == len(parted.parts) else None
