"""What is a function of each element of one 8-bit tensor becomes one table, however many operators it is written with.

Tables in a row become one; so do operators of a tensor and of what is computed from it: x times its logistic function,
a choice between two functions of x, x over one more than its magnitude.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from match.ir.dtypes import value_range
from match.passes.element_functions import OF_ANY_TYPE
from match.relay import integer_form, relay, tvm
from match.relay.readers import read_addition, read_multiplication
from match.relay.rewrite import New, constant, dtype, is_8bit, is_call, operator_name, rewrite, shape

Values = npt.NDArray[Any]

_OPERATORS: MappingProxyType[str, Callable[..., Any]] = MappingProxyType(
    {**OF_ANY_TYPE, "left_shift": np.left_shift, "right_shift": np.right_shift, "bitwise_and": np.bitwise_and}
)
_INTEGERS = frozenset({"int8", "uint8", "int16", "int32", "int64", "bool"})


@dataclass(frozen=True, eq=False)
class _Function:
    """A tensor whose elements are functions of the element of another at the same place.

    values: of the tensor's type, for the values of `source` in ascending order, shape (256,).
    real: as in `match.relay.integer_form.real_sums`.
    """

    source: relay.Expr
    values: Values
    real: bool = False


@dataclass(frozen=True)
class FuseTables:
    """Makes a table of each 8-bit tensor in integer form that is a function of another, and of its elements one by one.

    Tensors that are a function of the same tensor, and with it alone, are never computed.
    """

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, _Functions().rule)


class _Functions:
    """What is known of the expressions visited so far."""

    def __init__(self) -> None:
        self._known: dict[relay.Expr, _Function] = {}

    def rule(self, call: relay.Call, new: New) -> relay.Expr | None:
        function = self._function(call)
        if function is None:
            return None
        self._known[call] = function
        source, values = function.source, function.values
        if not is_8bit(call):
            return None
        if not function.real and dtype(call) == dtype(source) and np.array_equal(values, _levels(source)):
            return new(source)
        return integer_form.lookup(new(source), values, dtype(source), dtype(call), real=function.real)

    def _function(self, call: relay.Call) -> _Function | None:
        """A call as a function of one tensor; None if it is none, or not seen to be one."""
        if not isinstance(call.checked_type, tvm.ir.TensorType) or dtype(call) not in _INTEGERS:
            return None
        if is_call(call, "annotation.stop_fusion"):  # which is a mark on what is no function of elements
            return self._known.get(call.args[0])
        numbered = is_call(call, "take")
        if not is_call(call, "clip", *_OPERATORS) and not (numbered and call.attrs.axis is None):
            return None
        functions: list[_Function] = []
        values: list[Values] = []
        for argument in call.args[1:] if numbered else call.args:
            operand = self._operand(argument)
            if operand is None:
                return None
            if isinstance(operand, _Function):
                functions.append(operand)
                operand = operand.values
            values.append(operand)
        sources = {function.source for function in functions}
        if len(sources) != 1 or shape(call) != shape(functions[0].source):
            return None
        if numbered:
            table = constant(call.args[0])
            if table is None or table.ndim != 1 or values[0].min() < 0 or values[0].max() >= len(table):
                return None
            result = table[values[0]]
        elif is_call(call, "clip"):
            result = np.clip(values[0].astype(np.int64), int(call.attrs.a_min), int(call.attrs.a_max))
        else:
            result = _OPERATORS[operator_name(call)](*values)
        real = any(function.real for function in functions) or (numbered and integer_form.is_real_sums(call.args[1]))
        of_two = read_addition(call) or read_multiplication(call) if is_8bit(call) else None
        real |= of_two is not None and of_two.real
        return _Function(functions[0].source, np.asarray(result).astype(dtype(call)), real)

    def _operand(self, expr: relay.Expr) -> _Function | Values | None:
        """An operand as a function of a tensor, which may be itself, or as one number for all elements."""
        if expr in self._known:
            return self._known[expr]
        array = constant(expr)
        if array is not None:
            return array.reshape(()) if array.size == 1 else None
        if not isinstance(expr.checked_type, tvm.ir.TensorType) or not is_8bit(expr):
            return None
        return _Function(expr, _levels(expr))


def _levels(x: relay.Expr) -> Values:
    low, high = value_range(dtype(x))
    return np.arange(low, high + 1).astype(dtype(x))
