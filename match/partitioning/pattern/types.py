"""Layers that are found in Relay, and expressions like layers that cannot be expressed as one."""

from __future__ import annotations

from dataclasses import dataclass

from match.ir.constants import LayerConstants
from match.ir.layer import Layer, Op
from match.ir.requantization import Int64Array
from match.relay import relay


@dataclass(frozen=True, eq=False)
class Match:
    """A layer found in Relay.

    root: the expression whose value the layer computes.
    inputs: the layer's inputs: one, or two for an operator of two activations.
    covered: the calls and tuples from the inputs to the root, which the layer replaces.
    accumulator: smallest and largest int32 accumulator that each channel can reach, for inputs of any value; for an
        addition the range of the sum of its two products; None for an operator that does not requantize.
    reference: whether the layer computes the reference's integers; False if the reference may differ, in floating
        point.
    order: the operator's inputs, by number, in the order in which the layer has them.
    """

    root: relay.Expr
    inputs: tuple[relay.Expr, ...]
    covered: tuple[relay.Expr, ...]
    layer: Layer
    constants: LayerConstants
    accumulator: tuple[Int64Array, Int64Array] | None
    reference: bool = True
    order: tuple[int, ...] = (0,)


@dataclass(frozen=True, eq=False)
class Rejection:
    """An expression like a layer that cannot be offered to modules, with the reason; `outputs` in elements.

    `reference` as in `Match`.
    """

    root: relay.Expr
    covered: tuple[relay.Expr, ...]
    op: Op
    macs: int
    outputs: int
    reason: str
    reference: bool
