"""Values are chosen and moved as 8 bits: ``max(dequantize(x)) == dequantize(max(x))``, and the same for quantize.

Some quantizers leave a pooling, a reshape or a slice in floating point, in front of a layer or after it. Such an
operator gives the same values in 8 bits. Between the dequantize and the quantize then stands the layer alone.

The reference does the same with some of them. Layers after the others, which it computes in floating point, read a
marked tensor (`match.relay.integer_form.real_sums`), and the mark stays in front of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from match.arithmetic.interface import QuantizedType
from match.arithmetic.onnxruntime import quantize
from match.ir.dtypes import value_range
from match.ir.moves import REARRANGEMENTS
from match.passes.quantized_groups.moves import on_integers, real_number
from match.passes.quantized_groups.quantities import parameters
from match.relay import integer_form, relay, tvm
from match.relay.graph import users
from match.relay.integer_form import is_real_sums
from match.relay.objects import main_function, operands
from match.relay.qnn import Dequantized, dequantized, quantized
from match.relay.rewrite import New, constant, is_call, rewrite, shape

MOVES = (*REARRANGEMENTS, "strided_slice", "nn.pad", "nn.max_pool2d", "nn.global_max_pool2d")
_FOR_LAYERS = "concatenate", "take", "tile", "nn.depth_to_space", "nn.space_to_depth"
"""Operators that are moved where layers alone read what they make."""

_RELU = "nn.relu"
_QUANTIZE = "qnn.quantize"
_LAYERS = "nn.conv2d", "nn.conv2d_transpose", "nn.dense"
_MEAN = "mean"
"""The reference computes it in floating point, whatever is in front of it."""

Readers = Mapping[relay.Expr, Sequence[relay.Expr]]
"""By expression, those that read it."""

_MOST = 8
"""The most elements that are quantized for one that slices keep. A slice of numbers takes the control core some 50
cycles an element; to quantize one takes eight cores 3 to 4."""


@dataclass(frozen=True)
class MovesInBytes:
    """Moves operators that only choose or move values: from after a dequantize to before it, and past a quantize."""

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, partial(_rule, users(main_function(module)), {}))


def _rule(readers: Readers, known: dict[relay.Expr, Dequantized], call: relay.Call, new: New) -> relay.Expr | None:
    """`known` has the 8-bit tensor of each operator that was moved before its dequantize, and gets the call's."""
    output = quantized(call)
    if output is not None:
        moves, inner = _moves(call.args[0], (*MOVES, "max", "min"))
        if not moves or dequantized(inner) is not None or _keep_few(moves) or not all(map(_pads_with_a_number, moves)):
            return None
        return _moved(relay.qnn.op.quantize(new(inner), *parameters(output), out_dtype=output.dtype), moves, output)
    if is_real_sums(call) and call.args[0] in known:
        known[call] = replace(known[call.args[0]], real=True)
        return integer_form.real_sums(new(call.args[0]))
    if not (is_call(call, *MOVES) or _clips_for_others(call, readers)) and not (
        is_call(call, *_FOR_LAYERS) and _is_for_layers(call, readers)
    ):
        return None
    parts = [known.get(part) or _in_bytes(part, new) for part in _parts(call)]
    own = parts[0] and parts[0].quantization
    if own is None or any(part is None or part.quantization != own for part in parts):
        return None
    tensor = _on_integers(call, [part.x for part in parts if part is not None], own)
    if tensor is None:
        return None
    real = any(part is not None and part.real for part in parts)
    known[call] = Dequantized(tensor, own, real)
    numbers = relay.qnn.op.dequantize(tensor, *parameters(own))
    return integer_form.real_sums(numbers) if real else numbers


def _in_bytes(expr: relay.Expr, new: New) -> Dequantized | None:
    """The 8-bit tensor that an expression is, dequantized; None if it is none, or constant."""
    real = dequantized(expr)
    return None if real is None or constant(real.x) is not None else replace(real, x=new(real.x))


def _on_integers(move: relay.Call, parts: Sequence[relay.Expr], own: QuantizedType) -> relay.Expr | None:
    """An operator on 8-bit tensors; None for one that pads with a value that these cannot have."""
    if is_call(move, "concatenate"):
        return relay.concatenate(parts, int(move.attrs.axis))
    if is_call(move, _RELU):
        return relay.clip(parts[0], own.zero_point, value_range(own.dtype)[1])
    return on_integers(move, parts[0], own) if _pads_with_a_level(move, own) else None


def _parts(move: relay.Call) -> Sequence[relay.Expr]:
    """The tensors that an operator moves."""
    return operands(move.args[0]) if is_call(move, "concatenate") else move.args[:1]


def _clips_for_others(call: relay.Call, readers: Readers) -> bool:
    """Whether a call is a ReLU whose readers are moves, layers, means and quantizes, but not quantizes alone.

    A ReLU that quantizes alone read, or that is part of another function, becomes part of a table instead.
    """
    return (
        is_call(call, _RELU)
        and not all(is_call(reader, _QUANTIZE) for reader in readers[call])
        and all(
            isinstance(reader, relay.Tuple) or is_call(reader, *MOVES, *_FOR_LAYERS, *_LAYERS, _MEAN, _QUANTIZE)
            for reader in _unmarked_readers(call, readers)
        )
    )


def _unmarked_readers(expr: relay.Expr, readers: Readers) -> Iterator[relay.Expr]:
    """The operators that read an expression, or a mark on it."""
    for reader in readers[expr]:
        if is_real_sums(reader):
            yield from _unmarked_readers(reader, readers)
        else:
            yield reader


def _is_for_layers(expr: relay.Expr, readers: Readers) -> bool:
    """Whether layers, means or nobody read what is made of a tensor: other readers may promise the reference's bits."""
    return all(
        _is_for_layers(reader, readers)
        if isinstance(reader, relay.Tuple) or is_call(reader, *MOVES, _RELU, *_FOR_LAYERS) or is_real_sums(reader)
        else isinstance(reader, relay.Function) or is_call(reader, *_LAYERS, _MEAN)
        for reader in readers[expr]
    )


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


def _pads_with_a_level(move: relay.Call, own: QuantizedType) -> bool:
    """Whether an operator, if it pads, does so with elements of the tensor or with a value that it can have."""
    if not is_call(move, "nn.pad") or str(move.attrs.pad_mode) != "constant":
        return True
    value = real_number(move.args[1])
    if value is None:
        return False
    level = quantize(np.array([value], np.float32), own, value_range(own.dtype))
    return bool((level.astype(np.float32) - np.float32(own.zero_point)) * own.scale == np.float32(value))


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
