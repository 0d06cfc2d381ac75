"""`report.json` of a project folder: read, and written again when something was measured."""

from __future__ import annotations

from pathlib import Path

from match.errors import InputError
from match.files.output import whole_file
from match.report.schema import Report
from match.report.text import decode, encode


def read_report(path: Path) -> Report:
    """The report in a file.

    Raises:
        InputError: if there is no such file, or it cannot be read.
        ModelError: if it is of another version.
    """
    try:
        return decode(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}; compile the network again.") from error


def write_report(path: Path, report: Report) -> None:
    """Write a report in the place of the one in the file.

    Raises:
        OutputError: if it cannot be written.
    """
    with whole_file(path) as unfinished:
        unfinished.write_bytes(encode(report))
