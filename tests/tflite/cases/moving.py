"""Operators that move, repeat, choose or interpolate elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.tflite.case import Network, Quantization, cases

SHAPE = (1, 6, 4, 5)
X: Quantization = (0.05, 3)


def joined(network: Network, name: str, shapes: Sequence[Sequence[int]], axis: int) -> None:
    """Tensors side by side along an axis."""
    output = network.tensor(np.concatenate([np.zeros(shape) for shape in shapes], axis).shape, X)
    network.apply(name, [network.input(shape, X) for shape in shapes], output, "ConcatenationOptions", axis=axis)


def joined_with_constant(network: Network, name: str) -> None:
    """An activation beside a constant."""
    constant = network.constant(network.rng.integers(-128, 128, (1, 6, 4, 2)), X, "int8")
    output = network.tensor((1, 6, 4, 7), X)
    network.apply(name, [constant, network.input(SHAPE, X)], output, "ConcatenationOptions", axis=3)


def split(network: Network, name: str, axis: int, parts: int | Sequence[int], shape: Sequence[int] = SHAPE) -> None:
    """A tensor cut along an axis, into equal parts or parts of the extents `parts`."""
    given, along = network.input(shape, X), network.constant(np.array(axis))
    if isinstance(parts, int):
        pieces, inputs, options = np.split(np.zeros(shape), parts, axis), [along, given], "SplitOptions"
    else:
        pieces = np.split(np.zeros(shape), np.cumsum(parts)[:-1], axis)
        inputs, options = [given, network.constant(parts), along], "SplitVOptions"
    network.apply(name, inputs, [network.tensor(part.shape, X) for part in pieces], options, numSplits=len(pieces))


def moved(
    network: Network,
    name: str,
    shape: Sequence[int],
    result: Sequence[int],
    operands: Sequence[Any] = (),
    options: str | None = None,
    x: Quantization = X,
    y: Quantization | None = None,
    **values: Any,
) -> None:
    """An operator of one activation, constants and options with an output of the shape `result`."""
    constants = [network.constant(np.asarray(operand)) for operand in operands]
    network.apply(name, [network.input(shape, x), *constants], network.tensor(result, y or x), options, **values)


def padded(network: Network, name: str, widths: Sequence[Sequence[int]], shape: Sequence[int] = SHAPE) -> None:
    """A tensor with zeros, or for PADV2 a constant, around it."""
    result = [n + before + after for n, (before, after) in zip(shape, widths, strict=True)]
    operands = [network.input(shape, X), network.constant(widths)]
    if name == "PADV2":
        operands.append(network.constant(np.array([-77]), X, "int8"))
    network.apply(name, operands, network.tensor(result, X), "PadV2Options" if name == "PADV2" else "PadOptions")


def mirrored(
    network: Network, name: str, widths: Sequence[Sequence[int]], mode: int, shape: Sequence[int] = SHAPE
) -> None:
    """A tensor with what lies inside its border around it, with (mode 1) or without (0) the border itself."""
    result = [n + before + after for n, (before, after) in zip(shape, widths, strict=True)]
    operands = [network.input(shape, X), network.constant(widths)]
    network.apply(name, operands, network.tensor(result, X), "MirrorPadOptions", mode=mode)


def transposed(network: Network, name: str, shape: Sequence[int], order: Sequence[int]) -> None:
    """A tensor with its axes in another order."""
    moved(network, name, shape, [shape[axis] for axis in order], [order], "TransposeOptions")


def strided(
    network: Network,
    name: str,
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int],
    shape: Sequence[int] = SHAPE,
    begin_mask: int = 0,
    end_mask: int = 0,
    shrink: int = 0,
) -> None:
    """A slice with steps, forwards or backwards; bits of the masks are axes."""
    where = tuple(
        first
        if shrink >> axis & 1
        else slice(
            None if begin_mask >> axis & 1 else first,
            None if end_mask >> axis & 1 else last,
            step,
        )
        for axis, (first, last, step) in enumerate(zip(begin, end, strides, strict=True))
    )
    moved(
        network, name, shape, np.zeros(shape)[where].shape, [begin, end, strides], "StridedSliceOptions",
        beginMask=begin_mask, endMask=end_mask, shrinkAxisMask=shrink,
    )  # fmt: skip


def packed(network: Network, name: str, count: int, axis: int, shape: Sequence[int]) -> None:
    """Tensors stacked along a new axis."""
    output = network.tensor(np.stack([np.zeros(shape)] * count, axis).shape, X)
    inputs = [network.input(shape, X) for _ in range(count)]
    network.apply(name, inputs, output, "PackOptions", valuesCount=count, axis=axis)


def unpacked(network: Network, name: str, axis: int, shape: Sequence[int]) -> None:
    """A tensor taken apart along an axis, which goes."""
    rest = [extent for number, extent in enumerate(shape) if number != axis % len(shape)]
    outputs = [network.tensor(rest, X) for _ in range(shape[axis])]
    network.apply(name, [network.input(shape, X)], outputs, "UnpackOptions", num=shape[axis], axis=axis)


def gathered(network: Network, name: str, positions: Any, axis: int = 0, batch: int = 0) -> None:
    """Slices at constant positions along an axis."""
    shape = (2, 6, 4, 5)
    indices = np.asarray(positions)
    result = (*shape[:axis], *indices.shape[batch:], *shape[axis + 1 :])
    moved(network, name, shape, result, [indices], "GatherOptions", axis=axis, batchDims=batch)


def gathered_by_input(network: Network, name: str) -> None:
    """Slices at positions that are an input."""
    shape = (5, 7)
    operands = [network.input(shape, X), network.input((4,), None, "int32", 0, 4)]
    network.apply(name, operands, network.tensor((4, 7), X), "GatherOptions", axis=0)


def looked_up(network: Network, name: str, shape: Sequence[int], x: Quantization, y: Quantization) -> None:
    """Rows of a constant at positions that are an input."""
    table = network.constant(network.rng.integers(-128, 128, tuple(shape)), x, "int8")
    positions = network.input((6,), None, "int32", 0, shape[0] - 1)
    network.apply(name, [positions, table], network.tensor((6, *shape[1:]), y))


def filled(network: Network, name: str, shape: Sequence[int], value: int) -> None:
    """A tensor of one constant value, added to an input, as a network's outputs depend on its inputs."""
    constant = network.constant(np.array(value), X, "int8")
    full = network.apply(name, [network.constant(shape), constant], network.tensor(shape, X), "FillOptions")
    network.apply("ADD", [network.input(shape, X), full], network.tensor(shape, X), "AddOptions")


