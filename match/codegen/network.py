"""A network ready to be written, free of TVM's objects: calls, places, C functions, constants, sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from match.codegen.layer import generate
from match.codegen.steps import CallStep, Copy
from match.dispatch.plan import LayerPlan
from match.frontend.model import ModelTensor, Rounding, tensor_bytes
from match.placement.place import Plan
from match.placement.problem import PlacementProblem
from match.target.hardware import ExternalApi, MatchTarget


@dataclass(frozen=True, eq=False)
class Constant:
    """An array that operators on the control core read, `offset` bytes into all of them."""

    name: str
    offset: int
    data: npt.NDArray[np.generic]


@dataclass(frozen=True, eq=False)
class State:
    """What a context of the network keeps from one run to the next.

    tensor: its name in the model, shape and type. c_name: its name in the network's C. initial: what it holds at first.
    offset: in bytes, among all states.
    """

    tensor: ModelTensor
    c_name: str
    initial: npt.NDArray[np.generic]
    offset: int


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
    """A function that one inference calls: a layer on a module, or an operator on the control core.

    `layers` are the names that the report has for what it computes. `source` is what the model calls the tensor that is
    computed, empty if that is not known.
    """

    function: str
    layers: tuple[str, ...] = ()
    source: str = ""


class Functions(Protocol):
    """Operators on the control core, by the names of their C functions."""

    def code(self) -> str:
        """Their C."""
        ...


@dataclass(frozen=True)
class Inside:
    """Offsets of the inputs and then the outputs in the workspace, and its bytes with them."""

    offsets: tuple[int, ...]
    bytes: int


@dataclass(frozen=True)
class Place:
    """Where a buffer is: in external memory or in main memory, and at which offset."""

    external: bool
    offset: int


@dataclass(frozen=True)
class Strips:
    """How an operator on the control core writes external memory, through two strips of main memory that take turns.

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

    `steps` are the calls of one inference in order, as MATCH_CALL numbers them, and `copies` what is done after them.
    `functions` are the operators on the control core. `places` are those of all buffers, by name. Sizes are in bytes.
    `inside` is where inputs and outputs lie in the workspace if the caller has no arrays for them. `rounding` is that
    of the reference. `memory` is None where main memory holds everything, and else says where all lies.
    """

    name: str
    inputs: tuple[ModelTensor, ...]
    outputs: tuple[ModelTensor, ...]
    layers: tuple[LayerSource, ...]
    steps: tuple[CallStep, ...]
    copies: tuple[Copy, ...]
    functions: Functions
    places: Mapping[str, Place]
    constants: tuple[Constant, ...]
    operator_constant_bytes: int
    workspace_bytes: int
    inside: Inside
    rounding: Rounding = Rounding.TFLITE
    memory: NetworkMemory | None = None
    states: tuple[State, ...] = ()

    @property
    def state_bytes(self) -> int:
        """Bytes of all states in a context."""
        return max((state.offset + state.initial.nbytes for state in self.states), default=0)

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls as programs are told of them."""
        return tuple(Call(step.function, step.layers, step.source) for step in self.steps)

    def program_bytes(self, target: MatchTarget) -> int:
        """Estimated bytes of its program on a target, beside its constants."""
        return target.program_bytes(len(self.steps), sum(layer.plan.joined for layer in self.layers))

    @cached_property
    def operators(self) -> str:
        """The C of what runs on the control core."""
        return self.functions.code()

    def generate(self) -> None:
        """Generates the C of all layers and of what runs on the control core, which is kept.

        Raises:
            ScheduleError, TargetError: if no C can be generated for a plan.
        """
        for layer in self.layers:
            _ = layer.code
        _ = self.operators

    @property
    def constant_bytes(self) -> int:
        """Constants of layers and operators together."""
        return self.operator_constant_bytes + sum(len(layer.plan.constants) for layer in self.layers)

    @property
    def main_bytes(self) -> int:
        """Most bytes of main memory in use at once, inputs, outputs and states included."""
        if self.memory:
            return self.memory.plan.main + tensor_bytes((*self.inputs, *self.outputs)) + self.state_bytes
        return self.constant_bytes + self.activation_bytes + self.state_bytes

    @property
    def activation_bytes(self) -> int:
        """Most that activations take at once: the planned workspace, and the network's inputs and outputs."""
        return self.workspace_bytes + tensor_bytes((*self.inputs, *self.outputs))
