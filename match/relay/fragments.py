"""Parts of a graph as Relay, for passes whose network still is Relay."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from match.graph.opaque import Constant
from match.graph.value import Value, ordered
from match.ir.graph import Tensor
from match.relay import relay
from match.relay.lowering import lowered
from match.relay.rewrite import dtype, shape


def standing_for(expr: relay.Expr) -> Value:
    """A tensor that stands for a typed expression."""
    return Value(Tensor(shape(expr), dtype(expr)))


def relay_of(value: Value, known: Mapping[Value, relay.Expr]) -> relay.Expr:
    """The Relay of a tensor, on that of tensors that are known."""
    written = dict(known)
    for one in ordered([value]):
        if one in written:
            continue
        if isinstance(one.operator, Constant):
            written[one] = relay.const(one.operator.array)
            continue
        assert one.operator is not None, "the Relay of inputs is known"
        inputs, tensors = [written[x] for x in one.inputs], [x.tensor for x in one.inputs]
        written[one] = lowered(one.operator, inputs, tensors, exact=one.exact)
    return written[value]


def built(build: Callable[..., Value], *operands: tuple[relay.Expr, relay.Expr]) -> relay.Expr:
    """The Relay of what is built of tensors.

    Args:
        build: makes a tensor of as many tensors as there are operands.
        operands: for each a typed expression of its shape and type, and the expression to be read in its place.
    """
    values = [standing_for(typed) for typed, _ in operands]
    return relay_of(build(*values), {value: expr for value, (_, expr) in zip(values, operands, strict=True)})
