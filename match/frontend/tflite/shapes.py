"""Operators that only move data: their outputs have the shapes that the file says."""

from __future__ import annotations

import numpy as np
import tflite

from match.frontend.tflite.file import FileOperator
from match.frontend.tflite.reader import Handlers, TfliteReader
from match.graph import blocks
from match.graph.gathers import Gather, GatherPoints, UpdateSlice
from match.graph.make import (
    array_of,
    broadcast,
    chosen,
    concatenated,
    constant,
    cut,
    padded,
    repeated,
    reshaped,
    sliced,
    taken,
    transposed,
)
from match.graph.value import Value, computed


def reshape(read: TfliteReader, operator: FileOperator) -> Value:
    """RESHAPE, SQUEEZE and EXPAND_DIMS."""
    return reshaped(read.value(operator), read.output(operator).shape)


def transpose(read: TfliteReader, operator: FileOperator) -> Value:
    """TRANSPOSE."""
    return transposed(read.value(operator), read.integers(operator, 1))


def concatenation(read: TfliteReader, operator: FileOperator) -> Value:
    """CONCATENATION, which passes the integers on."""
    options = operator.options(tflite.ConcatenationOptions)
    if options.FusedActivationFunction():
        raise read.error(operator, "has a fused activation, which integer kernels lack; remove it")
    read.check_alike(operator, range(len(operator.inputs)))
    parts = [read.value(operator, at) for at in range(len(operator.inputs))]
    return concatenated(parts, options.Axis() % len(read.output(operator).shape))


def pack(read: TfliteReader, operator: FileOperator) -> Value:
    """PACK."""
    shape = read.output(operator).shape
    axis = operator.options(tflite.PackOptions).Axis() % len(shape)
    one = [*shape[:axis], 1, *shape[axis + 1 :]]
    return concatenated([reshaped(read.value(operator, at), one) for at in range(len(operator.inputs))], axis)


def unpack(read: TfliteReader, operator: FileOperator) -> tuple[Value, ...]:
    """UNPACK."""
    axis, rank = operator.options(tflite.UnpackOptions).Axis(), len(read.tensor(operator).shape)
    return _parts(read, operator, read.value(operator), axis % rank, [1] * len(operator.outputs))


def split(read: TfliteReader, operator: FileOperator) -> tuple[Value, ...]:
    """SPLIT, whose axis comes first."""
    return _split(read, operator, position=1, axis=0)


def split_v(read: TfliteReader, operator: FileOperator) -> tuple[Value, ...]:
    """SPLIT_V, whose sizes the outputs have."""
    return _split(read, operator, position=0, axis=2)


def _split(read: TfliteReader, operator: FileOperator, position: int, axis: int) -> tuple[Value, ...]:
    (along,) = read.integers(operator, axis)
    along %= len(read.tensor(operator, position).shape)
    sizes = [read.output(operator, at).shape[along] for at in range(len(operator.outputs))]
    return _parts(read, operator, read.value(operator, position), along, sizes)


def _parts(read: TfliteReader, operator: FileOperator, x: Value, axis: int, sizes: list[int]) -> tuple[Value, ...]:
    """Slices of these sizes along an axis, in the shapes of the outputs."""
    ends = np.cumsum(sizes)
    return tuple(
        reshaped(cut(x, axis, int(end) - size, int(end)), read.output(operator, at).shape)
        for at, (end, size) in enumerate(zip(ends, sizes, strict=True))
    )


def slice_(read: TfliteReader, operator: FileOperator) -> Value:
    """SLICE, whose sizes the output has."""
    begins = read.integers(operator, 1)
    ends = [begin + size for begin, size in zip(begins, read.output(operator).shape, strict=True)]
    return sliced(read.value(operator), begins, ends)


def strided_slice(read: TfliteReader, operator: FileOperator) -> Value:
    """STRIDED_SLICE, without ellipses and new axes, which converters write as other operators."""
    options = operator.options(tflite.StridedSliceOptions)
    if options.EllipsisMask() or options.NewAxisMask() or options.Offset():
        raise read.error(operator, "has an ellipsis, a new axis or an offset; write it with begin, end and strides")
    shape = read.tensor(operator).shape
    begins, ends, strides = (read.integers(operator, position) for position in (1, 2, 3))
    positions: list[range] = []
    for axis, extent in enumerate(shape):
        if axis >= len(begins):
            positions.append(range(extent))
            continue
        begin = None if options.BeginMask() >> axis & 1 else begins[axis]
        end = None if options.EndMask() >> axis & 1 else ends[axis]
        first, last, step = slice(begin, end, strides[axis]).indices(extent)
        if options.ShrinkAxisMask() >> axis & 1:
            last = min(first + 1, extent)  # backwards TFLite Micro writes nothing
        positions.append(range(first, last, step))
    if not all(positions):
        raise read.error(operator, "takes nothing of its input; remove it, or go forwards along axes that it shrinks")
    return reshaped(chosen(read.value(operator), positions), read.output(operator).shape)


