"""RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR."""

from __future__ import annotations

import numpy as np
import tflite

from match.frontend.tflite.file import FileOperator
from match.frontend.tflite.reader import Handlers, TfliteReader
from match.graph.make import taken
from match.graph.resize import ONE, Between, Resize
from match.graph.value import Value, computed


def nearest(read: TfliteReader, operator: FileOperator) -> Value:
    """RESIZE_NEAREST_NEIGHBOR: positions are computed in float32."""
    options = operator.options(tflite.ResizeNearestNeighborOptions)
    align, half = bool(options.AlignCorners()), bool(options.HalfPixelCenters())
    x = read.value(operator)
    extents = zip(read.tensor(operator).shape[1:3], read.output(operator).shape[1:3], strict=True)
    for axis, (size, outputs) in enumerate(extents, start=1):
        scale = np.float32(size) / np.float32(outputs)
        if align and outputs > 1:
            scale = np.float32(size - 1) / np.float32(outputs - 1)
        positions = (np.arange(outputs).astype(np.float32) + np.float32(0.5 if half else 0)) * scale
        whole = np.floor(positions.astype(np.float64) + (0.5 if align else 0)).astype(np.int32)
        x = taken(x, axis, np.clip(whole, 0, size - 1))
    return x


def bilinear(read: TfliteReader, operator: FileOperator) -> Value:
    """RESIZE_BILINEAR in integers, see `match.graph.resize`; rounding goes away from the stored number 0."""
    options, output = operator.options(tflite.ResizeBilinearOptions), read.output(operator)
    read.input_quantization(operator)
    align, half = bool(options.AlignCorners()), bool(options.HalfPixelCenters())
    extents = zip(read.tensor(operator).shape[1:3], output.shape[1:3], strict=True)
    rows, columns = (_between(*extent, align=align, half=half) for extent in extents)
    x = read.value(operator)
    return computed(Resize(rows=rows, columns=columns, zero=0, dtype=output.dtype), x)


def _between(size: int, outputs: int, *, align: bool, half: bool) -> Between:
    """The pixels that lie below and above each output's position on the input; divisions truncate."""
    scale = (ONE * size + outputs // 2) // outputs
    if align and outputs > 1:
        scale = (ONE * (size - 1) + (outputs - 1) // 2) // (outputs - 1)
    positions = np.arange(outputs, dtype=np.int64) * scale
    if half:
        positions = positions + scale // 2 - ONE // 2
    below = np.maximum(np.trunc(positions / ONE).astype(np.int64), 0)
    above = np.minimum(np.trunc((positions + ONE - 1) / ONE).astype(np.int64), size - 1)
    return Between(below, above, positions - ONE * below)


def handlers() -> Handlers:
    """Readers of operators, by their names in TFLite's schema."""
    return {
        "RESIZE_BILINEAR": bilinear,
        "RESIZE_NEAREST_NEIGHBOR": nearest,
    }
