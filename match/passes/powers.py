"""Second and third powers become products, which is how onnxruntime computes them."""

from __future__ import annotations

from dataclasses import dataclass

from match.relay import relay, tvm
from match.relay.rewrite import New, is_call, rewrite, scalar


@dataclass(frozen=True)
class MultiplyPowers:
    """Rewrites each `power` with the constant exponent 2 or 3."""

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, _rule)


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    exponent = scalar(call.args[1]) if is_call(call, "power") else None
    if exponent not in (2, 3):
        return None
    x = new(call.args[0])
    square = relay.multiply(x, x)
    return square if exponent == 2 else relay.multiply(square, x)