def gather(read: TfliteReader, operator: FileOperator) -> Value:
    """GATHER along one axis, in each of the first axes that are batches."""
    options, rank = operator.options(tflite.GatherOptions), len(read.tensor(operator).shape)
    batch = options.BatchDims() % len(read.tensor(operator, 1).shape) if options.BatchDims() else 0
    if not batch:
        return _gathered(read.value(operator), read.value(operator, 1), options.Axis() % rank)
    return computed(Gather(axis=options.Axis() % rank, batches=batch), read.value(operator), read.value(operator, 1))


def gather_nd(read: TfliteReader, operator: FileOperator) -> Value:
    """GATHER_ND."""
    return computed(GatherPoints(), read.value(operator), read.value(operator, 1))


def embedding_lookup(read: TfliteReader, operator: FileOperator) -> Value:
    """EMBEDDING_LOOKUP in the file's integers: rows of a table."""
    if read.tensor(operator, 1).dtype != read.output(operator).dtype:
        raise read.error(operator, "has a table of another type than its output; quantize both to int8")
    return _gathered(read.value(operator, 1), read.value(operator), 0)


def _gathered(x: Value, indices: Value, axis: int) -> Value:
    """Elements at indices along an axis, which are known or computed."""
    known = array_of(indices)
    if known is not None and known.ndim == 1 and 0 <= known.min() <= known.max() < x.shape[axis]:
        return taken(x, axis, known)
    return computed(Gather(axis=axis), x, indices)


def tile(read: TfliteReader, operator: FileOperator) -> Value:
    """TILE."""
    return repeated(read.value(operator), read.integers(operator, 1))


def broadcast_to(read: TfliteReader, operator: FileOperator) -> Value:
    """BROADCAST_TO."""
    return broadcast(read.value(operator), read.output(operator).shape)


def reverse(read: TfliteReader, operator: FileOperator) -> Value:
    """REVERSE_V2."""
    x = read.value(operator)
    for axis in read.integers(operator, 1):
        x = taken(x, axis % len(x.shape), np.arange(x.shape[axis])[::-1])
    return x


def pad(read: TfliteReader, operator: FileOperator) -> Value:
    """PAD and PADV2: with the output's zero point, or with a value."""
    widths, output = read.integers(operator, 1), read.output(operator)
    pairs = list(zip(widths[::2], widths[1::2], strict=True))
    if read.has(operator, 2):
        read.check_alike(operator, [2])
        given = read.constant(operator, 2)
        (value,) = read.integers(operator, 2) if given is None else given.reshape(-1).tolist()
    else:
        value = int(output.zero_points[0]) if len(output.zero_points) else 0
    return padded(read.value(operator), pairs, value)


def mirror_pad(read: TfliteReader, operator: FileOperator) -> Value:
    """MIRROR_PAD: mirrored at the border's elements (reflect) or beside them (symmetric)."""
    reflects = operator.options(tflite.MirrorPadOptions).Mode() == tflite.MirrorPadMode.REFLECT
    widths, x = read.integers(operator, 1), read.value(operator)
    for axis, extent in enumerate(read.tensor(operator).shape):
        before, behind = widths[2 * axis], widths[2 * axis + 1]
        if max(before, behind) > extent - reflects:
            raise read.error(
                operator, f"mirrors {max(before, behind)} elements of an axis that has {extent}; mirror fewer of them"
            )
        if before or behind:
            kind = "reflect" if reflects else "symmetric"
            x = taken(x, axis, np.pad(np.arange(extent), (before, behind), mode=kind))
    return x


def _block(options: tflite.SpaceToDepthOptions | tflite.DepthToSpaceOptions) -> int:
    """Rows, and columns, of the blocks of pixels."""
    size = options.BlockSize()
    if size < 1:
        raise ValueError(f"blocks of {size} x {size} pixels")
    return size


def space_to_depth(read: TfliteReader, operator: FileOperator) -> Value:
    """SPACE_TO_DEPTH."""
    return blocks.space_to_depth(read.value(operator), _block(operator.options(tflite.SpaceToDepthOptions)))


