"""Approximated functions of one 8-bit tensor that nothing quantizes, such as scores after a logistic function.

They are read from a table of 256 real numbers, on the control core, which takes far longer for an exponential.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from match.arithmetic.parts_of_functions import LEVELS
from match.passes.element_functions import function_of
from match.relay import integer_form, relay, tvm
from match.relay.qnn import dequantized
from match.relay.rewrite import New, dtype, is_call, rewrite, shape


@dataclass(frozen=True)
class TabulateRealFunctions:
    """Rewrites functions of at least as many elements as a table has."""

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, _rule)


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    if not isinstance(call.checked_type, tvm.ir.TensorType) or dtype(call) != "float32":
        return None
    if is_call(call, "qnn.dequantize") or math.prod(shape(call)) < LEVELS:
        return None
    function = function_of(call)
    if function is None or len(function.tensors) != 1 or function.axis is not None or not function.approximated:
        return None
    real = dequantized(function.tensors[0])
    if real is None or shape(real.x) != shape(call):
        return None
    own = real.quantization
    return integer_form.real_lookup(new(real.x), function(own.numbers), own.dtype)
