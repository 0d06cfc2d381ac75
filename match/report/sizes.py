"""What a build of the network takes, in its report."""

from __future__ import annotations

from pathlib import Path

import msgspec

from match.report.file import read_report, write_report
from match.report.schema import Report
from match.run.size import Size


def add_size(path: Path, size: Size) -> Report:
    """Write what was measured into the report of its project, which is returned.

    It takes the place of an older one for the same platform.

    Raises:
        InputError: if there is no report.
        ModelError: if it is of another version.
        OutputError: if it cannot be written.
    """
    report = read_report(path)
    others = (other for other in report.sizes if other.platform != size.platform)
    new = msgspec.structs.replace(report, sizes=(*others, size))
    write_report(path, new)
    return new
