"""The sentence that refuses a model file for several reasons at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def sentence(path: Path, reasons: Sequence[str]) -> str:
    """What is wrong with a file: each reason follows its name ("has ...", "is ...") and says what to do."""
    return f"{path} {'; it also '.join(reasons)}"


def of_open_shapes(tensors: Sequence[str]) -> str:
    """The reason that inputs and outputs are whose shapes are not fixed, one or several."""
    shapes = "a dynamic shape" if len(tensors) == 1 else "dynamic shapes"
    return f"has {shapes} at {' and '.join(tensors)}; fix every dimension before compiling"
