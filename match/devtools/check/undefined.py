"""Reads what a linker says of functions that are nowhere."""

from __future__ import annotations

import re

_UNDEFINED = re.compile(r"undefined reference to [`'‘](\w+)['’]|undefined symbol: (\w+)")


def undefined_function(message: str) -> str | None:
    """Name of the first function that a linker misses, if that is what it says."""
    missing = _UNDEFINED.search(message)
    return (missing[1] or missing[2]) if missing else None
