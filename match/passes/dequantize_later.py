"""Values are chosen and moved before they are dequantized: ``max(dequantize(x)) == dequantize(max(x))``.

Results of poolings and reshapes are then 8-bit values, also in networks that were trained quantized: these have no
quantize behind them.
"""

from __future__ import annotations

from dataclasses import dataclass

from match.passes.quantized_groups.moves import on_integers
from match.passes.quantized_groups.quantities import parameters
from match.relay import relay, tvm
from match.relay.qnn import dequantized
from match.relay.rewrite import New, constant, is_call, rewrite

_MOVES = "nn.max_pool2d", "nn.global_max_pool2d", "reshape", "squeeze", "expand_dims", "nn.batch_flatten"


@dataclass(frozen=True)
class DequantizeLater:
    """Moves each dequantize of an activation with one scale behind operators that choose or move values."""

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, _rule)


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    moves: list[relay.Call] = []
    inner: relay.Expr = call
    while is_call(inner, *_MOVES):
        moves.append(inner)
        inner = inner.args[0]
    real = dequantized(inner)
    if not moves or real is None or constant(real.x) is not None:
        return None
    x = new(real.x)
    for move in reversed(moves):
        moved = on_integers(move, x, real.quantization)
        assert moved is not None, "these have no values of their own"
        x = moved
    return relay.qnn.op.dequantize(x, *parameters(real.quantization))
