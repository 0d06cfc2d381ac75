"""Removes the channels that a network computes for nothing.

A channel is dead for a convolution or dense layer that reads it if it is constant, since its products can go into B, or
if its weights are 0. Depthwise convolutions, pooling, additions and tables pass the question on to their own readers.
What nobody needs is not computed. Training with strong regularisation leaves many such channels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from match.graph import moves
from match.graph.elements import Lookup
from match.graph.maximum import Maximum
from match.graph.moves import Move
from match.graph.operator import Range
from match.graph.pairs import Addition
from match.graph.ranges import ranges
from match.graph.rewrite import rewrite
from match.graph.sums import SUMS, Accumulation, Average, Convolution, Dense
from match.graph.value import Graph, Value
from match.ir.requantization import UNREACHED, Requantization

Mask = npt.NDArray[np.bool_]


def without_dead_channels(graph: Graph) -> Graph:
    """The graph with constant channels folded into the layers that read them, and without channels that none needs.

    Exact: the outputs of the network do not change for any input. A constant that meets padding of another value is
    kept, since its sum differs at the border. Constant channels that must stay get multiplier 0.
    """
    values = graph.values
    known = ranges(values)
    kept = _Liveness(graph, values, known).kept()

    def rule(value: Value, original: Value) -> Value:
        return _reduced(value, original, kept, known) if original in kept else value

    return rewrite(graph, rule)


class _Liveness:
    """For each tensor the channels that a reader needs: the greatest fixed point of what readers can do without."""

    def __init__(self, graph: Graph, values: Sequence[Value], known: Mapping[Value, Range]) -> None:
        self._ranges = known
        self._dead: dict[Value, Mask] = {}
        self._rules: list[Callable[[], bool]] = []
        for tensor in (*graph.inputs, *graph.outputs):
            self._need_all(tensor)
        for value in values:
            if value.operator is not None and not self._understood(value):
                for tensor in (value, *value.inputs):
                    self._need_all(tensor)

    def kept(self) -> dict[Value, Mask]:
        """For every tensor that is understood, the channels to keep: at least one."""
        while True:
            while sum(rule() for rule in self._rules):
                pass
            empty = [dead for dead in self._dead.values() if dead.all()]
            if not empty:
                return {value: ~dead for value, dead in self._dead.items()}
            empty[0][0] = False

    def _need_all(self, value: Value) -> None:
        if value in self._ranges:
            self._needed(value)[:] = False

    def _needed(self, value: Value) -> Mask:
        if value not in self._dead:
            self._dead[value] = np.ones(value.shape[-1], np.bool_)
        return self._dead[value]

    def _understood(self, value: Value) -> bool:
        """Record what an operator can do without; False for operators of which that is not known."""
        operator = value.operator
        if value not in self._ranges or any(x not in self._ranges for x in value.inputs):
            return False
        match operator:
            case Convolution() if operator.grouped:  # groups are of one size, and stay
                return False
            case Dense() | Convolution(kernel_layout="HWIO"):
                (x,) = value.inputs
                self._needed(value)
                self._needed(x)[~_foldable(operator, self._ranges[x])] = False
            case Convolution() | Average() | Addition() | Lookup() | Maximum():
                for x in value.inputs:
                    self._same(x, value)
            case Move() if channel_copies(value):
                self._same(value.inputs[0], value)
            case _:
                return False
        return True

    def _same(self, x: Value, y: Value) -> None:
        """A channel of x and the channels of y made from it go together."""
        dead_x, dead_y = self._needed(x), self._needed(y)
        factor = len(dead_y) // len(dead_x)
        # A reshape repeats the channels one after the other, a depthwise convolution makes several of each.
        tiled = isinstance(y.operator, Move)

        def rule() -> bool:
            groups = dead_y.reshape(factor, -1).T if tiled else dead_y.reshape(-1, factor)
            both = dead_x & groups.all(axis=1)
            spread = np.tile(both, factor) if tiled else np.repeat(both, factor)
            changed = bool((both != dead_x).any() or (spread != dead_y).any())
            dead_x[:], dead_y[:] = both, spread
            return changed

        self._rules.append(rule)


def channel_copies(value: Value) -> int:
    """How often the channels of a reshape's input follow one another in its last axis.

    0 if they are torn apart, and of moves that are no reshape.
    """
    move, before, after = value.operator, value.inputs[0].shape, value.shape
    if not isinstance(move, Move) or not move.keeps_order or not before or not after:
        return 0
    if before[-1] == after[-1]:
        return 1
    if len(after) == 2 and before[0] == after[0] and len(before) > 2:
        return after[-1] // before[-1]
    return 0


def _foldable(layer: Convolution | Dense, x: Range) -> Mask:
    """Input channels whose products are known: constants that padding does not interrupt, and weights of 0."""
    constant = x.constant
    if isinstance(layer, Dense):
        return constant | (layer.weights == 0).all(axis=0)
    if any(layer.padding):
        constant = constant & (x.low == layer.pad_value)
    return constant | (layer.weights == 0).all(axis=(0, 1, 3))


def _reduced(value: Value, original: Value, kept: Mapping[Value, Mask], known: Mapping[Value, Range]) -> Value:
    """An operator on the channels that are kept of its inputs, computing those that are kept of its output."""
    operator, own = value.operator, kept[original]
    tensor = replace(value.tensor, shape=(*value.shape[:-1], int(own.sum())))
    match operator:
        case Convolution() | Dense() | Average() if operator.dtype != SUMS and original.inputs[0] in kept:
            (x,) = original.inputs
            if own.all() and kept[x].all() and not known[original].constant.any():
                return value
            reduced = _reduced_layer(operator, kept[x], own, known[x], known[original])
            return replace(value, operator=reduced, tensor=tensor)
        case Move() if not own.all():
            return replace(value, operator=moves.reshape(value.inputs[0].tensor, tensor.shape), tensor=tensor)
        case _:
            return replace(value, tensor=tensor) if not own.all() else value


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
