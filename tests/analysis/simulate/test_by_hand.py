"""Small timelines computed by hand, from the order of events in docs/event-order.md."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from match.analysis.simulate import Event, Kind, simulate
from match.ir.layer import Dim, Layer, Op, Operand
from match.mapping.memory import Memory
from match.mapping.schedule import Loop, Placement, Schedule
from match.target.cost import Block, CostModel, Tile
from match.target.operands import input_operand, output_operand, standard_operands

pytestmark = pytest.mark.unit


@dataclass(frozen=True)
class RowCost(CostModel):
    """100 cycles a layer, 1 a transfer, 2 a call; 10 a row of output, 10 a byte of L2, 3 a block and 2 a byte of L1."""

    overlap: bool = True

    def compute(self, layer: Layer, tile: Tile) -> float:
        return 10 * tile.oy

    def launch(self, layer: Layer) -> float:
        return 2

    def transfer(self, layer: Layer, block: Block) -> float:
        return 10 * block.bytes if block.memory == "L2" else 3 + 2 * block.bytes

    def issue(self, layer: Layer) -> float:
        return 1

    def overhead(self, layer: Layer) -> float:
        return 100


L1, L2 = Memory("L1", 64), Memory("L2", 256)


def column(rows: int) -> tuple[Layer, tuple[Operand, ...]]:
    """One channel and one column, an element a row; no constants."""
    layer = Layer("column", Op.LOOKUP, 1, 1, rows, 1, rows, 1, weight_dtype="")
    return layer, (input_operand(layer), output_operand(layer))


def table(events: tuple[Event, ...]) -> list[tuple[str, str, str, int, float, float, float]]:
    """What, memory, operand, number; when the core goes on; begin and end of the transfer or call."""
    return [
        (e.action.kind.value, e.action.memory, e.action.operand, e.action.number, e.core_end, e.begin, e.end)
        for e in events
    ]


def rows_in_three_tiles(model: CostModel) -> Schedule:
    layer, operands = column(6)
    placements = (Placement("input", "L1", 1, 2), Placement("output", "L1", 1, 1))
    return Schedule(layer, operands, (L1,), (Loop(Dim.OY, 2, 6),), placements)


def test_one_memory() -> None:
    """Inputs come in early, and the one output buffer holds up every kernel but the first."""
    timeline = simulate(rows_in_three_tiles(RowCost()), RowCost())
    assert table(timeline.events) == [
        ("fetch", "L1", "input", 0, 101, 101, 108),
        ("wait", "L1", "input", 0, 108, 101, 108),
        ("fetch", "L1", "input", 1, 109, 109, 116),
        ("kernel", "", "", 0, 131, 111, 131),
        ("store", "L1", "output", 0, 132, 132, 139),
        ("wait", "L1", "input", 1, 132, 132, 132),
        ("fetch", "L1", "input", 2, 133, 139, 146),  # behind the write-back, in order of issue
        ("wait", "L1", "output", 0, 139, 133, 139),
        ("kernel", "", "", 1, 161, 141, 161),
        ("store", "L1", "output", 1, 162, 162, 169),
        ("wait", "L1", "input", 2, 162, 162, 162),
        ("wait", "L1", "output", 1, 169, 162, 169),
        ("kernel", "", "", 2, 191, 171, 191),
        ("store", "L1", "output", 2, 192, 192, 199),
        ("wait", "L1", "output", 2, 199, 192, 199),
    ]
    assert (timeline.offload, timeline.cycles) == (100, 199)
    assert (timeline.compute, timeline.transfer, timeline.overhead) == (60, 6 * 7, 100 + 6 * 1 + 3 * 2)
    assert timeline.moved == (("input", 6), ("output", 6))


def test_without_overlap() -> None:
    """The core sees every transfer through: three of 8 cycles in, three out, three calls of 22."""
    assert simulate(rows_in_three_tiles(RowCost()), RowCost(overlap=False)).cycles == 100 + 6 * 8 + 3 * 22


def nested(l2: Memory = L2, l1: Memory = L1) -> Schedule:
    """Eight rows: four at a time in L2, two of these at a time in L1."""
    layer, operands = column(8)
    placements = [
        Placement("input", "L2", 1, 2),
        Placement("output", "L2", 1, 1),
        Placement("input", "L1", 2, 2),
        Placement("output", "L1", 2, 1),
    ]
    loops = (Loop(Dim.OY, 4, 8, 0), Loop(Dim.OY, 2, 4, 1))
    kept = tuple(p for p in placements if p.memory == "L1" or l2.has(p.operand))
    return Schedule(layer, operands, (l2, l1), loops, kept)


def test_two_memories() -> None:
    """L2 brings its next block in beside all of the inner mapping, whose streams start and drain for each block."""
    timeline = simulate(nested(), RowCost())
    assert table(timeline.events) == [
        ("fetch", "L2", "input", 0, 101, 101, 141),
        ("wait", "L2", "input", 0, 141, 101, 141),
        ("fetch", "L2", "input", 1, 142, 142, 182),
        ("fetch", "L1", "input", 0, 143, 143, 150),
        ("wait", "L1", "input", 0, 150, 143, 150),
        ("fetch", "L1", "input", 1, 151, 151, 158),
        ("kernel", "", "", 0, 173, 153, 173),
        ("store", "L1", "output", 0, 174, 174, 181),
        ("wait", "L1", "input", 1, 174, 174, 174),
        ("wait", "L1", "output", 0, 181, 174, 181),
        ("kernel", "", "", 1, 203, 183, 203),
        ("store", "L1", "output", 1, 204, 204, 211),
        ("wait", "L1", "output", 1, 211, 204, 211),
        ("store", "L2", "output", 0, 212, 212, 252),
        ("wait", "L2", "input", 1, 212, 212, 212),
        ("wait", "L2", "output", 0, 252, 212, 252),  # the inner mapping needs the buffer
        ("fetch", "L1", "input", 2, 253, 253, 260),
        ("wait", "L1", "input", 2, 260, 253, 260),
        ("fetch", "L1", "input", 3, 261, 261, 268),
        ("kernel", "", "", 2, 283, 263, 283),
        ("store", "L1", "output", 2, 284, 284, 291),
        ("wait", "L1", "input", 3, 284, 284, 284),
        ("wait", "L1", "output", 2, 291, 284, 291),
        ("kernel", "", "", 3, 313, 293, 313),
        ("store", "L1", "output", 3, 314, 314, 321),
        ("wait", "L1", "output", 3, 321, 314, 321),
        ("store", "L2", "output", 1, 322, 322, 362),
        ("wait", "L2", "output", 1, 362, 322, 362),
    ]
    assert timeline.cycles == 362
    assert timeline.moved == (("input", 16), ("output", 16))


def test_offsets_are_inside_the_outer_block() -> None:
    moved = [a for a in simulate(nested(), RowCost()).actions if a.kind in (Kind.FETCH, Kind.STORE)]
    offsets = {
        (operand, memory): [a.offset for a in moved if (a.operand, a.memory) == (operand, memory)]
        for operand in ("input", "output")
        for memory in ("L2", "L1")
    }
    assert offsets == {
        ("input", "L2"): [0, 4],
        ("input", "L1"): [0, 2, 0, 2],
        ("output", "L2"): [0, 4],
        ("output", "L1"): [0, 2, 0, 2],
    }


def test_operands_that_pass_a_memory_by() -> None:
    """Only inputs are held in L2: outputs go from L1 to the main memory, through L1's engine."""
    timeline = simulate(nested(replace(L2, holds=frozenset({"input"}))), RowCost())
    stores = [a for a in timeline.actions if a.kind is Kind.STORE]
    assert [(a.memory, a.offset) for a in stores] == [("L1", 0), ("L1", 2), ("L1", 4), ("L1", 6)]
    # As above without the 40 cycles in which the second half waits for the first one's write-back, the two cycles that
    # issue these, and the 40 of the last.
    assert timeline.cycles == 362 - 40 - 2 - 40


