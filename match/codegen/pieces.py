"""Operators of TVM's own that write their output from front to back, so that it can leave main memory as it is made."""

from __future__ import annotations

from typing import Any

from match.codegen.steps import Pieces
from match.relay import tvm


def pieces_of(function: Any) -> Pieces | None:
    """How a function writes its last parameter.

    None if it is more than one loop, or stores into anything else, or if an iteration touches more than its own piece.
    """
    loop = _only_loop(function)
    if loop is None:
        return None
    output = function.buffer_map[list(function.params)[-1]].data
    touched: list[Any] = []
    others: list[Any] = []
    analyzer = tvm.arith.Analyzer()

    def visit(node: Any) -> None:
        if isinstance(node, tvm.tir.For):
            analyzer.bind(node.loop_var, tvm.ir.Range.from_min_extent(node.min, node.extent))
        elif isinstance(node, (tvm.tir.BufferStore, tvm.tir.BufferLoad)):
            if node.buffer.data.same_as(output):
                touched.append(node)
            elif isinstance(node, tvm.tir.BufferStore):
                others.append(node)

    tvm.tir.stmt_functor.post_order_visit(loop, visit)
    # Inner loops are visited before those around them: bounds are asked for when all are known.
    count = int(loop.extent)
    if others or not touched or any(len(node.buffer.shape) != 1 for node in touched):
        return None
    elements, rest = divmod(int(touched[0].buffer.shape[0]), count)
    if rest or not all(_within(analyzer, node.indices[0], loop.loop_var, elements) for node in touched):
        return None
    return Pieces(count, elements * ((tvm.DataType(touched[0].buffer.dtype).bits + 7) // 8))


def _only_loop(function: Any) -> Any:
    """The loop that is all of a function's body."""
    if not isinstance(function, tvm.tir.PrimFunc) or len(function.params) != len(function.buffer_map):
        return None
    body = function.body
    while isinstance(body, (tvm.tir.AllocateConst, tvm.tir.AttrStmt, tvm.tir.DeclBuffer, tvm.tir.LetStmt)):
        body = body.body
    kinds = tvm.tir.ForKind
    ordinary = isinstance(body, tvm.tir.For) and body.kind in (kinds.SERIAL, kinds.PARALLEL)  # the same in C
    constant = ordinary and isinstance(body.extent, tvm.tir.IntImm) and int(body.min) == 0
    return body if constant else None


def _within(analyzer: Any, index: Any, variable: Any, elements: int) -> bool:
    """Whether an index is `elements` times the variable and less than that more."""
    linear = tvm.arith.detect_linear_equation(index, [variable])
    if not linear or not isinstance(linear[0], tvm.tir.IntImm) or int(linear[0]) != elements:
        return False
    bound = analyzer.const_int_bound(linear[1])
    return bound.min_value >= 0 and bound.max_value < elements
