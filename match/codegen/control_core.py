"""What stays on the control core: each operator as one C function, which TVM makes.

TVM is loaded when the first operator is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from match.codegen.steps import CoreFunction
from match.graph.value import Graph

if TYPE_CHECKING:
    from match.codegen.core_compiler import CoreCompiler


class ControlCore:
    """The control core of a target; equal operators are compiled once."""

    def __init__(self, target: str) -> None:
        """With the name of the target."""
        self._target = target

    def functions(self, graphs: Sequence[Graph]) -> list[CoreFunction]:
        """Functions that compute the outputs of graphs."""
        return self._compiler.functions(graphs) if graphs else []

    def code(self, functions: Mapping[str, CoreFunction]) -> str:
        """The C of functions, by their names."""
        return self._compiler.code(functions) if functions else ""

    @cached_property
    def _compiler(self) -> CoreCompiler:
        from match.codegen.core_compiler import CoreCompiler

        return CoreCompiler(self._target)
