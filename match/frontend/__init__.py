"""Front ends: a model file, an ONNX model in memory, or a Relay module, becomes a `Model`."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, cast

from match.errors import ModelError
from match.frontend.model import Model, ModelTensor, Quantization, Rounding

if TYPE_CHECKING:
    import onnx

__all__ = ["Model", "ModelTensor", "Quantization", "Rounding", "load"]


def load(model: str | PathLike[str] | onnx.ModelProto) -> Model:
    """Read a quantized network: a TFLite file (``.tflite``) or an ONNX file (``.onnx``) in QDQ or QOperator form.

    An `onnx.ModelProto` is read as a file of its graph's name that holds it.

    Raises:
        ModelError: the file is missing, broken, of another format than its name says, not quantized to 8 bits, has
            dynamic shapes, or uses an operator that is not supported.
    """
    if not isinstance(model, str | PathLike):
        from match.frontend.onnx import from_proto

        return from_proto(model)
    path = Path(cast("str | PathLike[str]", model))
    suffix = path.suffix.lower()
    if suffix not in (".tflite", ".onnx"):
        raise ModelError(f"{str(path)!r} is not a model this compiler reads; give it a .tflite or .onnx file")
    try:
        data = path.read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise ModelError(f"cannot read the model {path}: {reason}; check the path") from error
    # TVM takes a second to import: it is loaded when there is a file to convert, not before.
    from match.frontend.failures import tvm_failures

    with tvm_failures(str(path)):
        from match.frontend.onnx import from_onnx, is_onnx
        from match.frontend.tflite import from_tflite, is_tflite

        if suffix == ".tflite":
            if not is_tflite(data) and is_onnx(data):
                raise ModelError(f"{path} is an ONNX file that is called .tflite; rename it to {path.stem}.onnx")
            return from_tflite(data, path)
        if is_tflite(data):
            raise ModelError(f"{path} is a TFLite file that is called .onnx; rename it to {path.stem}.tflite")
        return from_onnx(data, path)
