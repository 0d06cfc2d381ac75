"""What TFLite Micro's kernels leave undefined in C++: outputs that differ there are not wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from match.frontend.tflite.file import File, FileOperator, read_file


def undefined(data: bytes, name: str) -> str | None:
    """A sentence on the operators of a TFLite file whose outputs TFLite Micro does not define; None if it has none.

    `name` is what errors call the file.
    """
    file = read_file(data, Path(name))
    if any(_pads(file, operator) for operator in file.operators):
        return "TFLite Micro pads SPACE_TO_BATCH_ND with a value that its kernel never sets, the C with the zero point."
    if any(_may_divide_by_zero(file, operator) for operator in file.operators):
        return "TFLite Micro's DIV does not define what a divisor of zero makes; the C makes the zero point of it."
    return None


def _pads(file: File, operator: FileOperator) -> bool:
    """Whether it is a SPACE_TO_BATCH_ND with padding."""
    if operator.name != "SPACE_TO_BATCH_ND":
        return False
    widths = file.tensors[operator.inputs[2]].data
    return widths is None or bool(np.any(widths))


def _may_divide_by_zero(file: File, operator: FileOperator) -> bool:
    """Whether it is a DIV of integers whose divisor is computed, or has the zero point as an element."""
    if operator.name != "DIV" or file.tensors[operator.outputs[0]].dtype == "float32":
        return False
    divisor = file.tensors[operator.inputs[1]]
    return divisor.data is None or bool(np.any(divisor.data == divisor.zero_points[0]))
