"""What follows a dense layer of many rows, element by element, stands in front of the reshape that restores the axes.

Importers write the product of a tensor with three axes and more and a matrix as a dense layer between reshapes. Then a
bias and a function of its outputs are the layer's own, as after a dense layer of one row.
"""

from __future__ import annotations

import math

from match.passes.element_functions import ELEMENTWISE
from match.relay import relay, tvm
from match.relay.rewrite import New, constant, is_call, rewrite, shape


class ReshapesBehindElements:
    """Applies to functions of dense layers' outputs, and of constants that are numbers or one for each output."""

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, _Rows().rule)


class _Rows:
    """Rewrites one function. `_inner` has the rows that a tensor is a reshape of, by the original tensor."""

    def __init__(self) -> None:
        self._inner: dict[relay.Expr, relay.Expr] = {}

    def rule(self, call: relay.Call, new: New) -> relay.Expr | None:
        """What a call becomes; None if it is no function of a dense layer's outputs."""
        if is_call(call, "reshape") and is_call(call.args[0], "nn.dense") and _rows(call) == shape(call.args[0]):
            self._inner[call] = new(call.args[0])
            return None
        if not is_call(call, *ELEMENTWISE) or self._inner.keys().isdisjoint(call.args):
            return None
        operands = [self._operand(argument, call) for argument in call.args]
        if any(operand is None for operand in operands):
            return None
        self._inner[call] = relay.Call(call.op, operands, call.attrs)
        return relay.reshape(self._inner[call], shape(call))

    def _operand(self, argument: relay.Expr, call: relay.Call) -> relay.Expr | None:
        """An operand of a function, for rows; None if it is neither rows nor a constant that is alike for all rows."""
        if argument in self._inner:
            return self._inner[argument] if shape(argument) == shape(call) else None
        if is_call(argument, "qnn.dequantize"):
            levels, *parameters = argument.args
            values = _for_rows(levels)
            return None if values is None else relay.qnn.op.dequantize(values, *parameters)
        return _for_rows(argument)


def _for_rows(expr: relay.Expr) -> relay.Expr | None:
    """A constant number without axes, or a constant with one number for each output and that axis alone; else None."""
    values = constant(expr)
    if values is None or (values.size > 1 and values.shape[-1] != values.size):
        return None
    return relay.const(values.reshape(() if values.size == 1 else -1))


def _rows(expr: relay.Expr) -> tuple[int, int]:
    """The extents of a tensor as a matrix whose rows are along its last axis."""
    *rows, width = shape(expr)
    return math.prod(rows), width
