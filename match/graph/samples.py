"""What operators on a batch, samples along an axis of its own, are on one sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from match.graph import fixed_point, reductions
from match.graph.elements import ChannelLookup, DequantizeSums, RequantizeReal
from match.graph.fixed_point import LogarithmOfSoftmax, UnitLength
from match.graph.float_average import FloatAverage
from match.graph.integers import Extreme, Place, Truth
from match.graph.maximum import Maximum
from match.graph.moves import Concatenate, Move
from match.graph.operator import Operator
from match.graph.pairs import Matrices
from match.graph.reals import RealAverage, RealConvolution, RealMatrices, RealProduct, RealTransposed
from match.graph.reductions import RealNormalization, RealReduction
from match.graph.resize import RealInterpolation, Resize
from match.graph.rows import LogSoftmax, Normalization, RealSoftmax, Softmax, Softmax16, SoftmaxOfLevels
from match.graph.sums import Accumulation, Average, Convolution
from match.graph.value import Value
from match.ir.graph import Tensor

_OF_MAPS = (
    *(Average, Convolution, FloatAverage, Maximum, RealAverage, RealConvolution, RealInterpolation, RealTransposed),
    Resize,
)
"""Operators on maps (N, H, W, C)."""

_ALONG_OTHERS = *_OF_MAPS, Accumulation, Extreme, Place, RealProduct, RealReduction, Truth
"""Operators that combine elements along other axes than the first, or take that one's extent away."""

_OF_BOTH = Matrices, RealMatrices
"""The same of two tensors, which both have the first axis."""

_ALONG_AXIS = Concatenate, fixed_point.RunningSum, reductions.RunningSum
"""Operators along one axis."""

_OF_ROWS = (
    *(ChannelLookup, DequantizeSums, LogSoftmax, LogarithmOfSoftmax, Normalization, RealSoftmax, RequantizeReal),
    *(Softmax, Softmax16, SoftmaxOfLevels, UnitLength),
)
"""Functions of rows along the last axis, or of their elements by their places in it."""


def has_maps(value: Value) -> bool:
    """Whether a tensor is computed of several maps."""
    return isinstance(value.operator, _OF_MAPS) and value.shape[0] > 1


def part_of(tensor: Tensor, axis: int, batch: int) -> Tensor:
    """A tensor with one of so many parts of an axis."""
    return Tensor((*tensor.shape[:axis], tensor.shape[axis] // batch, *tensor.shape[axis + 1 :]), tensor.dtype)


def operator_of_one(value: Value, axes: Sequence[int | None], axis: int, batch: int) -> Operator | None:
    """What an operator is for one sample; None if it may combine several.

    `axes` are those along which its inputs have all samples, None of inputs that all samples share; it is `axis`, the
    first with several elements, of those that have one.
    """
    operator = value.operator
    if isinstance(operator, Move):
        stays = axis == 0 and operator.columns[0] is None and operator.axes[0] == 0
        if not stays or operator.split[0] % batch or operator.shape[0] % batch:
            return None
        split, shape = ((all_of[0] // batch, *all_of[1:]) for all_of in (operator.split, operator.shape))
        return replace(operator, split=split, shape=shape)
    assert operator is not None, "inputs are not asked about"
    if operator.elementwise or (isinstance(operator, _OF_ROWS) and axis < len(value.shape) - 1):
        return operator
    if isinstance(operator, _ALONG_AXIS):
        return operator if operator.axis > axis and None not in axes else None
    if isinstance(operator, RealNormalization):
        return operator if min(operator.axes) > axis else None
    if isinstance(operator, _OF_BOTH):
        return operator if all(one == 0 for one in axes) else None
    if axis == 0 or (axis == 1 and isinstance(operator, Convolution) and is_of_pixels(operator)):
        constant = all(one is None for one in axes[1:])  # else weights are computed
        return operator if isinstance(operator, _ALONG_OTHERS) and constant else None
    return None


def is_of_pixels(convolution: Convolution) -> bool:
    """Whether each pixel is computed of the one at its place."""
    own = convolution.weights.shape[:2], convolution.strides
    return own == ((1, 1), (1, 1)) and not any(convolution.padding)
