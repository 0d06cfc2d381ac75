"""Front ends: a model file, an ONNX model in memory, or a Relay module, becomes a `Model`."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from match.frontend.file import from_bytes, model_bytes
from match.frontend.model import Model, ModelTensor, Quantization, Rounding
from match.target.arguments import path_of

if TYPE_CHECKING:
    import onnx

__all__ = ["Model", "ModelTensor", "Quantization", "Rounding", "load"]


def load(model: str | PathLike[str] | onnx.ModelProto) -> Model:
    """Read a quantized network: a TFLite file (``.tflite``) or an ONNX file (``.onnx``) in QDQ or QOperator form.

    An `onnx.ModelProto` is read as a file of its graph's name that holds it.

    Raises:
        OptionError: `model` is text that no path can be.
        ModelError: the file is missing, broken, of another format than its name says, not quantized to 8 bits, has
            dynamic shapes, or uses an operator that is not supported.
    """
    if not isinstance(model, str | PathLike):
        from match.frontend.onnx import from_proto

        return from_proto(model)
    path = path_of(model, "a model")
    return from_bytes(model_bytes(path), path)
