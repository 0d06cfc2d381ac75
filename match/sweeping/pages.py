"""A folder of pages: the picture of all points, and the reports of some."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from match.errors import OptionError, OutputError
from match.sweeping.page import sweep_page
from match.sweeping.run import Sweep
from match.sweeping.schema import SweepResult


def check_points(chosen: Sequence[int], count: int) -> None:
    """Raise OptionError if there is no point of one of the numbers."""
    for number in chosen:
        if number >= count:
            raise OptionError(f"there is no point {number}; points are numbered from 0 to {count - 1}.")


def write_pages(sweep: Sweep, result: SweepResult, folder: Path, chosen: Sequence[int] | None) -> None:
    """Write the pages into a folder: of the chosen points or, where none are, of those that no other is better than.

    Raises:
        OutputError: if they cannot be written.
        ToolchainError: if the libraries that draw are not installed.
    """
    numbers = [
        number
        for number, point in enumerate(result.points)
        if point.figures and (number in chosen if chosen else point.best)
    ]
    pages = {number: f"point-{number}.html" for number in numbers}
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder} cannot be made: {error.strerror or error}; choose another folder.") from error
    for number, report in sweep.reports(numbers):
        report.show().save(folder / pages[number])
    sweep_page(result, pages).save(folder / "index.html")
