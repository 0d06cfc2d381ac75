"""Chains of integer operators that bring values back to 8 bits become operators that modules take.

Such a chain ends in 8 bits and is made of additions, multiplications, shifts, divisions and limits by constants, in 32
or 64 bits that it never leaves. Around the sums of a convolution, dense layer or pooling, or a product of two tensors,
it becomes one requantization; around two tensors of 8 bits what gives the same results for all pairs. (What is a
function of one tensor of 8 bits becomes a table, by `match.rewrites.tables`.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from match.graph.integers import Elementwise
from match.graph.make import named
from match.graph.operator import Known, Operator, Range, whole_range
from match.graph.pairs import Multiplication
from match.graph.rewrite import rewrite
from match.graph.sums import SUMS, Accumulation
from match.graph.value import Graph, Value
from match.ir.dtypes import levels
from match.quantized.functions_of_two import function_of_two
from match.rewrites.integer_chains.chain import NARROW, WIDE, Chain, chain_of, ends_a_chain, is_product
from match.rewrites.integer_chains.lines import line_of, tabulated

_INTEGERS = frozenset({"int8", "uint8", "int16", "int32", "int64"})


def with_integer_chains(graph: Graph) -> Graph:
    """The graph with one operator for each chain that is known to be one; others stay as they are."""
    return rewrite(graph, _Chains().rule) if any(map(ends_a_chain, graph.values)) else graph


class _Chains:
    """The ranges of the integers visited so far; None where the operator may have left its type."""

    def __init__(self) -> None:
        self._ranges: dict[Value, Range | None] = {}

    def rule(self, value: Value, original: Value) -> Value:
        """One operator in the place of a chain."""
        del original
        own = self._ranges[value] = self._range(value)
        chain = chain_of(value)
        if chain is None or any(self._ranges[step] is None for step in chain.steps):
            return value
        made = _made(chain) or value
        self._ranges[made] = own
        return made

    def _range(self, value: Value) -> Range | None:
        operator = value.operator
        if operator is None or value.dtype not in _INTEGERS:
            return None
        return operator.values(value.tensor, [Known(x.tensor, self._of(x)) for x in value.inputs])

    def _of(self, x: Value) -> Range | None:
        return self._ranges.get(x) or (whole_range(x.tensor) if x.dtype in NARROW else None)


def _made(chain: Chain) -> Value | None:
    """The operator that computes what a chain computes; None if there is none."""
    if len(chain.leaves) == 2:
        return _of_two(chain)
    if len(chain.leaves) != 1:
        return None
    (leaf,) = chain.leaves
    if is_product(leaf):
        return _product(chain, leaf)
    if not isinstance(leaf.operator, Accumulation) or leaf.dtype != SUMS or leaf.shape != chain.root.shape:
        return None
    requantization = line_of(chain, leaf.shape[-1]) or tabulated(chain)
    if requantization is None:
        return None
    return _in_place(chain, replace(leaf.operator, requantization=requantization, dtype=chain.root.dtype), leaf.inputs)


def _product(chain: Chain, leaf: Value) -> Value | None:
    """A requantized product of two tensors of 8 bits."""
    factors = [
        x.inputs[0] for x in leaf.inputs if isinstance(x.operator, Elementwise) and x.operator.function == "cast"
    ]
    if len(factors) < 2 or any(x.dtype not in NARROW for x in factors) or leaf.dtype not in WIDE:
        return None
    line = line_of(chain, 1) if chain.is_uniform and leaf.shape == chain.root.shape else None
    if line is None:
        return None
    product = Multiplication(zero_points=(0, 0), requantization=line, dtype=chain.root.dtype)
    return _in_place(chain, product, tuple(factors))


def _of_two(chain: Chain) -> Value | None:
    """A function of two tensors, equal for all pairs of their values."""
    a, b = chain.leaves
    whole = a.shape == b.shape == chain.root.shape
    if a.dtype not in NARROW or b.dtype not in NARROW or not whole or not chain.is_uniform:
        return None
    first, second = levels(a.dtype)[:, None], levels(b.dtype)[None, :]
    near = chain.smooth({a: first[_MIDDLE], b: second[:, _MIDDLE]})
    slopes = float(near[1, 0] - near[0, 0]), float(near[0, 1] - near[0, 0])
    outputs, dtype = chain.outputs({a: first, b: second}), chain.root.dtype
    made = function_of_two(a, b, outputs, slopes, chain.limits, dtype, exact=_are_exact(chain.steps))
    return named(made, _source_of(chain.steps))


_MIDDLE = slice(128, 130)
"""The places of two values of 8 bits in the middle of their range."""


def _in_place(chain: Chain, operator: Operator, inputs: tuple[Value, ...]) -> Value:
    """An operator in the place of a chain with one leaf, which it computes, too."""
    parts = *chain.leaves, *chain.steps
    return replace(chain.root, operator=operator, inputs=inputs, exact=_are_exact(parts), source=_source_of(parts))


def _are_exact(values: Sequence[Value]) -> bool:
    return all(value.exact for value in values)


def _source_of(values: Sequence[Value]) -> str:
    """What the model calls the first of some tensors that has a name."""
    return next((value.source for value in values if value.source), "")
