"""The calls of a network in the order of execution, and the tensors that they touch, free of TVM's objects."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

WORKSPACE_ALIGNMENT = 8
"""Bytes to which what lies in the workspace is aligned: the largest element has eight."""

CONSTANT_ALIGNMENT = 8
"""Bytes to which constants of the control core are aligned: the largest element has eight."""


@dataclass(frozen=True)
class Pieces:
    """How an operator writes its output: `count` iterations of one loop; each fills the next `bytes`."""

    count: int
    bytes: int


@dataclass(frozen=True)
class Uses:
    """The stages in which a function uses a buffer: the first, the last, and all between them."""

    first: int = 0
    last: int = 0


@dataclass(frozen=True)
class Buffer:
    """What takes memory while the network runs: a tensor, or what an operator needs for itself."""

    name: str
    bytes: int


@dataclass(frozen=True)
class Argument:
    """A tensor that a call reads or writes: one of these four.

    buffer: in which it lies, `offset` bytes from its beginning. border: number of a tensor of the network's caller,
    inputs first, outputs after them. constant: name of a constant. state: number of one.
    """

    buffer: Buffer | None = None
    offset: int = 0
    border: int | None = None
    constant: str = ""
    state: int | None = None

    @property
    def key(self) -> str | int | None:
        """What is placed in the workspace: a buffer by its name, a tensor of the caller by its number."""
        return self.border if self.buffer is None else self.buffer.name


@dataclass(frozen=True)
class CallStep:
    """A call of a C function.

    arguments: what it reads, its constants, what it writes; after them the addresses of its `scratch`.
    layers: names of the decisions that it computes. source: what the model calls the tensor that is computed, empty if
        that is not known.
    uses: when it uses arguments and scratch, in order, of its stages; by default it is one stage.
    pieces: of an operator on the control core that writes its last argument from front to back, and touches no other
        piece of it meanwhile; None for others, and for functions that are called twice.
    over: arguments over which the last one may lie if they are not needed any more, and if it begins so many bytes
        before them.
    """

    function: str
    arguments: tuple[Argument, ...]
    scratch: tuple[Buffer, ...] = ()
    layers: tuple[str, ...] = ()
    source: str = ""
    uses: tuple[Uses, ...] = ()
    pieces: Pieces | None = None
    over: tuple[tuple[Argument, int], ...] = ()

    @property
    def name(self) -> str:
        """What the report calls it: the last of its decisions."""
        return self.layers[-1]

    @property
    def buffers(self) -> tuple[Buffer | None, ...]:
        """The buffer of each argument."""
        return tuple(argument.buffer for argument in self.arguments)

    @property
    def touched(self) -> tuple[Buffer, ...]:
        """All buffers that it touches, each once."""
        return tuple(dict.fromkeys(buffer for buffer in (*self.buffers, *self.scratch) if buffer is not None))

    @property
    def tensors(self) -> tuple[int, ...]:
        """Numbers of the network's tensors that it touches."""
        return tuple(argument.border for argument in self.arguments if argument.border is not None)

    @property
    def stages(self) -> int:
        """The number of its stages."""
        return 1 + max((use.last for use in self.uses), default=0)

    @property
    def used(self) -> Iterator[tuple[Buffer, Uses]]:
        """All buffers that it touches, and when."""
        touched = (*self.buffers, *self.scratch)
        for buffer, use in zip(touched, self.uses or [Uses()] * len(touched), strict=True):
            if buffer is not None:
                yield buffer, use


@dataclass(frozen=True)
class Copy:
    """What becomes an output or a state of the network at its end although nothing writes it there."""

    source: Argument
    target: Argument
    bytes: int


@dataclass(frozen=True)
class Life:
    """A buffer from the first call that touches it to the last; `stages` are counted over all calls."""

    buffer: Buffer
    first: int
    last: int
    stages: Uses


def lives(steps: Sequence[CallStep], copies: Iterable[Copy]) -> tuple[Life, ...]:
    """All buffers, by their first calls; what is copied lives to the last call."""
    touched: dict[Buffer, list[tuple[int, int]]] = {}
    begin = 0
    for number, step in enumerate(steps):
        for buffer, use in step.used:
            touched.setdefault(buffer, []).extend(((number, begin + use.first), (number, begin + use.last)))
        begin += step.stages
    for copy in copies:
        for buffer in (copy.source.buffer, copy.target.buffer):
            if buffer is not None:
                touched.setdefault(buffer, []).append((max(len(steps) - 1, 0), max(begin - 1, 0)))
    return tuple(
        Life(buffer, min(places)[0], max(places)[0], Uses(min(stages), max(stages)))
        for buffer, places in touched.items()
        for stages in [[stage for _, stage in places]]
    )


def laid_over(steps: Sequence[CallStep], last: Mapping[Hashable, int]) -> dict[Hashable, dict[Hashable, int]]:
    """What outputs of calls may lie over, with the bytes by which they have to begin before (`Item.over`).

    `last` are the last steps that need what is placed, by its keys.
    """
    return {
        step.arguments[-1].key: {x.key: lag for x, lag in step.over if last.get(x.key) == number}
        for number, step in enumerate(steps)
    }


@dataclass(frozen=True, eq=False)
class CoreFunction:
    """An operator as TVM lowered it.

    Its parameters are what it reads, `constants`, what it writes, and `scratch`: so many bytes each, under these names.
    uses: when it uses each of them. Equal functions have the same `lowered`. pieces: if it writes its last parameter
    from front to back, and touches no other piece of it meanwhile.
    """

    lowered: Any
    constants: tuple[npt.NDArray[np.generic], ...]
    scratch: tuple[Buffer, ...]
    uses: tuple[Uses, ...]
    pieces: Pieces | None
