"""Functions of rows: softmax, within one step of what floating point gives."""

from __future__ import annotations

from match.arithmetic import onnxruntime
from match.arithmetic.interface import QuantizedType
from match.graph.rows import LONGEST_REAL_ROW, ProbabilityScale, Softmax
from match.graph.value import Value, computed
from match.rewrites.quantized_groups.quantities import dequantized


def softmax(real: Value, output: QuantizedType, clip: tuple[int, int]) -> Value | None:
    """The softmax of rows; None for rows that are too long, and scales that it does not have."""
    scores = dequantized(real.inputs[0])
    scale = ProbabilityScale.of(onnxruntime.softmax_levels(output.scale))
    if scores is None or scale is None or real.shape[-1] > LONGEST_REAL_ROW or clip != output.limits:
        return None
    exponentials = onnxruntime.softmax_exponentials(scores.quantization.scale)
    rows = Softmax(exponentials=exponentials, dtype=output.dtype, zero=output.zero_point, scale=scale)
    return computed(rows, scores.value, exact=False)
