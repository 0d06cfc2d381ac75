"""What a front end hands on: a network, and what its file says about it."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from match.graph.value import Graph
    from match.relay import tvm


class Rounding(enum.StrEnum):
    """Whose integers are the reference when accumulators are scaled back to 8 bits.

    TFLITE: TFLite Micro, gemmlowp's fixed-point multiplication with two roundings, each half away from zero.
    ONNXRUNTIME: onnxruntime's CPU kernels, a float32 multiplication rounded half to even.
    INTEGER: the network's own: it is integer arithmetic as it stands.
    """

    TFLITE = "tflite"
    ONNXRUNTIME = "onnxruntime"
    INTEGER = "integer"


@dataclass(frozen=True)
class Quantization:
    """What the integers q of a tensor stand for: `scale` * (q - `zero_point`); `scale` is a float32."""

    scale: float
    zero_point: int


@dataclass(frozen=True)
class ModelTensor:
    """An input or output of a network: its name in the model file, static shape and NumPy dtype name.

    quantization: of integers that stand for real numbers, None where the file does not say. layout: what its axes are,
    as one letter each ("NHWC"), empty where they have no names. indices: of an input that chooses elements of tensors,
    such as words of a table, the smallest and the largest value that is such an element's place; None for other inputs.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    quantization: Quantization | None = None
    layout: str = ""
    indices: tuple[int, int] | None = None


def tensor_bytes(tensors: Iterable[ModelTensor]) -> int:
    """Bytes that dense tensors take together."""
    return sum(math.prod(tensor.shape) * np.dtype(tensor.dtype).itemsize for tensor in tensors)


@dataclass(frozen=True, eq=False)
class ModelState:
    """A tensor that a network keeps from one inference to the next.

    tensor: its name in the model, shape and type. initial: what it is before the first inference.
    output: the name of the model's output that it is afterwards; empty for a variable of the model's own.
    """

    tensor: ModelTensor
    initial: npt.NDArray[Any] = field(repr=False)
    output: str = ""


@dataclass(frozen=True, eq=False)
class Model:
    """A network as read from its file.

    `network` is a graph, or, where Relay was given, a Relay module with QNN operators that has one
    function, "main", whose parameters are `inputs` in order and whose weights are constants; with several `outputs` it
    returns a tuple. The `states` are behind inputs and outputs there, in order. `sha256` is the hash of the file, or of
    the Relay text where there is none. `data` are the bytes of the file, weights from other files included; None for
    Relay. `original` is the model of the file where inputs or outputs are to have another type or layout than there, to
    be states, or one sample of a `batch` of so many; else it is None. `ranges` are those of what recurrent layers read,
    by their names, where that was given 8 bits that the file does not have. `notes` are sentences about what the file
    leaves open and the front end decided.
    """

    name: str
    sha256: str
    network: Graph | tvm.IRModule
    inputs: tuple[ModelTensor, ...]
    outputs: tuple[ModelTensor, ...]
    rounding: Rounding
    data: bytes | None = field(default=None, repr=False)
    original: Model | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()
    states: tuple[ModelState, ...] = ()
    batch: int = 1
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])

    @property
    def module(self) -> tvm.IRModule:
        """The network as Relay; a graph is written as what computes it in plain Relay operators."""
        from match.graph.value import Graph
        from match.relay.graph_writer import write_graph

        return write_graph(self.network).module if isinstance(self.network, Graph) else self.network
