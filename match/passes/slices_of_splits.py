"""Splits become slices: operators that passes and modules know."""

from __future__ import annotations

from dataclasses import dataclass

from match.relay import relay, tvm
from match.relay.rewrite import New, is_call, rewrite, shape, with_place


@dataclass(frozen=True)
class SliceSplits:
    """Takes each `split` apart."""

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, _rule)


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    if not is_call(call, "split"):
        return None
    axis, begin, parts = int(call.attrs.axis) % len(shape(call.args[0])), 0, list[relay.Expr]()
    for field in call.checked_type.fields:
        end = begin + int(field.shape[axis])
        parts.append(with_place(relay.strided_slice(new(call.args[0]), [begin], [end], axes=[axis]), call))
        begin = end
    return relay.Tuple(parts)
