"""What is left of QNN around the integers: quantize and dequantize at the border, operators without integer form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from match.errors import ModelError
from match.frontend.model import Rounding
from match.relay import relay, tvm
from match.transform.rewrite import New, dtype, is_8bit, is_call, operator_name, rewrite, scalar, value_range


@dataclass(frozen=True)
class LowerBorder:
    """Writes quantize with the reference's rounding in plain operators and leaves all other QNN operators to TVM."""

    rounding: Rounding

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"; afterwards no QNN operator is left.

        Raises:
            ModelError: TVM cannot express an operator that is left over with its parameters.
        """
        module = rewrite(module, self._rule)
        left = qnn_operators(module)
        if not left:
            return module
        try:
            return relay.qnn.transform.CanonicalizeOps()(module)
        except tvm.TVMError as error:
            names = ", ".join(left)
            raise ModelError(f"the model's {names} cannot be compiled with these parameters; change them") from error

    def _rule(self, call: relay.Call, new: New) -> relay.Expr | None:
        if not is_call(call, "qnn.quantize") or not is_8bit(call):
            return None
        scale, zero_point = scalar(call.args[1]), scalar(call.args[2])
        if scale is None or zero_point is None or dtype(call.args[0]) != "float32":
            return None
        quotient = divided(new(call.args[0]), scale)
        rounded = half_to_even(quotient) if self.rounding == Rounding.ONNXRUNTIME else relay.round(quotient)
        low, high = value_range(dtype(call))
        # Clipped before the conversion, which is undefined for what int32 cannot hold.
        clipped = relay.clip(rounded, low - int(zero_point), high - int(zero_point))
        shifted = relay.add(relay.cast(clipped, "int32"), relay.const(int(zero_point), "int32"))
        return relay.cast(shifted, dtype(call))


def qnn_operators(module: tvm.IRModule) -> list[str]:
    """Names of the QNN operators in "main"."""
    names: set[str] = set()

    def visit(node: Any) -> None:
        names.add(operator_name(node))

    relay.analysis.post_order_visit(module["main"], visit)
    return sorted(name for name in names if name.startswith("qnn."))


def divided(x: relay.Expr, scale: np.float32) -> relay.Expr:
    """``x / scale`` in float32.

    The scale is a tensor of one element: TVM multiplies by the reciprocal of a constant scalar, which rounds otherwise.
    """
    return relay.divide(x, relay.const(np.array([scale], np.float32)))


def half_to_even(x: relay.Expr) -> relay.Expr:
    """Nearest integer in float32, halves to the even one: twice the integer nearest to the half of a half."""
    half = relay.equal(relay.subtract(x, relay.floor(x)), relay.const(0.5))
    even = relay.multiply(relay.round(relay.multiply(x, relay.const(0.5))), relay.const(2.0))
    return relay.where(half, even, relay.round(x))
