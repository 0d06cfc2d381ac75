"""A level of memory, and the bytes that blocks take in it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from match.ir.layer import Component, Dim, Operand


@dataclass(frozen=True)
class Memory:
    """One level of memory.

    Attributes:
        name: what reports call it.
        size: bytes that all operands share, but for those with memory of their own.
        alignment: a power of two in bytes; blocks begin at multiples of it.
        private: names of operands with memory of their own at this level, beside the `size` bytes, and the bytes of it.
        holds: names of the operands that pass through this level, None for all. The others move between the levels
            around it; the innermost level holds all.
    """

    name: str
    size: int
    alignment: int = 4
    private: tuple[tuple[str, int], ...] = ()
    holds: frozenset[str] | None = None

    def has(self, operand: str) -> bool:
        """Whether an operand passes through this level."""
        return self.holds is None or operand in self.holds

    def room(self, operand: str) -> str:
        """The part of the memory that an operand lies in: its own name if that is private, else the memory's."""
        return operand if any(operand == name for name, _ in self.private) else self.name

    @property
    def rooms(self) -> tuple[tuple[str, int], ...]:
        """Every part of the memory and its bytes, the shared one first."""
        return ((self.name, self.size), *self.private)


MAIN_ALIGNMENT = 8
"""Bytes to which what kernels read in main memory is aligned: the largest number in it has eight."""


def align(size: int, alignment: int) -> int:
    """`size` rounded up to a multiple of `alignment`."""
    return -(-size // alignment) * alignment


def component_bytes(component: Component, extents: Mapping[Dim, int]) -> int:
    """Bytes of the largest block of a component when the loops leave `extents` of each dimension."""
    return component.element_bytes * math.prod(axis.length(extents[axis.dim]) for axis in component.axes)


def block_bytes(operand: Operand, extents: Mapping[Dim, int], alignment: int) -> int:
    """Bytes that one buffer of an operand takes: its components, each rounded up to `alignment`."""
    return sum(align(component_bytes(component, extents), alignment) for component in operand.components)
