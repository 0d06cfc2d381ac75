"""Reads steps of integer arithmetic that the graph writes in another way than Relay.

Constants have other shapes there, and maps their channels last: a step on maps with channels first stands between
transpositions, which `match.rewrites.channels_last` takes out again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import MappingProxyType

from match.graph import blocks
from match.graph.integers import TYPES
from match.graph.make import arithmetic, array_of, constant, reshaped
from match.graph.sums import SUMS, Average, unchanged
from match.graph.value import Value, computed
from match.relay import relay
from match.relay.graph_reader import Fragment
from match.relay.maps import FIRST, with_channels_last
from match.relay.readers import byte_operands, convolution_of
from match.relay.rewrite import dtype, is_8bit, is_call, operator_name, shape


def read_step(call: relay.Call) -> Fragment | None:
    """A step that ends in a typed call; None for other calls."""
    reader = _READERS.get(operator_name(call))
    return None if reader is None else reader(call)


def _rectifier(call: relay.Call) -> Fragment | None:
    return Fragment((call.args[0],), _rectified) if dtype(call) in TYPES else None


def _rectified(x: Value) -> Value:
    return arithmetic("maximum", x, constant(0, x.dtype))


def _bias(call: relay.Call) -> Fragment | None:
    """Integers with a bias for each channel."""
    if dtype(call) not in TYPES:
        return None
    axes_after = len(shape(call)) - 1 - int(call.attrs.axis) % len(shape(call))

    def biased(x: Value, bias: Value) -> Value:
        extents, array = (*bias.shape, *[1] * axes_after), array_of(bias)
        return arithmetic("add", x, reshaped(bias, extents) if array is None else constant(array.reshape(extents)))

    return Fragment((call.args[0], call.args[1]), biased)


def _convolution(call: relay.Call) -> Fragment | None:
    """The int32 sums of a map with channels first."""
    weights = byte_operands(call.args[0], call.args[1])
    if str(call.attrs.data_layout) != FIRST or dtype(call) != SUMS or weights is None:
        return None
    operator = convolution_of(call, weights, unchanged(shape(call)[1]), SUMS)
    return _on_first(call.args[0], partial(computed, operator))


def _sum(call: relay.Call) -> Fragment | None:
    """The sum of all pixels of a map with channels first."""
    axes, wide = [int(axis) for axis in call.attrs.axis or ()], call.args[0]
    if sorted(axes) != [2, 3] or not call.attrs.keepdims or call.attrs.exclude or not is_call(wide, "cast"):
        return None
    (x,) = wide.args
    if dtype(call) != SUMS or not is_8bit(x) or len(shape(x)) != 4:
        return None
    _, channels, *window = shape(x)
    average = Average(
        requantization=unchanged(channels), dtype=SUMS, window=(window[0], window[1]), strides=(1, 1), whole_map=True
    )
    return _on_first(x, partial(computed, average))


def _depth_to_space(call: relay.Call) -> Fragment | None:
    by_channel = str(call.attrs.mode) == "CRD"
    return _of_blocks(call, partial(blocks.depth_to_space, by_channel=by_channel))


def _space_to_depth(call: relay.Call) -> Fragment | None:
    return _of_blocks(call, blocks.space_to_depth)


def _of_blocks(call: relay.Call, build: Callable[..., Value]) -> Fragment | None:
    made = with_channels_last(str(call.attrs.layout), partial(build, block=int(call.attrs.block_size)))
    return None if made is None else Fragment((call.args[0],), made)


def _on_first(x: relay.Expr, build: Callable[[Value], Value]) -> Fragment:
    """An operator on a map x with channels first."""
    made = with_channels_last(FIRST, build)
    assert made is not None, "it is a layout"
    return Fragment((x,), made)


_READERS: MappingProxyType[str, Callable[[relay.Call], Fragment | None]] = MappingProxyType(
    {
        "nn.bias_add": _bias,
        "nn.conv2d": _convolution,
        "nn.depth_to_space": _depth_to_space,
        "nn.relu": _rectifier,
        "nn.space_to_depth": _space_to_depth,
        "sum": _sum,
    }
)
