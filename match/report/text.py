"""The report as JSON and back, and the JSON Schema of it."""

from __future__ import annotations

from typing import Any

import msgspec

from match.errors import ModelError
from match.report.schema import Report

_NO_BARS = b'"bars": []'


def encode(report: Report) -> bytes:
    """`report.json`: UTF-8, indented, each layer of the timeline in a line, one newline at the end."""
    if report.timeline is None:
        return msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n"
    short = msgspec.structs.replace(report, timeline=msgspec.structs.replace(report.timeline, bars=()))
    before, after = msgspec.json.format(msgspec.json.encode(short), indent=2).rsplit(_NO_BARS, 1)
    lines = b",\n      ".join(msgspec.json.encode(bars) for bars in report.timeline.bars)
    return before + b'"bars": [\n      ' + lines + b"\n    ]" + after + b"\n"


def decode(data: bytes) -> Report:
    """The report in the contents of a `report.json`. Raises ModelError when they do not follow the schema."""
    try:
        return msgspec.json.decode(data, type=Report)
    except msgspec.DecodeError as error:
        raise ModelError(
            f"report.json does not follow this version's schema ({error}); compile the model again."
        ) from error


def schema() -> dict[str, Any]:
    """The JSON Schema of `report.json`, made from the types, as it is read from a file."""
    return msgspec.json.decode(msgspec.json.encode(msgspec.json.schema(Report)))