def test_a_private_memory_changes_no_time() -> None:
    private = replace(L1, private=(("input", 64),))
    assert simulate(nested(l1=private), RowCost()) == simulate(nested(), RowCost())


def test_partial_sums() -> None:
    """Two tiles of channels, three of inputs each; the last is smaller. The output waits for the end of each sum."""
    layer = Layer("dense", Op.DENSE, 4, 5, 1, 1, 1, 1)
    *others, output = standard_operands(layer, 0)
    operands = (*others, replace(output, partial_bytes=4))
    loops = (Loop(Dim.K, 2, 4), Loop(Dim.C, 2, 5))
    placements = (Placement("input", "L1", 2), Placement("weights", "L1", 2), Placement("output", "L1", 1))
    actions = simulate(Schedule(layer, operands, (L1,), loops, placements), RowCost()).actions
    calls = [(a.tile.k, a.tile.c, a.tile.begin, a.tile.end) for a in actions if a.tile]
    assert calls == [(2, 2, True, False), (2, 2, False, False), (2, 1, False, True)] * 2
    kinds = [a.kind for a in actions if a.kind is not Kind.WAIT and a.operand != "weights"]
    assert kinds == [*[Kind.FETCH, Kind.KERNEL] * 3, Kind.STORE] * 2
    assert [a.offset for a in actions if a.kind is Kind.FETCH and a.operand == "input"] == [0, 2, 4] * 2
    assert [a.bytes for a in actions if a.kind is Kind.FETCH and a.operand == "input"] == [2, 2, 1] * 2
    assert [a.offset for a in actions if a.kind is Kind.FETCH and a.operand == "weights"] == [0, 4, 8, 12, 16, 20]


def test_constants_lie_in_the_order_of_first_fetch() -> None:
    """Channels are cut inside rows: the same blocks again for every row."""
    layer = Layer("conv", Op.CONV2D, 5, 3, 2, 1, 2, 1)
    operands = standard_operands(layer, 0)
    loops = (Loop(Dim.OY, 1, 2), Loop(Dim.K, 2, 5))
    placements = (Placement("input", "L1", 0), Placement("weights", "L1", 2, 2), Placement("output", "L1", 2))
    actions = simulate(Schedule(layer, operands, (L1,), loops, placements), RowCost()).actions
    fetches = [(a.offset, a.bytes) for a in actions if a.kind is Kind.FETCH and a.operand == "weights"]
    assert fetches == [(0, 8), (8, 8), (16, 8)] * 2, "two filters of 3 bytes, aligned"
    stores = [(a.offset, a.bytes) for a in actions if a.kind is Kind.STORE]
    assert stores == [(0, 2), (2, 2), (4, 1), (5, 2), (7, 2), (9, 1)]


class NumpyCost(RowCost):
    """The same, in NumPy's numbers, as formulas for arrays return them."""

    def compute(self, layer: Layer, tile: Tile) -> float:
        return np.float64(super().compute(layer, tile))

    def transfer(self, layer: Layer, block: Block) -> float:
        return np.float64(super().transfer(layer, block))


def test_times_are_numbers_that_a_report_can_hold() -> None:
    timeline = simulate(rows_in_three_tiles(RowCost()), NumpyCost())
    assert timeline == simulate(rows_in_three_tiles(RowCost()), RowCost())
    times = [timeline.cycles, timeline.compute, *(time for event in timeline.events for time in event[1:])]
    assert {type(time) for time in times} <= {int, float}
