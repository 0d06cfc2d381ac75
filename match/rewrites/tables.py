"""What is a function of each element of one 8-bit tensor becomes one table, however many operators compute it.

Tables in a row become one; so do operators of a tensor and of what is computed from it: x times its logistic function,
a choice between two functions of x, x over one more than its magnitude.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from match.graph.elements import Lookup
from match.graph.integers import TYPES as INTEGERS
from match.graph.opaque import Constant
from match.graph.operator import Array
from match.graph.rewrite import rewrite
from match.graph.value import Graph, Value
from match.ir.dtypes import levels

_NARROW = "int8", "uint8"

_TYPES = INTEGERS | {"float32"}
"""The types that may be between the tensor and the table."""


@dataclass(frozen=True, eq=False)
class _Function:
    """A tensor each of whose elements is a function of the element of another one at the same place.

    results: of the tensor's type, for the values of `source` in ascending order, shape (256,).
    exact: whether all that computes it is (`match.graph.value.Value.exact`).
    """

    source: Value
    results: Array
    exact: bool


def with_tables(graph: Graph) -> Graph:
    """The graph with a table for each tensor of 8 bits that is a function of another one's elements, one by one.

    Tensors that are a function of the same tensor, and with it alone, are never computed.
    """
    return rewrite(graph, _Functions().rule)


class _Functions:
    """What is known of the values visited so far."""

    def __init__(self) -> None:
        self._known: dict[Value, _Function] = {}

    def rule(self, value: Value, original: Value) -> Value:
        """A table in place of a value that is a function of 8 bits."""
        function = self._function(value, original)
        if function is None:
            return value
        self._known[original] = function
        if value.dtype not in _NARROW:
            return value
        source = function.source
        if function.exact and value.dtype == source.dtype and np.array_equal(function.results, levels(source.dtype)):
            return source
        if isinstance(value.operator, Lookup) and source is value.inputs[0]:
            return value
        lookup = Lookup(outputs=function.results.astype(np.int64), dtype=value.dtype)
        return replace(value, operator=lookup, inputs=(source,), exact=function.exact)

    def _function(self, value: Value, original: Value) -> _Function | None:
        """A value as a function of one tensor; None if it is none, or not seen to be one."""
        operator = value.operator
        if operator is None or not operator.elementwise or value.dtype not in _TYPES:
            return None
        operands = [self._operand(*pair) for pair in zip(value.inputs, original.inputs, strict=True)]
        functions = [operand for operand in operands if isinstance(operand, _Function)]
        if None in operands or len({function.source for function in functions}) != 1:
            return None
        if value.shape != functions[0].source.shape:
            return None
        arrays = [operand.results if isinstance(operand, _Function) else operand for operand in operands]
        results = operator.compute(*(array for array in arrays if array is not None))
        exact = value.exact and all(function.exact for function in functions)
        return _Function(functions[0].source, results, exact)

    def _operand(self, value: Value, original: Value) -> _Function | Array | None:
        """An operand as a function of a tensor, which may be itself, or as one number for all elements."""
        if original in self._known:
            return self._known[original]
        if isinstance(value.operator, Constant):
            array = value.operator.array
            return array.reshape(()) if array.size == 1 else None
        if value.dtype not in _NARROW:
            return None
        return _Function(value, levels(value.dtype).astype(value.dtype), exact=True)
