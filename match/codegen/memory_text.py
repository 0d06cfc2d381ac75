"""What the network's C says of its memory, where it takes external memory: offsets, and which transfer starts when."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from match.codegen.network import NetworkMemory
from match.codegen.steps import CallStep
from match.codegen.strip_text import in_strips


@dataclass(frozen=True)
class Piece:
    """Constants on their way: `name` of the layer or what they are, offsets in both memories, bytes."""

    name: str
    external: int
    main: int
    bytes: int


@dataclass(frozen=True)
class LayerMemory:
    """What a layer asks the network for: `symbol_constants`, `symbol_blocks`, or neither.

    constants: C expression of where they are, empty if the layer has none. waits: number of the fetch to wait for, if
    any. starts: numbers of those to start, the first before the wait if that is its own (`late`). blocks: offset.
    """

    symbol: str
    constants: str
    waits: int | None
    starts: tuple[int, ...]
    late: bool
    blocks: int | None


class MemoryText:
    """What the template asks about the memory of a network."""

    def __init__(self, memory: NetworkMemory, steps: Sequence[CallStep]) -> None:
        """Prepares a memory for the template; `steps` are the network's calls."""
        self.api = memory.api
        self.alignment = memory.problem.alignment
        self._memory = memory
        self._steps = steps
        self._plan = plan = memory.plan
        fetched = [step for step, at in enumerate(plan.choice.fetched) if at is not None]
        self._numbers = {step: number for number, step in enumerate(fetched)}
        self.fetches = tuple(self._piece(step) for step in fetched)
        tables = [Piece("operators", 0, 0, memory.problem.resident)] if memory.problem.resident else []
        self.residents = (*tables, *(self._piece(step) for step in sorted(plan.choice.resident)))

    @property
    def first(self) -> tuple[int, ...]:
        """Numbers of the fetches that start before anything else."""
        return self._started(0)

    @property
    def layers(self) -> Iterable[LayerMemory]:
        """Layers that ask for something, in the order of execution."""
        plan = self._plan
        for step, symbol in enumerate(self._memory.symbols):
            if symbol is None or (step not in plan.images and step not in plan.blocks):
                continue
            waits = self._numbers.get(step)
            starts = self._started(step) if step else ()
            late = waits in starts
            ordered = sorted(starts, key=lambda number: number != waits) if late else starts
            yield LayerMemory(symbol, self._place(step), waits, tuple(ordered), late, plan.blocks.get(step))

    def operators(self, text: str) -> str:
        """The C of the operators, those that write external memory strip by strip included."""
        for step, strips in self._memory.strips.items():
            text = in_strips(text, self._steps[step].function, self._plan.blocks[step], strips, self.api)
        return text

    def _place(self, step: int) -> str:
        plan = self._plan
        if step not in plan.images:
            return ""
        if step in plan.choice.cut:
            return f"current->external + {plan.images[step]}"
        return f"current->workspace + {plan.constants[step]}"

    def _started(self, at: int) -> tuple[int, ...]:
        return tuple(self._numbers[step] for step, start in enumerate(self._plan.choice.fetched) if start == at)

    def _piece(self, step: int) -> Piece:
        name = self._memory.symbols[step] or ""
        plan = self._plan
        return Piece(name, plan.images[step], plan.constants[step], self._memory.problem.steps[step].constants)
