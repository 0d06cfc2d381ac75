"""The sentence with which a front end refuses what it is given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from match.errors import ModelError
from match.frontend import load


def refusal(read: Callable[..., object], *arguments: Any) -> str:
    """What the ModelError says that `read` raises, which is one line."""
    with pytest.raises(ModelError) as caught:
        read(*arguments)
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


def refused(path: Path | str) -> str:
    """The same for a file, which the sentence names."""
    sentence = refusal(load, path)
    assert str(path) in sentence
    return sentence
