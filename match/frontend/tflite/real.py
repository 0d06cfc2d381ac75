"""Tensors of real numbers or truth values that are computed value by value of 8-bit tensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from match.arithmetic.interface import Float32Array
from match.graph.value import Value

Numbers = npt.NDArray[Any]
"""Real numbers, float32, or truth values."""

Function = Callable[[Float32Array], npt.NDArray[Any]]
"""A function of real numbers, to real numbers, truth values or integers."""


@dataclass(frozen=True, eq=False)
class Source:
    """A tensor of real numbers: `mapped` makes the tensor of a function of each of them."""

    mapped: Callable[[Function], Value]


@dataclass(frozen=True, eq=False)
class Real:
    """A tensor whose elements are a function of the element of `source` at the same place."""

    source: Source
    values: Function

    def mapped(self, function: Function) -> Value:
        """The tensor of a function's values."""
        return self.source.mapped(lambda x: function(self.values(x)))

    @property
    def value(self) -> Value:
        """The numbers themselves, float32, or the truth values."""
        return self.mapped(lambda x: x)

    @property
    def ranks(self) -> Value:
        """Integers in the order of the numbers, equal where these are: int8 if they are at most 256, else int32."""
        tables: list[Float32Array] = []

        def listed(values: Float32Array) -> Float32Array:
            tables.append(values)
            return values

        self.mapped(listed)
        levels = np.unique(np.concatenate([values.reshape(-1) for values in tables]))
        first, kind = (-128, np.int8) if len(levels) <= 256 else (0, np.int32)
        return self.mapped(lambda values: (np.searchsorted(levels, values) + first).astype(kind))


def real_numbers(source: Source) -> Real:
    """The numbers of a source themselves."""
    return Real(source, lambda x: x)
