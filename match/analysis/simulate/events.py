"""What happens while a layer runs: actions, which the generated code can trace, and their times."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import NamedTuple

from match.target.cost import Tile


class Kind(enum.StrEnum):
    """What the core that executes the tile loop does."""

    FETCH = "fetch"
    """It starts the transfer of a block into a memory."""
    STORE = "store"
    """It starts the transfer of an output block out of a memory."""
    WAIT = "wait"
    """It waits until a transfer is complete."""
    KERNEL = "kernel"
    """It starts a kernel on a tile, and waits for it but in a group that waits later."""
    END = "end"
    """It waits until a kernel call has ended that it has not waited for at once."""


class Action(NamedTuple):
    """One thing that the core does; equal for the schedule and for the generated code's trace.

    A transfer that is started or waited for has its `operand`, the inner `memory`, and the `bytes` of the block.
    `number` counts the transfers of that operand into or out of that memory. `offset` is in bytes, from the first byte
    of the operand that the memory outside holds. A kernel call has a `tile`, and `number` counts the calls; its end has
    the same number.
    """

    kind: Kind
    operand: str = ""
    memory: str = ""
    number: int = 0
    offset: int = 0
    bytes: int = 0
    tile: Tile | None = None


class Event(NamedTuple):
    """An action and its times, in cycles since the layer was called.

    The core is busy with it from `core_begin` to `core_end`. `begin` and `end` are those of the transfer on the DMA
    engine or of the kernel on its unit; of a wait they are the core's.
    """

    action: Action
    core_begin: float
    core_end: float
    begin: float
    end: float


@dataclass(frozen=True)
class Timeline:
    """All events of a layer in the order in which the core comes to them.

    The figures are those of `match.target.cost.Cost`: `cycles` of the whole layer; `compute` and `transfer`, summed
    as if nothing overlapped; `overhead`, what the core spends once and on launching and issuing; bytes `moved` per
    operand.
    `offload` is the part of the overhead that lies before the first event.
    """

    events: tuple[Event, ...]
    offload: float
    cycles: float
    compute: float
    transfer: float
    overhead: float
    moved: tuple[tuple[str, int], ...]

    @property
    def actions(self) -> tuple[Action, ...]:
        """What is done, without times."""
        return tuple(event.action for event in self.events)
