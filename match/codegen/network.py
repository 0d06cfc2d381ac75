"""What TVM made of a network, free of TVM's objects: C functions, constants, sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import msgspec
import numpy as np
import numpy.typing as npt

from match.codegen.layer import generate
from match.dispatch.plan import LayerPlan
from match.frontend.model import ModelTensor, Rounding, tensor_bytes
from match.placement.place import Plan
from match.placement.problem import PlacementProblem
from match.target.hardware import ExternalApi


@dataclass(frozen=True, eq=False)
class Constant:
    """An array that operators on the control core read, `offset` bytes into all of them."""

    name: str
    offset: int
    data: npt.NDArray[np.generic]


@dataclass(frozen=True)
class LayerSource:
    """A layer on a module: its plan and its C, which is generated when it is first asked for."""

    plan: LayerPlan

    @cached_property
    def code(self) -> str:
        """The C of the layer.

        Raises:
            ScheduleError, TargetError: if no C can be generated for the plan.
        """
        return generate(self.plan)


class Call(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A function that one inference calls: a layer on a module, or what TVM made of some Relay operators.

    `operators` are the names of these in the order of computation, and `macs` their multiply-accumulates; a layer on a
    module has none of these here. `source` is what the model calls the tensor that is computed, empty if that is not
    known.
    """

    function: str
    operators: tuple[str, ...] = ()
    macs: int = 0
    source: str = ""


@dataclass(frozen=True)
class Inside:
    """Offsets of the inputs and then the outputs in the workspace, and its bytes with them."""

    offsets: tuple[int, ...]
    bytes: int


@dataclass(frozen=True)
class WorkspaceBuffer:
    """A tensor in the workspace, `offset` bytes into it, from the call numbered `first` to `last`, that included."""

    name: str
    bytes: int
    offset: int
    first: int
    last: int


@dataclass(frozen=True)
class Strips:
    """How an operator of TVM's writes external memory, through two strips of main memory that take turns.

    rows: iterations of its loop for each strip, of `count`, each of `bytes` bytes of output.
    distance: bytes from one strip to the other. argument: number of the C function's parameter that it writes.
    """

    rows: int
    count: int
    bytes: int
    distance: int
    argument: int


@dataclass(frozen=True, eq=False)
class NetworkMemory:
    """Where a network lies that takes external memory beside the main memory.

    problem, plan: what was to be placed, and where it is. symbols: the C function of each step on a module, None for
    the control core's. steps: the step of each of the network's operators, in execution order. strips: those of the
    control core's steps whose output is outside. image: what the external memory holds from the start: constants of
    operators, then of layers. whole: bytes of main memory that the network would take without it.
    """

    api: ExternalApi
    problem: PlacementProblem
    plan: Plan
    symbols: tuple[str | None, ...]
    steps: tuple[int, ...]
    strips: Mapping[int, Strips]
    image: bytes
    whole: int


@dataclass(frozen=True, eq=False)
class Network:
    """A network ready to be written as a C project.

    `calls` is what `main` calls, in order, as MATCH_CALL numbers it. `operators` is TVM's C of what runs on the control
    core: the operators and `main`, whose parameters are the inputs, the outputs, and the addresses of the `pools` there
    are ("constants", "workspace", "external"), in this order. Sizes are in bytes. `inside` is where inputs and outputs
    lie in the workspace if the caller has no arrays for them. `rounding` is that of the reference. `buffers` are what
    lies in the workspace where main memory holds everything; `memory` is None then, and else says where all lies.
    """

    name: str
    inputs: tuple[ModelTensor, ...]
    outputs: tuple[ModelTensor, ...]
    layers: tuple[LayerSource, ...]
    calls: tuple[Call, ...]
    operators: str
    main: str
    pools: tuple[str, ...]
    constants: tuple[Constant, ...]
    operator_constant_bytes: int
    workspace_bytes: int
    inside: Inside
    rounding: Rounding = Rounding.TFLITE
    buffers: tuple[WorkspaceBuffer, ...] = ()
    memory: NetworkMemory | None = None

    def generate(self) -> None:
        """Generates the C of all layers, which is kept.

        Raises:
            ScheduleError, TargetError: if no C can be generated for a plan.
        """
        for layer in self.layers:
            _ = layer.code

    @property
    def constant_bytes(self) -> int:
        """Constants of layers and operators together."""
        return self.operator_constant_bytes + sum(len(layer.plan.constants) for layer in self.layers)

    @property
    def main_bytes(self) -> int:
        """Most bytes of main memory in use at once, inputs and outputs included."""
        if self.memory:
            return self.memory.plan.main + tensor_bytes((*self.inputs, *self.outputs))
        return self.constant_bytes + self.activation_bytes

    @property
    def activation_bytes(self) -> int:
        """Most that activations take at once: the planned workspace, and the network's inputs and outputs."""
        return self.workspace_bytes + tensor_bytes((*self.inputs, *self.outputs))
