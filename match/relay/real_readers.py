"""Operators on real numbers read as operators of the graph, before integers stand for them.

A map has its channels last in the graph: each operator on maps with channels first stands between transpositions, which
`match.rewrites.channels_last` takes out again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from match.arithmetic.element_functions import FUNCTIONS
from match.graph import volumes
from match.graph.constants import moved_constant, reshaped_constant, transposed_constant
from match.graph.gathers import Gather
from match.graph.integers import Extreme
from match.graph.make import chosen, padded, reshaped, transposed
from match.graph.maps import channels_first, channels_last
from match.graph.maximum import Maximum
from match.graph.operator import Operator
from match.graph.points import at_points
from match.graph.real_functions import marks, number, real, sloped, softmax
from match.graph.reals import (
    REAL,
    RealAverage,
    RealClip,
    RealConvolution,
    RealFunction,
    RealMatrices,
    RealProduct,
    RealTransposed,
)
from match.graph.reductions import RealReduction, Reduction, RunningSum
from match.graph.value import Value, computed
from match.ir.layer import Padding
from match.ir.moves import RESHAPES
from match.relay import relay, tvm
from match.relay.graph_reader import Fragment
from match.relay.maps import LAST, Build, with_channels_last
from match.relay.resizes import read_resize
from match.relay.rewrite import constant as array_of
from match.relay.rewrite import dtype, is_call, operator_name, scalar, shape


def read_reals(call: relay.Call) -> Fragment | None:
    """An operator on real numbers, or one that moves elements, that ends in a typed call; None for other calls."""
    if not isinstance(call.checked_type, tvm.ir.TensorType):
        return None
    if is_call(call, "image.resize2d"):
        return read_resize(call)
    if is_call(call, "gather_nd"):
        return _points(call)
    if is_call(call, *_LARGEST):
        build = _LARGEST[operator_name(call)](call)
        return None if build is None else Fragment((call.args[0],), build)
    if is_call(call, "cast"):
        return _cast(call)
    if is_call(call, "take") and dtype(call) == REAL:
        return _chosen(call)
    if is_call(call, "one_hot") and dtype(call) == REAL:
        return _marks(call)
    if dtype(call) not in (REAL, "bool"):
        return None
    if any(not isinstance(x.checked_type, tvm.ir.TensorType) or dtype(x) not in (REAL, "bool") for x in call.args):
        return None
    reader = _READERS.get(operator_name(call))
    build = _element(call) if reader is None else reader(call)
    return None if build is None else Fragment(tuple(call.args), build)


def _cast(call: relay.Call) -> Fragment | None:
    """Real numbers or truth values in another type, and integers that real numbers were made."""
    (x,) = call.args
    kinds = dtype(x), dtype(call)
    if "bool" not in kinds and kinds[0] != REAL and not (is_call(x, "cast") and dtype(x.args[0]) == REAL):
        return None
    return Fragment((x,), partial(computed, RealFunction(function="cast", dtype=kinds[1])))


def _chosen(call: relay.Call) -> Fragment | None:
    """Rows of a table by indices that are computed; one beyond an end is taken for that end."""
    table, indices = call.args
    if str(call.attrs.mode) != "clip" or call.attrs.axis is None or array_of(indices) is not None:
        return None
    gather = Gather(axis=int(call.attrs.axis) % len(shape(table)), batches=int(call.attrs.batch_dims))
    return Fragment((table, indices), partial(computed, gather))


def _points(call: relay.Call) -> Fragment | None:
    """The parts of a tensor at constant points."""
    points = array_of(call.args[1])
    if points is None or int(call.attrs.batch_dims):
        return None
    last = np.moveaxis(points, 0, -1)
    if last.min() < 0 or np.any(last >= shape(call.args[0])[: last.shape[-1]]):
        return None
    return Fragment((call.args[0],), partial(at_points, points=last))


def _marks(call: relay.Call) -> Fragment | None:
    """One number at indices along an axis, and another one elsewhere."""
    indices, *numbers = call.args
    on, off = (scalar(number) for number in numbers)
    if on is None or off is None:
        return None
    rank, count = len(shape(call)), int(call.attrs.depth)
    axis = int(call.attrs.axis) % rank

    def build(places: Value) -> Value:
        kept = reshaped(places, (*places.shape[:axis], 1, *places.shape[axis:]))
        return marks(kept, axis, count, float(on), float(off))

    return Fragment((indices,), build)


def _element(call: relay.Call) -> Build | None:
    """A function of elements that the graph calls as Relay does."""
    name, kind = operator_name(call), dtype(call)
    if name not in FUNCTIONS or name in ("clip", "leaky_relu", "relu"):
        return None
    return partial(computed, RealFunction(function=name, dtype=kind))


def _clip(call: relay.Call) -> Build:
    low, high = float(call.attrs.a_min), float(call.attrs.a_max)
    return partial(computed, RealClip(low=low, high=high))


def _relu(call: relay.Call) -> Build:
    return partial(computed, RealClip(low=0.0, high=math.inf))


def _extremum(call: relay.Call) -> Build:
    """An extremum of a tensor and one number is a clip."""
    name = operator_name(call)
    for place, other in enumerate(call.args):
        bound = scalar(other)
        x = call.args[1 - place]
        if bound is not None and array_of(x) is None and shape(x) == shape(call):
            low, high = (float(bound), math.inf) if name == "maximum" else (-math.inf, float(bound))
            return partial(_clipped, 1 - place, RealClip(low=low, high=high))
    return partial(real, name)


def _clipped(place: int, clip: RealClip, *operands: Value) -> Value:
    return computed(clip, operands[place])


def _leaky_relu(call: relay.Call) -> Build:
    slope = float(call.attrs.alpha)

    def build(x: Value) -> Value:
        return sloped(x, number(slope))

    return build


def _prelu(call: relay.Call) -> Build | None:
    rank, axis = len(shape(call)), int(call.attrs.axis) % len(shape(call))

    def build(x: Value, slopes: Value) -> Value:
        along = [-1 if other == axis else 1 for other in range(rank)]
        return sloped(x, reshaped_constant(slopes, along))

    return build if array_of(call.args[1]) is not None else None


def _bias(call: relay.Call) -> Build | None:
    rank, axis = len(shape(call)), int(call.attrs.axis) % len(shape(call))

    def build(x: Value, bias: Value) -> Value:
        extents = [bias.shape[0] if other == axis else 1 for other in range(axis, rank)]
        return real("add", x, reshaped_constant(_given(bias), extents))

    return build if _is_given(call.args[1]) else None


def _is_given(expr: relay.Expr) -> bool:
    """Whether an expression is a constant, which may be dequantized and moved."""
    while is_call(expr, *RESHAPES, "transpose"):
        expr = expr.args[0]
    if is_call(expr, "qnn.dequantize"):
        expr = expr.args[0]
    return isinstance(expr, relay.Constant)


def _given(x: Value) -> Value:
    """The constant of an expression that `_is_given`."""
    found = moved_constant(x)
    assert found is not None, "which is asked before"
    return found


def _sides(numbers: Sequence[Any]) -> tuple[int, int]:
    return int(numbers[0]), int(numbers[1])


def _convolution(call: relay.Call) -> Build | None:
    attrs = call.attrs
    layout, kernel = str(attrs.data_layout), str(attrs.kernel_layout)
    channels = shape(call.args[0])[layout.index("C")] if sorted(layout) == sorted(LAST) else 0
    groups = int(attrs.groups)
    if not _is_given(call.args[1]) or sorted(kernel) != sorted("OIHW") or not channels:
        return None
    operator = RealConvolution(
        strides=_sides(attrs.strides),
        padding=Padding(*(int(side) for side in attrs.padding)),
        dilation=_sides(attrs.dilation),
        groups=groups,
    )

    def build(x: Value, filters: Value) -> Value:
        turned = transposed_constant(_given(filters), [kernel.index(axis) for axis in "OIHW"])
        if kernel == "HWOI":  # of depthwise layers, with the outputs of each input along the last axis
            turned = reshaped_constant(turned, (-1, channels // groups, *turned.shape[2:]))
        return computed(operator, x, turned)

    return with_channels_last(layout, build)


def _convolution_of_volumes(call: relay.Call) -> Build | None:
    attrs = call.attrs
    layouts = str(attrs.data_layout), str(attrs.kernel_layout)
    if layouts != ("NCDHW", "OIDHW") or not _is_given(call.args[1]):
        return None
    window = shape(call.args[1])[2:]
    windows = volumes.Windows.of(window, *(_integers(own) for own in (attrs.strides, attrs.padding, attrs.dilation)))
    if not windows.see_volumes(shape(call.args[0])[2]):
        return None

    def build(x: Value, filters: Value) -> Value:
        return volumes.convolution(x, _given(filters), [], windows, int(attrs.groups))

    return build


def _of_sequences(build: Build) -> Build:
    """An operator on sequences (N, C, W), of which `build` makes the one on maps of one row, channels last."""

    def made(x: Value, *others: Value) -> Value:
        map_ = channels_first(build(channels_last(reshaped(x, (*x.shape[:2], 1, x.shape[2]))), *others))
        return reshaped(map_, (*map_.shape[:2], map_.shape[3]))

    return made


def _along(numbers: Sequence[Any]) -> tuple[int, int]:
    """A number for the one row of a sequence, and that for its columns."""
    return 1, int(numbers[0])


def _padding_of_sequences(padding: Any) -> Padding:
    """The padding of a sequence as that of a map of one row."""
    before, behind = _integers(padding)
    return Padding(0, before, 0, behind)


def _convolution_of_sequences(call: relay.Call) -> Build | None:
    attrs = call.attrs
    if str(attrs.data_layout) != "NCW" or str(attrs.kernel_layout) != "OIW" or not _is_given(call.args[1]):
        return None
    operator = RealConvolution(
        strides=_along(attrs.strides),
        padding=_padding_of_sequences(attrs.padding),
        dilation=_along(attrs.dilation),
        groups=int(attrs.groups),
    )
    return _of_sequences(partial(_filtered, operator))


def _transposed_convolution_of_sequences(call: relay.Call) -> Build | None:
    """Filters are (C, K, W), whatever their layout is called."""
    attrs = call.attrs
    if str(attrs.data_layout) != "NCW" or not _is_given(call.args[1]) or int(attrs.dilation[0]) != 1:
        return None
    operator = RealTransposed(
        strides=_along(attrs.strides),
        padding=_padding_of_sequences(attrs.padding),
        spare=(0, int(attrs.output_padding[0])),
        groups=int(attrs.groups),
    )
    return _of_sequences(partial(_filtered, operator))


def _filtered(operator: Operator, x: Value, filters: Value) -> Value:
    """A map of one row, filtered by those of sequences."""
    return computed(operator, x, reshaped_constant(_given(filters), (*filters.shape[:2], 1, filters.shape[2])))


def _largest_of_sequences(call: relay.Call) -> Build | None:
    attrs = call.attrs
    if str(attrs.layout) != "NCW" or attrs.ceil_mode:
        return None
    operator = Maximum(
        window=_along(attrs.pool_size),
        strides=_along(attrs.strides),
        padding=_padding_of_sequences(attrs.padding),
        dilation=_along(attrs.dilation),
    )
    return _of_sequences(partial(computed, operator))


def _means_of_sequences(call: relay.Call) -> Build | None:
    attrs = call.attrs
    if str(attrs.layout) != "NCW" or attrs.ceil_mode or int(attrs.dilation[0]) != 1:
        return None
    operator = RealAverage(
        window=_along(attrs.pool_size),
        strides=_along(attrs.strides),
        padding=_padding_of_sequences(attrs.padding),
        counts_padding=bool(attrs.count_include_pad),
    )
    return _of_sequences(partial(computed, operator))


def _mean_of_sequences(call: relay.Call) -> Build | None:
    if str(call.attrs.layout) != "NCW" or int(call.attrs.output_size[0]) != 1:
        return None
    mean = RealAverage(window=(1, shape(call.args[0])[2]), strides=(1, 1), written_as="map")
    return _of_sequences(partial(computed, mean))


def _largest_of_volumes(call: relay.Call) -> Build | None:
    windows = _windows_of_volumes(call)
    return None if windows is None else partial(volumes.largest, windows=windows)


def _means_of_volumes(call: relay.Call) -> Build | None:
    windows = _windows_of_volumes(call)
    if windows is None or set(windows.dilation) != {1}:
        return None
    return partial(volumes.means, windows=windows, counts_padding=bool(call.attrs.count_include_pad))


def _mean_of_volumes(call: relay.Call) -> Build | None:
    if str(call.attrs.layout) != "NCDHW" or any(extent != 1 for extent in shape(call)[2:]):
        return None
    return volumes.mean_of_all


def _windows_of_volumes(pool: relay.Call) -> volumes.Windows | None:
    """Those of a pooling; None if it has another layout than NCDHW or windows that hang over the border."""
    attrs = pool.attrs
    if str(attrs.layout) != "NCDHW" or attrs.ceil_mode:
        return None
    return volumes.Windows.of(
        *(_integers(own) for own in (attrs.pool_size, attrs.strides, attrs.padding, attrs.dilation))
    )


def _integers(numbers: Sequence[Any]) -> list[int]:
    return [int(number) for number in numbers]


def _transposed_convolution(call: relay.Call) -> Build | None:
    attrs = call.attrs
    kernel = str(attrs.kernel_layout)
    dilated = any(int(step) != 1 for step in attrs.dilation)
    if not _is_given(call.args[1]) or sorted(kernel) != sorted("OIHW") or dilated:
        return None
    operator = RealTransposed(
        strides=_sides(attrs.strides),
        padding=Padding(*(int(side) for side in attrs.padding)),
        spare=_sides(attrs.output_padding),
        groups=int(attrs.groups),
    )

    def build(x: Value, filters: Value) -> Value:
        turned = transposed_constant(_given(filters), [kernel.index(axis) for axis in "IOHW"])
        return computed(operator, x, turned)

    return with_channels_last(str(attrs.data_layout), build)


def _dense(call: relay.Call) -> Build | None:
    """A product of rows and a transposed matrix, constant or not."""
    if len(shape(call)) != 2:
        return None

    def build(x: Value, matrix: Value) -> Value:
        weights = moved_constant(matrix)
        if weights is not None:
            return computed(RealProduct(), x, transposed_constant(weights, (1, 0)))
        one = computed(RealMatrices(), reshaped(x, (1, *x.shape)), reshaped(matrix, (1, *matrix.shape)))
        return reshaped(one, one.shape[1:])

    return build


def _matrices(call: relay.Call) -> Build | None:
    turned = bool(call.attrs.transpose_a), not bool(call.attrs.transpose_b)
    if shape(call.args[0])[0] != shape(call.args[1])[0]:
        return None

    def build(a: Value, b: Value) -> Value:
        a, b = (transposed(x, (0, 2, 1)) if turn else x for x, turn in zip((a, b), turned, strict=True))
        return computed(RealMatrices(), a, b)

    return build


def _largest(call: relay.Call) -> Build | None:
    attrs = call.attrs
    if attrs.ceil_mode:
        return None
    operator = Maximum(
        window=_sides(attrs.pool_size),
        strides=_sides(attrs.strides),
        padding=Padding(*(int(side) for side in attrs.padding)),
        dilation=_sides(attrs.dilation),
    )
    return with_channels_last(str(attrs.layout), partial(computed, operator))


def _average(call: relay.Call) -> Build | None:
    attrs = call.attrs
    if attrs.ceil_mode or any(int(step) != 1 for step in attrs.dilation):
        return None
    operator = RealAverage(
        window=_sides(attrs.pool_size),
        strides=_sides(attrs.strides),
        padding=Padding(*(int(side) for side in attrs.padding)),
        counts_padding=bool(attrs.count_include_pad),
    )
    return with_channels_last(str(attrs.layout), partial(computed, operator))


def _whole_map(call: relay.Call) -> Build | None:
    """The mean or the largest value of each channel of a map."""
    layout, extents = str(call.attrs.layout), shape(call.args[0])
    window = extents[layout.index("H")], extents[layout.index("W")]
    if is_call(call, "nn.global_max_pool2d"):
        largest = Maximum(window=window, strides=(1, 1), padding=Padding(), dilation=(1, 1))
        return with_channels_last(layout, partial(computed, largest))
    mean = RealAverage(window=window, strides=(1, 1), written_as="map")
    return with_channels_last(layout, partial(computed, mean))


def _axes(call: relay.Call) -> tuple[int, ...]:
    """The axes that a reduction takes together, in ascending order."""
    rank, given = len(shape(call.args[0])), call.attrs.axis
    axes = {int(axis) % rank for axis in (range(rank) if given is None else given)}
    return tuple(sorted(set(range(rank)) - axes if call.attrs.exclude else axes))


def _reduction(call: relay.Call) -> Build:
    axes, keepdims, function = _axes(call), bool(call.attrs.keepdims), _REDUCTIONS[operator_name(call)]
    return partial(computed, RealReduction(function=function, axes=axes, keepdims=keepdims))


def _extreme(call: relay.Call) -> Build:
    operator = Extreme(axes=_axes(call), keepdims=bool(call.attrs.keepdims), largest=is_call(call, "max"))
    return partial(computed, operator)


def _variance(call: relay.Call) -> Build | None:
    axes, keepdims = _axes(call), bool(call.attrs.keepdims)
    if call.attrs.unbiased or not keepdims:
        return None

    def build(x: Value, mean: Value) -> Value:
        distance = real("subtract", x, mean)
        square = real("multiply", distance, distance)
        return computed(RealReduction(function="mean", axes=axes, keepdims=True), square)

    return build


def _softmax(call: relay.Call) -> Build:
    axis = int(call.attrs.axis) % len(shape(call))
    return partial(softmax, axis=axis, logarithm=is_call(call, "nn.log_softmax"))


def _running_sum(call: relay.Call) -> Build | None:
    if call.attrs.axis is None:
        return None
    operator = RunningSum(axis=int(call.attrs.axis) % len(shape(call)), exclusive=bool(call.attrs.exclusive))
    return partial(computed, operator)


def _pad(call: relay.Call) -> Build | None:
    """Padding with a number, or with the tensor's own elements."""
    widths = [(int(before), int(after)) for before, after in call.attrs.pad_width]
    mode: Any = str(call.attrs.pad_mode)
    fill = scalar(call.args[1])
    if fill is None or min(min(width) for width in widths) < 0:
        return None

    def filled(x: Value, _fill: Value) -> Value:
        return padded(x, widths, float(fill))

    def repeated(x: Value, _fill: Value) -> Value:
        return chosen(x, [np.pad(np.arange(e), width, mode) for e, width in zip(x.shape, widths, strict=True)])

    return filled if mode == "constant" else repeated


