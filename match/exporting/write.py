"""Writes a library into a folder that has nothing else, or an earlier export."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from match.errors import OptionError, OutputError
from match.exporting.arduino import arduino
from match.exporting.cmsis import cmsis
from match.exporting.library import Library, read_library
from match.exporting.zephyr import zephyr
from match.files.output import check_folder
from match.files.own import check_list, listed, replace_own

FORMS: Mapping[str, Callable[[Library], Mapping[str, str]]] = {"zephyr": zephyr, "arduino": arduino, "cmsis": cmsis}
"""What makes a library's files, by build system."""

LIST = "match_export.json"


def export(
    directories: Sequence[Path],
    form: str,
    output: Path,
    *,
    name: str | None = None,
    platform: str | None = None,
    overwrite: bool = False,
) -> None:
    """Write the networks in some projects as one library for a build system, one of `FORMS`, into a folder.

    Of an earlier export the files that it was written with are replaced; all others stay.

    Raises:
        OptionError: if there is no such build system or platform, or the networks cannot be in one library.
        InputError: if a folder holds no project.
        OutputError: if the folder holds something else, files that were changed since they were written, unless
            `overwrite` is set, or cannot be written.
    """
    make = FORMS.get(form)
    if make is None:
        raise OptionError(f"there is no export for {form!r}; choose one of {', '.join(FORMS)}.")
    output = output.resolve()
    check_folder(output)
    own = _earlier(output)
    files = make(read_library(directories, name, platform))
    record = msgspec.json.format(msgspec.json.encode({"files": listed(files)}), indent=2).decode() + "\n"
    replace_own(output, files, own, {LIST: record}, overwrite=overwrite)


def _earlier(output: Path) -> dict[str, str]:
    """The list of an earlier export; empty where there is no such folder, or nothing in it."""
    if not output.exists() or not any(output.iterdir()):
        return {}
    try:
        found = msgspec.json.decode((output / LIST).read_bytes(), type=dict[str, dict[str, str]])["files"]
        check_list(found)
    except (OSError, ValueError, KeyError) as error:
        raise OutputError(f"{output} holds files that are no export; choose another folder or empty it.") from error
    return found
