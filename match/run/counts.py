"""What a network's calls cost, as a program counted it: a line of JSON for each, as codegen/src/count.c writes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from match.codegen.network import Call
from match.errors import ToolchainError


@dataclass(frozen=True)
class CallCount:
    """A call of the network's, and what it costs in one inference."""

    call: Call
    count: int


@dataclass(frozen=True)
class Counts:
    """What one run counted.

    `calls` are in the order of execution and in `unit`s, the mean over `samples` inferences, rounded; `command` is how
    the program was called.
    """

    platform: str
    unit: Literal["instructions", "cycles"]
    command: str
    samples: int
    calls: tuple[CallCount, ...]

    @property
    def total(self) -> int:
        """All calls of one inference."""
        return sum(call.count for call in self.calls)


class _CountLine(msgspec.Struct, frozen=True, tag_field="event", tag="count"):
    call: int
    count: int


def read_counts(lines: Iterable[str], calls: Sequence[Call], samples: int) -> tuple[CallCount, ...]:
    """The mean count of each of the network's calls.

    Raises:
        ToolchainError: if the lines are no counts, or not those of so many inferences.
    """
    counts: list[list[int]] = [[] for _ in calls]
    for line in lines:
        try:
            event = msgspec.json.decode(line, type=_CountLine)
            counts[event.call].append(event.count)
        except (msgspec.MsgspecError, IndexError) as error:
            raise ToolchainError(f"{line[:80]!r} is no count of a call: {error}; build the project again.") from error
    if any(len(found) != samples for found in counts):
        raise ToolchainError(f"the program did not count every call of {samples} inferences; build the project again.")
    return tuple(CallCount(call, round(sum(found) / samples)) for call, found in zip(calls, counts, strict=True))
