"""Shapes of what one operator of a module is in Relay: chains of operators, and all between two of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from match.ir.layer import Op
from match.relay import relay, tvm
from match.relay.rewrite import is_call, operator_name


@dataclass(frozen=True)
class QnnPattern(ABC):
    """Relay operators that are one operator of a module.

    `operators` are those of the compiler that they may become: which one is, their parameters say. `after_qnn` tells
    that they are only where a QNN operator comes before them: networks of plain integers compute something else so.
    """

    name: str
    operators: frozenset[Op]
    after_qnn: bool = field(default=False, kw_only=True)

    @property
    @abstractmethod
    def dataflow(self) -> Any:
        """The pattern of TVM. Tensors, and whatever else the operators read, such as weights, match as they come."""

    @abstractmethod
    def calls(self, root: relay.Expr) -> list[relay.Call]:
        """The calls of an occurrence that ends in `root`, in the order of computation."""

    def function(self, root: relay.Expr) -> relay.Function:
        """An occurrence as a function of the tensors that it reads, which are all but constants."""
        variables: dict[int, relay.Var] = {}
        replaced: dict[int, relay.Expr] = {}

        def new(expr: relay.Expr) -> relay.Expr:
            address = expr.handle.value
            if address in replaced or isinstance(expr, relay.Constant):
                return replaced.get(address, expr)
            if isinstance(expr, relay.Tuple):
                return relay.Tuple([new(field) for field in expr.fields])
            return variables.setdefault(address, relay.var(f"input_{len(variables)}", expr.checked_type))

        for call in self.calls(root):
            replaced[call.handle.value] = relay.Call(call.op, [new(x) for x in call.args], call.attrs)
        return relay.Function(list(variables.values()), replaced[root.handle.value])

    def may_end(self, root: relay.Expr) -> bool:
        """Whether what comes before an occurrence allows it."""
        if not self.after_qnn:
            return True
        names: list[str] = []

        def visit(expr: relay.Expr) -> None:
            names.append(operator_name(expr))

        relay.analysis.post_order_visit(root, visit)
        return any(name.startswith("qnn.") for name in names)


@dataclass(frozen=True)
class Step:
    """A Relay operator in a chain, one of `names`, which may be left out if `optional`.

    `beside` are operators of which one makes each of its other arguments that it makes; these are in the chain, too.
    """

    names: tuple[str, ...]
    optional: bool = False
    beside: tuple[str, ...] = ()


@dataclass(frozen=True)
class Chain(QnnPattern):
    """Operators that each read the one before as their first argument."""

    steps: tuple[Step, ...]

    @property
    def dataflow(self) -> Any:
        """The first step reads anything; the others read the one before."""
        pattern = _anything()
        for step in self.steps:
            called = _called(step.names, pattern, step.beside)
            pattern = called | pattern if step.optional else called
        return pattern

    def calls(self, root: relay.Expr) -> list[relay.Call]:
        """Those of all steps that are there."""
        return _matched(root, self.steps) or []


def _matched(root: relay.Expr, steps: Sequence[Step]) -> list[relay.Call] | None:
    """The calls of steps of which the last one ends in `root`; None if that is no such chain.

    As TVM does, a step that may be left out is looked for first.
    """
    if not steps:
        return []
    *before, step = steps
    if is_call(root, *step.names):
        found = _matched(root.args[0], before)
        if found is not None:
            return [*found, *(x for x in root.args[1:] if is_call(x, *step.beside)), root]
    return _matched(root, before) if step.optional else None


@dataclass(frozen=True)
class Region(QnnPattern):
    """All operators between `first` and `last`, of those that are named `inside`, in any order and number.

    What they read beside each other are constants, or tensors from outside.
    """

    first: str
    inside: tuple[str, ...]
    last: str

    @property
    def dataflow(self) -> Any:
        """All ways from the last operator back end in one first operator."""
        first, path, last = (_called(names, _anything()) for names in ((self.first,), self.inside, (self.last,)))
        return relay.dataflow_pattern.dominates(first, path, last)

    def calls(self, root: relay.Expr) -> list[relay.Call]:
        """Those from the last back to the first."""
        found: dict[int, relay.Call] = {}

        def add(expr: relay.Expr) -> None:
            if expr.handle.value not in found and is_call(expr, self.first, *self.inside):
                for x in () if is_call(expr, self.first) else expr.args:
                    add(x)
                found[expr.handle.value] = expr

        assert isinstance(root, relay.Call)
        for x in root.args:
            add(x)
        return [*found.values(), root]


def _anything() -> Any:
    """A pattern for an argument. A tuple is part of the occurrence, so that what it reads are tensors."""
    return relay.dataflow_pattern.is_tuple(None) | relay.dataflow_pattern.wildcard()


def _called(names: Sequence[str], first: Any, beside: Sequence[str] = ()) -> Any:
    """A pattern for calls of operators whose first argument matches `first`; `beside` as in a `Step`."""
    found: Any = None
    for name in names:
        count = int(tvm.ir.Op.get(name).num_inputs)
        others = (_called(beside, _anything()) | _anything() if beside else _anything() for _ in range(count - 1))
        one = relay.dataflow_pattern.is_op(name)(first, *others)
        found = one if found is None else found | one
    return found
