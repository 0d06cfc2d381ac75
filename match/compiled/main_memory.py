"""What main memory holds of a network that was cut and is not built: an estimate, without TVM.

Every operator writes a tensor of its own, which is there until the last that reads it. TVM does otherwise for operators
on the control core: it joins some, and others keep tensors of their own while they run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from match.dispatch.plan import LayerDecision
from match.ir.layer import Role
from match.mapping.schedule import align
from match.mapping.storage import storage
from match.partitioning.graph import Row
from match.partitioning.partitioner import LAYOUT, Partitioned
from match.placement.packing import Item, pack
from match.relay import relay
from match.relay.objects import operands
from match.report.reads import Reads
from match.report.schema import WorkspaceBuffer, WorkspaceSummary

_ALIGNMENT = 8
"""Bytes to which TVM aligns what it places."""

_OWN = 4
"""Times the bytes that an operator on the control core reads and writes: its own tensors are taken to be no more."""


@dataclass(frozen=True)
class Estimate:
    """Bytes of main memory: of constants, and of activations beside the network's inputs and outputs.

    `own` are the most that operators on the control core may need beside that while they run.
    """

    workspace: WorkspaceSummary
    constant_bytes: int
    own: int


def estimate(network: Partitioned, reads: Sequence[Reads]) -> Estimate:
    """What main memory holds of a network; `reads` are what its decisions read."""
    decisions = network.decisions
    last = list(range(len(decisions)))
    for place, read in enumerate(reads):
        for writer in read.operators:
            last[writer] = max(last[writer], place)
    rows = iter(network.rows)
    row_of = [None if decision.op == LAYOUT else next(rows) for decision in decisions]
    sizes = [
        0 if read.outputs and last[place] == place else _written(decision, row)
        for place, (decision, row, read) in enumerate(zip(decisions, row_of, reads, strict=True))
    ]
    items = [Item(place, place, last[place], size) for place, size in enumerate(sizes) if size]
    packed = pack(items, _ALIGNMENT, 0, solve=False)
    on_core = [row for decision, row in zip(decisions, row_of, strict=True) if decision.plan is None and row]
    operator_bytes = sum(align(size, _ALIGNMENT) for row in on_core for size in _constants(row))
    whole = WorkspaceSummary(
        steps=tuple(decision.name for decision in decisions),
        buffers=tuple(
            WorkspaceBuffer(item.bytes, packed.offsets[item.key], item.first, item.last)
            for item in sorted(items, key=lambda item: item.first)
        ),
        bytes=packed.peak,
        operator_bytes=operator_bytes,
    )
    constants = operator_bytes + sum(len(decision.plan.constants) for decision in decisions if decision.plan)
    own = max((_OWN * sum(map(_bytes, _touched(row))) for row in on_core), default=0)
    return Estimate(whole, constants, own)


def _written(decision: LayerDecision, row: Row | None) -> int:
    """Bytes of what an operator writes."""
    if decision.plan is not None:
        output = next(operand for operand in decision.plan.schedule.operands if operand.role is Role.OUTPUT)
        return storage(output).elements * np.dtype(decision.plan.layer.output_dtype).itemsize
    if row is None:
        return decision.outputs
    return _bytes(_expressions(row)[-1])


def _touched(row: Row) -> Iterator[relay.Expr]:
    """What an operator reads of others, and what it writes."""
    own = _expressions(row)
    inside = set(own)
    yield from dict.fromkeys(
        operand
        for expr in own
        for operand in operands(expr)
        if operand not in inside and not isinstance(operand, relay.Constant)
    )
    yield own[-1]


def _constants(row: Row) -> Iterator[int]:
    found = {
        operand: None for expr in _expressions(row) for operand in operands(expr) if isinstance(operand, relay.Constant)
    }
    for constant in found:
        if constant.data.shape:  # a number is part of the code
            yield _bytes(constant)


def _bytes(expr: relay.Expr) -> int:
    """Bytes of a tensor, or of all tensors of a tuple."""
    if isinstance(expr.checked_type, relay.TupleType):
        return sum(_of_type(field) for field in expr.checked_type.fields)
    return _of_type(expr.checked_type)


def _of_type(kind: relay.TensorType) -> int:
    return int(np.prod([int(side) for side in kind.shape], dtype=np.int64)) * np.dtype(str(kind.dtype)).itemsize


def _expressions(row: Row) -> Sequence[relay.Expr]:
    return row if isinstance(row, tuple) else row.covered
