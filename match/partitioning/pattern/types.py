"""Rows: what modules are asked about, operators like layers that cannot be described as one, and all others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from match.graph.opaque import Constant
from match.graph.value import Value
from match.ir.constants import LayerConstants
from match.ir.layer import Layer, Op
from match.ir.requantization import Int64Array


@dataclass(frozen=True, eq=False)
class Match:
    """A layer of a network.

    root: the tensor that the layer computes.
    inputs: the layer's inputs: one, or two for an operator of two activations.
    covered: the tensors that the layer computes, each after those that it is computed from; `root` is the last.
    accumulator: smallest and largest int32 accumulator that each channel can reach, for inputs of any value; for an
        addition the range of the sum of its two products; None for an operator that does not requantize.
    reference: whether the layer computes the reference's integers; False if the reference may differ, in floating
        point.
    order: the operator's inputs, by number, in the order in which the layer has them.
    """

    root: Value
    inputs: tuple[Value, ...]
    covered: tuple[Value, ...]
    layer: Layer
    constants: LayerConstants
    accumulator: tuple[Int64Array, Int64Array] | None
    reference: bool = True
    order: tuple[int, ...] = (0,)


@dataclass(frozen=True, eq=False)
class Rejection:
    """An operator like a layer that cannot be offered to modules, with the reason; `macs` as in `Refused`."""

    root: Value
    op: Op
    macs: int
    reason: str

    @property
    def covered(self) -> tuple[Value, ...]:
        """What it computes."""
        return (self.root,)

    @property
    def inputs(self) -> tuple[Value, ...]:
        """The tensors that it reads."""
        return read_by(self.covered)


@dataclass(frozen=True, eq=False)
class Core:
    """Operators that the control core computes in one loop, or all those of a function in fixed point.

    Mostly it is one operator. covered: the tensors that they compute, in order. root: the tensor that others know the
    last one as, where that is not itself.
    """

    covered: tuple[Value, ...]
    root: Value

    @property
    def inputs(self) -> tuple[Value, ...]:
        """The tensors that it reads."""
        return read_by(self.covered)


Row = Match | Rejection | Core


def tensors_of(row: Row) -> tuple[Value, ...]:
    """The tensors that a row computes, and last the one that others know its result as."""
    return row.covered if row.covered[-1] is row.root else (*row.covered, row.root)


def read_by(values: Sequence[Value]) -> tuple[Value, ...]:
    """The tensors that some are computed from and that are none of them, constants left out."""
    return tuple(x for x in sources(values) if not isinstance(x.operator, Constant))


def sources(values: Sequence[Value]) -> Iterable[Value]:
    """The tensors that some are computed from and that are none of them, constants among them."""
    own = set(values)
    return dict.fromkeys(source for value in values for source in value.inputs if source not in own)


def named_in(row: Row) -> Value | None:
    """The last tensor of a row that the model has a name for."""
    return next((value for value in reversed(row.covered) if value.source), None)


def name_of(row: Row) -> str:
    """What the model calls it; empty if it has no name for it."""
    value = named_in(row)
    return value.source if value else ""
