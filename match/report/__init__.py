"""The report of a compilation: built from its decisions, written as `report.json`, shown as a table.

`build(model=, target=, options=, l1=, decisions=, workspace_bytes=, constant_bytes=, compile_seconds=)` makes a
`Report`, `encode` its JSON, `decode` reads that back, `show` prints it.
"""

from __future__ import annotations

from match.report.build import build
from match.report.schema import REPORT, SCHEMA_VERSION, Report
from match.report.table import show
from match.report.text import decode, encode

__all__ = ["REPORT", "SCHEMA_VERSION", "Report", "build", "decode", "encode", "show"]
