"""What a network's calls cost, as a program counted it: a line of JSON for each, as codegen/src/count.c writes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from match.codegen.network import Call
from match.errors import InputError, ToolchainError

Unit = Literal["instructions", "cycles"]


@dataclass(frozen=True)
class CallCount:
    """A call of the network's, and what it costs in one inference."""

    call: Call
    count: int


@dataclass(frozen=True)
class Counts:
    """What one run counted.

    `calls` are in the order of execution and in `unit`s, the mean over `samples` inferences, rounded; `command` is how
    the program was called, `counted` a sentence on what is counted there, empty if it is all that the chip does.
    """

    platform: str
    unit: Unit
    command: str
    samples: int
    calls: tuple[CallCount, ...]
    counted: str = ""

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


def read_log(path: Path, calls: Sequence[Call], on: str, unit: Unit) -> Counts:
    """What a chip counted in whole inferences, from a log of what its program printed.

    Lines that are no counts are skipped. One that is may have something in front of the count, such as a time.

    Raises:
        InputError: if the file cannot be read, or its counts are not those of whole inferences.
    """
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}; give the log of a program.") from error
    lines = [line[line.index("{") :].rstrip() for line in text.splitlines() if '{"event":"count"' in line]
    samples, rest = divmod(len(lines), len(calls) or 1)
    if rest or not samples:
        raise InputError(
            f"{path} has {len(lines)} counts, and an inference of this network has {len(calls)}; keep those of whole "
            f"inferences of one network."
        )
    try:
        return Counts(on, unit, path.name, samples, read_counts(lines, calls, samples))
    except ToolchainError as error:
        wrong = str(error).removesuffix("build the project again.")
        raise InputError(f"{path}: {wrong}keep those of whole inferences, printed as program/count.c does.") from error
