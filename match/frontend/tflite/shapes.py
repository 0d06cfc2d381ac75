"""Operators that only move data: their outputs have the shapes that the file says."""

from __future__ import annotations

import numpy as np
import tflite

from match.frontend.tflite.file import FileOperator
from match.frontend.tflite.reader import Handlers, TfliteReader
from match.relay import relay


def reshape(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """RESHAPE, SQUEEZE and EXPAND_DIMS."""
    return relay.reshape(read.expr(operator), read.output(operator).shape)


def transpose(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """TRANSPOSE."""
    return relay.transpose(read.expr(operator), read.integers(operator, 1))


def concatenation(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """CONCATENATION, which passes the integers on."""
    options = operator.options(tflite.ConcatenationOptions)
    if options.FusedActivationFunction():
        raise read.error(operator, "has a fused activation, which integer kernels lack; remove it")
    read.check_alike(operator, range(len(operator.inputs)))
    return relay.concatenate([read.expr(operator, at) for at in range(len(operator.inputs))], options.Axis())


def pack(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """PACK."""
    axis = operator.options(tflite.PackOptions).Axis()
    return relay.stack([read.expr(operator, at) for at in range(len(operator.inputs))], axis)


def unpack(read: TfliteReader, operator: FileOperator) -> tuple[relay.Expr, ...]:
    """UNPACK."""
    axis, rank = operator.options(tflite.UnpackOptions).Axis(), len(read.tensor(operator).shape)
    return _parts(read, operator, read.expr(operator), axis % rank, [1] * len(operator.outputs))


def split(read: TfliteReader, operator: FileOperator) -> tuple[relay.Expr, ...]:
    """SPLIT, whose axis comes first."""
    return _split(read, operator, position=1, axis=0)


def split_v(read: TfliteReader, operator: FileOperator) -> tuple[relay.Expr, ...]:
    """SPLIT_V, whose sizes the outputs have."""
    return _split(read, operator, position=0, axis=2)


def _split(read: TfliteReader, operator: FileOperator, position: int, axis: int) -> tuple[relay.Expr, ...]:
    (along,) = read.integers(operator, axis)
    along %= len(read.tensor(operator, position).shape)
    sizes = [read.output(operator, at).shape[along] for at in range(len(operator.outputs))]
    return _parts(read, operator, read.expr(operator, position), along, sizes)


def _parts(
    read: TfliteReader, operator: FileOperator, x: relay.Expr, axis: int, sizes: list[int]
) -> tuple[relay.Expr, ...]:
    """Slices of these sizes along an axis, in the shapes of the outputs."""
    ends = np.cumsum(sizes)
    return tuple(
        relay.reshape(
            relay.strided_slice(x, [int(end) - size], [int(end)], axes=[axis]), read.output(operator, at).shape
        )
        for at, (end, size) in enumerate(zip(ends, sizes, strict=True))
    )


def slice_(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """SLICE, whose sizes the output has."""
    begins = read.integers(operator, 1)
    ends = [begin + size for begin, size in zip(begins, read.output(operator).shape, strict=True)]
    return relay.strided_slice(read.expr(operator), begins, ends)


def strided_slice(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """STRIDED_SLICE, without ellipses and new axes, which converters write as other operators."""
    options = operator.options(tflite.StridedSliceOptions)
    if options.EllipsisMask() or options.NewAxisMask() or options.Offset():
        raise read.error(operator, "has an ellipsis, a new axis or an offset; write it with begin, end and strides")
    shape = read.tensor(operator).shape
    begins, ends, strides = (read.integers(operator, position) for position in (1, 2, 3))
    positions: list[list[int]] = []
    for axis, extent in enumerate(shape):
        if axis >= len(begins):
            positions.append(list(range(extent)))
            continue
        begin = None if options.BeginMask() >> axis & 1 else begins[axis]
        end = None if options.EndMask() >> axis & 1 else ends[axis]
        first, last, step = slice(begin, end, strides[axis]).indices(extent)
        if options.ShrinkAxisMask() >> axis & 1:
            last = min(first + 1, extent)  # backwards TFLite Micro writes nothing
        positions.append(list(range(first, last, step)))
    if not all(positions):
        raise read.error(operator, "takes nothing of its input; remove it, or go forwards along axes that it shrinks")
    steps = [chosen[1] - chosen[0] if len(chosen) > 1 else 1 for chosen in positions]
    x = read.expr(operator)
    backwards = [axis for axis, step in enumerate(steps) if step < 0]
    for axis in backwards:
        x = relay.take(x, relay.const(np.array(positions[axis], np.int32)), axis=axis)
        positions[axis], steps[axis] = list(range(len(positions[axis]))), 1
    firsts, lasts = [chosen[0] for chosen in positions], [chosen[-1] + 1 for chosen in positions]
    return relay.reshape(relay.strided_slice(x, firsts, lasts, steps), read.output(operator).shape)


def gather(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """GATHER along one axis, in each of the first axes that are batches."""
    options, rank = operator.options(tflite.GatherOptions), len(read.tensor(operator).shape)
    batch = options.BatchDims() % len(read.tensor(operator, 1).shape) if options.BatchDims() else 0
    return relay.take(read.expr(operator), read.expr(operator, 1), axis=options.Axis() % rank, batch_dims=batch)


def gather_nd(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """GATHER_ND."""
    rank = len(read.tensor(operator, 1).shape)
    indices = relay.transpose(read.expr(operator, 1), [rank - 1, *range(rank - 1)])
    return relay.gather_nd(read.expr(operator), indices)


def embedding_lookup(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """EMBEDDING_LOOKUP in the file's integers: rows of a table."""
    if read.tensor(operator, 1).dtype != read.output(operator).dtype:
        raise read.error(operator, "has a table of another type than its output; quantize both to int8")
    return relay.take(read.expr(operator, 1), read.expr(operator), axis=0)


def tile(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """TILE."""
    return relay.tile(read.expr(operator), read.integers(operator, 1))


def broadcast_to(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """BROADCAST_TO."""
    return relay.broadcast_to(read.expr(operator), read.output(operator).shape)


def reverse(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """REVERSE_V2."""
    x = read.expr(operator)
    for axis in read.integers(operator, 1):
        x = relay.reverse(x, axis % len(read.tensor(operator).shape))
    return x


def pad(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """PAD and PADV2: with the output's zero point, or with a value."""
    widths, output = read.integers(operator, 1), read.output(operator)
    pairs = list(zip(widths[::2], widths[1::2], strict=True))
    if read.has(operator, 2):
        read.check_alike(operator, [2])
        given = read.constant(operator, 2)
        (value,) = read.integers(operator, 2) if given is None else given.reshape(-1)
    else:
        value = int(output.zero_points[0]) if len(output.zero_points) else 0
    return relay.nn.pad(read.expr(operator), pairs, relay.const(value, output.dtype))


def mirror_pad(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """MIRROR_PAD: mirrored at the border's elements (reflect) or beside them (symmetric)."""
    reflects = operator.options(tflite.MirrorPadOptions).Mode() == tflite.MirrorPadMode.REFLECT
    widths, x = read.integers(operator, 1), read.expr(operator)
    for axis, extent in enumerate(read.tensor(operator).shape):
        before, behind = widths[2 * axis], widths[2 * axis + 1]
        if max(before, behind) > extent - reflects:
            raise read.error(
                operator, f"mirrors {max(before, behind)} elements of an axis that has {extent}; mirror fewer of them"
            )
        if before or behind:
            kind = "reflect" if reflects else "symmetric"
            chosen = np.pad(np.arange(extent, dtype=np.int32), (before, behind), mode=kind)
            x = relay.take(x, relay.const(chosen), axis=axis)
    return x


def _block(options: tflite.SpaceToDepthOptions | tflite.DepthToSpaceOptions) -> int:
    """Rows, and columns, of the blocks of pixels."""
    size = options.BlockSize()
    if size < 1:
        raise ValueError(f"blocks of {size} x {size} pixels")
    return size


def space_to_depth(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """SPACE_TO_DEPTH."""
    block = _block(operator.options(tflite.SpaceToDepthOptions))
    batch, rows, columns, channels = read.tensor(operator).shape
    x = relay.reshape(read.expr(operator), (batch, rows // block, block, columns // block, block, channels))
    return relay.reshape(relay.transpose(x, (0, 1, 3, 2, 4, 5)), read.output(operator).shape)


def depth_to_space(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """DEPTH_TO_SPACE."""
    block = _block(operator.options(tflite.DepthToSpaceOptions))
    batch, rows, columns, channels = read.tensor(operator).shape
    x = relay.reshape(read.expr(operator), (batch, rows, columns, block, block, channels // block**2))
    return relay.reshape(relay.transpose(x, (0, 1, 3, 2, 4, 5)), read.output(operator).shape)


def space_to_batch(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """SPACE_TO_BATCH_ND: blocks of pixels, padded with the zero point, become images."""
    blocks, widths, tensor = read.integers(operator, 1), read.integers(operator, 2), read.tensor(operator)
    output = read.output(operator)
    pairs = [(0, 0), *zip(widths[::2], widths[1::2], strict=True)]
    pairs += [(0, 0)] * (len(tensor.shape) - len(pairs))
    value = int(output.zero_points[0]) if len(output.zero_points) else 0
    x = relay.nn.pad(read.expr(operator), pairs, relay.const(value, tensor.dtype))
    extents = [extent + sum(pair) for extent, pair in zip(tensor.shape, pairs, strict=True)]
    rest = extents[len(blocks) + 1 :]
    parts = [part for extent, block in zip(extents[1:], blocks, strict=False) for part in (extent // block, block)]
    x = relay.reshape(x, (extents[0], *parts, *rest))
    inner, outer = [2 * axis + 2 for axis in range(len(blocks))], [2 * axis + 1 for axis in range(len(blocks))]
    last = [2 * len(blocks) + 1 + axis for axis in range(len(rest))]
    return relay.reshape(relay.transpose(x, (*inner, 0, *outer, *last)), output.shape)


def batch_to_space(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """BATCH_TO_SPACE_ND: images become blocks of pixels, and the border is cut off."""
    blocks, crops, tensor = read.integers(operator, 1), read.integers(operator, 2), read.tensor(operator)
    count, shape = len(blocks), tensor.shape
    images = shape[0] // int(np.prod(blocks))
    x = relay.reshape(read.expr(operator), (*blocks, images, *shape[1:]))
    order = [count]
    for axis in range(count):
        order += [count + 1 + axis, axis]
    order += range(2 * count + 1, count + len(shape))
    spread = [extent * block for extent, block in zip(shape[1:], blocks, strict=False)]
    x = relay.reshape(relay.transpose(x, order), (images, *spread, *shape[count + 1 :]))
    begins = [0, *crops[::2], *[0] * (len(shape) - count - 1)]
    ends = [images, *(extent - crop for extent, crop in zip(spread, crops[1::2], strict=True)), *shape[count + 1 :]]
    return relay.strided_slice(x, begins, ends)


def dynamic_update_slice(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """DYNAMIC_UPDATE_SLICE: at a place that is computed, moved so far that all of the update is inside."""
    shape, size = read.tensor(operator).shape, read.tensor(operator, 1).shape
    starts = relay.cast(read.expr(operator, 2), "int32")
    starts = relay.maximum(starts, relay.const(np.zeros(len(shape), np.int32)))
    starts = relay.minimum(starts, relay.const(np.array(shape, np.int32) - np.array(size, np.int32)))
    update, inside = read.expr(operator, 1), None
    for axis, (extent, length) in enumerate(zip(shape, size, strict=True)):
        start = relay.strided_slice(starts, [axis], [axis + 1])
        position = relay.subtract(relay.const(np.arange(extent, dtype=np.int32)), start)
        bounded = relay.maximum(relay.minimum(position, relay.const(length - 1)), relay.const(0))
        update = relay.take(update, bounded, axis=axis)
        here = relay.reshape(relay.equal(position, bounded), (-1, *[1] * (len(shape) - axis - 1)))
        inside = here if inside is None else relay.logical_and(inside, here)
    return relay.where(inside, update, read.expr(operator))


def shape(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """SHAPE, which is a constant."""
    output = read.output(operator)
    return relay.const(np.array(read.tensor(operator).shape, output.dtype))


def fill(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """FILL."""
    return relay.broadcast_to(read.expr(operator, 1), read.output(operator).shape)


def zeros_like(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """ZEROS_LIKE: the integer 0, whatever the zero point is."""
    output = read.output(operator)
    return relay.const(np.zeros(output.shape, output.dtype))


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
