"""What random networks of both kinds are drawn with: a network grows, as each operator reads tensors that are there."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

Shape = tuple[int, ...]

MOST_ELEMENTS = 6000
"""Elements of an activation, at most."""


class UnfitError(Exception):
    """What was drawn for an operator makes no tensor, or one that is too large, or finds nothing to read."""


class HasShape(Protocol):
    """A tensor of either kind."""

    @property
    def shape(self) -> Shape:
        """The extents."""
        ...


Item = TypeVar("Item")
Tensors = TypeVar("Tensors", bound=HasShape)
Network = TypeVar("Network", bound="Drawing[Any]")


@dataclass(frozen=True)
class Drawing(Generic[Tensors]):
    """A network under construction; the next operator may read `tensors`."""

    rng: np.random.Generator
    tensors: list[Tensors] = field(default_factory=list)

    def draw(self, choices: Sequence[Item]) -> Item:
        """One of several."""
        return choices[int(self.rng.integers(len(choices)))]

    def chance(self, share: float) -> bool:
        """True in a share of all cases."""
        return bool(self.rng.random() < share)

    def factor(self, doublings: float = 1) -> float:
        """A number about 1."""
        return float(2 ** self.rng.uniform(-doublings, doublings))

    def axis(self, extents: Sequence[Any]) -> int:
        """An index of one of these."""
        return int(self.rng.integers(len(extents)))

    def pick(self, fits: Callable[[Tensors], bool]) -> Tensors:
        """A tensor that fits, more often one of the last."""
        fitting = [tensor for tensor in self.tensors if fits(tensor)]
        if not fitting:
            raise UnfitError
        return fitting[-1 - (int(self.rng.geometric(0.35)) - 1) % len(fitting)]

    def reshaped(self, shape: Shape) -> Shape:
        """The shape with two axes made one, one made two, or all but the first made one."""
        axis = self.axis(shape)
        before, here, after = shape[:axis], shape[axis], shape[axis + 1 :]
        parts = self.draw([n for n in (1, 2, 3, 4) if here % n == 0])
        ways = [(shape[0], math.prod(shape[1:])), (*before, here * math.prod(after[:1]), *after[1:])]
        return self.draw(ways + [(*before, parts, here // parts, *after)] * 2 if len(shape) < 4 else ways)


@dataclass(frozen=True)
class Operator(Generic[Network, Tensors]):
    """What a network may grow by: `write` adds it behind a tensor that it `fits`.

    `often` is how much more often than others it is drawn.
    """

    name: str
    write: Callable[[Network, str, Tensors], object]
    fits: Callable[[Tensors], bool]
    often: int = 1


def drawn(
    network: Network, operators: Sequence[Operator[Network, Tensors]], tensor: Tensors
) -> Operator[Network, Tensors]:
    """An operator that fits a tensor."""
    fitting = [operator for operator in operators if operator.fits(tensor)]
    return network.draw([operator for operator in fitting for _ in range(operator.often)])


def broadcasts(one: HasShape, other: HasShape) -> bool:
    """Whether two tensors go together element by element."""
    pairs = zip(reversed(one.shape), reversed(other.shape), strict=False)
    return len(one.shape) <= 4 and all(a == b or 1 in (a, b) for a, b in pairs)


def alike(one: HasShape, other: HasShape, axis: int) -> bool:
    """Whether two tensors have the same extents but for an axis."""
    rank = len(one.shape)
    rest = [n for n in range(rank) if n != axis % rank]
    return rank == len(other.shape) >= -axis and all(one.shape[n] == other.shape[n] for n in rest)


# What tensors an operator takes.


def anything(x: HasShape) -> bool:
    """One to four axes."""
    return 1 <= len(x.shape) <= 4


def rows(x: HasShape) -> bool:
    """Two to four axes."""
    return 2 <= len(x.shape) <= 4


def few_axes(x: HasShape) -> bool:
    """At most three axes, so that there may be one more."""
    return len(x.shape) < 4


def maps(x: HasShape) -> bool:
    """Four axes."""
    return len(x.shape) == 4
