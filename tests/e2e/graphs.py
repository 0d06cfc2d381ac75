"""Random graphs of maxima, concatenations and slices, as Relay and in NumPy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from match.relay import relay, tvm

Array = npt.NDArray[Any]


def largest(x: Array) -> Array:
    """The largest of each pixel's neighbourhood of 3 x 3, of a tensor (1, H, W, C) of uint8."""
    padded = np.pad(x, [(0, 0), (1, 1), (1, 1), (0, 0)])
    return np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2)).max((-2, -1))


@dataclass
class Graph:
    """A network that is built operator by operator, in Relay and, for one input, in NumPy; tensors by number."""

    height: int
    width: int
    channels: int
    seed: int
    expressions: list[relay.Expr] = field(default_factory=list[relay.Expr])
    values: list[Array] = field(default_factory=list[Array])

    def __post_init__(self) -> None:
        shape = (1, self.height, self.width, self.channels)
        self.rng = np.random.default_rng(self.seed)
        self._add(relay.var("x", shape=shape, dtype="uint8"), self.rng.integers(0, 256, shape, np.uint8))

    def _add(self, expression: relay.Expr, value: Array) -> int:
        self.expressions.append(expression)
        self.values.append(value)
        return len(self.values) - 1

    def largest(self, x: int) -> int:
        """A pooling."""
        pooled = relay.nn.max_pool2d(self.expressions[x], pool_size=(3, 3), padding=(1, 1), layout="NHWC")
        return self._add(pooled, largest(self.values[x]))

    def joined(self, *parts: int) -> int:
        """A concatenation of channels."""
        expression = relay.concatenate([self.expressions[x] for x in parts], 3)
        return self._add(expression, np.concatenate([self.values[x] for x in parts], 3))

    def sliced(self, x: int, begin: int, end: int) -> int:
        """Some channels."""
        part = relay.strided_slice(self.expressions[x], begin=[begin], end=[end], axes=[3])
        return self._add(part, self.values[x][..., begin:end])

    def module(self, *outputs: int) -> tvm.IRModule:
        """The network with these outputs, named output_0 and so on."""
        results = [self.expressions[x] for x in outputs]
        body = relay.Tuple(results) if len(results) > 1 else results[0]
        return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([self.expressions[0]], body)))


def random_graph(seed: int) -> tuple[Graph, tuple[int, ...]]:
    """A graph and its outputs: what is joined is pooled before and behind, and slices are read by several."""
    rng = np.random.default_rng(seed)
    height, width, channels = (int(rng.integers(*bounds)) for bounds in ((2, 9), (2, 9), (3, 20)))
    graph = Graph(height, width, channels, seed)
    tensors = [graph.largest(0)]
    for _ in range(int(rng.integers(3, 9))):
        x, other = (int(rng.choice(tensors)) for _ in range(2))
        count = graph.values[x].shape[3]
        kind = rng.choice(["largest", "joined", "sliced", "dense block"])
        if kind == "joined" and count + graph.values[other].shape[3] <= 96:
            tensors.append(graph.joined(x, graph.largest(other), *([graph.largest(x)] if rng.random() < 0.3 else ())))
        elif kind == "sliced" and count > 1:
            cut = int(rng.integers(1, count))
            tensors += [graph.sliced(x, 0, cut), graph.largest(graph.sliced(x, cut, count))]
        elif kind == "dense block" and count <= 48:
            tensors.append(graph.joined(x, graph.largest(x)))
        else:
            tensors.append(graph.largest(x))
    used = [int(x) for x in dict.fromkeys(rng.choice(tensors, 2)) if x != tensors[-1]]
    return graph, (graph.largest(tensors[-1]), *(graph.largest(x) for x in used))
