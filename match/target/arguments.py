"""Whether what comes from outside is of the kind that a signature promises: callers need not heed annotations."""

from __future__ import annotations


def is_a(value: object, *kinds: type) -> bool:
    """Whether a value is of one of the kinds; a bool is no number."""
    return isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))
