"""Splits layers of several maps into layers of one map each, as modules take them.

A network that does the same to each sample of its batch is one of a single sample (`passes.one_sample`). Here are
layers of networks whose samples meet: two images are compared, or frames lie along an axis inside the network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from match.graph.make import constant, cut, reshaped
from match.graph.moves import Concatenate
from match.graph.opaque import Constant
from match.graph.operator import Described, Known, Operator
from match.graph.rewrite import rewrite
from match.graph.samples import is_of_pixels, operator_of_one, part_of
from match.graph.sums import Convolution
from match.graph.value import Graph, Value, computed
from match.ir.graph import Tensor
from match.ir.layer import Op
from match.target.hardware import MatchTarget


def split_batches(graph: Graph, target: MatchTarget) -> Graph:
    """The graph with one map in each layer that modules of the target take so, and not with several.

    Convolutions of pixels are on all pixels of all maps. Parts of a layer are those of the next one, also through
    functions of elements, and are joined for what takes them together.
    """
    return rewrite(graph, _Splitter(target.taken).rule)


class _Splitter:
    """The rule; `taken` are operators that modules have patterns for.

    `_split` has the parts of tensors that are computed so, `_cut` those of others.
    """

    def __init__(self, taken: frozenset[Op]) -> None:
        self._taken = taken
        self._split: dict[Value, tuple[Value, ...]] = {}
        self._cut: dict[Value, tuple[Value, ...]] = {}

    def rule(self, value: Value, original: Value) -> Value:
        """A layer of each map, and all of them together."""
        del original
        batch = value.shape[0] if value.shape else 1
        axes = [None if _is_shared(x, value) else 0 for x in value.inputs]
        given = [(x, axis is None) for x, axis in zip(value.inputs, axes, strict=True)]
        if batch == 1 or not all(shared or x.shape[:1] == (batch,) for x, shared in given):
            return value
        one = operator_of_one(value, axes, 0, batch)
        if one is None:
            return value
        alone = self._is_taken(one, [x.tensor if shared else part_of(x.tensor, 0, batch) for x, shared in given])
        if alone and not self._is_taken(one, [x.tensor for x in value.inputs]):
            convolution = value.operator
            if isinstance(convolution, Convolution) and is_of_pixels(convolution):
                return _of_all_pixels(value)
        elif not (one.elementwise and any(x in self._split for x in value.inputs)):
            return value
        inputs = [[x] * batch if shared else self._apart(x) for x, shared in given]
        parts = tuple(
            replace(computed(one, *own, exact=value.exact, source=value.source), parts=batch)
            for own in zip(*inputs, strict=True)
        )
        whole = replace(value, operator=Concatenate(axis=0), inputs=parts, parts=batch)
        self._split[whole] = parts
        return whole

    def _is_taken(self, operator: Operator, inputs: Sequence[Tensor]) -> bool:
        described = operator.layer(operator.result(*inputs), [Known(x) for x in inputs])
        return isinstance(described, Described) and described.layer.op in self._taken

    def _apart(self, x: Value) -> tuple[Value, ...]:
        """The maps of a tensor, each a tensor."""
        if x in self._split:
            return self._split[x]
        if x not in self._cut:
            self._cut[x] = tuple(_part(x, number) for number in range(x.shape[0]))
        return self._cut[x]


def _is_shared(x: Value, reader: Value) -> bool:
    """Whether the parts of an operator all read a tensor as it is: constants, but those with elements for each part."""
    assert reader.operator is not None, "it reads"
    of_each = reader.operator.elementwise and (len(x.shape), x.shape[:1]) == (len(reader.shape), reader.shape[:1])
    return isinstance(x.operator, Constant) and not of_each


def _part(x: Value, number: int) -> Value:
    """A map of a tensor."""
    if isinstance(x.operator, Constant):
        return constant(x.operator.array[number : number + 1])
    return cut(x, 0, number, number + 1)


def _of_all_pixels(value: Value) -> Value:
    """A convolution of pixels, where the rows of all maps are those of one."""
    (x,) = value.inputs
    batch, rows, *rest = x.shape
    flat = reshaped(x, (1, batch * rows, *rest))
    assert value.operator is not None, "it is a convolution"
    one = replace(computed(value.operator, flat), exact=value.exact, source=value.source)
    return replace(reshaped(one, value.shape), deviation=value.deviation)
