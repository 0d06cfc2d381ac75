"""What a front end hands on: a network in Relay with QNN operators, and what its file says about it."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
class Tensor:
    """An input or output of a network: its name in the model file, static shape and NumPy dtype name."""

    name: str
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, eq=False)
class Model:
    """A network as read from its file.

    `module` has one function, "main", whose parameters are `inputs` in order and whose weights are constants; with
    several `outputs` it returns a tuple. `sha256` is the hash of the file, or of the Relay text where there is none.
    `data` are the bytes of the file, weights from other files included; None for Relay.
    """

    name: str
    sha256: str
    module: tvm.IRModule
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    rounding: Rounding
    data: bytes | None = field(default=None, repr=False)
