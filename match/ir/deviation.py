"""By how much an operator of a network that became another one differs from the model's."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Deviation:
    """By how much an operator's outputs differ from the model's for random inputs, in steps of its own tensor."""

    largest: float
    mean: float
