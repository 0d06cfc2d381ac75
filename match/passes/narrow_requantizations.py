"""Requantizations to 32 bits that are clipped to 8, as TVM's PyTorch importer writes them, become ones to 8 bits."""

from __future__ import annotations

from dataclasses import dataclass

from match.ir.dtypes import value_range
from match.relay import relay, tvm
from match.relay.qnn import clamped
from match.relay.rewrite import New, dtype, is_8bit, is_call, rewrite


@dataclass(frozen=True)
class NarrowRequantizations:
    """Moves the cast after a requantization and its clip to 8 bits into the requantization."""

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, _rule)


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    if not is_call(call, "cast") or not is_8bit(call) or dtype(call.args[0]) != "int32":
        return None
    wide, (low, high) = clamped(call.args[0], "int32")
    least, most = value_range(dtype(call))
    if not is_call(wide, "qnn.requantize") or not least <= low <= high <= most:
        return None
    attrs = wide.attrs
    narrow = relay.qnn.op.requantize(
        *map(new, wide.args),
        axis=attrs.axis,
        rounding=attrs.rounding,
        compute_dtype=attrs.compute_dtype,
        out_dtype=dtype(call),
    )
    return relay.clip(narrow, low, high)
