"""Keeps TVM's C printer from taking a minimum's operand for one that it has printed before."""

from __future__ import annotations

from collections import Counter
from typing import Any

from match.relay import tvm

LAST_PHASE = 3
"""The phase of TVM's lowering after which no pass writes a minimum."""


@tvm.tir.transform.prim_func_pass(opt_level=0)
def minima_of_what_is_there(function: Any, _module: Any, _context: Any) -> Any:
    """The function, in which no two statements have a minimum or maximum of the same expression that reads memory.

    TVM prints the operands of `tir.Min` and `tir.Max` as variables, and takes the same variable for each operand with
    the same text, although memory may have been written in between. Where an operand that reads memory is in more than
    one statement, all that read memory become `tir.Select`, whose operands are printed where they stand.
    """
    times = Counter(key for statement in _statements(function.body) for key in _operands(statement))
    if all(count == 1 for count in times.values()):
        return function

    def selected(node: Any) -> Any:
        if not _reads(node):
            return node
        first = node.a < node.b if isinstance(node, tvm.tir.Min) else node.a > node.b
        return tvm.tir.Select(first, node.a, node.b)

    body = tvm.tir.stmt_functor.ir_transform(function.body, None, selected, ["tir.Min", "tir.Max"])
    return function.with_body(body)


def _statements(body: Any) -> list[Any]:
    """The statements that write memory or call functions."""
    return _found(body, (tvm.tir.BufferStore, tvm.tir.Evaluate))


def _operands(statement: Any) -> set[int]:
    """The operands of a statement's minima and maxima that read memory, each as a number."""
    found = _found(statement, (tvm.tir.Min, tvm.tir.Max))
    return {_key(operand) for node in found for operand in (node.a, node.b) if _reads(operand)}


def _reads(expression: Any) -> bool:
    return bool(_found(expression, (tvm.tir.BufferLoad,)))


def _key(expression: Any) -> int:
    """The same number for expressions of the same operators on the same variables."""
    return int(tvm.ir.structural_hash(expression, map_free_vars=False))


def _found(root: Any, kinds: tuple[type, ...]) -> list[Any]:
    """The nodes of some kinds under `root`."""
    found: list[Any] = []

    def visit(node: Any) -> None:
        if isinstance(node, kinds):
            found.append(node)

    tvm.tir.stmt_functor.post_order_visit(root, visit)
    return found
