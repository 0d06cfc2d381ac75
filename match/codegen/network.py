"""What TVM made of a network, free of TVM's objects: C functions, constants, sizes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec
import numpy as np
import numpy.typing as npt

from match.frontend.model import Tensor
from match.plan import LayerPlan


@dataclass(frozen=True, eq=False)
class Constant:
    """An array that operators on the control core read, `offset` bytes into all of them."""

    name: str
    offset: int
    data: npt.NDArray[np.generic]


@dataclass(frozen=True)
class LayerSource:
    """A layer on a module: its plan and its C."""

    plan: LayerPlan
    code: str


class Call(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A function that one inference calls: a layer on a module, or what TVM made of some Relay operators.

    `operators` are the names of these in the order of computation, `macs` their multiply-accumulates; a layer on a
    module has neither.
    """

    function: str
    operators: tuple[str, ...] = ()
    macs: int = 0


@dataclass(frozen=True, eq=False)
class Network:
    """A network ready to be written as a C project.

    `calls` is what `main` calls, in order, as MATCH_CALL numbers it. `operators` is TVM's C of what runs on the control
    core: the operators and `main`, whose parameters are the inputs, the outputs, and the addresses of the `pools` there
    are ("constants", "workspace"), in this order. Sizes are in bytes.
    """

    name: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    layers: tuple[LayerSource, ...]
    calls: tuple[Call, ...]
    operators: str
    main: str
    pools: tuple[str, ...]
    constants: tuple[Constant, ...]
    operator_constant_bytes: int
    workspace_bytes: int

    @property
    def constant_bytes(self) -> int:
        """Constants of layers and operators together."""
        return self.operator_constant_bytes + sum(len(layer.plan.constants) for layer in self.layers)

    @property
    def activation_bytes(self) -> int:
        """Most that activations take at once: the planned workspace, and the network's inputs and outputs."""
        return self.workspace_bytes + tensor_bytes((*self.inputs, *self.outputs))


def tensor_bytes(tensors: Iterable[Tensor]) -> int:
    """Bytes that dense tensors take together."""
    return sum(math.prod(tensor.shape) * np.dtype(tensor.dtype).itemsize for tensor in tensors)
