"""What takes an axis's elements in another order, as constant indices of one axis after the other.

`tile`, slices with steps and padding with elements of the tensor become `take`, as resizes to the nearest pixel are
(`match.relay.resampling`); constant padding becomes one for each axis.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from match.relay import relay, tvm
from match.relay.readers import own_padding
from match.relay.rewrite import New, is_call, is_narrow, rebuild, rewrite, shape

Indices = npt.NDArray[np.int32]

_PADS = ("edge", "reflect")
"""Modes of `nn.pad` whose padding is elements of the tensor, which NumPy calls the same."""


def taken(x: relay.Expr, indices: Mapping[int, Indices], extents: tuple[int, ...]) -> relay.Expr:
    """A tensor of these extents with the elements of some axes at these indices."""
    for axis, chosen in indices.items():
        if not np.array_equal(chosen, np.arange(extents[axis])):
            x = relay.take(x, relay.const(chosen), axis=axis)
    return x


@dataclass(frozen=True)
class GatherByAxis:
    """Takes `tile`, padding and slices with steps of tensors of 8 or 16 bits apart by their axes, the last one first.

    Rows and columns of a constant in front of a convolution stay as they are where they are its own padding.
    """

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, _rule)


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    if is_call(call, "nn.conv2d") and own_padding(call):
        pad = call.args[0]
        return rebuild(call, lambda argument: rebuild(pad, new) if argument == pad else new(argument))
    if not is_narrow(call):
        return None
    if is_call(call, "tile"):
        return _tiled(call, new)
    if is_call(call, "nn.pad"):
        return _padded(call, new)
    return _sliced(call, new) if is_call(call, "strided_slice") else None


def _tiled(call: relay.Call, new: New) -> relay.Expr | None:
    extents, times = shape(call.args[0]), [int(times) for times in call.attrs.reps]
    if len(extents) != len(times) or 0 in shape(call):
        return None
    indices = {axis: np.tile(np.arange(extents[axis], dtype=np.int32), times[axis]) for axis in _backwards(extents)}
    return taken(new(call.args[0]), indices, extents)


def _padded(call: relay.Call, new: New) -> relay.Expr | None:
    extents, attrs = shape(call.args[0]), call.attrs
    widths: list[Any] = [(int(before), int(behind)) for before, behind in attrs.pad_width]
    if any(width < 0 for pair in widths for width in pair):
        return None
    mode: Any = str(attrs.pad_mode)
    x, value = new(call.args[0]), new(call.args[1])
    if mode in _PADS:
        indices = {
            axis: np.pad(np.arange(extents[axis], dtype=np.int32), widths[axis], mode=mode)
            for axis in _backwards(extents)
        }
        return taken(x, indices, extents)
    for axis in _backwards(extents):
        if widths[axis] != (0, 0):
            alone = [widths[axis] if own == axis else (0, 0) for own in range(len(extents))]
            x = relay.nn.pad(x, alone, value, mode)
    return x


def _sliced(call: relay.Call, new: New) -> relay.Expr | None:
    """A slice whose steps are not all 1, as indices of each axis that it does not have all of."""
    attrs, extents = call.attrs, shape(call.args[0])
    axes = range(len(attrs.begin)) if attrs.axes is None else [int(axis) % len(extents) for axis in attrs.axes]
    steps = [int(step) for step in attrs.strides]
    steps *= len(axes) if len(steps) == 1 else 1
    if all(step == 1 for step in steps):
        return None
    indices: dict[int, Indices] = {}
    for axis, begin, step in sorted(zip(axes, attrs.begin, steps, strict=True), reverse=True):
        first = min(int(begin) + extents[axis] if begin < 0 else int(begin), extents[axis] - 1)
        indices[axis] = (first + step * np.arange(shape(call)[axis])).astype(np.int32)
    return taken(new(call.args[0]), indices, extents)


def _backwards(extents: tuple[int, ...]) -> range:
    return range(len(extents))[::-1]
