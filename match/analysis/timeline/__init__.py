"""Writes timelines into files: for https://ui.perfetto.dev, or as a picture (docs/timeline.md)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from match.analysis.timeline.chrome_trace import Stretch, document
from match.analysis.timeline.picture import draw
from match.files.output import whole_file


def write_timeline(path: Path, name: str, stretches: Iterable[Stretch], hertz: float, times: str) -> None:
    """Write the stretches, one after the other, into a file.

    Args:
        path: the file, replaced if it exists; SVG if its name ends so, else JSON in Chrome's trace event format.
        name: of the network.
        stretches: of which it consists.
        hertz: the clock that they are counted in.
        times: what the times are, in a word or two for the reader of the file.

    Raises:
        OutputError: if the file cannot be written.
    """
    made = document(name, stretches, hertz, times)
    picture = path.suffix.lower() == ".svg"
    with whole_file(path) as unfinished:
        unfinished.write_bytes(draw(made).encode() if picture else msgspec.json.encode(made))
