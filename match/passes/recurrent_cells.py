"""Recurrent layers in floating point: written out step by step, or quantized, which makes another network."""

from __future__ import annotations

from dataclasses import dataclass

from match.arithmetic.interface import QuantizedType
from match.errors import OptionError
from match.ir.graph import Tensor
from match.ir.moves import REARRANGEMENTS
from match.quantized.recurrent_layers import STATES, quantized_cells
from match.relay import relay, tvm
from match.relay.float_cells import FloatCells, read_cells, unrolled_cells
from match.relay.graph import post_order
from match.relay.objects import main_function, operands
from match.relay.qnn import dequantized
from match.relay.recurrent import read_recurrent, recurrent
from match.relay.rewrite import New, dtype, is_call, named, rewrite, shape, source_name
from match.rewrites.quantized_cells import FOR_CELLS, NONE_TO_QUANTIZE, QuantizedLayer

_MOVES = (*REARRANGEMENTS, "strided_slice", "take")


@dataclass(frozen=True)
class UnrollCells:
    """Writes recurrent layers out, step by step, in floating point."""

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        found = any(read_cells(expr) for expr in post_order(main_function(module)))
        return rewrite(module, unrolled_cells) if found else module


@dataclass(frozen=True)
class QuantizeCells:
    """Makes integers of recurrent layers whose inputs are quantized: weights and states of 8 bits.

    States have the quantization `STATES`, and so has what only moves them. Other layers are left as they are.

    Raises:
        OptionError: there is no layer that can be quantized.
    """

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        quantizing = _Quantizing()
        changed = rewrite(module, quantizing.rule)
        if not quantizing.integers:
            left = f"{FOR_CELLS}, and this network has {quantizing.left}; leave it out."
            raise OptionError(left if quantizing.left else NONE_TO_QUANTIZE)
        return changed


def quantized_layers_of_relay(module: tvm.IRModule) -> list[QuantizedLayer]:
    """The layers that `QuantizeCells` makes of a network; two of a layer in both directions."""
    if not any(read_cells(expr) for expr in post_order(main_function(module))):
        return []
    changed = rewrite(module, _Quantizing().rule)
    layers = ((expr, read_recurrent(expr)) for expr in post_order(main_function(changed)))
    return [
        QuantizedLayer(source_name(expr), read.operator, Tensor(shape(read.operands[0]), dtype(read.operands[0])))
        for expr, read in layers
        if read is not None
    ]


class _Quantizing:
    """What has been quantized so far.

    integers: of float tensors of the network given that are states, moved or not: the integers that they stand for.
    left: a layer that is not quantized, and why.
    """

    def __init__(self) -> None:
        self.integers: dict[relay.Expr, relay.Expr] = {}
        self.left = ""

    def rule(self, call: relay.Call, new: New) -> relay.Expr | None:
        cells = read_cells(call)
        integers = self._moved(call) if cells is None else self._states(cells, call, new)
        if integers is None:
            return None
        self.integers[call] = integers
        return relay.qnn.dequantize(integers, relay.const(STATES.scale), relay.const(STATES.zero_point, "int32"))

    def _moved(self, call: relay.Call) -> relay.Expr | None:
        """Integers of states that an operator moves; None for other operators and tensors."""
        if is_call(call, *_MOVES) and call.args[0] in self.integers:
            return relay.Call(call.op, [self.integers[call.args[0]], *call.args[1:]], call.attrs)
        if is_call(call, "concatenate") and all(field in self.integers for field in operands(call.args[0])):
            fields = [self.integers[field] for field in operands(call.args[0])]
            return relay.concatenate(fields, int(call.attrs.axis))
        return None

    def _states(self, cells: FloatCells, call: relay.Call, new: New) -> relay.Expr | None:
        """The layer on integers; None where its input is none that is quantized."""
        source = self._source(cells.x, new)
        if source is None:
            self.left = f"one ({cells.cells.kind} of {cells.cells.units} units) whose input is none"
            return None
        x, inputs = source
        layer = quantized_cells(cells.cells, inputs, shape(cells.x)[0])
        if not cells.cells.backwards:
            return named(recurrent(layer, x), call)
        order = relay.const(list(reversed(range(shape(cells.x)[0]))), "int32")
        backwards = named(recurrent(layer, relay.take(x, order, axis=0)), call)
        return relay.take(backwards, order, axis=0)

    def _source(self, expr: relay.Expr, new: New) -> tuple[relay.Expr, QuantizedType] | None:
        """The integers that a layer's input stands for, moved as it is, and their quantization."""
        if expr in self.integers:
            return self.integers[expr], STATES
        real = dequantized(expr)
        if real is not None:
            return new(real.x), real.quantization
        source = self._source(expr.args[0], new) if is_call(expr, *_MOVES) else None
        return source and (relay.Call(expr.op, [source[0], *expr.args[1:]], expr.attrs), source[1])
