"""Where the package lies, and the C files of its folders."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).parents[1]
"""The folder that relative paths of platforms begin in."""


def c_files(folder: str) -> tuple[str, ...]:
    """The C files of a folder in order; folder and files are relative to the package, as `Platform.sources` may be."""
    return tuple(f"{folder}/{path.name}" for path in sorted((PACKAGE / folder).glob("*.c")))
