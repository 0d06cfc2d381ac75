"""Other compilations of a network: what would be asked of the compiler, and what that is predicted to gain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from match.partitioning.quantizable import Quantizable


@dataclass(frozen=True)
class Change:
    """Arguments of `match.compile` that differ, by name; `states` are pairs. `text` says the same as options."""

    arguments: tuple[tuple[str, Any], ...]

    @classmethod
    def of(cls, **arguments: Any) -> Change | None:
        """Those that are not None; None where all are."""
        given = tuple((name, value) for name, value in arguments.items() if value is not None)
        return cls(given) if given else None

    @property
    def text(self) -> str:
        """Options of the command line."""
        return " ".join(part for name, value in self.arguments for part in _options(name, value))


def _options(name: str, value: Any) -> Sequence[str]:
    if name == "states":
        return [f"--state {given}:{output}" for given, output in value]
    if name == "fuse":
        return ["leaving --no-fuse out"]
    option = f"--{name.replace('_', '-')}"
    return [option] if value is True else [f"{option} {value}"]


def _unknown(change: Change) -> int | None:
    del change


@dataclass(frozen=True, eq=False)
class Otherwise:
    """What is known of a network compiled otherwise.

    cycles: predicts a change's cycles; None where the network cannot be compiled so.
    whole: the cycles if main memory held everything.
    inputs, outputs: what leaves types and layouts to the caller; None where they are the modules' own.
    states: what keeps an output for the next inference, whose input is read as the output is written.
    quantizable: recurrent layers in floating point that modules would take in integers.
    unquantized: names of those whose inputs the model leaves in floating point; quantized_inputs: predicts the cycles
        with these inputs in 8 bits and all recurrent layers as integers, None where modules do not take them.
    quantized: finds the names of the model's operators that are alone between a dequantize and a quantize.
    wide_activations: whether the model quantizes activations to 16 bits.
    exact_whole: predicts the cycles with exact numerics, if main memory held everything; None where that is not known.
    """

    cycles: Callable[[Change], int | None] = _unknown
    whole: int | None = None
    inputs: Change | None = None
    outputs: Change | None = None
    states: Change | None = None
    quantizable: Sequence[Quantizable] = ()
    unquantized: frozenset[str] = frozenset()
    quantized_inputs: Callable[[], int | None] = field(default=lambda: None)
    quantized: Callable[[], frozenset[str]] = field(default=frozenset)
    wide_activations: bool = False
    exact_whole: Callable[[], int | None] = field(default=lambda: None)
