"""Removes the channels that a network computes for nothing.

A channel is dead for a convolution or dense layer that reads it if it is constant, since its products can go into B, or
if its weights are 0. Depthwise convolutions, pooling, additions and tables pass the question on to their own readers.
What nobody needs is not computed. Training with strong regularisation leaves many such channels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from match.graph.operator import Range
from match.ir.requantization import UNREACHED, Requantization
from match.relay import relay, tvm
from match.relay.objects import main_function, operands
from match.relay.operators import Accumulation, Convolution, Dense
from match.relay.readers import read_addition, read_layer, read_lookup
from match.relay.rewrite import New, is_call, rewrite, shape
from match.relay.value_ranges import channel_copies, value_ranges

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class DeadChannels:
    """Folds constant channels into the layers that read them and removes every channel that no layer then needs.

    Exact: the outputs of the network do not change for any input. A constant that meets padding of another value is
    kept, since its sum differs at the border. Constant channels that must stay get multiplier 0.
    """

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main" in integer form."""
        ranges = value_ranges(module)
        kept = _Liveness(module, ranges).kept()

        def rule(call: relay.Call, new: New) -> relay.Expr | None:
            return _reduced(call, kept, ranges, new) if call in kept else None

        return rewrite(module, rule)


class _Liveness:
    """For each tensor the channels that a reader needs: the greatest fixed point of what readers can do without."""

    def __init__(self, module: tvm.IRModule, ranges: dict[relay.Expr, Range]) -> None:
        self._dead: dict[relay.Expr, Mask] = {}
        self._ranges = ranges
        self._rules: list[Callable[[], bool]] = []
        self._collect(main_function(module).body)

    def kept(self) -> dict[relay.Expr, Mask]:
        """For every tensor that is understood, the channels to keep: at least one."""
        while True:
            while sum(rule() for rule in self._rules):
                pass
            empty = [dead for dead in self._dead.values() if dead.all()]
            if not empty:
                return {expr: ~dead for expr, dead in self._dead.items()}
            empty[0][0] = False

    def _collect(self, body: relay.Expr) -> None:
        """Walk from the outputs to the inputs over whole operators of the integer form."""
        if body in self._ranges:
            self._needed(body)[:] = False
        waiting, seen = [body], {body}
        while waiting:
            expr = waiting.pop()
            inputs = self._operator(expr)
            if inputs is None:
                inputs = operands(expr)
                for tensor in [expr, *inputs]:
                    if tensor in self._ranges:
                        self._needed(tensor)[:] = False
            for tensor in inputs:
                if tensor not in seen:
                    seen.add(tensor)
                    waiting.append(tensor)

    def _needed(self, expr: relay.Expr) -> Mask:
        if expr not in self._dead:
            self._dead[expr] = np.ones(shape(expr)[-1], np.bool_)
        return self._dead[expr]

    def _operator(self, expr: relay.Expr) -> list[relay.Expr] | None:
        """Record what an operator can do without; its inputs, or None if it is not understood."""
        if expr not in self._ranges or not isinstance(expr, relay.Call):
            return None
        layer = read_layer(expr)
        if layer is not None and layer.x in self._ranges:
            self._needed(expr)
            if isinstance(layer, Convolution) and layer.grouped:  # groups are of one size, and stay
                self._needed(expr)[:] = False
                self._needed(layer.x)[:] = False
            elif isinstance(layer, Dense) or (isinstance(layer, Convolution) and not layer.depthwise):
                self._bound(layer.x, _foldable(layer, self._ranges[layer.x]))
            else:
                self._same(layer.x, expr)
            return [layer.x]
        addition = read_addition(expr)
        if addition is not None and all(operand in self._ranges for operand in addition.operands):
            for operand in addition.operands:
                self._same(operand, expr)
            return list(addition.operands)
        lookup = read_lookup(expr)
        if lookup is not None and lookup.x in self._ranges:
            self._same(lookup.x, expr)
            return [lookup.x]
        if is_call(expr, "nn.max_pool2d", "reshape") and expr.args[0] in self._ranges:
            if is_call(expr, "reshape") and not channel_copies(expr):
                return None
            self._same(expr.args[0], expr)
            return [expr.args[0]]
        return None

    def _bound(self, expr: relay.Expr, allowed: Mask) -> None:
        """The reader can do without `allowed` channels of `expr`, and no others."""
        self._needed(expr)[~allowed] = False

    def _same(self, x: relay.Expr, y: relay.Expr) -> None:
        """A channel of x and the channels of y made from it go together."""
        dead_x, dead_y = self._needed(x), self._needed(y)
        factor = len(dead_y) // len(dead_x)
        # A reshape repeats the channels one after the other, a depthwise convolution makes several of each.
        tiled = is_call(y, "reshape")

        def rule() -> bool:
            groups = dead_y.reshape(factor, -1).T if tiled else dead_y.reshape(-1, factor)
            both = dead_x & groups.all(axis=1)
            spread = np.tile(both, factor) if tiled else np.repeat(both, factor)
            changed = bool((both != dead_x).any() or (spread != dead_y).any())
            dead_x[:], dead_y[:] = both, spread
            return changed

        self._rules.append(rule)


