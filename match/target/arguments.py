"""Whether what comes from outside is of the kind that a signature promises: callers need not heed annotations."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np

from match.errors import OptionError

_LONGEST = 60


def is_a(value: object, *kinds: type) -> bool:
    """Whether a value is of one of the kinds; a bool is no number."""
    return isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))


def is_one_of(value: object, names: Collection[str]) -> bool:
    """Whether a value is one of the names; NumPy's arrays cannot be asked with ``in``."""
    return isinstance(value, str) and value in names


def shown(value: object) -> str:
    """A value in an error: in a line, and not all of a long one."""
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def path_of(value: Any, what: str) -> Path:
    """A path that is given. Raises OptionError if it is none; `what` begins the sentence."""
    text: object = os.fspath(cast("PathLike[str]", value)) if is_a(value, PathLike) else value
    if not isinstance(text, str) or not text or "\0" in text:
        raise OptionError(f"{what} is a path, not {shown(value)}; give a str or a pathlib.Path.")
    return Path(text)


def whole_number(value: Any, what: str, least: int) -> int:
    """A whole number that is given. Raises OptionError if it is none or below `least`; `what` begins the sentence."""
    if not is_a(value, int, np.integer) or value < least:
        raise OptionError(f"{what} must be a whole number from {least}, not {shown(value)}; give another.")
    return int(value)


def check_truth(value: Any, what: str) -> None:
    """Raise OptionError if what is given is neither True nor False; `what` begins the sentence."""
    if not is_a(value, bool, np.bool):
        raise OptionError(f"{what}, not {shown(value)}; give True or False.")


def check_progress(value: Any) -> None:
    """Raise OptionError if what is to be told of the progress cannot be called."""
    if not isinstance(value, Callable):
        raise OptionError(f"progress is a function that takes a text, not {shown(value)}; give one or leave it out.")
