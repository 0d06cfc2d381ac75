"""Values are chosen and moved as 8 bits: ``max(dequantize(x)) == dequantize(max(x))``, and the same for quantize.

Some quantizers leave a pooling, a reshape or a slice in floating point, in front of a layer or behind it. Such an
operator gives the same values in 8 bits. Between the dequantize and the quantize then stands the layer alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from match.arithmetic.interface import QuantizedType
from match.passes.quantized_groups.moves import on_integers, real_number
from match.passes.quantized_groups.quantities import parameters
from match.relay import relay, tvm
from match.relay.qnn import dequantized, quantized
from match.relay.rewrite import New, is_call, rewrite, shape

_MOVES = (
    *("nn.max_pool2d", "nn.global_max_pool2d", "reshape", "squeeze", "expand_dims", "nn.batch_flatten"),
    "strided_slice",
)

_MOST = 8
"""The most elements that are quantized for one that slices keep. A slice of numbers takes the control core some 50
cycles an element; to quantize one takes eight cores 3 to 4."""


@dataclass(frozen=True)
class MovesInBytes:
    """Moves operators that only choose or move values: from behind a dequantize to before it, and past a quantize."""

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, _rule)


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    output = quantized(call)
    if output is not None:
        moves, inner = _moves(call.args[0], (*_MOVES, "transpose", "max", "min", "nn.pad"))
        if not moves or dequantized(inner) is not None or _keep_few(moves) or not all(map(_pads_with_a_number, moves)):
            return None
        return _moved(relay.qnn.op.quantize(new(inner), *parameters(output), out_dtype=output.dtype), moves, output)
    moves, inner = _moves(call, _MOVES)
    real = dequantized(inner)
    if not moves or real is None:
        return None
    return relay.qnn.op.dequantize(_moved(new(real.x), moves, real.quantization), *parameters(real.quantization))


def _moves(expr: relay.Expr, names: Sequence[str]) -> tuple[list[relay.Call], relay.Expr]:
    """The operators of these names that end in an expression, the last one first, and what they move."""
    moves: list[relay.Call] = []
    while is_call(expr, *names):
        moves.append(expr)
        expr = expr.args[0]
    return moves, expr


def _pads_with_a_number(move: relay.Call) -> bool:
    """Whether an operator, if it pads, does so with elements of the tensor or with a number that is known."""
    return not is_call(move, "nn.pad") or real_number(move.args[1]) is not None


def _keep_few(moves: Sequence[relay.Call]) -> bool:
    """Whether slices keep so few elements that to quantize all of them would take longer than to slice numbers."""
    slices = [move for move in moves if is_call(move, "strided_slice")]
    whole = math.prod(math.prod(shape(cut.args[0])) for cut in slices)
    return whole > _MOST * math.prod(math.prod(shape(cut)) for cut in slices)


def _moved(x: relay.Expr, moves: Sequence[relay.Call], own: QuantizedType) -> relay.Expr:
    """Operators, the last one first, on an 8-bit tensor."""
    for move in reversed(moves):
        moved = on_integers(move, x, own)
        assert moved is not None, "these have no values of their own"
        x = moved
    return x
