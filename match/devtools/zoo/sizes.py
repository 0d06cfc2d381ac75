"""Sizes of networks that come in any: what they may be, and the numbers of channels that a width makes."""

from __future__ import annotations

from match.errors import OptionError


def rounded(channels: float) -> int:
    """The nearest multiple of 8, at least 8, one more where more than a tenth would be lost."""
    multiple = max(8, int(channels + 4) // 8 * 8)
    return multiple + 8 if multiple < 0.9 * channels else multiple


def check_sizes(width: float, resolution: int, classes: int, multiple: int = 1) -> None:
    """What a network is scaled by has to be positive, and its resolution a multiple of a number.

    Raises:
        OptionError: it is not.
    """
    check_positive("width", width)
    check_positive("resolution", resolution)
    check_positive("number of classes", classes)
    if resolution % multiple:
        raise OptionError(f"the resolution of this network must be a multiple of {multiple}, not {resolution}.")


def check_positive(what: str, value: float) -> None:
    """A number that says how large something is.

    Raises:
        OptionError: it is not positive.
    """
    if not value > 0:
        raise OptionError(f"the {what} must be positive, not {value}.")
