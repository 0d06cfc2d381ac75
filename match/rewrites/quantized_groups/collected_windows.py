"""The mean of windows that are collected element by element becomes average pooling.

PyTorch exports adaptive average pooling to ONNX this way if the output's size does not divide the input's: the rows and
columns of each window are gathered, and a mean of both follows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from match.graph.elements import Dequantize
from match.graph.make import broadcast, cut, reshaped, taken, transposed
from match.graph.reals import RealAverage
from match.graph.reductions import RealReduction
from match.graph.rewrite import rewrite
from match.graph.value import Graph, Value, computed
from match.rewrites.quantized_groups.moves import without_moves
from match.rewrites.quantized_groups.quantities import dequantized

Places = npt.NDArray[np.integer]


def with_pooled_windows(graph: Graph) -> Graph:
    """The graph with average pooling in the place of means of windows collected from quantized maps."""
    return rewrite(graph, _rule)


@dataclass(frozen=True, eq=False)
class _Axis:
    """An axis of the tensor that elements are collected from.

    windows: the indices of each window (windows, elements), one in each where windows do not reach along the axis.
    kept, reduced: the axes of the collected elements along which windows follow one another, and their elements; none
        where all indices are the same.
    """

    windows: Places
    kept: tuple[int, ...]
    reduced: tuple[int, ...]

    @property
    def size(self) -> int:
        """The elements of a window."""
        return self.windows.shape[1]

    @property
    def stride(self) -> int | None:
        """The stride of windows that pooling sees by itself; None of others."""
        steps = np.diff(self.windows[:, 0])
        if np.any(np.diff(self.windows) != 1) or np.any(steps != steps[:1]) or np.any(steps < 1):
            return None
        return int(steps[0]) if steps.size else self.size

    def seen(self, x: Value, axis: int) -> tuple[Value, int]:
        """What windows slide over, along an axis, and their stride: all that they have, or all of them side by side."""
        stride = self.stride
        if stride is None:
            return taken(x, axis, self.windows.reshape(-1)), self.size
        return cut(x, axis, int(self.windows[0, 0]), int(self.windows[-1, -1]) + 1), stride


def _rule(value: Value, original: Value) -> Value:
    del original
    operator = value.operator
    if not isinstance(operator, RealReduction) or operator.function != "mean":
        return value
    source = dequantized(value.inputs[0])
    x, moves = (value, []) if source is None else without_moves(source.value)
    apart = list(operator.axes) != list(range(operator.axes[0], operator.axes[-1] + 1))
    if source is None or not (apart or any(one is not None for move in moves for one in move.columns)):
        return value
    places: Places = np.arange(x.tensor.elements).reshape(x.shape)
    for move in moves:
        places = move.compute(places)
    axes = _axes(places, x.shape, operator.axes)
    reached = [] if axes is None else [place for place, axis in enumerate(axes) if axis.size > 1]
    if axes is None or len(reached) not in (1, 2):
        return value
    dequantize = Dequantize(scale=source.quantization.scale, zero_point=source.quantization.zero_point)
    means = _means(x, axes, reached, dequantize)
    kept = [axis for axis in range(places.ndim) if axis not in operator.axes]
    counts = {axis.kept[0]: len(axis.windows) for axis in axes if axis.kept}
    apart_from_equal = reshaped(means, [counts.get(axis, 1) for axis in kept])
    whole = broadcast(apart_from_equal, [places.shape[axis] for axis in kept])
    return replace(reshaped(whole, value.shape), source=value.source)


def _axes(places: Places, extents: Sequence[int], reduced: Sequence[int]) -> list[_Axis] | None:
    """What is collected along each axis; None where it is no grid of windows."""
    found: list[_Axis] = []
    for own, extent in zip(np.unravel_index(places, tuple(extents)), extents, strict=True):
        varies = [axis for axis in range(own.ndim) if np.any(own != own.take([0], axis))]
        kept, inside = ([axis for axis in varies if (axis in reduced) == side] for side in (False, True))
        if len(kept) > 1 or len(inside) > 1:
            return None
        count, size = (own.shape[axes[0]] if axes else 1 for axes in (kept, inside))
        order = [*kept, *inside, *(axis for axis in range(own.ndim) if axis not in varies)]
        windows = own.transpose(order).reshape(count, size, -1)[..., 0]
        found.append(_Axis(windows, tuple(kept), tuple(inside)))
        if size == 1 and windows.reshape(-1).tolist() != [*range(extent)]:
            return None
    used = [axis for one in found for axis in (*one.kept, *one.reduced)]
    return found if len(set(used)) == len(used) else None


def _means(x: Value, axes: Sequence[_Axis], reached: Sequence[int], dequantize: Dequantize) -> Value:
    """The means of windows along one axis or two, axes in the order in which collected elements keep them."""
    strides: list[int] = []
    for place in reached:
        x, stride = axes[place].seen(x, place)
        strides.append(stride)
    sizes = [axes[place].size for place in reached]
    order = [*range(len(axes))]
    if len(reached) == 1:
        (at,) = reached
        extents, sizes, strides = (math.prod(x.shape[:at]), x.shape[at]), [1, *sizes], [1, *strides]
    else:
        order = [*reached, *(place for place in order if place not in reached)]
        extents = x.shape[reached[0]], x.shape[reached[1]]
    map_ = computed(dequantize, reshaped(transposed(x, order), (1, *extents, -1)))
    means = computed(RealAverage(window=(sizes[0], sizes[1]), strides=(strides[0], strides[1])), map_)
    counts = reshaped(means, [len(axes[place].windows) for place in order])
    return transposed(counts, sorted(range(len(order)), key=lambda at: axes[order[at]].kept))
