"""The larger or the smaller of two tensors, element by element, as two additions that saturate.

The larger of a and b is b, and what a has more than b: ``b + max(a - b, 0)``. The smaller is ``a - max(a - b, 0)``. The
difference has 9 bits; saturation to 8 bits makes negative ones 0.
"""

from __future__ import annotations

from dataclasses import dataclass

from match.ir.dtypes import value_range
from match.relay import integer_form, relay, tvm
from match.relay.rewrite import New, constant, dtype, is_8bit, is_call, rewrite, shape


@dataclass(frozen=True)
class AddExtrema:
    """Makes `maximum` and `minimum` of two 8-bit tensors of one shape additions that modules take.

    The second may be constant.
    """

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, _rule)


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    if not is_call(call, "maximum", "minimum") or not is_8bit(call):
        return None
    if any(shape(operand) != shape(call) for operand in call.args) or constant(call.args[0]) is not None:
        return None
    a, b = (new(operand) for operand in call.args)
    kind = dtype(call)
    low, _ = clip = value_range(kind)
    more = integer_form.add(a, b, (1, -1), low, 0, clip, kind)
    if is_call(call, "maximum"):
        return integer_form.add(b, more, (1, 1), -low, 0, clip, kind)
    return integer_form.add(a, more, (1, -1), low, 0, clip, kind)
