"""Relay of several functions as one: "main" with what it calls written out, and without let.

Passes walk one function whose expressions are shared where they are read twice. TVM's own inlining fails on functions
that call others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from match.errors import ModelError
from match.relay import relay, tvm

_Values = dict[int, Any]
"""What expressions become, by their addresses: expressions, and closures for functions."""


def as_one_function(module: tvm.IRModule, what: str) -> relay.Function:
    """The module's "main", which calls operators alone.

    Raises:
        ModelError: there is no "main", a function is another compiler's or calls itself, or there is something else
            than operators, tuples, functions and let; `what` begins the sentence.
    """
    functions = {str(variable.name_hint): function for variable, function in module.functions.items()}
    main = functions.get("main")
    if not isinstance(main, relay.Function):
        found = ", ".join(sorted(functions)) or "no function"
        raise ModelError(f'{what} must have a function "main", but it has {found}')
    for name, function in sorted(functions.items()):
        owner = function.attrs["Compiler"] if function.attrs and "Compiler" in function.attrs else None
        if owner is not None:
            raise ModelError(
                f"{what} has been cut already: its function {name!r} is one for the compiler {str(owner)!r}; give the "
                f"module as it was before"
            )
    if _calls_operators_alone(main.body):
        return main
    body = _WriteOut(functions, what).result(_Closure("main", main, {}), main.params)
    return relay.Function(main.params, body)


def _calls_operators_alone(body: relay.Expr) -> bool:
    found: list[Any] = []

    def visit(node: Any) -> None:
        if isinstance(node, relay.Let | relay.Function | tvm.ir.GlobalVar):
            found.append(node)

    relay.analysis.post_order_visit(body, visit)
    return not found


@dataclass(frozen=True)
class _Closure:
    """A function, with what the variables around it stand for; a function of the module has a name."""

    name: str
    function: relay.Function
    around: _Values


class _WriteOut:
    """Writes out calls of functions; remembers which of the module's functions are being written out."""

    def __init__(self, functions: Mapping[str, Any], what: str) -> None:
        self._functions = functions
        self._what = what
        self._called: list[str] = []

    def result(self, closure: _Closure, arguments: Sequence[Any]) -> relay.Expr:
        """What a function makes of its arguments."""
        if closure.name in self._called:
            raise ModelError(f"{self._what} has a function {closure.name!r} that calls itself; write its steps out")
        self._called += [closure.name] if closure.name else []
        values = dict(closure.around)
        values.update(zip(map(_address, closure.function.params), arguments, strict=True))
        result = self._evaluated(closure.function.body, values)
        if closure.name:
            self._called.pop()
        return result

    def _evaluated(self, expr: relay.Expr, values: _Values) -> Any:
        """What an expression becomes; `values` grows by those that it is made of."""
        pending: list[tuple[Any, bool]] = [(expr, False)]
        while pending:
            node, ready = pending.pop()
            address = _address(node)
            if address in values:
                continue
            sources = _sources(node)
            if not ready and sources:
                pending.append((node, True))
                pending += [(source, False) for source in reversed(sources)]
            elif isinstance(node, relay.Let) and _address(node.var) not in values:
                values[_address(node.var)] = values[_address(node.value)]
                pending += [(node, True), (node.body, False)]
            elif isinstance(node, relay.Let):
                values[address] = values[_address(node.body)]
            else:
                values[address] = self._written(node, [values[_address(source)] for source in sources], values)
        return values[_address(expr)]

    def _written(self, node: Any, sources: list[Any], values: _Values) -> Any:
        match node:
            case relay.Call() if isinstance(node.op, tvm.ir.Op):
                return relay.Call(node.op, sources, node.attrs, None, node.span)
            case relay.Call() if isinstance(sources[0], _Closure):
                return self.result(sources[0], sources[1:])
            case relay.Tuple():
                return relay.Tuple(sources)
            case relay.TupleGetItem():
                (whole,) = sources
                return (
                    whole.fields[node.index]
                    if isinstance(whole, relay.Tuple)
                    else relay.TupleGetItem(whole, node.index)
                )
            case relay.If():
                return relay.If(*sources)
            case relay.Function():
                return _Closure("", node, values)
            case tvm.ir.GlobalVar() if isinstance(self._functions.get(str(node.name_hint)), relay.Function):
                return _Closure(str(node.name_hint), self._functions[str(node.name_hint)], {})
            case relay.Var() | relay.Constant():
                return node
            case _:
                kind = type(node).__name__
                raise ModelError(f"{self._what} has a {kind}; write it with operators, tuples, functions and let alone")


def _sources(node: Any) -> list[Any]:
    """What has to be known of an expression before itself: of a call its function, too."""
    match node:
        case relay.Call():
            return [*([] if isinstance(node.op, tvm.ir.Op) else [node.op]), *node.args]
        case relay.Tuple():
            return list(node.fields)
        case relay.TupleGetItem():
            return [node.tuple_value]
        case relay.Let():
            return [node.value]
        case relay.If():
            return [node.cond, node.true_branch, node.false_branch]
        case _:
            return []


def _address(node: Any) -> int:
    return int(node.handle.value)
