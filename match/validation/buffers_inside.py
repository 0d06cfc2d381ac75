"""TFLite files as TFLite Micro reads them, which takes no notice of buffers after the flatbuffer."""

from __future__ import annotations

from typing import Any

import numpy as np


def with_buffers_inside(data: bytes) -> bytes:
    """The same network with every buffer in the flatbuffer: the same bytes if they are there.

    Newer quantizers write constants after the flatbuffer, where `Offset` and `Size` find them.

    Raises:
        ImportError: tflite_micro is not installed. Its schema is used to write the file again.
    """
    import flatbuffers
    from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema

    model: Any = schema.ModelT.InitFromPackedBuf(data, 0)
    outside = [buffer for buffer in model.buffers if buffer.offset > 1]
    if not outside:
        return data
    for buffer in outside:
        buffer.data = np.frombuffer(data, np.uint8, buffer.size, buffer.offset)
        buffer.offset = buffer.size = 0
    builder = flatbuffers.Builder(len(data))
    builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
    return bytes(builder.Output())
