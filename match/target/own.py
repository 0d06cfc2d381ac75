"""Operators that the compiler has no word for: a module brings them, as a pattern of Relay and what it becomes.

The pattern is one of `tvm.relay.dataflow_pattern`, over the network in integer form (docs/integer-form.md). Whatever it
matches is offered to the module as a layer, with schedule, C, trace and report like any other. What the operator
computes is what its Relay says: TVM's C does so on the control core, and `match check-target` compares with that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Reading:
    """What an occurrence is: the Relay expressions that it reads, of its output's shape, one or two, and its constants.

    A kernel finds the constants at `match_tile_t.parameters`, whatever its tile is.
    """

    inputs: tuple[Any, ...]
    constants: bytes = b""


@dataclass(frozen=True)
class OwnOperator:
    """An operator of a module's own, named in reports and C; two of one name are the same operator.

    dataflow: the pattern, whose inputs are wildcards.
    read: from the expressions that parts of the pattern stand for, by part, to what the occurrence is, or None for one
        that the module's kernel cannot compute.
    example: from inputs of one shape (1, 8, 8, 16) and 8 bits to the operator's output, in Relay: what `match
        check-target` tries.
    """

    name: str
    dataflow: Any
    read: Callable[[Mapping[Any, Any]], Reading | None]
    example: Callable[..., Any]
    inputs: int = 1
