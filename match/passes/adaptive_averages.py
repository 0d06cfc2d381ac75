"""The mean of windows that an ONNX file gathers element by element becomes average pooling.

PyTorch exports adaptive average pooling this way if the output's size does not divide the input's. A GatherND takes the
rows and columns of each window from a map whose channels are last, and a ReduceMean follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from match.relay import relay, tvm
from match.relay.qnn import dequantized, parameters
from match.relay.rewrite import New, constant, is_call, permutation, rewrite, shape

Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class PoolCollectedWindows:
    """Rewrites each mean of windows that are collected from a dequantized map, all of them of one size."""

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, _rule)


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    if not is_call(call, "mean") or [int(axis) % 6 for axis in call.attrs.axis or ()] != [3, 5] or call.attrs.exclude:
        return None
    turned = call.args[0]
    if not is_call(turned, "transpose") or permutation(turned) != (4, 5, 0, 1, 2, 3):
        return None
    collected = turned.args[0]
    if not is_call(collected, "gather_nd") or int(collected.attrs.batch_dims):
        return None
    real, places = dequantized(collected.args[0]), constant(collected.args[1])
    if real is None or places is None or len(shape(real.x)) != 4:
        return None
    windows = _windows(places, shape(real.x)[:2])
    if windows is None:
        return None
    x = relay.transpose(new(real.x), (2, 3, 0, 1))
    sizes, strides = list[int](), list[int]()
    for axis, part in enumerate(windows):
        stride = _stride(part, shape(real.x)[axis])
        if stride is None:
            x, stride = relay.take(x, relay.const(part.reshape(-1)), axis=2 + axis), part.shape[1]
        sizes.append(part.shape[1])
        strides.append(stride)
    means = relay.nn.avg_pool2d(relay.qnn.op.dequantize(x, *parameters(real.quantization)), sizes, strides)
    return relay.reshape(means, shape(call)) if call.attrs.keepdims else means


def _windows(places: npt.NDArray[np.int64], extents: Sequence[int]) -> tuple[Places, Places] | None:
    """The rows and the columns of windows (windows, elements), from the places (2, windows, rows, windows, columns).

    None if the elements of a window are not all that lie in some rows and some columns, or not in the map.
    """
    if places.ndim != 5 or len(places) != 2:
        return None
    rows, columns = places[0, :, :, 0, 0], places[1, 0, 0]
    every = np.stack(np.broadcast_arrays(rows[:, :, None, None], columns))
    inside = all(part.min() >= 0 and part.max() < extent for part, extent in zip(places, extents, strict=True))
    return (rows, columns) if inside and np.array_equal(places, every) else None


def _stride(windows: Places, extent: int) -> int | None:
    """The stride of windows that pooling sees by itself along an axis; None for others, which are laid side by side."""
    count, size = windows.shape
    stride = int(windows[1, 0]) if count > 1 else size
    if stride < 1 or (extent - size) // stride + 1 != count:
        return None
    regular = [[place * stride + element for element in range(size)] for place in range(count)]
    return stride if windows.tolist() == regular else None
