"""Sizes of networks that come in any: what they may be, and the numbers of channels that a width makes."""

from __future__ import annotations

from typing import Any

import numpy as np

from match.errors import OptionError
from match.target.arguments import is_a, shown, whole_number


def rounded(channels: float) -> int:
    """The nearest multiple of 8, at least 8, one more where more than a tenth would be lost."""
    multiple = max(8, int(channels + 4) // 8 * 8)
    return multiple + 8 if multiple < 0.9 * channels else multiple


def check_sizes(width: float, resolution: int, classes: int, multiple: int = 1) -> None:
    """What a network is scaled by has to be positive, and its resolution a multiple of a number.

    Raises:
        OptionError: it is not.
    """
    if not is_a(width, int, float, np.integer, np.floating) or not 0 < width < np.inf:
        raise OptionError(f"the width must be a positive number, not {shown(width)}; give another.")
    whole_number(resolution, "the resolution", 1)
    check_classes(classes)
    if resolution % multiple:
        raise OptionError(f"the resolution of this network must be a multiple of {multiple}, not {resolution}.")


def check_classes(classes: Any) -> None:
    """Raise OptionError if a number of classes is no positive whole number."""
    whole_number(classes, "the number of classes", 1)
