"""Scales of blocks of a tensor's elements, where those of an index are alike: one number, or one for each channel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from match.frontend.onnx_attributes import drop_attributes
from match.frontend.onnx_graph import attribute_of

_OF_BLOCKS = "match_of_blocks"


def join_equal_blocks(node: Any, constants: Mapping[str, Any], graph: Any) -> None:
    """Make one block of all blocks of a QuantizeLinear or DequantizeLinear, where their numbers are constant and equal.

    Others keep the attribute.
    """
    names = [name for name in node.input[1:] if name]
    if not attribute_of(node, "block_size", 0) or not all(name in constants for name in names):
        return
    numbers = [onnx.numpy_helper.to_array(constants[name]) for name in names]
    axis = attribute_of(node, "axis", 1) % max(1, numbers[0].ndim)
    if any(own.shape != numbers[0].shape or not np.all(own == own.take([0], axis)) for own in numbers):
        return
    several = [place for place, extent in enumerate(numbers[0].shape) if extent > 1 and place != axis]
    if len(several) > 1:
        return
    drop_attributes(node, "block_size", "axis")
    if several:
        node.attribute.append(onnx.helper.make_attribute("axis", several[0]))
    for place, own in enumerate(numbers):
        name = f"{_OF_BLOCKS}_{place}_{node.output[0]}"
        graph.initializer.append(onnx.numpy_helper.from_array(_of_first_block(own, axis, bool(several)), name))
        node.input[1 + place] = name


def _of_first_block(numbers: npt.NDArray[Any], axis: int, by_channel: bool) -> npt.NDArray[Any]:
    first = np.ascontiguousarray(numbers.take(0, axis))
    return first.reshape(-1) if by_channel else first.reshape(())
