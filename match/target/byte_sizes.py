"""Sizes of memories as people write them."""

from __future__ import annotations

import re

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20}


def bytes_of(text: str) -> int | None:
    """A positive number of bytes, in units of 1024 where it ends in k (or kB, KiB) and of 1024 * 1024 in M.

    None where the text is nothing of the kind.
    """
    found = re.fullmatch(r"([0-9]{1,20})(?:([km])(?:i?b)?)?", text, re.IGNORECASE)
    return int(found[1]) * _UNITS[(found[2] or "").lower()] or None if found else None
