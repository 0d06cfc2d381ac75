"""Products of two activations."""

from __future__ import annotations

from match.arithmetic.interface import QuantizedType
from match.arithmetic.line_fit import NoLineError
from match.arithmetic.onnxruntime import OnnxruntimeArithmetic
from match.graph.value import Value, computed
from match.quantized.matrices import matrices_of
from match.rewrites.quantized_groups.quantities import dequantized


def matrices(real: Value, output: QuantizedType, clip: tuple[int, int]) -> Value | None:
    """Products of matrices, of which one may be constant; None where integers do not express the requantization."""
    a, b = (dequantized(x) for x in real.inputs)
    if a is None or b is None or not (a.value.inputs or b.value.inputs):
        return None
    types = a.quantization, b.quantization
    try:
        product = matrices_of(a.value.shape[2], types, output, clip, OnnxruntimeArithmetic())
    except NoLineError:
        return None
    return computed(product, a.value, b.value, exact=real.exact)
