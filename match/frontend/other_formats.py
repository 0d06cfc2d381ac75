"""What a file or folder is that is given for a model and is none, and the way from there to a model."""

from __future__ import annotations

import zipfile
from pathlib import Path
from types import MappingProxyType

TFLITE_GUIDE = "https://www.tensorflow.org/lite/performance/post_training_integer_quant"
"""How networks are quantized to integers by TensorFlow."""

_TEXT = (
    "text, not the binary form of a model; convert it, for an ONNX model with onnx.save(onnx.load(path, "
    'format="textproto"), "model.onnx"), where the format may also be "json" or "onnxtxt"'
)
_INT8 = f"with Optimize.DEFAULT, a representative_dataset and the operators TFLITE_BUILTINS_INT8 ({TFLITE_GUIDE})"
_FROM_KERAS = (
    'export it with model.export("x.onnx", format="onnx") for `match quantize`, or build the model for a batch of 1 '
    f"and convert it to a .tflite file in int8: tf.lite.TFLiteConverter.from_keras_model {_INT8}"
)
_KERAS = f"a Keras model; {_FROM_KERAS}"
_SAVED_MODEL = (
    "a SavedModel of TensorFlow; convert it for a batch of 1 to a .tflite file in int8: "
    f"tf.lite.TFLiteConverter.from_saved_model {_INT8}"
)
_GRAPH = (
    "a graph of TensorFlow (.pb); convert it to a .tflite file in int8: tf.lite.TFLiteConverter.from_saved_model of "
    f"the SavedModel that it belongs to, or tf.compat.v1.lite.TFLiteConverter.from_frozen_graph, {_INT8}"
)
_FROM_PYTORCH = (
    "export the model with torch.onnx.export, and give the .onnx file to `match quantize`, with inputs to calibrate on"
)
_PYTORCH = f"a file of PyTorch; {_FROM_PYTORCH}"
_ZIP = "a ZIP archive, and none that PyTorch or Keras writes; give the model that is in it"

_BEGINNINGS = MappingProxyType(
    {
        b"version https://git-lfs": "a pointer of Git LFS to a model; fetch the model with `git lfs pull`",
        b"PK\x03\x04": _ZIP,
        b"\x1f\x8b": "compressed by gzip; unpack it",
        b"\x89HDF": f"an HDF5 file, as Keras saves models; {_FROM_KERAS}",
        b"\x80": f"a pickle of Python, as PyTorch saves models; {_FROM_PYTORCH}",
        b"<!DOCTYPE": "a web page; download the file that it links to",
        b"<html": "a web page; download the file that it links to",
    }
)

_MEMBERS = MappingProxyType(
    {"data.pkl": _PYTORCH, "archive_format": _PYTORCH, "model.weights.h5": _KERAS, "saved_model.pb": _SAVED_MODEL}
)
"""Files that an archive of a framework has, by the ends of their names."""

_ENDINGS = MappingProxyType(
    {".keras": _KERAS, ".h5": _KERAS, ".hdf5": _KERAS, ".pb": _GRAPH}
    | dict.fromkeys((".pt", ".pt2", ".pth", ".ckpt"), _PYTORCH)
)
"""What files are called by the frameworks that write them."""

_ORT = "in onnxruntime's own ORT format; give the ONNX file that it was made of"


def is_tflite(data: bytes) -> bool:
    """Whether a file of this beginning is a TFLite file: a flatbuffer with the identifier TFL3."""
    return data[4:8] == b"TFL3"


def other_format(data: bytes, path: Path) -> str | None:
    """What is in a file of this beginning that is no model, and what to do; None where that is not known.

    Raises:
        OSError: the file cannot be read further.
    """
    if is_tflite(data):
        return None
    beginning = data.lstrip()
    for start, what in _BEGINNINGS.items():
        if beginning[: len(start)].lower() == start.lower():
            return _archive(path) if what == _ZIP else what
    if data[4:8] == b"ORTM":
        return _ORT
    return _TEXT if beginning and _is_text(data) else None


def other_ending(path: Path) -> str | None:
    """What a file is that has the ending of a framework's models, and what to do; None for other endings."""
    return _ENDINGS.get(path.suffix.lower())


def saved_model(path: Path) -> str | None:
    """What a folder is that TensorFlow wrote a model to, and what to do; None for other folders."""
    return _SAVED_MODEL if any((path / f"saved_model.{ending}").is_file() for ending in ("pb", "pbtxt")) else None


def _archive(path: Path) -> str:
    """Whose archive a ZIP file is."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = {name.rpartition("/")[2] for name in archive.namelist()}
    except zipfile.BadZipFile:
        return _ENDINGS.get(path.suffix.lower(), _ZIP)
    return next((what for member, what in _MEMBERS.items() if member in names), _ZIP)


def _is_text(data: bytes) -> bool:
    """Whether bytes are printable ASCII: a binary model begins with the numbers of its fields."""
    return all(byte in b"\t\n\r" or 32 <= byte < 127 for byte in data)


def is_onnx(data: bytes) -> bool:
    """Whether these are the bytes of an ONNX file: a model with operators, and a version of their definitions."""
    import onnx
    from google.protobuf.message import DecodeError

    try:
        proto = onnx.load_model_from_string(data)
    except DecodeError:
        return False
    return proto.ir_version > 0 and bool(proto.opset_import) and bool(proto.graph.node)
