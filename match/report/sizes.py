"""What a build of the network takes, in its report."""

from __future__ import annotations

from pathlib import Path

import msgspec

from match.errors import InputError
from match.files.output import whole_file
from match.report.schema import Report
from match.report.text import decode, encode
from match.run.size import Size


def add_size(path: Path, size: Size) -> Report:
    """Write what was measured into the report of its project, which is returned.

    It takes the place of an older one for the same platform.

    Raises:
        InputError: if there is no report.
        ModelError: if it is of another version.
        OutputError: if it cannot be written.
    """
    try:
        report = decode(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}; compile the network again.") from error
    others = (other for other in report.sizes if other.platform != size.platform)
    new = msgspec.structs.replace(report, sizes=(*others, size))
    with whole_file(path) as unfinished:
        unfinished.write_bytes(encode(new))
    return new
