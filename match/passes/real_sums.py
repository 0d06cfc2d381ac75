"""The integer sums of layers whose outputs stay real numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from match.graph.value import Value
from match.passes.integer_sums import integer_sums
from match.relay import integer_form, relay, tvm
from match.relay.fragments import relay_of, standing_for
from match.relay.qnn import read_linear_sums
from match.relay.rewrite import New, dtype, is_call, rewrite


@dataclass(frozen=True)
class SumRealLayers:
    """Rewrites quantized layers whose sums, marked as real, become float32."""

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, _rule)


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    if not is_call(call, "cast") or dtype(call) != "float32":
        return None
    layer = read_linear_sums(call.args[0])
    integers = integer_sums(layer) if layer is not None and layer.real else None
    if integers is None or layer is None:
        return None
    x = standing_for(integers.x)
    sums = integers.sums(x)
    total = integer_form.real_sums(relay_of(sums.value, {x: new(integers.x)}))
    offset = sums.offset(layer.bias, layer.input.zero_point).astype(np.int32)  # as TVM's sums, which wrap around
    real = relay.cast(relay.add(total, relay.const(offset)) if offset.any() else total, "float32")
    outputs = Value(sums.value.tensor)
    return relay_of(sums.laid_out(outputs), {outputs: real})
