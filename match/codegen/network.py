"""What TVM made of a network, free of TVM's objects: C functions, constants, sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy.typing as npt

from match.frontend import Tensor
from match.plan import LayerPlan


@dataclass(frozen=True, eq=False)
class Constant:
    """An array that TVM's operators read, `offset` bytes into their constants."""

    name: str
    offset: int
    data: npt.NDArray


@dataclass(frozen=True)
class LayerSource:
    """A layer on a module: its plan and its C."""

    plan: LayerPlan
    code: str


@dataclass(frozen=True, eq=False)
class Network:
    """A network ready to be written as a C project.

    `operators` is the C of what runs on the control core: operators and, last, ``main``, whose parameters are the inputs,
    the outputs, then what `arguments` names ("constants", "workspace"). Sizes are in bytes.
    """

    name: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    layers: tuple[LayerSource, ...]
    operators: str
    main: str
    arguments: tuple[str, ...]
    constants: tuple[Constant, ...]
    operator_constant_bytes: int
    workspace_bytes: int

    @property
    def constant_bytes(self) -> int:
        """Constants of layers and operators together."""
        return self.operator_constant_bytes + sum(len(layer.plan.constants) for layer in self.layers)

    @property
    def activation_bytes(self) -> int:
        """Most bytes that activations take at once: the planned workspace, the network's inputs and its outputs."""
        return self.workspace_bytes + sum(map(tensor_bytes, (*self.inputs, *self.outputs)))


def tensor_bytes(tensor: Tensor) -> int: ...
