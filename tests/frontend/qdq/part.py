"""A part of a quantized network, between a quantized input and a quantized output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.passes.trained_models import TrainedModel

Build = Callable[[TrainedModel], None]


@dataclass(frozen=True)
class Part:
    """What is built on an input of a shape, and the scale of its output."""

    shape: tuple[int, ...]
    build: Build
    scale: float


def added_to(parts: dict[str, Part], *shape: int, scale: float = 0.05) -> Callable[[Build], Build]:
    """Register a function that builds a part, by its name."""

    def added(build: Build) -> Build:
        parts[build.__name__] = Part(shape, build, scale)
        return build

    return added
