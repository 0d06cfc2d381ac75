"""A model file as a `Model`: the format that its name says, and what to say where its bytes are another's."""

from __future__ import annotations

from pathlib import Path

from match.errors import ModelError
from match.frontend.model import Model
from match.frontend.other_formats import other_format

FORMATS = ".tflite", ".onnx"


def model_bytes(path: Path) -> bytes:
    """The bytes of a model file.

    Raises:
        ModelError: it cannot be read, is empty, or its name ends in none of `FORMATS`.
    """
    if path.suffix.lower() not in FORMATS:
        raise ModelError(f"{str(path)!r} is not a model this compiler reads; give it a .tflite or .onnx file")
    try:
        data = path.read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise ModelError(f"cannot read the model {path}: {reason}; check the path") from error
    if not data:
        raise ModelError(f"{path} is empty; export or download the model again")
    return data


def from_bytes(data: bytes, path: Path) -> Model:
    """The network in the bytes of a model file.

    Raises:
        ModelError: as `match.frontend.load`.
    """
    # TVM takes a second to import: it is loaded when there is a file to convert, not before.
    from match.frontend.failures import tvm_failures

    with tvm_failures(str(path)):
        from match.frontend.onnx import from_onnx, is_onnx
        from match.frontend.tflite import from_tflite, is_tflite

        if not is_tflite(data) and (other := other_format(data)) is not None:
            raise ModelError(f"{path} is {other}")
        if path.suffix.lower() == ".tflite":
            if not is_tflite(data) and is_onnx(data):
                raise ModelError(f"{path} is an ONNX file that is called .tflite; rename it to {path.stem}.onnx")
            return from_tflite(data, path)
        if is_tflite(data):
            raise ModelError(f"{path} is a TFLite file that is called .onnx; rename it to {path.stem}.tflite")
        return from_onnx(data, path)
