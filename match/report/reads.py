"""What an operator of a network reads, and which of the network's outputs it computes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reads:
    """Places of what an operator reads, each once, in the order in which it is first read.

    operators: those whose outputs it reads, as places among the network's operators. inputs: the network's inputs.
    outputs: the network's outputs that it computes.
    """

    operators: tuple[int, ...] = ()
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
