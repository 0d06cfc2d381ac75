"""Timelines in Chrome's trace event format, which https://ui.perfetto.dev shows; see docs/timeline.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from match.analysis.simulate.events import Action, Event, Kind

_PROCESS = 1
_LAYERS, _CORE = "layers", "core"


class Stretch(msgspec.Struct, frozen=True):
    """A part of the timeline: a layer, the unit that executes it, what happens, and how long it takes in all.

    Times are in cycles, or whatever else the clock counts. `source` is what the model calls it, if that is known.
    """

    name: str
    unit: str
    events: tuple[Event, ...]
    cycles: float
    source: str = ""


class Mark(msgspec.Struct, frozen=True, omit_defaults=True):
    """One entry of the format: a bar (`ph` "X", times in microseconds) or the name of a lane ("M")."""

    name: str
    ph: Literal["X", "M"]
    pid: int
    tid: int
    args: dict[str, str | int]
    ts: float = 0.0
    dur: float = 0.0


class Document(msgspec.Struct, frozen=True):
    """A whole file."""

    traceEvents: list[Mark]  # noqa: N815 (the format's own name)
    otherData: dict[str, str | float]  # noqa: N815
    displayTimeUnit: Literal["ns"] = "ns"  # noqa: N815


def document(name: str, stretches: Iterable[Stretch], hertz: float, times: str) -> Document:
    """The stretches of the network `name`, one after the other; `times` says what times are, in a word or two."""
    lanes = _Lanes()
    marks: list[Mark] = []
    now = 0.0
    for stretch in stretches:
        for lane, text, begin, end, args in _bars(stretch):
            tid = lanes.number(lane, now + begin, now + end)
            scale = 1e6 / hertz
            marks.append(Mark(text, "X", _PROCESS, tid, args, (now + begin) * scale, (end - begin) * scale))
        now += stretch.cycles
    names = [Mark("process_name", "M", _PROCESS, 0, {"name": name})]
    for tid, lane in enumerate(lanes.names):
        names.append(Mark("thread_name", "M", _PROCESS, tid, {"name": lane}))
        names.append(Mark("thread_sort_index", "M", _PROCESS, tid, {"sort_index": tid}))
    return Document([*names, *marks], {"times": times, "clock_hz": hertz})


class _Lanes:
    """Rows of the picture: as many of a name as have bars at the same time."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._bases: list[str] = []
        self._free_from: list[float] = []

    def number(self, base: str, begin: float, end: float) -> int:
        """The first lane of a name that is free from `begin`; it then is from `end`."""
        same = [n for n, other in enumerate(self._bases) if other == base]
        found = next((n for n in same if self._free_from[n] <= begin), None)
        if found is None:
            found = len(self.names)
            self.names.append(base if not same else f"{base} ({len(same) + 1})")
            self._bases.append(base)
            self._free_from.append(0.0)
        self._free_from[found] = end
        return found


_Bar = tuple[str, str, float, float, dict[str, str | int]]


def _bars(stretch: Stretch) -> Iterator[_Bar]:
    """Lane, text, begin, end and details of everything that takes time."""
    model: dict[str, str | int] = {"model": stretch.source} if stretch.source else {}
    yield _LAYERS, stretch.name, 0.0, stretch.cycles, {"unit": stretch.unit, **model}
    for event in stretch.events:
        action = event.action
        text = f"{action.operand or stretch.name} {action.number}"
        if event.core_end > event.core_begin:
            doing = "wait for" if action.kind is Kind.WAIT else action.kind.value
            yield _CORE, f"{doing} {text}", event.core_begin, event.core_end, _details(action)
        if action.kind is Kind.KERNEL:
            yield stretch.unit, text, event.begin, event.end, _details(action)
        elif action.kind is not Kind.WAIT:
            yield f"DMA {action.memory}", text, event.begin, event.end, _details(action)


def _details(action: Action) -> dict[str, str | int]:
    if action.tile is not None:
        return {"number": action.number, **{k: int(v) for k, v in action.tile._asdict().items()}}
    return {
        "operand": action.operand,
        "memory": action.memory,
        "number": action.number,
        "offset": action.offset,
        "bytes": action.bytes,
    }
