"""What stays on the control core: each operator as one C function, which TVM makes.

TVM is loaded when the first operator is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from match.codegen.steps import Buffer, Pieces, Uses
from match.graph.value import Graph

if TYPE_CHECKING:
    from match.codegen.control_core import CoreCompiler


@dataclass(frozen=True, eq=False)
class CoreFunction:
    """An operator as TVM lowered it.

    Its parameters are what it reads, `constants`, what it writes, and `scratch`: so many bytes each, under these names.
    uses: when it uses each of them. Equal functions have the same `lowered`. pieces: if it writes its last parameter
    from front to back, and touches no other piece of it meanwhile.
    """

    lowered: Any
    constants: tuple[npt.NDArray[np.generic], ...]
    scratch: tuple[Buffer, ...]
    uses: tuple[Uses, ...]
    pieces: Pieces | None


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
        from match.codegen.control_core import CoreCompiler

        return CoreCompiler(self._target)
