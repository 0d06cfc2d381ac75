"""Reads steps of integer arithmetic that the graph writes in another way than Relay, with constants of its own."""

from __future__ import annotations

from match.graph.integers import TYPES
from match.graph.make import arithmetic, array_of, constant, reshaped
from match.graph.value import Value
from match.relay import relay
from match.relay.graph_reader import Fragment
from match.relay.rewrite import dtype, is_call, shape


def read_step(call: relay.Call) -> Fragment | None:
    """A rectifier of integers, or integers with a bias for each channel; None for other calls."""
    if not is_call(call, "nn.relu", "nn.bias_add") or dtype(call) not in TYPES:
        return None
    if is_call(call, "nn.relu"):
        return Fragment((call.args[0],), _rectified)
    axes_after = len(shape(call)) - 1 - int(call.attrs.axis) % len(shape(call))

    def biased(x: Value, bias: Value) -> Value:
        extents, array = (*bias.shape, *[1] * axes_after), array_of(bias)
        return arithmetic("add", x, reshaped(bias, extents) if array is None else constant(array.reshape(extents)))

    return Fragment((call.args[0], call.args[1]), biased)


def _rectified(x: Value) -> Value:
    return arithmetic("maximum", x, constant(0, x.dtype))
