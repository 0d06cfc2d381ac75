"""Which axes ONNX's Resize and Upsample bring to which sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from match.arithmetic.resampling import ResizedAxis


def resized_axes(
    extents: Sequence[int],
    numbers: Sequence[int],
    scales: npt.NDArray[Any] | None,
    sizes: npt.NDArray[Any] | None,
) -> Mapping[int, ResizedAxis]:
    """The axes of a tensor that a Resize changes, by number.

    Args:
        extents: of the tensor.
        numbers: of the axes that it names, one for each scale or size.
        scales: outputs for each input; none or empty where sizes are given.
        sizes: outputs.
    """
    named: dict[int, ResizedAxis] = {}
    if scales is not None and scales.size:
        for number, scale in zip(numbers, scales.astype(np.float32), strict=True):
            after = int(np.floor(np.float32(extents[number]) * scale))
            named[number] = ResizedAxis(extents[number], after, float(scale))
    elif sizes is not None:
        named = {number: ResizedAxis(extents[number], int(size)) for number, size in zip(numbers, sizes, strict=True)}
    if all(axis.before == axis.after for axis in named.values()):  # onnxruntime copies
        return {}
    return {number: axis for number, axis in named.items() if axis.factor != 1}
