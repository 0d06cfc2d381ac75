"""A schedule executed tile by tile: what is done in which order (`order`), and when (`simulate`)."""

from __future__ import annotations

from match.analysis.simulate.events import Action, Event, Kind, Timeline
from match.analysis.simulate.machine import simulate, stream

__all__ = ["Action", "Event", "Kind", "Timeline", "simulate", "stream"]