_LARGEST: MappingProxyType[str, Callable[[relay.Call], Build | None]] = MappingProxyType(
    {"nn.max_pool1d": _largest_of_sequences, "nn.max_pool2d": _largest, "nn.max_pool3d": _largest_of_volumes}
)
"""Pooling of numbers of any type."""

_REDUCTIONS: MappingProxyType[str, Reduction] = MappingProxyType({"mean": "mean", "prod": "prod", "sum": "sum"})

_READERS: MappingProxyType[str, Callable[[relay.Call], Build | None]] = MappingProxyType(
    {
        **dict.fromkeys(_REDUCTIONS, _reduction),
        "clip": _clip,
        "cumsum": _running_sum,
        "max": _extreme,
        "maximum": _extremum,
        "min": _extreme,
        "minimum": _extremum,
        "nn.adaptive_avg_pool1d": _mean_of_sequences,
        "nn.adaptive_avg_pool3d": _mean_of_volumes,
        "nn.avg_pool1d": _means_of_sequences,
        "nn.avg_pool2d": _average,
        "nn.avg_pool3d": _means_of_volumes,
        "nn.batch_matmul": _matrices,
        "nn.bias_add": _bias,
        "nn.conv1d": _convolution_of_sequences,
        "nn.conv1d_transpose": _transposed_convolution_of_sequences,
        "nn.conv2d": _convolution,
        "nn.conv3d": _convolution_of_volumes,
        "nn.conv2d_transpose": _transposed_convolution,
        "nn.dense": _dense,
        "nn.global_avg_pool2d": _whole_map,
        "nn.global_max_pool2d": _whole_map,
        "nn.leaky_relu": _leaky_relu,
        "nn.log_softmax": _softmax,
        "nn.max_pool2d": _largest,
        "nn.pad": _pad,
        "nn.prelu": _prelu,
        "nn.relu": _relu,
        "nn.softmax": _softmax,
        "variance": _variance,
    }
)
