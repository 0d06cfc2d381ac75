"""How the operands of a layer share a memory: each in a room of its own, or all in the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from match.ir.layer import Operand
from match.schedule.mapping import Memory

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


class Rooms:
    """The rooms of a memory, for arrays of needs of bytes that broadcast against each other.

    Needs are in the order of the operands. `shared` are the bytes of the shared room that are left for blocks.
    """

    def __init__(self, memory: Memory, operands: Sequence[Operand]) -> None:
        own = dict(memory.private)
        self.memory = memory
        self._names = [operand.name for operand in operands]
        self._private = [own.get(name) for name in self._names]

    def fit(self, needs: Sequence[Ints], shared: Ints) -> Flags:
        """Whether blocks of so many bytes fit."""
        result = self._taken(needs) <= shared
        for need, size in zip(needs, self._private, strict=True):
            if size is not None:
                result = result & (need <= size)
        return result

    def left(self, needs: Sequence[Ints], shared: Ints) -> list[Ints]:
        """Bytes that are there for each operand when the others of its room take what they need."""
        spare = shared - self._taken(needs)
        return [
            spare + need if size is None else np.full_like(spare, size)
            for need, size in zip(needs, self._private, strict=True)
        ]

    def lacking(self, needs: Sequence[int], scratch: int) -> tuple[str, int, int] | None:
        """What is too small for blocks of so many bytes: in words, with the bytes needed and those there."""
        needed = scratch + sum(need for need, size in zip(needs, self._private, strict=True) if size is None)
        if needed > self.memory.size:
            return self.memory.name, needed, self.memory.size
        for name, need, size in zip(self._names, needs, self._private, strict=True):
            if size is not None and need > size:
                return f"{self.memory.name}'s memory for {name}", need, size
        return None

    def _taken(self, needs: Sequence[Ints]) -> Ints:
        shared = [need for need, size in zip(needs, self._private, strict=True) if size is None]
        return sum(shared, start=np.zeros((), np.int64))
