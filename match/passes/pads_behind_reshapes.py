"""Padding of sequences becomes padding of maps of one row, which convolutions take in as their own."""

from __future__ import annotations

from dataclasses import dataclass

from match.relay import relay, tvm
from match.relay.rewrite import New, is_call, rewrite, shape


@dataclass(frozen=True)
class PadsBehindReshapes:
    """Moves an `nn.pad` after a reshape that does nothing but add axes of one element."""

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, _rule)


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    if not is_call(call, "reshape", "expand_dims") or not is_call(call.args[0], "nn.pad"):
        return None
    pad = call.args[0]
    kept = _kept(shape(pad), shape(call))
    if kept is None:
        return None
    widths = [(0, 0)] * len(shape(call))
    extents = [1] * len(shape(call))
    for axis, width, extent in zip(kept, pad.attrs.pad_width, shape(pad.args[0]), strict=True):
        widths[axis], extents[axis] = (int(width[0]), int(width[1])), extent
    return relay.nn.pad(relay.reshape(new(pad.args[0]), extents), widths, new(pad.args[1]), pad.attrs.pad_mode)


def _kept(before: tuple[int, ...], after: tuple[int, ...]) -> list[int] | None:
    """Which axis of the tensor after the reshape each axis in front of it is; None if there is more to the reshape."""
    kept: list[int] = []
    for axis, extent in enumerate(after):
        if len(kept) < len(before) and extent == before[len(kept)]:
            kept.append(axis)
        elif extent != 1:
            return None
    return kept if len(kept) == len(before) else None
