"""Keeps TVM from inferring the types of a module again that no pass has changed in between."""

from __future__ import annotations

from typing import Any

from match.relay import tvm

_INFERS = "InferType"


@tvm.ir.instrument.pass_instrument
class TypedOnce:
    """Leaves a pass out: the inference of types that follows another one, where every function is the same object.

    Many passes ask for types, and most of them change nothing: of 26 inferences in a build 14 are left out.
    """

    def __init__(self) -> None:
        self._typed: list[Any] = []

    def should_run(self, module: Any, info: Any) -> bool:
        """Called by TVM."""
        return info.name != _INFERS or _addresses(_functions(module)) != _addresses(self._typed)

    def run_after_pass(self, module: Any, info: Any) -> None:
        """Called by TVM."""
        if info.name == _INFERS:
            self._typed = _functions(module)  # held, so that no other function gets the address of one


def _functions(module: Any) -> list[Any]:
    return list(module.functions.values())


def _addresses(functions: list[Any]) -> list[int]:
    return [function.handle.value for function in functions]
