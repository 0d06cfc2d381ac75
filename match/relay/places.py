"""The places in a model that operators come from, which Relay calls spans."""

from __future__ import annotations

from match.relay import relay, tvm
from match.relay.objects import operands

_with_fields = relay.expr._ffi_api


def parts_of(expr: relay.Expr) -> int:
    """Into how many parts the operator at an expression's place was cut; 1 if it was not."""
    return max(1, int(expr.span.end_line)) if expr.span else 1


def placed(expr: relay.Expr, place: relay.Span) -> relay.Expr:
    """The expression, with this place for all that it is computed from, down to what has one: TVM's `set_span`.

    That one asks TVM several times as much about each expression, a third of the time that it takes to read a network.
    """
    done: dict[int, relay.Expr] = {}
    pending: list[tuple[relay.Expr, list[relay.Expr] | None]] = [(expr, None)]
    while pending:
        node, sources = pending.pop()
        address = node.handle.value
        if address in done:
            continue
        if sources is not None:
            done[address] = _with_place(node, [done[source.handle.value] for source in sources], place)
        elif node.span:
            done[address] = node
        elif not _is_plain(node):
            return relay.frontend.common.set_span(expr, place)
        else:
            sources = operands(node)
            pending.append((node, sources))
            pending += [(source, None) for source in reversed(sources)]
    return done[expr.handle.value]


def _is_plain(expr: relay.Expr) -> bool:
    """Whether it has no other parts than its operands."""
    if isinstance(expr, relay.Call):
        return isinstance(expr.op, tvm.ir.Op)
    return isinstance(expr, relay.Constant | relay.Var | relay.Tuple | relay.TupleGetItem)


def _with_place(expr: relay.Expr, sources: list[relay.Expr], place: relay.Span) -> relay.Expr:
    """The expression on these operands, at this place."""
    if isinstance(expr, relay.Call):
        return _with_fields.CallWithFields(expr, None, sources, None, None, None, place)
    if isinstance(expr, relay.Tuple):
        return _with_fields.TupleWithFields(expr, sources, None, place)
    if isinstance(expr, relay.TupleGetItem):
        return _with_fields.TupleGetItemWithFields(expr, sources[0], None, None, place)
    if isinstance(expr, relay.Constant):
        return _with_fields.ConstantWithFields(expr, None, None, place)
    return _with_fields.VarWithFields(expr, None, None, None, place)
