"""Folders that projects are written into: whether one may be, and what was written there before."""

from __future__ import annotations

from pathlib import Path

import msgspec

from match.codegen.manifest import MANIFEST
from match.errors import OutputError
from match.files.output import check_folder
from match.files.own import check_list, check_unchanged

OVERWRITE = "overwrite is whether files that were changed since they were written are replaced"


class Earlier(msgspec.Struct, frozen=True):
    """What the `project.json` of any version may say of what was written before: None for `files` if it has no list."""

    fingerprint: str = ""
    shared: str = ""
    files: dict[str, str] | None = None
    selftest: dict[str, str] = {}


def check_project_folder(directory: Path, *, overwrite: bool = False) -> None:
    """Find out if a project may be written into `directory`.

    There is no such folder, it is empty, or it holds a project that is as it was written, or else `overwrite` is set.

    Raises:
        OutputError: if it may not.
    """
    try:
        directory = directory.resolve()
    except (OSError, RuntimeError) as error:
        raise OutputError(f"{directory} is a loop of symbolic links; choose another folder.") from error
    check_folder(directory)
    try:
        holds = directory.exists() and any(directory.iterdir())
    except OSError as error:
        raise OutputError(
            f"{directory} cannot be written: {error.strerror or error}; choose another folder."
        ) from error
    if not holds:
        return
    if not _is_project(directory):
        raise OutputError(
            f"{directory} holds files that are no project of this compiler; choose another folder or empty it."
        )
    if overwrite:
        return
    own = earlier(directory).files
    if own is None:
        raise OutputError(
            f"{directory} holds a project of another version of this compiler, so that changes of yours to its files "
            f"cannot be told; choose another folder, or replace them with --overwrite (overwrite=True)."
        )
    check_unchanged(directory, own)


def earlier(directory: Path) -> Earlier:
    """What the project in a folder, if there is one, says of how it was written."""
    try:
        found = msgspec.json.decode((directory / MANIFEST).read_bytes(), type=Earlier)
        check_list((*(found.files or ()), *found.selftest))
    except (OSError, ValueError):
        return Earlier()
    return found


def _is_project(directory: Path) -> bool:
    """Whether there is a manifest of any version: other tools, too, call a file project.json."""
    try:
        manifest = msgspec.json.decode((directory / MANIFEST).read_bytes(), type=dict[str, object])
    except (OSError, msgspec.MsgspecError):
        return False
    return {"name", "target", "inputs", "outputs", "schema_version"} <= manifest.keys()
