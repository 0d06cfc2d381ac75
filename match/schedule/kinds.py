"""The tiles along one dimension, told apart by what is asked about them."""

from __future__ import annotations

from collections.abc import Callable

from match.layer import Dim
from match.schedule.blocks import Span
from match.schedule.pricing import Pricing

Look = tuple[int, ...]
"""What is asked about a tile along one dimension."""


class Kinds:
    """The tiles along one dimension of blocks of `outer` iterations: what they look like, how many look the same.

    `looks` is asked about the span of a tile and that of the block it is in. With `last`, only that block counts.
    """

    def __init__(
        self, pricing: Pricing, dim: Dim, outer: int, looks: Callable[[Span, Span], Look], *, last: bool = False
    ) -> None:
        self.pricing = pricing
        self.dim = dim
        self.looks = looks
        extent = pricing.layer.size(dim)
        self.blocks = [
            ((run.first * outer, min(outer, extent - run.first * outer)), run.last - run.first + 1)
            for run in pricing.runs(dim, 0, extent, outer)
        ]
        if last:
            start = (extent - 1) // outer * outer
            self.blocks = [((start, extent - start), 1)]
        self.spans = [span for span, _ in self.blocks]
        self.known: dict[int, list[tuple[Look, int]]] = {}

    def of(self, size: int) -> list[tuple[Look, int]]:
        """Of tiles of `size`."""
        known = self.known.get(size)
        if known is None:
            kinds: dict[Look, int] = {}
            for block, times in self.blocks:
                begin, extent = block
                for run in self.pricing.runs(self.dim, begin, extent, size):
                    start = run.first * size
                    looks = self.looks((begin + start, min(size, extent - start)), block)
                    kinds[looks] = kinds.get(looks, 0) + times * (run.last - run.first + 1)
            known = self.known[size] = list(kinds.items())
        return known

    def first(self, size: int) -> list[tuple[Look, int]]:
        """Of the first tile of each block."""
        return [
            (self.looks((begin, min(size, extent)), (begin, extent)), times) for (begin, extent), times in self.blocks
        ]

    def last(self, size: int) -> list[tuple[Look, int]]:
        """Of the last tile of each block."""
        result: list[tuple[Look, int]] = []
        for (begin, extent), times in self.blocks:
            start = (extent - 1) // size * size
            result.append((self.looks((begin + start, extent - start), (begin, extent)), times))
        return result
