"""A constant that an addition or a multiplication repeats along a middle axis is written out.

Layers repeat an operand along the first axes or along the last ones. Masks of attention in windows (Swin) are alike for
all heads, whose axis is between those of windows and of tokens.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from match.relay import relay, tvm
from match.relay.rewrite import New, constant, is_call, rewrite, shape


@dataclass(frozen=True)
class WriteOutConstants:
    """Gives such constants all elements of the result."""

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, _rule)


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    if not is_call(call, "qnn.add", "qnn.subtract", "qnn.mul"):
        return None
    extents, operands = shape(call), [new(operand) for operand in call.args]
    for place in (0, 1):
        values = constant(call.args[place])
        if values is not None and _repeated_inside(values.shape, extents):
            operands[place] = relay.const(np.ascontiguousarray(np.broadcast_to(values, extents)))
            return relay.Call(call.op, operands, call.attrs)
    return None


def _repeated_inside(own: Sequence[int], extents: Sequence[int]) -> bool:
    """Whether axes along which a tensor is repeated are neither the first nor the last ones."""
    aligned = (*[1] * (len(extents) - len(own)), *own)
    repeated = [one < extent for one, extent in zip(aligned, extents, strict=True) if extent > 1]
    return len(list(itertools.groupby(repeated))) > 2