def depth_to_space(read: TfliteReader, operator: FileOperator) -> Value:
    """DEPTH_TO_SPACE."""
    return blocks.depth_to_space(read.value(operator), _block(operator.options(tflite.DepthToSpaceOptions)))


def space_to_batch(read: TfliteReader, operator: FileOperator) -> Value:
    """SPACE_TO_BATCH_ND: blocks of pixels, padded with the zero point, become images."""
    blocks, widths, tensor = read.integers(operator, 1), read.integers(operator, 2), read.tensor(operator)
    output = read.output(operator)
    pairs = [(0, 0), *zip(widths[::2], widths[1::2], strict=True)]
    pairs += [(0, 0)] * (len(tensor.shape) - len(pairs))
    value = int(output.zero_points[0]) if len(output.zero_points) else 0
    x = padded(read.value(operator), pairs, value)
    extents = [extent + sum(pair) for extent, pair in zip(tensor.shape, pairs, strict=True)]
    rest = extents[len(blocks) + 1 :]
    parts = [part for extent, block in zip(extents[1:], blocks, strict=False) for part in (extent // block, block)]
    x = reshaped(x, (extents[0], *parts, *rest))
    inner, outer = [2 * axis + 2 for axis in range(len(blocks))], [2 * axis + 1 for axis in range(len(blocks))]
    last = [2 * len(blocks) + 1 + axis for axis in range(len(rest))]
    return reshaped(transposed(x, (*inner, 0, *outer, *last)), output.shape)


def batch_to_space(read: TfliteReader, operator: FileOperator) -> Value:
    """BATCH_TO_SPACE_ND: images become blocks of pixels, and the border is cut off."""
    blocks, crops, tensor = read.integers(operator, 1), read.integers(operator, 2), read.tensor(operator)
    count, shape = len(blocks), tensor.shape
    images = shape[0] // int(np.prod(blocks))
    x = reshaped(read.value(operator), (*blocks, images, *shape[1:]))
    order = [count]
    for axis in range(count):
        order += [count + 1 + axis, axis]
    order += range(2 * count + 1, count + len(shape))
    spread = [extent * block for extent, block in zip(shape[1:], blocks, strict=False)]
    x = reshaped(transposed(x, order), (images, *spread, *shape[count + 1 :]))
    begins = [0, *crops[::2], *[0] * (len(shape) - count - 1)]
    ends = [images, *(extent - crop for extent, crop in zip(spread, crops[1::2], strict=True)), *shape[count + 1 :]]
    return sliced(x, begins, ends)


def dynamic_update_slice(read: TfliteReader, operator: FileOperator) -> Value:
    """DYNAMIC_UPDATE_SLICE: at a place that is computed, moved so far that all of the update is inside."""
    return computed(UpdateSlice(), *(read.value(operator, at) for at in range(3)))


def shape(read: TfliteReader, operator: FileOperator) -> Value:
    """SHAPE, which is a constant."""
    output = read.output(operator)
    return constant(read.tensor(operator).shape, output.dtype)


def fill(read: TfliteReader, operator: FileOperator) -> Value:
    """FILL."""
    return broadcast(read.value(operator, 1), read.output(operator).shape)


def zeros_like(read: TfliteReader, operator: FileOperator) -> Value:
    """ZEROS_LIKE: the integer 0, whatever the zero point is."""
    output = read.output(operator)
    return constant(np.zeros(output.shape, output.dtype))


def handlers() -> Handlers:
    """Readers of operators, by their names in TFLite's schema."""
    return {
        "RESHAPE": reshape,
        "SQUEEZE": reshape,
        "EXPAND_DIMS": reshape,
        "TRANSPOSE": transpose,
        "CONCATENATION": concatenation,
        "PACK": pack,
        "UNPACK": unpack,
        "SPLIT": split,
        "SPLIT_V": split_v,
        "SLICE": slice_,
        "STRIDED_SLICE": strided_slice,
        "GATHER": gather,
        "GATHER_ND": gather_nd,
        "EMBEDDING_LOOKUP": embedding_lookup,
        "TILE": tile,
        "BROADCAST_TO": broadcast_to,
        "REVERSE_V2": reverse,
        "PAD": pad,
        "PADV2": pad,
        "MIRROR_PAD": mirror_pad,
        "SPACE_TO_DEPTH": space_to_depth,
        "DEPTH_TO_SPACE": depth_to_space,
        "SPACE_TO_BATCH_ND": space_to_batch,
        "DYNAMIC_UPDATE_SLICE": dynamic_update_slice,
        "SHAPE": shape,
        "FILL": fill,
        "ZEROS_LIKE": zeros_like,
    }
