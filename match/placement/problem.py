"""The problem of placing a network: steps, tensors, constants, and the size of memories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Lifetime:
    """A tensor of `bytes` bytes, written by step `first` and read for the last time by step `last`.

    `movable`: it may live in external memory, because every step that touches it can cut it.
    """

    name: str
    bytes: int
    first: int
    last: int
    movable: bool


@dataclass(frozen=True)
class Step:
    """One call of the network: `cycles` with all operands in main memory, and what it touches.

    tensors: names of the tensors that it reads or writes.
    constants: bytes of its constants, 0 if it brings none. Steps with constants can start transfers.
    fetch: cycles in which the external memory's DMA brings them in whole.
    constant_block: least main memory in bytes to bring them in piece by piece instead; None where that is impossible.
    tensor_blocks: the same for each tensor that can stay in external memory while the step runs.
    """

    name: str
    cycles: float
    tensors: tuple[str, ...] = ()
    constants: int = 0
    fetch: float = 0.0
    constant_block: int | None = None
    tensor_blocks: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class PlacementProblem:
    """A network and the memory that it may use.

    main: bytes of main memory for tensors, constants and blocks together. external: bytes of external memory.
    alignment: of everything that is placed. resident: bytes that main memory always holds.
    issue: cycles of the core to start a transfer. room: the most bytes that a cut layer gets.
    """

    steps: tuple[Step, ...]
    tensors: tuple[Lifetime, ...]
    main: int
    external: int
    alignment: int = 8
    resident: int = 0
    issue: float = 0.0
    room: int = 1 << 17

    @cached_property
    def by_name(self) -> Mapping[str, Lifetime]:
        """Tensors by name."""
        return {tensor.name: tensor for tensor in self.tensors}

    @cached_property
    def touching(self) -> Mapping[str, frozenset[int]]:
        """For each tensor the steps that read or write it."""
        found: dict[str, set[int]] = {}
        for number, step in enumerate(self.steps):
            for name in step.tensors:
                found.setdefault(name, set()).add(number)
        return {name: frozenset(numbers) for name, numbers in found.items()}

    @cached_property
    def slowest(self) -> float:
        """Most cycles in which the external memory's DMA brings in a byte of constants."""
        return max((step.fetch / step.constants for step in self.steps if step.constants), default=1.0)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Steps at whose beginning transfers can be started: the first, and those with constants."""
        return tuple(n for n, step in enumerate(self.steps) if not n or step.constants)


@dataclass(frozen=True)
class Choice:
    """How constants are fetched, and which tensors lie in external memory.

    fetched: for each step, the step at which its constants are fetched whole; None if it has no constants, or if they
        are cut or stay. cut: steps whose constants are cut. resident: steps whose constants stay in main memory.
    spilled: names of the tensors in external memory.
    """

    fetched: tuple[int | None, ...]
    cut: frozenset[int] = frozenset()
    resident: frozenset[int] = frozenset()
    spilled: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Cut:
    """A layer whose operands are cut: `bytes` of its blocks in main memory, and its `cycles` alone.

    traffic: cycles in which the external memory's DMA serves it.
    """

    bytes: int
    cycles: float
    traffic: float


def blocks(problem: PlacementProblem, choice: Choice, step: int) -> int:
    """The least bytes of blocks of a step in main memory; 0 if it is not cut."""
    asked = problem.steps[step]
    kept = sum(size for name, size in asked.tensor_blocks if name in choice.spilled)
    return kept + ((asked.constant_block or 0) if step in choice.cut else 0)


def cut_steps(problem: PlacementProblem, choice: Choice) -> frozenset[int]:
    """The steps with an operand that comes in pieces."""
    return choice.cut.union(*(problem.touching.get(name, ()) for name in choice.spilled))
