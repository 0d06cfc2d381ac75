"""An input or output of a model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tensor:
    """An input or output: its name, its shape and its NumPy dtype."""

    name: str
    shape: tuple[int, ...]
    dtype: str
