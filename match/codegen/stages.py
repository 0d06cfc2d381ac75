"""Operators of TVM's own in stages: the loop nests that follow one another, and what each of them touches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from match.codegen.steps import Uses
from match.relay import tvm


def uses(function: Any) -> dict[Any, Uses]:
    """The uses of all buffers of a function, by the variables that hold their addresses.

    Iterations of a loop may read again what an earlier one has read: a loop that is in no other one is a stage as a
    whole, with all that is reserved in it.
    """
    found: dict[Any, Uses] = {}
    for number, stage in enumerate(_stages(function.body)):
        for variable in _touched(stage):
            first = found[variable].first if variable in found else number
            found[variable] = Uses(first, number)
    return found


def _stages(body: Any) -> Iterator[Any]:
    """The statements that a body executes one after the other."""
    if isinstance(body, (tvm.tir.Allocate, tvm.tir.AllocateConst, tvm.tir.AttrStmt, tvm.tir.DeclBuffer)):
        yield from _stages(body.body)
    elif isinstance(body, tvm.tir.SeqStmt):
        for statement in body:
            yield from _stages(statement)
    else:
        yield body


def _touched(stage: Any) -> dict[Any, None]:
    """Variables of buffers that a statement loads from or stores to, and all others that it names, in their order."""
    found: dict[Any, None] = {}

    def visit(node: Any) -> None:
        if isinstance(node, (tvm.tir.BufferLoad, tvm.tir.BufferStore)):
            found[node.buffer.data] = None
        elif isinstance(node, tvm.tir.Var):
            found[node] = None

    tvm.tir.stmt_functor.post_order_visit(stage, visit)
    return found
