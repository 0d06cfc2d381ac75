"""The sums of layers with weights in the scale of their outputs."""

from __future__ import annotations

import numpy as np

from match.arithmetic.interface import Accumulator, QuantizedType, SumArithmetic
from match.arithmetic.line_fit import NoLineError
from match.graph.elements import RequantizeReal
from match.graph.value import Value, computed
from match.quantized.layers import Sums


def scaled(
    sums: Sums,
    accumulator: Accumulator,
    output: QuantizedType,
    clip: tuple[int, int],
    arithmetic: SumArithmetic,
    *,
    exact: bool = True,
) -> Value:
    """A layer's outputs in 8 bits, by a line of its sums, or in floating point where no line describes them.

    Args:
        sums: of the layer.
        accumulator: of these sums.
        output: the quantization of the outputs.
        clip: the least and the largest of them.
        arithmetic: how they are rounded.
        exact: whether the reference is known to compute just these numbers.
    """
    try:
        line = arithmetic.linear(accumulator, output, clip)
    except NoLineError:
        factor = accumulator.input_scale * accumulator.weight_scale / output.scale
        requantize = RequantizeReal(
            offset=accumulator.offset.astype(np.int32),
            factor=factor.astype(np.float32),
            zero_point=output.zero_point,
            clip=clip,
            dtype=output.dtype,
        )
        return sums.laid_out(computed(requantize, sums.value, exact=exact))
    return sums.requantized(line, output.dtype, exact=exact)
