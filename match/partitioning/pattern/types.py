"""What is found in Relay: layers, and things like layers that cannot be expressed as one."""

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
    inputs: the expressions it computes it from: the input and, where there are two, the addend.
    covered: the calls from the inputs to the root, and tuples between them, all of which the layer replaces.
    accumulator: smallest and largest int32 accumulator that each channel can reach, for inputs of any value; for an
        addition the range of the sum of its two products; None for an operator that does not requantize.
    reference: whether the layer in integers is what the reference computes, which may do so in floating point.
    """

    root: relay.Expr
    inputs: tuple[relay.Expr, ...]
    covered: tuple[relay.Expr, ...]
    layer: Layer
    constants: LayerConstants
    accumulator: tuple[Int64Array, Int64Array] | None
    reference: bool = True


@dataclass(frozen=True, eq=False)
class Rejection:
    """Something with the shape of a layer that no module can be asked for, and why; `outputs` in elements."""

    root: relay.Expr
    covered: tuple[relay.Expr, ...]
    op: Op
    macs: int
    outputs: int
    reason: str
