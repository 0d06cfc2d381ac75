"""SOFTMAX, as `match.relay.softmax` builds it."""

from __future__ import annotations

import numpy as np
import tflite

from match.frontend.tflite.file import Operator
from match.frontend.tflite.reader import Reader
from match.passes import tflite_functions
from match.relay import relay
from match.relay.rewrite import value_range
from match.relay.softmax import LONGEST_ROW
from match.relay.softmax import softmax as integer_softmax


def softmax(read: Reader, operator: Operator) -> relay.Expr:
    """SOFTMAX along the last axis, in steps of 1/256."""
    beta = np.float32(operator.options(tflite.SoftmaxOptions).Beta())
    inputs, output = read.input_quantization(operator), read.output_quantization(operator)
    if not 0 < beta < np.inf:
        raise read.error(operator, f"has a Beta of {beta}; it must be positive")
    if (output.scale, output.zero_point) != (np.float32(1 / 256), value_range(output.dtype)[0]):
        raise read.error(
            operator,
            "has an output with another quantization than the kernel's (scale 1/256, lowest zero point)",
        )
    width = read.tensor(operator).shape[-1]
    if width > LONGEST_ROW:
        raise read.error(operator, f"has rows of {width} elements; integer kernels hold sums of {LONGEST_ROW}")
    exponentials = tflite_functions.exponentials(inputs.scale, beta)
    return integer_softmax(read.expr(operator), width, exponentials, output.dtype)
