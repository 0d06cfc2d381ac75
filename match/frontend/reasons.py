"""The sentence that refuses a model file for several reasons at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def sentence(path: Path, reasons: Sequence[str]) -> str:
    """What is wrong with a file: each reason follows its name ("has ...", "is ...") and says what to do."""
    return f"{path} {'; it also '.join(reasons)}"