def _foldable(layer: Convolution | Dense, x: Range) -> Mask:
    """Input channels whose products are known: constants that padding does not interrupt, and weights of 0."""
    constant = x.constant
    if isinstance(layer, Dense):
        return constant | (layer.weights == 0).all(axis=0)
    if any(layer.padding):
        constant = constant & (x.low == layer.pad_value)
    return constant | (layer.weights == 0).all(axis=(0, 1, 3))


def _reduced(
    call: relay.Call, kept: dict[relay.Expr, Mask], ranges: dict[relay.Expr, Range], new: New
) -> relay.Expr | None:
    """An operator on the channels that are kept of its inputs, computing those that are kept of its output."""
    layer = read_layer(call)
    if layer is not None and layer.x in kept:
        x, y = ranges[layer.x], ranges[call]
        if kept[call].all() and kept[layer.x].all() and not y.constant.any():
            return None
        return _reduced_layer(layer, kept[layer.x], kept[call], x, y).build(new(layer.x))
    if is_call(call, "reshape") and channel_copies(call) and not kept[call].all():
        return relay.reshape(new(call.args[0]), (*shape(call)[:-1], int(kept[call].sum())))
    return None


def _reduced_layer(layer: Accumulation, inputs: Mask, outputs: Mask, x: Range, y: Range) -> Accumulation:
    requantization = _constants_written_out(layer, y)
    if isinstance(layer, Dense):
        known = layer.weights[:, ~inputs].astype(np.int64) @ x.low[~inputs]
        requantization = requantization.moved(-known).take(outputs)
        return replace(layer, weights=layer.weights[outputs][:, inputs], requantization=requantization)
    if not isinstance(layer, Convolution) or layer.grouped:
        return replace(layer, requantization=requantization.take(outputs))
    if layer.depthwise:
        weights, groups = layer.weights[:, :, inputs], int(inputs.sum())
        return replace(layer, weights=weights, groups=groups, requantization=requantization.take(outputs))
    taps = layer.weights.astype(np.int64).sum(axis=(0, 1))
    known = x.low[~inputs] @ taps[~inputs]
    requantization = requantization.moved(-known).take(outputs)
    return replace(layer, weights=layer.weights[:, :, inputs][..., outputs], requantization=requantization)


def _constants_written_out(layer: Accumulation, y: Range) -> Requantization:
    """The requantization with multiplier 0 for every channel that has one output for the inputs it can meet."""
    requantization = layer.requantization
    below, exceptions, constant = requantization.negative_below, requantization.exceptions, y.constant
    ties = requantization.ties_to_even
    return replace(
        requantization,
        multiplier=np.where(constant, 0, requantization.multiplier),
        bias=np.where(constant, y.low, requantization.bias),
        shift=np.where(constant, 0, requantization.shift),
        negative_below=None if below is None else np.where(constant, UNREACHED, below),
        exceptions=None if exceptions is None else np.where(constant[:, None], UNREACHED, exceptions),
        ties_to_even=None if ties is None else ties & ~constant,
    )
