"""Operators on the control core whose output goes to external memory: strip by strip, as it is made."""

from __future__ import annotations

from collections.abc import Iterator

from match.codegen.network import Strips
from match.codegen.steps import CallStep, Pieces
from match.mapping.packing import aligned
from match.placement.problem import Cut
from match.target.cost import Block
from match.target.hardware import External


def least_strips(pieces: Pieces, alignment: int) -> int:
    """Least bytes of main memory for two strips of an output: one is computed while the other is written back."""
    return 2 * aligned(pieces.bytes, alignment)


def best_strips(
    call: CallStep, cycles: float, room: int, alignment: int, issue: float, external: External
) -> tuple[Strips, Cut]:
    """The strips with the least predicted cycles, and their cost; of equals the smallest strips.

    Args:
        call: the operator's call, which has pieces.
        cycles: the operator's cycles with its output in main memory.
        room: bytes of main memory for both strips, at least `least_strips`.
        alignment: of strips in main memory.
        issue: cycles of the core to start a transfer.
        external: the memory.
    """
    pieces = call.pieces
    assert pieces is not None, "only what is written from front to back can be outside"

    def candidates() -> Iterator[Strips]:
        rows = 1
        while 2 * aligned(rows * pieces.bytes, alignment) <= room and rows < pieces.count:
            distance = aligned(rows * pieces.bytes, alignment)
            yield Strips(rows, pieces.count, pieces.bytes, distance, len(call.arguments) - 1)
            rows *= 2

    costs = [(strips, _cost(strips, cycles, issue, external)) for strips in candidates()]
    return min(costs, key=lambda found: (found[1].cycles, found[1].bytes))


def _cost(strips: Strips, cycles: float, issue: float, external: External) -> Cut:
    """The core makes one strip after the other, and the DMA takes them in order.

    A strip takes the place of the one before the last, and the core waits for that one. This delays no transfer and is
    left out: all strips take equally long, so a slower core finds the place free, and a slower DMA moves another strip
    meanwhile.
    """
    now = free = traffic = 0.0
    for first in range(0, strips.count, strips.rows):
        rows = min(strips.rows, strips.count - first)
        now += cycles * rows / strips.count + issue
        took = external.dma.transfer(Block("", (rows * strips.bytes,), rows * strips.bytes, 1))
        free = max(free, now) + took
        traffic += took
    return Cut(2 * strips.distance, free, traffic)
