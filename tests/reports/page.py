"""docs/reports.md: networks of public reports, and what becomes of each."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.reports.networks import REPORTS, Reported
from tests.runtimes.verdicts import verdict

_HEAD = """# What others refuse

Networks that somebody brought to another tool, and that it refused, by public reports. Each is rebuilt small in our
tests: the situation alone, with shapes and weights of our own. The last column is what computes it here, on GAP9, where
it is large enough to be worth a call; a test compares the C of each with TFLite Micro or onnxruntime.

| reported | what was refused | here |
| --- | --- | --- |
"""


def page() -> str:
    """All of it."""
    with tempfile.TemporaryDirectory() as folder:
        return _HEAD + "".join(_row(one, Path(folder)) for one in REPORTS)


def _row(one: Reported, folder: Path) -> str:
    return f"| [{one.place}]({one.address}) | {one.said} | {verdict(one.write(folder))} |\n"
