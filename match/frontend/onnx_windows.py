"""Padding of ONNX's convolutions and pooling, as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from match.errors import ModelError
from match.frontend.onnx_attributes import drop_attributes
from match.frontend.onnx_graph import attribute_of

_PADS_ARE_AN_INPUT = 11
"""The opset since which they are no attribute of Pad."""
_CONVOLUTIONS = ("Conv", "ConvInteger", "QLinearConv")

_Axis = tuple[int, int, int, int]
"""Extent of the input, elements of the window, stride, dilation."""


def write_pads(model: Any, shapes: Mapping[str, Sequence[int]], path: Path) -> None:
    """Put pads in the place of auto_pad and ceil_mode in a model, wherever the input's shape is known.

    TVM's importer would compute an auto_pad by running code. It does not know that a ceil_mode leaves out windows which
    begin after the input. An average that counts its padding does not count what a last window has after that: the
    padding becomes an operator of its own. The padding of a ConvTranspose follows other rules
    (`match.frontend.onnx_transposed_windows`).

    Raises:
        ModelError: onnxruntime would pad with less than nothing.
    """
    graph = model.graph
    padded: list[tuple[int, Any]] = []
    for position, node in enumerate(graph.node):
        axes = _axes(node, shapes)
        if not axes:
            continue
        pads: list[int] = attribute_of(node, "pads", None) or [0] * (2 * len(axes))
        mode = attribute_of(node, "auto_pad", b"NOTSET")
        if mode != b"NOTSET":
            pads = _of_mode(node, mode.decode(), axes, path)
            _write(node, pads, "auto_pad")
        if attribute_of(node, "ceil_mode", 0):
            before, behind = np.reshape(pads, (2, -1)).tolist()
            missing = _beyond(axes, pads)
            if any(missing) and attribute_of(node, "count_include_pad", 0):
                padded.append((position + len(padded), _pad(node, [0, 0, *before, 0, 0, *behind], model)))
                before, behind = [0] * len(axes), [0] * len(axes)
            _write(node, before + [a + b for a, b in zip(behind, missing, strict=True)], "ceil_mode")
    for position, pad in padded:
        graph.node.insert(position, pad)


def reach_beyond_padding(pool: Any, shapes: Mapping[str, Sequence[int]]) -> bool:
    """Whether last windows of a pooling with a ceil_mode reach beyond its map and the padding around that."""
    axes = _axes(pool, shapes)
    pads = attribute_of(pool, "pads", None) or [0] * (2 * len(axes))
    return bool(attribute_of(pool, "ceil_mode", 0)) and any(_beyond(axes, pads))


def _axes(node: Any, shapes: Mapping[str, Sequence[int]]) -> list[_Axis]:
    """The axes along which the windows of an operator move; none of an operator without windows or known extents."""
    if not node.input or node.op_type == "ConvTranspose":
        return []
    weights: Sequence[int] = (
        shapes.get(node.input[3 if node.op_type == "QLinearConv" else 1], []) if len(node.input) > 1 else []
    )
    window: list[int] = list(attribute_of(node, "kernel_shape", None) or weights[2:])
    extents = shapes.get(node.input[0], [])[2:]
    if not window or not all(extents) or len(extents) != len(window):
        return []
    strides: list[int] = attribute_of(node, "strides", None) or [1] * len(window)
    dilations: list[int] = attribute_of(node, "dilations", None) or [1] * len(window)
    return list(zip(extents, window, strides, dilations, strict=True))


def _beyond(axes: Sequence[_Axis], pads: Sequence[int]) -> list[int]:
    """How far the last windows of a ceil_mode reach beyond the padding, along each axis."""
    before, behind = np.reshape(pads, (2, -1)).tolist()
    return [_hanging(axis, *sides) for axis, *sides in zip(axes, before, behind, strict=True)]


def _of_mode(node: Any, mode: str, axes: Sequence[_Axis], path: Path) -> list[int]:
    """The pads of an auto_pad: in front of each axis, then after each."""
    if mode == "VALID":
        return [0] * (2 * len(axes))
    same = _same if node.op_type in _CONVOLUTIONS else _same_of_pooling
    totals = [same(*axis) for axis in axes]
    most = 1 if mode == "SAME_UPPER" else max(stride for _, _, stride, _ in axes)  # half in front
    holes = [window > 1 and dilation > 1 for _, window, _, dilation in axes]
    if any(total < (0 if hole else -most) for total, hole in zip(totals, holes, strict=True)):
        name = node.name or node.output[0]
        raise ModelError(
            f"{path} has a stride in {node.op_type} ({name}) that is larger than its window, where onnxruntime cuts "
            f"elements of the input off for auto_pad {mode}; write pads in its place"
        )
    smaller = [max(0, total) // 2 for total in totals]
    larger = [max(0, total) - half for total, half in zip(totals, smaller, strict=True)]
    return larger + smaller if mode == "SAME_LOWER" else smaller + larger


def _same(extent: int, window: int, stride: int, dilation: int) -> int:
    """Padding along one axis that makes the output ceil(extent / stride) long."""
    return max(0, (-(-extent // stride) - 1) * stride + (window - 1) * dilation + 1 - extent)


def _same_of_pooling(extent: int, window: int, stride: int, _dilation: int) -> int:
    """The same of onnxruntime's pooling, which does not count the holes of a window; negative where inputs are left."""
    return (-(-extent // stride) - 1) * stride + window - extent


def _hanging(axis: _Axis, before: int, behind: int) -> int:
    """How far the last window of a ceil_mode reaches beyond the padding along one axis.

    A window that would begin after the input and the padding before it is left out.
    """
    extent, window, stride, dilation = axis
    left = extent + before + behind - (window - 1) * dilation - 1
    steps = -(-left // stride)
    if steps * stride >= extent + before:
        steps -= 1
    return max(0, steps * stride - left)


def _pad(pool: Any, pads: list[int], model: Any) -> Any:
    """An operator that pads the input of average pooling, which then has no padding to count."""
    name, x = pool.output[0], pool.input[0]
    pool.input[0] = f"{name}_padded"
    drop_attributes(pool, "count_include_pad")
    if min(opset.version for opset in model.opset_import if opset.domain in ("", "ai.onnx")) < _PADS_ARE_AN_INPUT:
        return onnx.helper.make_node("Pad", [x], [pool.input[0]], name=pool.name, pads=pads)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array(pads), f"{name}_pads"))
    zero = [pool.input[2]] if pool.op_type == "QLinearAveragePool" else []
    return onnx.helper.make_node("Pad", [x, f"{name}_pads", *zero], [pool.input[0]], name=pool.name)


def _write(node: Any, pads: list[int], instead_of: str) -> None:
    """Put pads into an operator in the place of another attribute."""
    drop_attributes(node, instead_of, "pads")
    node.attribute.append(onnx.helper.make_attribute("pads", pads))
