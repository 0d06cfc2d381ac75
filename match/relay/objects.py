"""One Python object for each expression of a module's "main", which keeps what TVM told about it.

TVM makes another object each time that an expression is asked for, and each question takes a call through ctypes. An
expression does not change any more once its types are inferred: its object may keep operands and type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from match.relay import relay, tvm

_Answer = TypeVar("_Answer")

_MAIN, _ORDER = "match_main", "match_order"


def main_function(module: tvm.IRModule) -> relay.Function:
    """The function "main" of a module. Each call returns the same object, with the same objects for expressions."""
    main, found = module["main"], module.__dict__
    if _MAIN not in found or found[_MAIN].handle.value != main.handle.value:
        known: dict[int, relay.Expr] = {}
        main.__dict__[_ORDER] = _interned(main.body, known)
        main.__dict__["body"] = known[main.body.handle.value]
        main.__dict__["params"] = [known.get(parameter.handle.value, parameter) for parameter in main.params]
        found[_MAIN] = main
    return found[_MAIN]


def expressions(function: relay.Function) -> list[relay.Expr]:
    """Every expression of a function's body but operators, after those it is computed from, as one object each."""
    found = function.__dict__
    if _ORDER not in found:
        known: dict[int, relay.Expr] = {}
        found[_ORDER] = _interned(function.body, known)
        found["body"] = known[function.body.handle.value]
    return found[_ORDER]


def operands(expr: relay.Expr) -> list[relay.Expr]:
    """What an expression is computed from: arguments of a call, fields of a tuple."""
    if isinstance(expr, relay.Call):
        return expr.args[:]
    if isinstance(expr, relay.Tuple):
        return expr.fields[:]
    return [expr.tuple_value] if isinstance(expr, relay.TupleGetItem) else []


def kept(expr: relay.Expr, name: str, ask: Callable[[relay.Expr], _Answer]) -> _Answer:
    """What `ask` answers about an expression, asked once for each object; `name` is that of the question."""
    answers: dict[str, Any] = expr.__dict__
    if name not in answers:
        answers[name] = ask(expr)
    return answers[name]


def _interned(body: relay.Expr, known: dict[int, relay.Expr]) -> list[relay.Expr]:
    """The expressions that `body` is computed from, and itself, in post-order, by their addresses in `known`."""
    order: dict[int, relay.Expr] = {}
    pending: list[tuple[relay.Expr, bool]] = [(known.setdefault(body.handle.value, body), False)]
    while pending:
        expr, ready = pending.pop()
        address = expr.handle.value
        if ready:
            order.setdefault(address, expr)
        elif address not in order:
            pending.append((expr, True))
            pending += [(source, False) for source in reversed(_with_operands(expr, known))]
    return list(order.values())


def _with_operands(expr: relay.Expr, known: dict[int, relay.Expr]) -> list[relay.Expr]:
    """The operands of an expression, which keeps them from now on, and its type."""
    answers: dict[str, Any] = expr.__dict__
    if "match_operands" not in answers:
        found = [known.setdefault(operand.handle.value, operand) for operand in operands(expr)]
        if isinstance(expr, relay.Call):
            answers["args"] = found
        elif isinstance(expr, relay.Tuple):
            answers["fields"] = found
        elif isinstance(expr, relay.TupleGetItem):
            (answers["tuple_value"],) = found
        kind = expr._checked_type_
        if kind is not None:
            answers["_checked_type_"] = kind
        answers["match_operands"] = found
    return answers["match_operands"]
