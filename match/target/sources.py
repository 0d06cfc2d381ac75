"""C files of platforms."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parents[1]


def c_files(folder: str) -> tuple[str, ...]:
    """The C files of a folder in order; folder and files are relative to the package, as `Platform.sources` may be."""
    return tuple(f"{folder}/{path.name}" for path in sorted((_PACKAGE / folder).glob("*.c")))
