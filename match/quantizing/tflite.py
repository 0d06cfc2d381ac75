"""Float TFLite files as ONNX, by tf2onnx."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import onnx

from match.errors import ModelError, ToolchainError
from match.interrupt.unfinished import scratch_folder
from match.run.tools import call

_CONVERTERS = ("tf2onnx", "tensorflow")


def onnx_of_tflite(path: Path) -> onnx.ModelProto:
    """The network of a TFLite file. tf2onnx has a process of its own: TensorFlow shares libraries with TVM.

    Raises:
        ModelError: tf2onnx cannot convert it.
        ToolchainError: tf2onnx or TensorFlow is not installed.
    """
    missing = [name for name in _CONVERTERS if find_spec(name) is None]
    if missing:
        raise ToolchainError(
            f"{path} is a TFLite file, of which tf2onnx makes ONNX with TensorFlow; not installed: "
            f"{' and '.join(missing)}; `pip install {' '.join(_CONVERTERS)}`, or quantize the file to int8 with "
            "TensorFlow's converter and give that to match compile."
        )
    with scratch_folder("match-") as folder:
        converted = folder / "float.onnx"
        command = [sys.executable, "-m", "tf2onnx.convert", "--tflite", str(path), "--output", str(converted)]
        try:
            call(command, "tf2onnx")
            return onnx.load_model(converted)
        except (ToolchainError, OSError) as error:
            raise ModelError(
                f"{path} cannot be converted to ONNX: {str(error).rstrip('.')}; export the float model to ONNX."
            ) from error
