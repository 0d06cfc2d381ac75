"""`--print-after`: the network as one pass of a compilation leaves it, or each of them."""

from __future__ import annotations

from collections.abc import Callable

from match.errors import OptionError

ALL = "all"


class PrintedPasses:
    """What is printed of the passes of one compilation: the networks after the pass of a name, or after all."""

    def __init__(self, asked: str) -> None:
        self._asked = asked
        self._names: dict[str, None] = {}
        self.text = ""

    def passed(self, name: str, network: Callable[[], str]) -> None:
        """Keeps the network of a pass that is done, if it is to be printed."""
        self._names[name] = None
        if self._asked in (name, ALL):
            self.text += f"# after {name}\n{network()}\n"

    def check(self) -> None:
        """Refuse a name that no pass had.

        Raises:
            OptionError: which names they had.
        """
        if self._asked not in (*self._names, ALL):
            names = ", ".join([*self._names, ALL])
            raise OptionError(f"--print-after {self._asked} is no pass of this compilation; choose one of: {names}.")
