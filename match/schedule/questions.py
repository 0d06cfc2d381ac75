"""Questions to a cost model about one layer; every answer is checked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from match.errors import CostModelError
from match.ir.layer import Layer
from match.target.answers import MOST, call_text, checked, failure
from match.target.cost import CostModel


class Questions:
    """Asks a cost model about a layer.

    Raises CostModelError, from any method, when the cost model raises or returns what is not a finite number of at
    least zero; the message names the cost model, the layer and the arguments.
    """

    def __init__(self, cost_model: CostModel, layer: Layer) -> None:
        self._cost_model = cost_model
        self._layer = layer

    def ask(self, method: str, *arguments: object) -> float:
        """The answer of a method, with these arguments behind the layer."""
        try:
            value = getattr(self._cost_model, method)(self._layer, *arguments)
        except Exception as error:
            raise failure(self.text(method, *arguments), error) from error
        return checked(value, partial(self.text, method, *arguments))

    def ask_each(self, method: str, arguments: Sequence[object]) -> list[float]:
        """The answers of a method that has one argument behind the layer, for each of `arguments`.

        A search asks for thousands, and nearly all are good: they are looked at together before each is by itself.
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

    def confirm(self, known: float, method: str, *arguments: object) -> None:
        """Ask again.

        Raises:
            CostModelError: if the answer is another one this time.
        """
        self.same(known, self.ask(method, *arguments), method, *arguments)

    def same(self, known: float, again: float, method: str, *arguments: object) -> None:
        """Compare two answers to the same question.

        Raises:
            CostModelError: if they differ.
        """
        if again != known:
            raise CostModelError(
                f"{self.text(method, *arguments)} returned {known:.10g}, then {again:.10g}; a cost model must be "
                f"deterministic."
            )

    def text(self, method: str, *arguments: object) -> str:
        """A call as errors show it."""
        return call_text(self._cost_model, self._layer.name, method, arguments)
