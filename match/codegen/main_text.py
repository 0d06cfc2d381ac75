"""The text of a network's main: where its tensors lie, and the arguments of each call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from match.codegen.network import Network
from match.codegen.steps import Argument, CallStep


class Placed(NamedTuple):
    """A tensor in the workspace or outside: its name in C, which memory it is in, and its offset there."""

    name: str
    memory: str
    offset: int


class CallText(NamedTuple):
    """A call: the C function, and its arguments."""

    function: str
    arguments: str


class CopyText(NamedTuple):
    """What is copied to an output at the network's end."""

    target: str
    source: str
    bytes: int


class MainText:
    """What the template asks about the calls of a network.

    Args:
        network: the network.
        borders: pointers to the network's inputs, after them its outputs.
    """

    def __init__(self, network: Network, borders: Sequence[str]) -> None:
        self._network = network
        self._borders = borders
        self._offsets = {constant.name: constant.offset for constant in network.constants}

    @property
    def tensors(self) -> list[Placed]:
        """All buffers, in the order in which calls touch them first."""
        calls = (buffer for step in self._network.steps for buffer in step.touched)
        copied = (one.buffer for copy in self._network.copies for one in (copy.source, copy.target) if one.buffer)
        buffers = dict.fromkeys(buffer.name for buffer in (*calls, *copied))
        places = self._network.places
        return [
            Placed(n, "current->external" if places[n].external else "workspace", places[n].offset) for n in buffers
        ]

    @property
    def states(self) -> list[tuple[str, int]]:
        """The names in C of the states that are read or written, and their offsets among all."""
        arguments = [argument for step in self._network.steps for argument in step.arguments]
        arguments += [one for copy in self._network.copies for one in (copy.source, copy.target)]
        used = {argument.state for argument in arguments}
        return [(state.c_name, state.offset) for number, state in enumerate(self._network.states) if number in used]

    @property
    def calls(self) -> list[CallText]:
        """The calls in order."""
        return [CallText(step.function, ", ".join(self._arguments(step))) for step in self._network.steps]

    @property
    def copies(self) -> list[CopyText]:
        """What is done after the calls."""
        return [CopyText(self._text(copy.target), self._text(copy.source), copy.bytes) for copy in self._network.copies]

    @property
    def uses_workspace(self) -> bool:
        """Whether anything lies in the workspace."""
        constants = self._network.memory is not None and bool(self._network.constants)
        return constants or any(tensor.memory == "workspace" for tensor in self.tensors)

    def _arguments(self, step: CallStep) -> list[str]:
        return [*map(self._text, step.arguments), *(buffer.name for buffer in step.scratch)]

    def _text(self, argument: Argument) -> str:
        if argument.border is not None:
            text = self._borders[argument.border]
        elif argument.state is not None:
            text = self._network.states[argument.state].c_name
        elif argument.buffer is not None:
            text = argument.buffer.name
        elif self._network.memory is not None:
            text = f"(void *)(workspace + {self._offsets[argument.constant]})"
        else:
            text = f"(void *){argument.constant}"
        return f"(void *)((uint8_t *){text} + {argument.offset})" if argument.offset else text
