"""Sentences about what is wrong with a model file."""

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


def reason(error: Exception) -> str:
    """What an error says, in one line: TVM's begin with a stack and name the error below it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    named = [line for line in lines if "Error: " in line]
    line = named[-1].partition("Error: ")[2] if named else lines[0] if lines else type(error).__name__
    return line.rstrip(" .:")
