"""Tensors of real numbers that are computed value by value of 8-bit tensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from match.arithmetic.interface import Float32Array
from match.relay import relay

Function = Callable[[Float32Array], npt.NDArray[np.number]]
"""A function of real numbers, to real numbers or to integers."""


@dataclass(frozen=True)
class Real:
    """A tensor of real numbers: `mapped` makes the tensor of a function of each of them."""

    mapped: Callable[[Function], relay.Expr]

    def then(self, function: Callable[[Float32Array], Float32Array]) -> Real:
        """The tensor of a function's values."""
        return Real(lambda following: self.mapped(lambda x: following(function(x))))

    @property
    def expr(self) -> relay.Expr:
        """The numbers themselves, float32."""
        return self.mapped(lambda x: x)

    @property
    def ranks(self) -> relay.Expr:
        """Integers in the order of the numbers, equal where these are: int8 if they are at most 256, else int32."""
        tables: list[Float32Array] = []

        def listed(values: Float32Array) -> Float32Array:
            tables.append(values)
            return values

        self.mapped(listed)
        levels = np.unique(np.concatenate([values.reshape(-1) for values in tables]))
        first, kind = (-128, np.int8) if len(levels) <= 256 else (0, np.int32)
        return self.mapped(lambda values: (np.searchsorted(levels, values) + first).astype(kind))
