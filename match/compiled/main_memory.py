"""What main memory holds of a network that was cut and is not built: an estimate, without TVM.

Every operator writes a tensor of its own, which is there until the last that reads it. TVM does otherwise for operators
on the control core: it joins some, and others keep tensors of their own while they run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from match.dispatch.plan import LayerDecision
from match.graph.opaque import Constant
from match.graph.operator import Array, Operator
from match.graph.text import arrays_of
from match.ir.dtypes import value_range
from match.ir.layer import Role
from match.ir.requantization import Requantization
from match.mapping.memory import align
from match.mapping.packing import Item, pack
from match.mapping.storage import storage
from match.partitioning.layouts import LAYOUT
from match.partitioning.partitioner import Partitioned
from match.partitioning.pattern import Row
from match.partitioning.pattern.types import sources
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
    items = [
        Item(place, place, last[place], size, {n: lag for n, lag in _under(decision, read, place, last) if sizes[n]})
        for place, (decision, read, size) in enumerate(zip(decisions, reads, sizes, strict=True))
        if size
    ]
    items += [
        Item(len(decisions) + place, place, place, size) for place, size in enumerate(map(_scratch, decisions)) if size
    ]
    packed = pack(items, _ALIGNMENT, 0, solve=False)
    on_core = [row for decision, row in zip(decisions, row_of, strict=True) if decision.plan is None and row]
    operator_bytes = sum(map(_constants, on_core))
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
    own = max((_OWN * _touched(row) for row in on_core), default=0)
    return Estimate(whole, constants, own)


def _under(decision: LayerDecision, read: Reads, place: int, last: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The writers of tensors over which a decision's own may lie as it is the last to read them (`Item.over`)."""
    if decision.plan is not None and decision.plan.overwritable:
        lag = max(decision.plan.overwritable.values())
        yield from ((writer, lag) for writer in read.operators if last[writer] == place)


def _scratch(decision: LayerDecision) -> int:
    """Bytes of main memory that a layer's kernel takes beside its tensors, where its module has no scratchpad."""
    return decision.plan.schedule.scratch if decision.plan is not None and decision.plan.schedule.direct else 0


def _written(decision: LayerDecision, row: Row | None) -> int:
    """Bytes of what an operator writes."""
    if decision.plan is not None:
        output = next(operand for operand in decision.plan.schedule.operands if operand.role is Role.OUTPUT)
        return storage(output).elements * np.dtype(decision.plan.layer.output_dtype).itemsize
    return decision.outputs if row is None else row.root.tensor.bytes


def _touched(row: Row) -> int:
    """Bytes of what an operator reads of others, and of what it writes."""
    read = (x for x in row.inputs if not isinstance(x.operator, Constant))
    return sum(value.tensor.bytes for value in (*read, row.root))


def _constants(row: Row) -> int:
    """Bytes of the constants that an operator reads; a number is part of the code."""
    read = (x.operator.array.nbytes for x in sources(row.covered) if isinstance(x.operator, Constant) and x.shape)
    inside = (size for x in row.covered if x.operator for size in _stored(x.operator, x.dtype))
    return sum(align(size, _ALIGNMENT) for size in (*read, *inside))


def _stored(operator: Operator, dtype: str) -> Iterator[int]:
    """Bytes that each array of an operator takes in C.

    An array has the type of the operator's result if that type can hold all of its numbers, or else int32 if that can.
    The multipliers, biases and shifts of a requantization always have 64 bits.
    """
    lines = [part for part in vars(operator).values() if isinstance(part, Requantization)]
    wide = {id(array) for line in lines for array in (line.multiplier, line.bias, line.shift, line.negative_step)}
    for array in arrays_of(operator):
        narrow = [kind for kind in (dtype, "int32") if id(array) not in wide and _holds(kind, array)]
        if array.ndim:
            yield array.size * min([array.itemsize, *(np.dtype(kind).itemsize for kind in narrow)])


def _holds(dtype: str, array: Array) -> bool:
    """Whether an integer type has all numbers of an array of integers."""
    if array.dtype.kind != "i" or np.dtype(dtype).kind not in "iu":
        return False
    low, high = value_range(dtype)
    return bool(low <= array.min() and array.max() <= high)
