"""Writes timelines into files: for https://ui.perfetto.dev, or as a picture (docs/timeline.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from match.analysis.timeline.chrome_trace import Stretch, document
from match.analysis.timeline.picture import draw
from match.files.output import TIMELINE_ENDINGS, check_ending, whole_file


def write_timeline(
    path: Path,
    name: str,
    stretches: Iterable[Stretch],
    hertz: float,
    times: str,
    outside: Mapping[str, str] | None = None,
) -> None:
    """Write the stretches, one after the other, into a file.

    Args:
        path: the file, replaced if it exists; SVG if its name ends in .svg, JSON in Chrome's trace event
            format if in .json.
        name: of the network.
        stretches: its parts.
        hertz: the clock that they are counted in.
        times: what the times are, in a word or two for the reader of the file.
        outside: the external memory by the main memory's name, if there is one.

    Raises:
        OptionError: if its name ends otherwise.
        OutputError: if the file cannot be written.
    """
    check_ending(path, TIMELINE_ENDINGS, "a timeline")
    made = document(name, stretches, hertz, times, outside)
    picture = path.suffix.lower() == ".svg"
    with whole_file(path) as unfinished:
        unfinished.write_bytes(draw(made).encode() if picture else msgspec.json.encode(made))
