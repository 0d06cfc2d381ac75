"""Timelines in Chrome's trace event format, which https://ui.perfetto.dev shows; see docs/timeline.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

import msgspec

from match.analysis.simulate.events import Action, Event, Kind

_PROCESS = 1
LAYERS, CORE = "layers", "core"

Doing = Literal["layer", "kernel", "transfer", "call", "start", "wait", "offload", "idle"]
"""What a bar is: a whole layer, a unit that computes, a DMA engine that moves a block, or what the core does.

The core calls a kernel and waits until it is done, starts a transfer, waits for one, hands a layer to its module, or
has nothing to do.
"""

_DOING: dict[Kind, Doing] = {Kind.KERNEL: "call", Kind.WAIT: "wait", Kind.END: "call"}
_ROUNDING = 1e-6  # cycles by which sums of the same times may differ


class Span(msgspec.Struct, frozen=True):
    """A bar in a lane: what it is, its text, when it begins and ends, and details."""

    lane: str
    doing: Doing
    text: str
    begin: float
    end: float
    details: Mapping[str, str | int] = {}

    def moved(self, by: float) -> Span:
        """The same at another time."""
        return msgspec.structs.replace(self, begin=self.begin + by, end=self.end + by)


class Stretch(msgspec.Struct, frozen=True):
    """A part of the timeline: a layer, the unit that executes it, what happens, and how long it takes in all.

    Times are in cycles, or whatever else the clock counts, from the beginning of the stretch. `source` is what the
    model calls it, if that is known. `spans` are what happens beside the events of its tile loop. `units` are those of
    each kernel call, where it has several.
    """

    name: str
    unit: str
    events: tuple[Event, ...]
    cycles: float
    source: str = ""
    spans: tuple[Span, ...] = ()
    units: tuple[str, ...] = ()


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


def dma(memory: str) -> str:
    """The lane of the DMA engine that moves blocks into a memory and out of it."""
    return f"DMA {memory}"


def document(
    name: str, stretches: Iterable[Stretch], hertz: float, times: str, outside: Mapping[str, str] | None = None
) -> Document:
    """The stretches of a network, one after the other.

    Args:
        name: of the network.
        stretches: its parts.
        hertz: the clock that they are counted in.
        times: what times are, in a word or two.
        outside: the external memory by the main memory's name: transfers between the two are the external memory's.
    """
    lanes = Lanes()
    marks: list[Mark] = []
    now = 0.0
    for stretch in stretches:
        for bar in bars(stretch, outside or {}):
            begin, length, scale = now + bar.begin, bar.end - bar.begin, 1e6 / hertz
            tid = lanes.number(bar.lane, begin, begin + length)
            marks.append(Mark(bar.text, "X", _PROCESS, tid, dict(bar.details), begin * scale, length * scale))
        now += stretch.cycles
    names = [Mark("process_name", "M", _PROCESS, 0, {"name": name})]
    for tid, lane in enumerate(lanes.names):
        names.append(Mark("thread_name", "M", _PROCESS, tid, {"name": lane}))
        names.append(Mark("thread_sort_index", "M", _PROCESS, tid, {"sort_index": tid}))
    return Document([*names, *marks], {"times": times, "clock_hz": hertz})


class Lanes:
    """Rows of the picture: as many of a name as have bars at the same time."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._bases: list[str] = []
        self._free_from: list[float] = []

    def number(self, base: str, begin: float, end: float) -> int:
        """The first lane of a name that is free from `begin`; it then is from `end`."""
        same = [n for n, other in enumerate(self._bases) if other == base]
        found = next((n for n in same if self._free_from[n] <= begin + _ROUNDING), None)
        if found is None:
            found = len(self.names)
            self.names.append(base if not same else f"{base} ({len(same) + 1})")
            self._bases.append(base)
            self._free_from.append(0.0)
        self._free_from[found] = end
        return found


def bars(stretch: Stretch, outside: Mapping[str, str]) -> Iterator[Span]:
    """Everything in a stretch that takes time; `outside` is the external memory by the main memory's name."""
    model: dict[str, str | int] = {"model": stretch.source} if stretch.source else {}
    yield Span(LAYERS, "layer", stretch.name, 0.0, stretch.cycles, {"unit": stretch.unit, **model})
    yield from stretch.spans
    for event in stretch.events:
        action = event.action
        text = f"{action.operand or stretch.name} {action.number}"
        if event.core_end > event.core_begin:
            verb = "wait for" if action.kind in (Kind.WAIT, Kind.END) else action.kind.value
            begin, end, details = event.core_begin, event.core_end, _details(action)
            yield Span(CORE, _DOING.get(action.kind, "start"), f"{verb} {text}", begin, end, details)
        if action.kind is Kind.KERNEL:
            unit = stretch.units[action.number] if stretch.units else stretch.unit
            yield Span(unit, "kernel", text, event.begin, event.end, _details(action))
        elif action.kind not in (Kind.WAIT, Kind.END):
            lane = dma(outside.get(action.memory, action.memory))
            yield Span(lane, "transfer", text, event.begin, event.end, _details(action))


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
