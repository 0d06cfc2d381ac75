"""What readers of Relay return: an operator of the graph, and the expressions that it is computed from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from match.graph.operator import Operator
from match.relay import relay

OperatorT_co = TypeVar("OperatorT_co", bound=Operator, covariant=True)


@dataclass(frozen=True, eq=False)
class Read(Generic[OperatorT_co]):
    """An operator, and its inputs as expressions.

    exact: whether the reference is known to compute just these numbers (`match.graph.value.Value.exact`).
    """

    operator: OperatorT_co
    operands: tuple[relay.Expr, ...]
    exact: bool = True
