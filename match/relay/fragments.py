"""Parts of a graph as Relay, for passes whose network still is Relay."""

from __future__ import annotations

from collections.abc import Mapping

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
            written[one] = relay.const(one.operator.array, one.operator.array.dtype.name)
            continue
        assert one.operator is not None, "the Relay of inputs is known"
        inputs, tensors = [written[x] for x in one.inputs], [x.tensor for x in one.inputs]
        written[one] = lowered(one.operator, inputs, tensors, exact=one.exact)
    return written[value]