def updated(
    network: Network, name: str, shape: Sequence[int], size: Sequence[int], start: Sequence[int], constant: bool
) -> None:
    """A tensor with a part of it replaced, from a start that is clipped to where the part fits."""
    where = network.constant(start) if constant else network.input((len(shape),), None, "int32", -3, 9)
    operands = [network.input(shape, X), network.input(size, X), where]
    network.apply(name, operands, network.tensor(shape, X), "DynamicUpdateSliceOptions")


def shape_of(network: Network, name: str) -> None:
    """The shape of an activation as the shape that another is brought to."""
    like, given = network.input((2, 3, 10), X), network.input((3, 20), X)
    shape = network.apply(name, [like], network.tensor((3,), None, "int32"), "ShapeOptions", outType=2)
    reshaped = network.apply("RESHAPE", [given, shape], network.tensor((2, 3, 10), X), "ReshapeOptions")
    network.apply("ADD", [like, reshaped], network.tensor((2, 3, 10), (0.1, 0)), "AddOptions")


def resized(
    network: Network,
    name: str,
    size: Sequence[int],
    shape: Sequence[int] = SHAPE,
    align: bool = False,
    half: bool = False,
) -> None:
    """An image at another height and width."""
    result = (shape[0], *size, shape[3])
    options = "ResizeBilinearOptions" if name == "RESIZE_BILINEAR" else "ResizeNearestNeighborOptions"
    moved(network, name, shape, result, [size], options, alignCorners=align, halfPixelCenters=half)


