"""Dilated convolutions that TensorFlow writes as three operators.

SPACE_TO_BATCH_ND pads a map and makes an image of every block-th row and column, a convolution without padding works
on each image, and BATCH_TO_SPACE_ND interleaves the results and cuts their border off. This is one convolution whose
filters reach as far apart as the blocks are large. It is read as such, and the images are never made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import tflite

from match.frontend.tflite import layers, shapes
from match.frontend.tflite.file import File, FileOperator
from match.frontend.tflite.reader import Handlers, TfliteReader
from match.graph.make import reshaped
from match.graph.value import Value
from match.ir.layer import Padding

_VIEWS = "RESHAPE", "EXPAND_DIMS", "SQUEEZE"
"""What stands around the convolution of a sequence, which TFLite computes as one of a map of one row."""


def of_open_batches(file: File) -> tuple[tuple[FileOperator, str], ...]:
    """Each SPACE_TO_BATCH_ND for which a file with an open batch has a wrong number of images, and what is wrong.

    A converter that does not know the batch writes 1 for it, also where there are as many images as a block has pixels.
    """
    found: list[tuple[FileOperator, str]] = []
    for operator in file.operators:
        if (
            operator.name != "SPACE_TO_BATCH_ND"
            or len(operator.inputs) < 2
            or min(operator.inputs) < 0
            or not operator.outputs
        ):
            continue
        given, blocks, output = (file.tensors[at] for at in (*operator.inputs[:2], operator.outputs[0]))
        if blocks.data is None or not given.shape or not output.shape or not output.open_batch:
            continue
        images = given.shape[0] * int(np.prod(blocks.data))
        if output.shape[0] != images:
            problem = (
                f"begins a dilated convolution of an open batch: the file says that it makes {output.shape[0]} of "
                f"{images} images, so that TFLite Micro computes nonsense; convert the model with a batch of 1, in "
                "Keras keras.Input(shape, batch_size=1)"
            )
            found.append((operator, problem))
    return tuple(found)


def batch_to_space(read: TfliteReader, operator: FileOperator) -> Value:
    """BATCH_TO_SPACE_ND, which ends a dilated convolution or only moves pixels."""
    convolution = _convolution(read, operator)
    return shapes.batch_to_space(read, operator) if convolution is None else convolution


def _convolution(read: TfliteReader, operator: FileOperator) -> Value | None:
    """The dilated convolution that an operator ends; None if it ends none."""
    inner = _behind_views(read, operator)
    outer = None if inner is None or inner.name not in _FILTERS else _behind_views(read, inner)
    if inner is None or outer is None or outer.name != "SPACE_TO_BATCH_ND":
        return None
    given, output = read.tensor(outer), read.output(operator)
    axes = _axes(read, outer, inner, operator)
    if given.dtype not in ("int8", "uint8") or axes is None:
        return None
    blocks, widths, crops = read.integers(outer, 1), read.integers(outer, 2), read.integers(operator, 2)
    if blocks != read.integers(operator, 1) or len(blocks) > len(axes):
        return None
    of_filters, kind = _FILTERS[inner.name]
    scaled = of_filters(read, inner)
    filters = scaled.filters
    if any(filters.padding) or filters.strides != (1, 1):
        return None
    dilation, sides = list(filters.dilation), [(0, 0), (0, 0)]
    for axis, block, (before, after), (first, last) in zip(axes, blocks, _pairs(widths), _pairs(crops), strict=False):
        dilation[axis - 1] *= block
        sides[axis - 1] = before - first, after - last
        if min(sides[axis - 1]) < 0:
            return None
    (top, bottom), (left, right) = sides
    wide = replace(filters, padding=Padding(top, left, bottom, right), dilation=(dilation[0], dilation[1]))
    x, activation = read.value(outer), inner.options(kind).FusedActivationFunction()
    if len(axes) == 1:
        x = reshaped(x, (*x.shape[: 3 - axes[0]], 1, *x.shape[3 - axes[0] :]))
    around = read.with_values({inner.inputs[0]: x})
    return reshaped(layers.convolved(around, inner, replace(scaled, filters=wide), activation), output.shape)


def _axes(read: TfliteReader, outer: FileOperator, inner: FileOperator, operator: FileOperator) -> list[int] | None:
    """The axes of the convolution's maps in which the blocks lie: both, or of a sequence the one that is its own.

    None if other changes of shape stand between the operators.
    """
    around = (read.output(outer), read.tensor(inner)), (read.tensor(operator), read.output(inner))
    shapes_around = [(outside.shape, of_map.shape) for outside, of_map in around]
    if all(outside == of_map for outside, of_map in shapes_around):
        return [1, 2]
    for axis in (2, 1):
        beside = 3 - axis
        if all((*outside[:beside], 1, *outside[beside:]) == of_map for outside, of_map in shapes_around):
            return [axis]
    return None


def _pairs(values: Sequence[int]) -> list[tuple[int, int]]:
    return list(zip(values[::2], values[1::2], strict=True))


def _behind_views(read: TfliteReader, operator: FileOperator) -> FileOperator | None:
    """The operator that computes the first input of another one, after at most one change of shape."""
    maker = _maker(read, operator)
    return _maker(read, maker) if maker is not None and maker.name in _VIEWS else maker


def _maker(read: TfliteReader, operator: FileOperator) -> FileOperator | None:
    """The operator that computes the first input of another one."""
    number = operator.inputs[0] if operator.inputs else -1
    return next((one for one in read.file.operators if number in one.outputs), None)


_FILTERS = {
    "CONV_2D": (layers.filters_of, tflite.Conv2DOptions),
    "DEPTHWISE_CONV_2D": (layers.depthwise_filters_of, tflite.DepthwiseConv2DOptions),
}
"""Readers of the filters of convolutions, and of their options."""


def handlers() -> Handlers:
    """Readers of operators, by their names in TFLite's schema."""
    return {"BATCH_TO_SPACE_ND": batch_to_space}
