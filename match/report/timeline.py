"""The predicted timeline of a network as the report has it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from match.analysis.timeline.chrome_trace import LAYERS, Lanes, Span, Stretch, bars
from match.report.schema import TimelineBar, TimelineSummary

_DECIMALS = 2  # of a cycle: less is not to be seen, and takes room


def timeline(stretches: Iterable[Stretch], coarse: Iterable[int], outside: Mapping[str, str]) -> TimelineSummary:
    """The bars of each layer, but for the one that is the layer itself.

    Args:
        stretches: what happens in each layer, in the order of execution.
        coarse: the layers, by their places, that have one bar for all kernel calls.
        outside: the external memory by the main memory's name, if there is one.
    """
    lanes, now = Lanes(), 0.0
    found: list[tuple[TimelineBar, ...]] = []
    for stretch in stretches:
        own = [bar.moved(now) for bar in bars(stretch, outside) if bar.lane != LAYERS]
        found.append(tuple(_bar(bar, lanes.number(bar.lane, bar.begin, bar.end)) for bar in own))
        now += stretch.cycles
    return TimelineSummary(tuple(lanes.names), tuple(found), tuple(coarse))


def _bar(span: Span, lane: int) -> TimelineBar:
    begin, end = round(span.begin, _DECIMALS), round(span.end, _DECIMALS)
    details = span.details
    return TimelineBar(
        lane, span.doing, span.text, begin, end, str(details.get("operand", "")), int(details.get("bytes", 0))
    )
