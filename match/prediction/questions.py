"""Questions to a cost model about one layer; every answer is checked."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from match.errors import CostModelError
from match.ir.layer import Layer
from match.prediction.arrays import Flags, Floats, Ints
from match.target.answers import MOST, SLACK, call_text, checked, failure
from match.target.cost import Block, CostModel, Tile

_OF_ARRAYS = "; use choose, smaller and larger of match.target.cost in place of if, min and max, or leave arrays False"

SAMPLE = 8
"""How many answers of each question in arrays are remembered, to be asked for again at the end."""

MOST_CONFIRMED = 128
"""How many remembered answers are asked for again."""


class Questions:
    """Asks a cost model about a layer.

    Raises CostModelError, from any method, when the cost model raises or returns what is not a finite number of at
    least zero; the message names the cost model, the layer and the arguments.
    """

    def __init__(self, cost_model: CostModel, layer: Layer) -> None:
        self._cost_model = cost_model
        self._layer = layer
        self._asked: list[tuple[str, Tile | Block, float]] = []

    @property
    def takes_arrays(self) -> bool:
        """Whether the cost model takes tiles and blocks whose numbers are arrays."""
        return self._cost_model.arrays

    def ask(self, method: str, *arguments: object) -> float:
        """The answer of a method, with these arguments after the layer."""
        try:
            value = getattr(self._cost_model, method)(self._layer, *arguments)
        except Exception as error:
            raise failure(self.text(method, *arguments), error) from error
        return checked(value, partial(self.text, method, *arguments))

    def ask_each(self, method: str, arguments: Sequence[object]) -> list[float]:
        """The answers of a method that has one argument after the layer, for each of `arguments`.

        A search asks for thousands, and nearly all are valid: they are checked together, then one by one if that fails.
        """
        try:
            values = list(map(partial(getattr(self._cost_model, method), self._layer), arguments))
        except Exception:  # noqa: BLE001 - asked one by one, the argument at fault is known
            return [self.ask(method, argument) for argument in arguments]
        if (
            {*map(type, values)} <= {float, int} and min(values, default=0) >= 0 and sum(values) <= MOST
        ):  # so none is NaN
            return list(map(float, values))
        asked = zip(values, arguments, strict=True)
        return [checked(value, partial(self.text, method, argument)) for value, argument in asked]

    def ask_arrays(self, method: str, argument: Tile | Block, wanted: Flags | None = None) -> Floats:
        """The answers of a method for a tile or a block whose numbers are arrays; it broadcasts with them.

        A cost model that takes no arrays is asked one by one, only for those that are `wanted`; the others are 0.
        """
        columns, shape = _columns(argument)
        if self.takes_arrays:
            answers = self._answers(method, argument)
            if answers.size and not (answers.min() >= 0 and answers.max() <= MOST):  # so none is NaN
                answers = np.broadcast_to(answers, shape)
                wrong = np.flatnonzero(~((answers >= 0) & (answers <= MOST)))[:1]
                (one,) = _elements(argument, columns, wrong)
                checked(answers.ravel()[wrong].item(), partial(self.text, method, one))
            chosen = range(math.prod(shape))
        else:
            chosen = np.arange(math.prod(shape)) if wanted is None else np.flatnonzero(np.broadcast_to(wanted, shape))
            answers = np.zeros(math.prod(shape))
            answers[chosen] = self.ask_each(method, [*_elements(argument, columns, chosen)])
            answers = answers.reshape(shape)
        sample = np.array(chosen[:: max(1, -(-len(chosen) // SAMPLE))], np.int64)
        known = np.broadcast_to(answers, shape)[np.unravel_index(sample, shape)]
        examples = zip(_elements(argument, columns, sample), known.tolist(), strict=True)
        self._asked += [(method, one, value) for one, value in examples]
        return answers

    def _answers(self, method: str, argument: Tile | Block) -> Floats:
        try:
            return np.asarray(getattr(self._cost_model, method)(self._layer, argument), np.float64)
        except Exception as error:
            raise failure(f"{self.text(method)} of arrays", error, _OF_ARRAYS) from error

    def confirm_sample(self) -> None:
        """Ask again, one by one, for some answers that were given as arrays.

        Raises:
            CostModelError: if an answer is another one this time.
        """
        for method, argument, known in self._asked[:: -(-len(self._asked) // MOST_CONFIRMED) or 1]:
            self.confirm(known, method, argument)

    def confirm(self, known: float, method: str, *arguments: object) -> None:
        """Ask again.

        Raises:
            CostModelError: if the answer is another one this time.
        """
        self.same(known, self.ask(method, *arguments), method, *arguments)

    def same(
        self,
        known: float,
        again: float,
        method: str,
        *arguments: object,
        reason: str = "a cost model must be deterministic",
    ) -> None:
        """Compare two answers that are equal for a `reason`, the second one to the same question or one like it.

        Raises:
            CostModelError: if they differ.
        """
        if abs(again - known) > SLACK * known:
            raise CostModelError(f"{self.text(method, *arguments)} returned {known:.10g}, then {again:.10g}; {reason}.")

    def text(self, method: str, *arguments: object) -> str:
        """A call as errors show it."""
        return call_text(self._cost_model, self._layer.name, method, arguments)


def _columns(argument: Tile | Block) -> tuple[list[Any], tuple[int, ...]]:
    """The numbers of a tile, or of a block, as arrays of one shape; the shape."""
    numbers = list(argument) if isinstance(argument, Tile) else [*argument.shape, *argument[2:5]]
    shape = np.broadcast_shapes((1,), *(np.shape(number) for number in numbers))
    return [np.broadcast_to(number, shape) for number in numbers], shape


def _elements(argument: Tile | Block, columns: Sequence[Any], places: Ints) -> Iterator[Tile | Block]:
    """The tiles or blocks at some places of the arrays, with plain numbers."""
    at = np.unravel_index(places, columns[0].shape)
    rows = zip(*(column[at].tolist() for column in columns), strict=True)
    if isinstance(argument, Tile):
        return (Tile(*row) for row in rows)
    axes = len(argument.shape)
    return (Block(argument.operand, row[:axes], row[axes], row[-2], row[-1], argument.memory) for row in rows)
