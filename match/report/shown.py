"""The report of what was compiled just now, which shows itself as a page."""

from __future__ import annotations

import msgspec

from match.report.html import Page, page
from match.report.schema import Report


class ShownReport(Report, frozen=True, eq=False):
    """A report, equal to one that was read from its file."""

    @classmethod
    def of(cls, report: Report) -> ShownReport:
        """The same report."""
        return cls(*msgspec.structs.astuple(report))

    def show(self) -> Page:
        """The report as a page: a notebook shows it, `save` writes it.

        Raises:
            ToolchainError: if the libraries that draw are not installed.
        """
        return page(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Report) and msgspec.structs.astuple(self) == msgspec.structs.astuple(other)

    __hash__ = None  # pyright: ignore[reportAssignmentType] - it has dictionaries
