"""Reads what traced layers say of themselves: a line of JSON for each event, as codegen/src/trace.c writes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec

from match.analysis.simulate.events import Action, Event, Kind
from match.analysis.timeline.chrome_trace import Stretch
from match.errors import ToolchainError
from match.ir.layer import CHANNELWISE, Op
from match.target.cost import Tile


@dataclass(frozen=True)
class LayerTrace:
    """One execution of a layer's C function, `symbol`: all that it did, in order."""

    symbol: str
    actions: tuple[Action, ...]

    def stretch(self, source: str = "") -> Stretch:
        """The trace with steps in the place of times: an action takes one, a transfer lasts to the end of its wait.

        `source` is what the model calls the layer, if that is known.
        """
        waits = {action: step + 1 for step, action in enumerate(self.actions) if action.kind is Kind.WAIT}
        events: list[Event] = []
        for step, action in enumerate(self.actions):
            moving = action.kind in (Kind.FETCH, Kind.STORE)
            end = waits.get(action._replace(kind=Kind.WAIT), step + 1) if moving else step + 1
            events.append(Event(action, step, step + 1, step + 1 if moving else step, end))
        return Stretch(self.symbol, "kernels", tuple(events), len(events), source)


class _Layer(msgspec.Struct, frozen=True, tag_field="event", tag="layer"):
    name: str
    op: str

    def __post_init__(self) -> None:
        """Raises ValueError for an operator that is none."""
        _ = self.ops

    @property
    def ops(self) -> list[Op]:
        """The operators that its kernel calls take turns in."""
        return [Op(name) for name in self.op.split("+")]


class _Transfer(msgspec.Struct, frozen=True):
    operand: str
    memory: str
    transfer: int
    offset: int
    bytes: int


class _Fetch(_Transfer, frozen=True, tag_field="event", tag="fetch"):
    pass


class _Store(_Transfer, frozen=True, tag_field="event", tag="store"):
    pass


class _Wait(msgspec.Struct, frozen=True, tag_field="event", tag="wait"):
    transfer: int


class _Kernel(msgspec.Struct, frozen=True, tag_field="event", tag="kernel"):
    channels_in: int
    channels_out: int
    groups: int
    input_height: int
    input_width: int
    output_height: int
    output_width: int
    filter_height: int
    filter_width: int
    begin: bool
    end: bool


class _End(msgspec.Struct, frozen=True, tag_field="event", tag="end"):
    call: int


_Line = _Layer | _Fetch | _Store | _Wait | _Kernel | _End


def read_trace(lines: Iterable[str]) -> Iterator[LayerTrace]:
    """The layers of a trace, in the order in which they ran.

    Raises:
        ToolchainError: if the lines are no trace, or a layer waits for a transfer that it has not started.
    """
    layer: _Layer | None = None
    found: list[_Line] = []
    for line in lines:
        try:
            event = msgspec.json.decode(line, type=_Line)
        except msgspec.MsgspecError as error:
            raise ToolchainError(f"{line[:80]!r} is no event of a trace: {error}; build the project again.") from error
        if not isinstance(event, _Layer):
            found.append(event)
            continue
        if layer is not None:
            yield _layer_trace(layer, found)
        layer, found = event, []
    if layer is not None:
        yield _layer_trace(layer, found)


def _layer_trace(layer: _Layer, events: Iterable[_Line]) -> LayerTrace:
    actions: list[Action] = []
    counts: Counter[tuple[str, str]] = Counter()
    started: dict[int, Action] = {}
    ops = layer.ops
    for event in events:
        if isinstance(event, _Transfer):
            key = event.operand, event.memory
            kind = Kind.FETCH if isinstance(event, _Fetch) else Kind.STORE
            started[event.transfer] = Action(kind, *key, counts[key], event.offset, event.bytes)
            counts[key] += 1
            actions.append(started[event.transfer])
        elif isinstance(event, _Wait):
            if event.transfer not in started:
                raise ToolchainError(f"{layer.name} waits for a transfer that it has not started; its C was changed.")
            actions.append(started.pop(event.transfer)._replace(kind=Kind.WAIT))
        elif isinstance(event, _Kernel):
            number = counts["", ""]
            actions.append(Action(Kind.KERNEL, number=number, tile=_tile(event, ops[number % len(ops)])))
            counts["", ""] += 1
        elif isinstance(event, _End):
            actions.append(Action(Kind.END, number=event.call))
    return LayerTrace(layer.name, tuple(actions))


def _tile(call: _Kernel, op: Op) -> Tile:
    """The extents of a call; K of a grouped convolution are groups.

    Kernels know no C where channels do not mix, and no window where there is none.
    """
    return Tile(
        k=call.groups or call.channels_out,
        c=1 if op in CHANNELWISE else call.channels_in,
        oy=call.output_height,
        ox=call.output_width,
        iy=call.input_height,
        ix=call.input_width,
        fy=max(1, call.filter_height),
        fx=max(1, call.filter_width),
        begin=call.begin,
        end=call.end,
    )
