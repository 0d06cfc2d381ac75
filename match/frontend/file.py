"""A model file as a `Model`: the format that its name says, and what to say where its bytes are another's."""

from __future__ import annotations

from os import fstat
from pathlib import Path

from match.errors import ModelError
from match.frontend.model import Model
from match.frontend.other_formats import is_onnx, is_tflite, other_ending, other_format, saved_model

FORMATS = ".tflite", ".onnx"

_MOST_BYTES = (1 << 31) - 1
"""The most bytes that a flatbuffer or a protobuf message may have."""

_BEGINNING = 1000
"""Bytes that tell other formats."""


def model_bytes(path: Path) -> bytes:
    """The bytes of a model file.

    Raises:
        ModelError: it cannot be read, is empty, a folder, larger than a model can be or of a format that its first
            bytes tell, or its name ends in none of `FORMATS`.
    """
    try:
        _check_kind(path)
        with path.open("rb") as file:
            size, beginning = fstat(file.fileno()).st_size, file.read(_BEGINNING)
            if size == 0:
                raise ModelError(f"{path} is empty; export or download the model again")
            if (other := other_format(beginning, path)) is not None:
                raise ModelError(f"{path} is {other}")
            if path.suffix.lower() not in FORMATS:
                raise ModelError(_of_another_ending(beginning, path))
            if size > _MOST_BYTES:
                what = f"{path} has {size / 2**30:.1f} GiB, and no {path.suffix.lower()} file has 2"
                raise ModelError(f"{what}; check what was exported")
            return beginning + file.read()
    except OSError as error:
        reason = error.strerror or str(error)
        raise ModelError(f"cannot read the model {path}: {reason}; check the path") from error


def _check_kind(path: Path) -> None:
    """Refuse a folder, and what is called as no model, neither here nor in a framework, if it is no file.

    Raises:
        ModelError: it is that.
        OSError: it cannot be looked at.
    """
    if path.is_dir():
        what = saved_model(path)
        raise ModelError(_not_read(path, " but a directory") if what is None else f"{path} is {what}")
    if path.suffix.lower() not in FORMATS and other_ending(path) is None and not path.is_file():
        raise ModelError(_not_read(path))


def _of_another_ending(beginning: bytes, path: Path) -> str:
    """What is wrong with a file that is called as no model."""
    if is_tflite(beginning):
        return (
            f"{path} is a TFLite file that is called {path.suffix or 'without ending'}; rename it to {path.stem}.tflite"
        )
    other = other_ending(path)
    return _not_read(path) if other is None else f"{path} is {other}"


def _not_read(path: Path, what: str = "") -> str:
    return f"{str(path)!r} is not a model this compiler reads{what}; give it a .tflite or .onnx file"


def from_bytes(data: bytes, path: Path) -> Model:
    """The network in the bytes of a model file.

    Raises:
        ModelError: as `match.frontend.load`.
    """
    called_tflite, holds_tflite = path.suffix.lower() == ".tflite", is_tflite(data)
    if holds_tflite and not called_tflite:
        raise ModelError(f"{path} is a TFLite file that is called .onnx; rename it to {path.stem}.tflite")
    if not called_tflite:
        # TVM takes a second to import: it is loaded when there is a file to convert, not before.
        from match.frontend.failures import tvm_failures

        with tvm_failures(str(path)):
            from match.frontend.onnx import from_onnx

            return from_onnx(data, path)
    if not holds_tflite and is_onnx(data):
        raise ModelError(f"{path} is an ONNX file that is called .tflite; rename it to {path.stem}.onnx")
    from match.frontend.tflite import from_tflite

    return from_tflite(data, path)
