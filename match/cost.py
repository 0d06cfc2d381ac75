"""The cost model protocol: plain Python on plain numbers, written by whoever knows the hardware.

An engine asks a `CostModel` for the cycles of one kernel call and of one block transfer, and combines them itself. It
tabulates the distinct arguments and vectorises the rest, so an author never writes array code. Every figure is a
prediction, in cycles of the module's clock.
"""

from __future__ import annotations

from dataclasses import dataclass

from match.layer import Layer


@dataclass(frozen=True)
class Tile:
    """Extents of one kernel call, in elements: `iy` x `ix` input pixels make `oy` x `ox` output pixels."""

    k: int
    c: int
    oy: int
    ox: int
    iy: int
    ix: int
    fy: int
    fx: int


@dataclass(frozen=True)
class Block:
    """One block on its way between two memories.

    `shape` are the elements along each axis of the operand's first component, slowest first (rows, columns, channels of
    an activation); `bytes` is the whole block; `chunks` is the number of contiguous pieces it has in the outer memory.
    """

    operand: str
    shape: tuple[int, ...]
    bytes: int
    chunks: int


class CostModel:
    """Predicted cost of executing tiles on one module. Subclasses override the methods; all must be deterministic.

    `overlap` tells whether transfers run beside compute (asynchronous DMA): an engine then counts the longer of the two
    for each step of a double-buffered operand, and the sum otherwise.
    """

    overlap: bool = True

    def scratch(self, layer: Layer, tile: Tile) -> int:
        """Bytes of innermost memory that the kernel needs beside its operands, for any tile up to `tile`."""
        return 0

    def compute(self, layer: Layer, tile: Tile) -> float:
        """Cycles of one kernel call on `tile`, call overhead included."""
        raise NotImplementedError

    def transfer(self, layer: Layer, block: Block) -> float:
        """Cycles to move one block by one memory level, set-up included."""
        raise NotImplementedError

    def overhead(self, layer: Layer) -> float:
        """Cycles spent once per layer, outside tiles and transfers (offload to the module, start-up)."""
        return 0.0


@dataclass(frozen=True)
class Cost:
    """Prediction for one schedule: cycles in total and by what they are spent on, and bytes moved per operand.

    `compute` and `transfer` are the sums over all tiles and blocks as if nothing overlapped; `cycles` is the latency
    with the overlap that the schedule allows, `overhead` the part of it outside tiles and transfers.
    """

    cycles: float
    compute: float
    transfer: float
    overhead: float
    moved: tuple[tuple[str, int], ...]


class CpuCostModel:
    """Predicted cycles of operators that run as TVM's C on the control core."""

    def cycles(self, op: str, macs: int, outputs: int) -> float:
        """Cycles of one operator (Relay name or `Op` value) with `macs` multiply-accumulates and `outputs` elements."""
        raise NotImplementedError
