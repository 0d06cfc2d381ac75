"""What a file is that is called as a model and is none, as its first bytes say."""

from __future__ import annotations

_TEXT = (
    "text, not the binary form of a model; convert it, for an ONNX model with onnx.save(onnx.load(path, "
    'format="textproto"), "model.onnx"), where the format may also be "json" or "onnxtxt"'
)
_BEGINNINGS = {
    b"version https://git-lfs": "a pointer of Git LFS to a model; fetch the model with `git lfs pull`",
    b"PK\x03\x04": "a ZIP archive, as PyTorch and Keras save models; export the model to ONNX or TFLite, or unpack it",
    b"\x1f\x8b": "compressed by gzip; unpack it",
    b"\x89HDF": "an HDF5 file, as Keras saves models; convert the model to TFLite",
    b"\x80": "a pickle of Python, as PyTorch saves models; export the model to ONNX",
    b"<!DOCTYPE": "a web page; download the file that it links to",
    b"<html": "a web page; download the file that it links to",
}
_ORT = "in onnxruntime's own ORT format; give the ONNX file that it was made of"


def is_tflite(data: bytes) -> bool:
    """Whether a file of this beginning is a TFLite file: a flatbuffer with the identifier TFL3."""
    return data[4:8] == b"TFL3"


def other_format(data: bytes) -> str | None:
    """What is in a file of this beginning that is no model, and what to do; None where that is not known."""
    if is_tflite(data):
        return None
    beginning = data.lstrip()
    for start, what in _BEGINNINGS.items():
        if beginning[: len(start)].lower() == start.lower():
            return what
    if data[4:8] == b"ORTM":
        return _ORT
    return _TEXT if beginning and _is_text(data) else None


def _is_text(data: bytes) -> bool:
    """Whether bytes are printable ASCII: a binary model begins with the numbers of its fields."""
    return all(byte in b"\t\n\r" or 32 <= byte < 127 for byte in data)