SIZES = [{"size": (12, 8), **how} for how in ({}, {"half": True}, {"align": True})] + [
    {"size": (3, 2), "half": True},
    {"size": (7, 11), "half": True},
    {"size": (7, 11)},
    {"size": (7, 11), "align": True},
    {"size": (18, 4), "shape": (2, 6, 4, 3), "half": True},
    {"size": (5, 5), "shape": (1, 1, 1, 8), "half": True},
    {"size": (1, 1)},
    {"size": (32, 32), "shape": (1, 16, 16, 3), "half": True},
]

CASES = (
    *cases(
        "CONCATENATION",
        joined,
        [
            {"shapes": (SHAPE, (1, 6, 4, 3)), "axis": 3},
            {"shapes": (SHAPE, SHAPE, SHAPE), "axis": -1},
            {"shapes": (SHAPE, (1, 2, 4, 5)), "axis": 1},
            {"shapes": ((2, 3), (4, 3)), "axis": 0},
            {"shapes": (SHAPE, SHAPE), "axis": 2},
        ],
    ),
    *cases("CONCATENATION", joined_with_constant, [{}]),
    *cases(
        "SPLIT",
        split,
        [
            {"axis": 3, "parts": 5},
            {"axis": 1, "parts": 2},
            {"axis": -2, "parts": 2},
            {"axis": 0, "parts": 2, "shape": (4, 6)},
        ],
    ),
    *cases(
        "SPLIT_V",
        split,
        [
            {"axis": 3, "parts": (2, 3)},
            {"axis": 1, "parts": (1, 3, 2)},
            {"axis": -1, "parts": (1, 5), "shape": (4, 6)},
        ],
    ),
    *cases(
        "SLICE",
        moved,
        [
            {
                "shape": SHAPE,
                "result": (1, 3, 4, 2),
                "operands": ((0, 2, 0, 3), (1, 3, 4, 2)),
                "options": "SliceOptions",
            },
            {
                "shape": SHAPE,
                "result": (1, 4, 3, 5),
                "operands": ((0, 2, 1, 0), (-1, 4, -1, 5)),
                "options": "SliceOptions",
            },
            {"shape": (7, 9), "result": (1, 9), "operands": ((6, 0), (1, -1)), "options": "SliceOptions"},
        ],
    ),
    *cases(
        "STRIDED_SLICE",
        strided,
        [
            {"begin": (0, 1, 0, 2), "end": (1, 5, 4, 5), "strides": (1, 1, 1, 1)},
            {"begin": (0, 0, 0, 0), "end": (0, 0, 0, 0), "strides": (1, 2, 3, 1), "begin_mask": 15, "end_mask": 15},
            {"begin": (0, 5, 0, 4), "end": (1, 0, 4, 1), "strides": (1, -2, 1, -1)},
            {
                "begin": (0, 0, -1, 0),
                "end": (0, 0, 0, 0),
                "strides": (1, -1, 1, -1),
                "begin_mask": 11,
                "end_mask": 11,
                "shrink": 4,
            },
            {"begin": (-3, 1), "end": (9, -1), "strides": (1, 1), "shape": (7, 9)},
            {"begin": (0, -1, 0), "end": (1, 0, 5), "strides": (1, 1, 1), "shape": (1, 6, 5), "shrink": 2},
            {"begin": (4, 1), "end": (0, 6), "strides": (1, 1), "shape": (7, 9), "shrink": 1, "begin_mask": 1},
        ],
    ),
    *cases(
        "PAD",
        padded,
        [
            {"widths": ((0, 0), (1, 2), (0, 3), (0, 0))},
            {"widths": ((1, 0), (0, 1), (1, 0), (2, 1))},
            {"widths": ((2, 1), (0, 3)), "shape": (3, 4)},
            {"widths": ((0, 0), (4, 0), (0, 0)), "shape": (1, 9, 5)},
        ],
    ),
    *cases(
        "PADV2",
        padded,
        [
            {"widths": ((0, 0), (1, 2), (0, 3), (0, 0))},
            {"widths": ((2, 1), (0, 3)), "shape": (3, 4)},
        ],
    ),
    *cases(
        "MIRROR_PAD",
        mirrored,
        [
            {"widths": ((0, 0), (1, 2), (3, 0), (0, 0)), "mode": 0},
            {"widths": ((0, 0), (1, 2), (4, 0), (0, 0)), "mode": 1},
            {"widths": ((2, 1), (0, 3)), "mode": 0, "shape": (3, 4)},
            {"widths": ((2, 1), (0, 4)), "mode": 1, "shape": (3, 4)},
        ],
    ),
    *cases(
        "TRANSPOSE",
        transposed,
        [
            {"shape": SHAPE, "order": (0, 3, 1, 2)},
            {"shape": SHAPE, "order": (0, 2, 3, 1)},
            {"shape": (3, 5), "order": (1, 0)},
            {"shape": (2, 3, 4, 5), "order": (3, 1, 0, 2)},
            {"shape": (1, 4, 3, 2, 5), "order": (0, 1, 2, 4, 3)},
            {"shape": (4, 5, 6), "order": (0, 2, 1)},
        ],
    ),
    *cases(
        "RESHAPE",
        moved,
        [
            {
                "shape": SHAPE,
                "result": (1, 120),
                "operands": ((1, 120),),
                "options": "ReshapeOptions",
                "newShape": (1, 120),
            },
            {"shape": (4, 30), "result": SHAPE, "operands": ((1, -1, 4, 5),), "options": "ReshapeOptions"},
            {"shape": SHAPE, "result": (6, 20), "options": "ReshapeOptions", "newShape": (6, 20)},
        ],
    ),
    *cases(
        "SQUEEZE",
        moved,
        [
            {"shape": (1, 6, 1, 5), "result": (6, 5), "options": "SqueezeOptions", "squeezeDims": (0, 2)},
            {"shape": (1, 6, 1, 5), "result": (1, 6, 5), "options": "SqueezeOptions", "squeezeDims": (-2,)},
            {"shape": (1, 6, 1, 5), "result": (6, 5), "options": "SqueezeOptions", "squeezeDims": ()},
        ],
    ),
    *cases(
        "EXPAND_DIMS",
        moved,
        [
            {"shape": (6, 5), "result": (1, 6, 5), "operands": (0,), "options": "ExpandDimsOptions"},
            {"shape": (6, 5), "result": (6, 5, 1), "operands": (-1,), "options": "ExpandDimsOptions"},
            {"shape": (2, 6, 5), "result": (2, 6, 1, 5), "operands": ((2,),), "options": "ExpandDimsOptions"},
        ],
    ),
    *cases(
        "PACK",
        packed,
        [
            {"count": 3, "axis": 0, "shape": (4, 5)},
            {"count": 2, "axis": -1, "shape": (4, 5)},
            {"count": 2, "axis": 1, "shape": (1, 3, 4)},
            {"count": 4, "axis": 0, "shape": (5,)},
        ],
    ),
    *cases(
        "UNPACK",
        unpacked,
        [
            {"axis": 0, "shape": (3, 4, 5)},
            {"axis": -1, "shape": (1, 4, 3)},
            {"axis": 1, "shape": (1, 4, 6)},
        ],
    ),
    *cases(
        "GATHER",
        gathered,
        [
            {"positions": (1, 0, 1)},
            {"positions": (5, 0, 2, 2), "axis": 1},
            {"positions": ((3, 0), (1, 1)), "axis": 2},
            {"positions": ((4, 0, 3), (1, 1, 2)), "axis": 3, "batch": 1},
            {"positions": 2, "axis": 3},
        ],
    ),
    *cases("GATHER", gathered_by_input, [{}]),
    *cases(
        "GATHER_ND",
        moved,
        [
            {"shape": (3, 4, 5), "result": (2, 5), "operands": (((0, 1), (2, 3)),)},
            {"shape": (3, 4, 5), "result": (2, 4, 5), "operands": (((2,), (0,)),)},
            {"shape": (3, 4), "result": (5,), "operands": (((0, 0), (2, 3), (1, 1), (0, 3), (2, 0)),)},
        ],
    ),
    *cases(
        "EMBEDDING_LOOKUP",
        looked_up,
        [
            {"shape": (9, 7), "x": (0.05, 0), "y": (0.05, 0)},
            {"shape": (5, 3, 4), "x": (0.05, 0), "y": (0.05, 0)},
        ],
    ),
    *cases(
        "REVERSE_V2",
        moved,
        [
            {"shape": SHAPE, "result": SHAPE, "operands": ((1,),), "options": "ReverseV2Options"},
            {"shape": SHAPE, "result": SHAPE, "operands": ((1, 2),), "options": "ReverseV2Options"},
            {"shape": (4, 7), "result": (4, 7), "operands": ((1,),), "options": "ReverseV2Options"},
        ],
    ),
    *cases(
        "SPACE_TO_DEPTH",
        moved,
        [
            {"shape": SHAPE, "result": (1, 3, 2, 20), "options": "SpaceToDepthOptions", "blockSize": 2},
            {"shape": (2, 9, 3, 2), "result": (2, 3, 1, 18), "options": "SpaceToDepthOptions", "blockSize": 3},
        ],
    ),
    *cases(
        "DEPTH_TO_SPACE",
        moved,
        [
            {"shape": (1, 3, 4, 20), "result": (1, 6, 8, 5), "options": "DepthToSpaceOptions", "blockSize": 2},
            {"shape": (2, 3, 1, 18), "result": (2, 9, 3, 2), "options": "DepthToSpaceOptions", "blockSize": 3},
        ],
    ),
    *cases(
        "SPACE_TO_BATCH_ND",
        moved,
        [  # without padding: TFLite Micro pads with a value that it never sets
            {
                "shape": SHAPE,
                "result": (4, 3, 2, 5),
                "operands": ((2, 2), ((0, 0), (0, 0))),
                "options": "SpaceToBatchNDOptions",
            },
            {
                "shape": SHAPE,
                "result": (6, 2, 2, 5),
                "operands": ((3, 2), ((0, 0), (0, 0))),
                "options": "SpaceToBatchNDOptions",
            },
            {
                "shape": (1, 9, 4),
                "result": (3, 3, 4),
                "operands": ((3,), ((0, 0),)),
                "options": "SpaceToBatchNDOptions",
            },
        ],
    ),
    *cases(
        "BATCH_TO_SPACE_ND",
        moved,
        [
            {
                "shape": (4, 3, 2, 5),
                "result": SHAPE,
                "operands": ((2, 2), ((0, 0), (0, 0))),
                "options": "BatchToSpaceNDOptions",
            },
            {
                "shape": (6, 3, 2, 5),
                "result": SHAPE,
                "operands": ((3, 2), ((2, 1), (0, 0))),
                "options": "BatchToSpaceNDOptions",
            },
            {
                "shape": (4, 3, 4),
                "result": (1, 9, 4),
                "operands": ((4,), ((3, 0),)),
                "options": "BatchToSpaceNDOptions",
            },
        ],
    ),
    *cases(
        "BROADCAST_TO",
        moved,
        [
            {"shape": (1, 1, 1, 5), "result": SHAPE, "operands": (SHAPE,), "options": "BroadcastToOptions"},
            {"shape": (6, 1), "result": (3, 6, 4), "operands": ((3, 6, 4),), "options": "BroadcastToOptions"},
        ],
    ),
    *cases("FILL", filled, [{"shape": SHAPE, "value": -77}, {"shape": (3, 4), "value": 127}]),
    *cases(
        "DYNAMIC_UPDATE_SLICE",
        updated,
        [
            {"shape": (6, 5), "size": (2, 3), "start": (3, 1), "constant": True},
            {"shape": SHAPE, "size": (1, 2, 4, 3), "start": (0, 5, 0, 1), "constant": True},
            {"shape": (6, 5), "size": (2, 3), "start": (), "constant": False},
        ],
    ),
    *cases("SHAPE", shape_of, [{}]),
    *cases("RESIZE_BILINEAR", resized, SIZES),
    *cases("RESIZE_NEAREST_NEIGHBOR", resized, SIZES),
)
