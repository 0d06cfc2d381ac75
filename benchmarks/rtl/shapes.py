"""The layers that are measured: with a rate to reach, to fit the cost model to, to test it with."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.rtl.case import Case
from match.cost_models.pulp_cycles import Form
from match.cost_models.pulp_loops import as_column
from match.ir.attributes import Broadcast, BroadcastKind, ChannelGroups, Concatenation, LookupTable, Transposition
from match.ir.layer import Layer, Op, Padding

SAME = Padding(1, 1, 1, 1)
FORMS: tuple[Form, ...] = ("int32", "split")
_TYPES = {
    Op.QUANTIZE: ("float32", "uint8"),
    Op.DEQUANTIZE: ("uint8", "float32"),
    Op.DEQUANTIZE_SUMS: ("int32", "float32"),
}
RARE: tuple[Form, ...] = ("split_signed", "int64")

REQUIRED = {
    "conv2d 3x3 64 to 64": 2.0,
    "conv2d 3x3 16 to 16": 1.9,
    "conv2d 3x3 stride 2 3 to 8": 0.95,
    "conv2d 3x3 3 to 16": 1.1,
    "conv2d 10x4 1 to 64": 1.4,
    "conv2d 10x8 1 to 8": 1.6,
    "pointwise 256 to 256": 2.0,
    "pointwise 64 to 64": 1.8,
    "pointwise 8 to 16": 0.75,
    "depthwise 3x3 stride 1": 0.8,
    "dense 640 to 128": 1.7,
    "dense 64 to 10": 1.0,
}
"""Multiply-accumulates a cycle that one core must reach in calls of whole layers, in 32-bit requantization.

A call that takes up sums of other input channels goes through other loops: the last row has half of its rate then.
"""


def conv(k: int, c: int, size: tuple[int, int], f: int = 3, stride: int = 1, name: str = "") -> Layer:
    """A convolution with a square filter, the output as large as the input over the stride."""
    (oy, ox), pad = size, Padding(*[f // 2] * 4)
    name = name or f"conv2d {f}x{f}/{stride} {c} to {k}, {oy}x{ox}"
    return Layer(name, Op.CONV2D, k, c, oy, ox, oy * stride, ox * stride, f, f, (stride, stride), padding=pad)


def grouped(groups: int, k: int, c: int, size: tuple[int, int], stride: int = 1) -> Layer:
    """A 3x3 convolution of groups with so many output and input channels each."""
    (oy, ox), pad = size, Padding(1, 1, 1, 1)
    name = f"grouped 3x3/{stride} {groups} of {c} to {k}, {oy}x{ox}"
    layer = Layer(
        name, Op.GROUPED_CONV2D, groups, c, oy, ox, oy * stride, ox * stride, 3, 3, (stride, stride), padding=pad
    )
    return replace(layer, attributes=ChannelGroups(k))


def filtered(k: int, c: int, size: tuple[int, int], f: tuple[int, int], stride: int = 1) -> Layer:
    """A convolution with any filter, without padding."""
    (oy, ox), (fy, fx) = size, f
    name = f"conv2d {fy}x{fx}/{stride} {c} to {k}, {oy}x{ox}"
    return Layer(
        name, Op.CONV2D, k, c, oy, ox, (oy - 1) * stride + fy, (ox - 1) * stride + fx, fy, fx, (stride, stride)
    )


def samples(k: int, size: int) -> Layer:
    """A convolution of three samples at a time of a signal with one channel."""
    return Layer(f"conv2d 1x3 1 to {k}, 1x{size}", Op.CONV2D, k, 1, 1, size, 1, size, 1, 3, padding=Padding(0, 1, 0, 1))


def signal(k: int, c: int, size: int, f: int = 3, stride: int = 1) -> Layer:
    """A convolution of a signal in one column with `f` of its samples at a time, without padding."""
    name = f"conv2d {f}x1/{stride} {c} to {k}, {size}x1"
    return Layer(name, Op.CONV2D, k, c, size, 1, (size - 1) * stride + f, 1, f, 1, (stride, 1))


def pointwise(k: int, c: int, size: tuple[int, int], name: str = "") -> Layer:
    """A 1x1 convolution."""
    return conv(k, c, size, 1, 1, name or f"pointwise {c} to {k}, {size[0]}x{size[1]}")


def depthwise(k: int, size: tuple[int, int], f: int = 3, stride: int = 1, name: str = "") -> Layer:
    """A depthwise convolution with a square filter."""
    (oy, ox), pad = size, Padding(*[f // 2] * 4)
    name = name or f"depthwise {f}x{f}/{stride} {k}, {oy}x{ox}"
    return Layer(name, Op.DEPTHWISE_CONV2D, k, 1, oy, ox, oy * stride, ox * stride, f, f, (stride, stride), padding=pad)


def sequence(k: int, size: int, f: int, stride: int = 1, holes: int = 1) -> Layer:
    """A depthwise convolution of one row of so many outputs, padded by half the filter, of pixels `holes` apart."""
    reach = (f - 1) * holes + 1
    before, behind = reach // 2, (reach - 1) // 2
    ix = (size - 1) * stride + reach - before - behind
    name = f"depthwise 1x{f}/{stride} {k}, 1x{size}" + (f", every {holes}" if holes > 1 else "")
    padding = Padding(0, before, 0, behind)
    strides, dilation = (1, stride), (1, holes)
    return Layer(name, Op.DEPTHWISE_CONV2D, k, 1, 1, size, 1, ix, 1, f, strides, dilation=dilation, padding=padding)


def column(row: Layer) -> Layer:
    """A layer of one row as one of one column."""
    size, f, stride = row.ox, row.fx, row.stride[1]
    return replace(as_column(row), name=f"depthwise {f}x1/{stride} {row.k}, {size}x1")


def dense(k: int, c: int, name: str = "") -> Layer:
    """A fully connected layer."""
    return Layer(name or f"dense {c} to {k}", Op.DENSE, k, c, 1, 1, 1, 1)


def matrices(k: int, c: int, count: int, rows: int) -> Layer:
    """Products of two matrices of activations, `count` of them, with `rows` and `k` rows of `c` elements."""
    name = f"matrices {rows}x{c} and {k}x{c}, {count} times"
    return Layer(name, Op.MATRICES, k, c, count, rows, count, rows)


def in_int16(layer: Layer) -> Layer:
    """The layer on activations of 16 bits."""
    name, clip = f"{layer.name}, int16", (-(1 << 15), (1 << 15) - 1)
    return replace(layer, name=name, clip=clip, input_dtype="int16", output_dtype="int16")


def pool(op: Op, k: int, size: tuple[int, int], f: int, stride: int) -> Layer:
    """A pooling without padding."""
    oy, ox = size
    iy, ix = (oy - 1) * stride + f, (ox - 1) * stride + f
    name = f"{op} {f}x{f}/{stride} {k}, {oy}x{ox}"
    return Layer(name, op, k, 1, oy, ox, iy, ix, f, f, (stride, stride), weight_dtype="")


def plain(op: Op, k: int, size: tuple[int, int]) -> Layer:
    """An addition, a lookup, a sum of lookups, a quantize or a dequantize."""
    name, types = f"{op} {k}, {size[0]}x{size[1]}", _TYPES.get(op, ("uint8", "uint8"))
    return Layer(name, op, k, 1, *size, *size, input_dtype=types[0], weight_dtype="", output_dtype=types[1])


def shared(op: Op, k: int, size: tuple[int, int], kind: BroadcastKind) -> Layer:
    """An operator of two inputs, one of which has less than the output."""
    layer = plain(op, k, size)
    return replace(layer, name=f"{layer.name}, one {kind}", attributes=Broadcast(kind))


def concatenation(first: int, second: int, size: tuple[int, int], unchanged: tuple[bool, ...] = ()) -> Layer:
    """So many channels behind so many."""
    layer = plain(Op.CONCATENATE, first + second, size)
    kept = "".join(f", {which} unchanged" for which, own in zip(("first", "second"), unchanged, strict=False) if own)
    name = f"concatenate {first}+{second}, {size[0]}x{size[1]}{kept}"
    return replace(layer, name=name, attributes=Concatenation(first, unchanged))


def signs(k: int, size: tuple[int, int]) -> Layer:
    """The lookup that makes uint8 of int8."""
    name = f"signs {k}, {size[0]}x{size[1]}"
    return replace(plain(Op.LOOKUP, k, size), name=name, attributes=LookupTable(turns_signs=True))


def transposition(k: int, size: tuple[int, int], unit: int = 1) -> Layer:
    """A transposition of elements of `unit` bytes, of so many maps of `k` rows of pixels."""
    name = f"transpose {k}{f' of {unit} bytes' if unit > 1 else ''}, {size[0]}x{size[1]}"
    return replace(plain(Op.TRANSPOSE, k, size), name=name, attributes=Transposition(unit))


def required() -> list[Case]:
    """Those of `REQUIRED`, in both forms."""
    layers = [
        conv(64, 64, (4, 4)),
        conv(16, 16, (8, 32)),
        conv(8, 3, (12, 48), 3, 2),
        conv(16, 3, (8, 32)),
        filtered(64, 1, (5, 5), (10, 4), 2),
        filtered(8, 1, (10, 20), (10, 8), 2),
        pointwise(256, 256, (2, 4)),
        pointwise(64, 64, (8, 8)),
        pointwise(16, 8, (12, 24)),
        depthwise(8, (32, 32)),
        dense(128, 640),
        dense(10, 64),
    ]
    layers = [replace(layer, name=name) for layer, name in zip(layers, REQUIRED, strict=True)]
    return [Case(layer, form) for layer in layers for form in FORMS]


def fitted() -> list[Case]:
    """What the constants of the cost model are fitted to."""
    products = [
        *(conv(k, c, size) for k, c, size in [(16, 4, (3, 6)), (8, 16, (4, 4)), (32, 8, (2, 5)), (6, 16, (3, 4))]),
        *(conv(k, c, size) for k, c, size in [(16, 32, (2, 4)), (4, 64, (2, 3)), (7, 12, (3, 3)), (8, 1, (6, 6))]),
        *(conv(8, 8, (4, 4), f, s) for f, s in [(5, 1), (3, 2), (1, 2), (5, 2)]),
        *(conv(k, 3, (4, 4), 3, s) for k, s in [(8, 1), (16, 2)]),
        *(conv(8, c, (12, 12)) for c in (1, 3, 16)),
        *(pointwise(k, c, size) for k, c, size in [(16, 16, (4, 4)), (64, 16, (2, 4)), (16, 64, (4, 4))]),
        *(
            pointwise(k, c, size)
            for k, c, size in [(10, 24, (3, 4)), (8, 8, (5, 5)), (33, 32, (1, 4)), (4, 128, (3, 3))]
        ),
        *(dense(k, c) for k, c in [(16, 64), (32, 16), (12, 256), (11, 32), (128, 128), (3, 64), (96, 8)]),
        *(depthwise(k, size) for k, size in [(4, (8, 8)), (8, (4, 4)), (4, (12, 6)), (2, (5, 16)), (4, (7, 7))]),
        *(depthwise(k, size) for k, size in [(2, (24, 10)), (3, (17, 12)), (1, (40, 14))]),
        *(depthwise(k, size, 3, 2) for k, size in [(4, (8, 8)), (8, (4, 5)), (2, (12, 6)), (2, (24, 20))]),
        *(depthwise(k, size, f, s) for k, size, f, s in [(4, (4, 4), 5, 1), (2, (8, 5), 5, 2), (4, (3, 6), 7, 1)]),
        *(depthwise(k, size, f) for k, size, f in [(16, (4, 4), 3), (32, (3, 3), 3), (8, (6, 8), 5), (16, (3, 4), 5)]),
        *(depthwise(k, size, f) for k, size, f in [(4, (3, 4), 4), (2, (6, 3), 2), (3, (3, 4), 6)]),
        *(depthwise(k, size, 5) for k, size in [(24, (4, 4)), (16, (3, 3)), (48, (2, 2)), (9, (8, 3))]),
        *(pool(Op.AVG_POOL2D, k, size, f, s) for k, size, f, s in [(16, (1, 1), 8, 1), (8, (3, 3), 2, 2)]),
        *(
            pool(Op.AVG_POOL2D, k, size, f, s)
            for k, size, f, s in [(30, (2, 2), 3, 1), (64, (1, 1), 4, 1), (5, (2, 2), 3, 1)]
        ),
        *(pool(Op.AVG_POOL2D, k, size, f, s) for k, size, f, s in [(1, (3, 3), 2, 2), (9, (2, 1), 5, 1)]),
        *(
            plain(op, k, size)
            for op in (Op.ADD, Op.MULTIPLY)
            for k, size in [(16, (4, 4)), (64, (2, 3)), (5, (6, 7)), (32, (8, 8)), (3, (3, 3))]
        ),
        *(
            shared(op, k, size, broadcast)
            for op in (Op.ADD, Op.MULTIPLY)
            for broadcast in ("pixel", "channel")
            for k, size in [(16, (4, 4)), (64, (2, 3)), (5, (6, 7)), (32, (8, 8)), (3, (6, 6))]
        ),
    ]
    others = [
        *(pool(Op.MAX_POOL2D, k, size, f, s) for k, size, f, s in [(16, (4, 4), 2, 2), (8, (3, 3), 3, 2)]),
        *(pool(Op.MAX_POOL2D, k, size, f, s) for k, size, f, s in [(30, (2, 2), 3, 1), (64, (1, 3), 2, 1)]),
        *(pool(Op.MAX_POOL2D, k, size, f, s) for k, size, f, s in [(1, (4, 4), 2, 2), (5, (2, 2), 4, 1)]),
        *(pool(Op.FLOAT_AVG_POOL2D, k, size, f, s) for k, size, f, s in [(16, (4, 4), 2, 2), (5, (3, 3), 3, 2)]),
        *(
            plain(op, k, size)
            for op in (Op.LOOKUP, Op.CHANNEL_LOOKUP, Op.LOOKUP_SUM, *_TYPES)
            for k, size in [(16, (4, 4)), (64, (2, 3)), (5, (6, 7)), (32, (8, 8)), (3, (3, 3))]
        ),
        *(concatenation(*channels, (8, 8)) for channels in [(8, 8), (4, 16), (3, 5), (48, 32)]),
        *(concatenation(*channels, (8, 8), (True, True)) for channels in [(8, 8), (4, 16), (20, 5), (48, 32)]),
        *(concatenation(*channels, (8, 8), (False, True)) for channels in [(8, 12), (16, 26), (4, 7), (48, 96)]),
        *(signs(k, size) for k, size in [(16, (8, 8)), (3, (16, 24)), (32, (8, 16)), (1, (20, 13)), (5, (3, 3))]),
        *(transposition(k, size) for k, size in [(3, (1, 256)), (3, (1, 47)), (3, (4, 19)), (16, (1, 64))]),
        *(
            transposition(k, size)
            for k, size in [(64, (1, 16)), (2, (9, 24)), (21, (1, 30)), (6, (12, 5)), (40, (3, 3))]
        ),
    ]
    products += [
        *(signal(*shape) for shape in [(8, 8, 8), (16, 4, 12), (5, 12, 6), (12, 8, 10, 5, 2), (8, 16, 4, 8)]),
        *(conv(k, c, size) for k, c, size in [(8, 8, (6, 1)), (12, 4, (5, 2)), (8, 5, (4, 4))]),
        *(pointwise(k, c, size) for k, c, size in [(16, 5, (2, 4)), (8, 6, (3, 3)), (4, 7, (2, 5)), (9, 9, (2, 4))]),
        *(pointwise(k, c, size) for k, c, size in [(32, 11, (2, 3)), (2, 16, (3, 4)), (3, 6, (2, 4))]),
        *(dense(k, c) for k, c in [(16, 5), (8, 7), (1, 32), (2, 9), (20, 14), (1, 6)]),
    ]
    products += [
        *(conv(k, c, size, f, s) for k, c, size, f, s in [(8, 3, (3, 16), 3, 2), (4, 2, (3, 12), 3, 1)]),
        *(conv(k, c, size, f, s) for k, c, size, f, s in [(16, 3, (2, 18), 3, 1), (12, 1, (4, 9), 5, 2)]),
        *(filtered(k, c, size, f, 2) for k, c, size, f in [(16, 1, (2, 7), (8, 4)), (8, 1, (2, 10), (5, 8))]),
        *(filtered(k, c, size, f) for k, c, size, f in [(8, 5, (2, 8), (3, 3)), (8, 4, (3, 8), (2, 2))]),
        *(filtered(k, c, size, f) for k, c, size, f in [(16, 8, (2, 9), (3, 3)), (24, 16, (2, 6), (3, 1))]),
        *(pointwise(k, c, size) for k, c, size in [(8, 4, (6, 6)), (40, 8, (2, 3)), (16, 32, (5, 5))]),
        *(pointwise(k, c, size) for k, c, size in [(1, 16, (4, 6)), (1, 4, (3, 5))]),
    ]
    products += [
        matrices(k, c, count, rows)
        for k, c, count, rows in [(16, 16, 4, 16), (8, 64, 1, 9), (17, 12, 2, 5), (32, 8, 1, 32), (12, 33, 2, 6)]
    ]
    products += [grouped(10, 8, 8, (4, 4)), grouped(4, 4, 4, (4, 4)), grouped(3, 16, 8, (4, 5), 2)]
    rare = [conv(16, 8, (2, 4)), pointwise(16, 16, (4, 6)), dense(16, 32), depthwise(4, (6, 6)), matrices(8, 16, 2, 8)]
    rare += [plain(Op.MULTIPLY, 16, (4, 4)), shared(Op.MULTIPLY, 24, (4, 4), "pixel")]
    partial = [
        *(conv(k, c, size) for k, c, size in [(16, 8, (2, 4)), (6, 16, (3, 4)), (32, 8, (2, 5))]),
        *(pointwise(k, c, size) for k, c, size in [(16, 16, (4, 6)), (64, 16, (2, 4)), (33, 32, (1, 4))]),
        *(dense(k, c) for k, c in [(16, 64), (32, 16), (12, 256), (11, 32), (96, 8)]),
    ]
    pixels = [
        *(pointwise(k, c, size) for k, c, size in [(8, 1, (4, 4)), (16, 2, (3, 3)), (6, 3, (2, 5))]),
        *(pointwise(k, c, size) for k, c, size in [(33, 1, (1, 4)), (64, 3, (2, 2)), (11, 2, (1, 3))]),
    ]
    short = [
        *(dense(k, c) for k, c in [(16, 1), (12, 2), (64, 3), (9, 3), (14, 1)]),
        *(conv(8, 3, (4, 4), 1, 2), samples(12, 20)),
    ]
    return _cases([*products, *pixels, *short], [*rare, *short], others, [*partial, *short])


def tested() -> list[Case]:
    """What its predictions are held against; none of them is in `fitted`."""
    products = [
        *(conv(k, c, size) for k, c, size in [(24, 24, (3, 5)), (32, 32, (2, 4)), (12, 8, (5, 6)), (16, 16, (4, 7))]),
        *(conv(k, c, size, f, s) for k, c, size, f, s in [(16, 16, (3, 4), 3, 2), (32, 16, (3, 4), 1, 2)]),
        *(conv(k, c, size, f, s) for k, c, size, f, s in [(16, 4, (4, 4), 5, 1), (16, 3, (6, 6), 3, 1)]),
        *(pointwise(k, c, size) for k, c, size in [(32, 32, (4, 4)), (24, 48, (3, 4)), (128, 64, (1, 4))]),
        *(pointwise(k, c, size) for k, c, size in [(18, 20, (3, 5)), (64, 128, (2, 3)), (16, 8, (8, 8))]),
        *(dense(k, c) for k, c in [(64, 64), (10, 64), (128, 8), (24, 640)]),
        *(depthwise(k, size) for k, size in [(4, (16, 16)), (6, (6, 10)), (4, (5, 5)), (3, (24, 8))]),
        *(depthwise(k, size, 3, 2) for k, size in [(4, (12, 12)), (6, (5, 5))]),
        *(depthwise(k, size, f, s) for k, size, f, s in [(3, (6, 6), 5, 1), (4, (6, 4), 7, 2)]),
        *(depthwise(k, size, f) for k, size, f in [(24, (4, 4), 3), (16, (8, 8), 3), (6, (8, 6), 5)]),
        *(depthwise(k, size, f, 2) for k, size, f in [(16, (4, 6), 3), (8, (4, 6), 5)]),
        *(depthwise(4, size, f) for size, f in [((5, 6), 4), ((8, 4), 2)]),
        *(depthwise(k, size, 5, s) for k, size, s in [(32, (4, 4), 1), (20, (2, 2), 2), (12, (4, 2), 1)]),
        *(sequence(*shape) for shape in [(8, 64, 5), (16, 32, 4), (64, 16, 3), (6, 40, 2), (3, 100, 5)]),
        *(sequence(*shape) for shape in [(8, 32, 5, 2), (4, 50, 5, 1, 4), (16, 24, 3, 1, 2)]),
        *(column(sequence(*shape)) for shape in [(8, 40, 3), (6, 32, 5), (8, 30, 3, 2), (16, 20, 5, 2)]),
        *(pool(Op.AVG_POOL2D, k, size, f, s) for k, size, f, s in [(32, (1, 1), 6, 1), (12, (2, 3), 3, 2)]),
        *(
            plain(op, k, size)
            for op in (Op.ADD, Op.MULTIPLY)
            for k, size in [(32, (3, 3)), (12, (5, 5)), (64, (8, 8)), (7, (3, 5))]
        ),
        *(
            shared(op, k, size, broadcast)
            for op in (Op.ADD, Op.MULTIPLY)
            for broadcast in ("pixel", "channel", "outer")
            for k, size in [(32, (3, 3)), (12, (5, 5)), (72, (4, 4)), (7, (3, 5))]
        ),
    ]
    others = [
        *(
            pool(Op.MAX_POOL2D, k, size, f, s)
            for k, size, f, s in [(32, (3, 3), 2, 2), (12, (2, 4), 3, 2), (13, (2, 2), 3, 1)]
        ),
        *(
            plain(op, k, size)
            for op in (Op.LOOKUP, Op.CHANNEL_LOOKUP, Op.LOOKUP_SUM, *_TYPES)
            for k, size in [(32, (3, 3)), (12, (5, 5)), (64, (8, 8)), (7, (3, 5))]
        ),
        *(concatenation(*channels, (5, 9)) for channels in [(16, 16), (2, 12), (1, 30), (64, 8)]),
        *(concatenation(*channels, (9, 9), (True, False)) for channels in [(24, 16), (13, 12), (128, 8)]),
        *(signs(k, size) for k, size in [(3, (32, 32)), (64, (6, 8)), (7, (9, 9)), (12, (2, 3))]),
        *(transposition(k, (6, 3), unit) for k, unit in [(64, 2), (32, 3), (12, 4), (24, 6), (12, 16), (8, 20)]),
        *(transposition(k, size) for k, size in [(3, (1, 1024)), (3, (5, 30)), (8, (1, 100)), (256, (1, 10))]),
        *(
            transposition(k, size)
            for k, size in [(2, (16, 58)), (35, (1, 37)), (4, (6, 12)), (100, (2, 2)), (5, (3, 7))]
        ),
    ]
    products += [
        *(signal(*shape) for shape in [(8, 12, 6), (32, 8, 8), (4, 4, 16), (16, 8, 7, 4, 2), (8, 8, 9, 7), (6, 6, 8)]),
        *(conv(k, c, size) for k, c, size in [(16, 8, (4, 1)), (8, 4, (6, 2)), (8, 6, (4, 5))]),
        *(pointwise(k, c, size) for k, c, size in [(8, 5, (4, 4)), (12, 6, (2, 4)), (24, 7, (3, 4)), (16, 10, (2, 5))]),
        *(pointwise(k, c, size) for k, c, size in [(16, 13, (2, 4)), (1, 8, (4, 4)), (5, 15, (1, 6))]),
        *(dense(k, c) for k, c in [(32, 5), (24, 6), (12, 7), (2, 64), (1, 128), (3, 10)]),
    ]
    products += [
        *(conv(k, c, size, f, s) for k, c, size, f, s in [(8, 3, (4, 24), 3, 2), (16, 1, (4, 14), 3, 2)]),
        *(conv(k, c, size, f, s) for k, c, size, f, s in [(24, 3, (3, 10), 3, 1), (8, 1, (3, 12), 7, 2)]),
        *(filtered(k, c, size, f, 2) for k, c, size, f in [(64, 1, (3, 5), (10, 4)), (8, 1, (3, 12), (10, 8))]),
        *(filtered(k, c, size, f) for k, c, size, f in [(16, 16, (3, 10), (3, 3)), (12, 4, (4, 6), (3, 2))]),
    ]
    products += [
        matrices(k, c, count, rows)
        for k, c, count, rows in [(64, 16, 1, 16), (16, 32, 2, 17), (10, 24, 3, 4), (5, 18, 2, 7), (16, 128, 1, 8)]
    ]
    products += [grouped(23, 8, 8, (2, 2)), grouped(2, 8, 8, (6, 6), 2), grouped(4, 16, 16, (3, 3))]
    rare = [conv(8, 16, (3, 4)), pointwise(32, 24, (4, 4)), dense(32, 48), matrices(12, 20, 2, 6)]
    rare += [plain(Op.MULTIPLY, 12, (5, 5)), shared(Op.MULTIPLY, 40, (3, 3), "pixel")]
    rare += [depthwise(8, (12, 12), 5), depthwise(16, (6, 4), 5)]
    partial = [
        *(conv(k, c, size) for k, c, size in [(12, 8, (5, 6)), (16, 3, (6, 6)), (32, 32, (2, 4))]),
        *(pointwise(k, c, size) for k, c, size in [(32, 32, (4, 4)), (18, 20, (3, 5)), (64, 128, (2, 3))]),
        *(dense(k, c) for k, c in [(64, 64), (10, 64), (128, 8), (24, 640)]),
    ]
    pixels = [
        *(pointwise(k, c, size) for k, c, size in [(8, 3, (5, 5)), (16, 1, (8, 8)), (64, 2, (3, 5))]),
        *(pointwise(k, c, size) for k, c, size in [(10, 3, (4, 4)), (24, 2, (1, 1)), (48, 3, (2, 6))]),
    ]
    short = [
        *(dense(k, c) for k, c in [(32, 1), (10, 2), (128, 3), (24, 3)]),
        *(conv(16, 2, (4, 4), 1, 2), samples(8, 16)),
    ]
    excepting = [conv(16, 16, (4, 7)), pointwise(32, 32, (4, 4)), pointwise(16, 8, (8, 8))]
    excepting += [depthwise(8, (8, 8)), sequence(8, 64, 5)]
    others += [
        in_int16(layer)
        for layer in (
            *(conv(k, c, size) for k, c, size in [(16, 16, (4, 7)), (16, 3, (6, 6)), (6, 5, (3, 5)), (7, 8, (4, 4))]),
            *(conv(16, 16, (3, 4), 3, 2), filtered(8, 4, (4, 6), (3, 2))),
            *(pointwise(k, c, size) for k, c, size in [(32, 32, (4, 4)), (16, 8, (8, 8)), (10, 24, (3, 4))]),
            *(dense(k, c) for k, c in [(64, 64), (10, 64), (24, 640), (5, 40)]),
            *(depthwise(k, size) for k, size in [(4, (8, 8)), (32, (3, 3))]),
            *(depthwise(8, (6, 8), 5), depthwise(6, (4, 6), 3, 2)),
            *(grouped(groups, k, c, size) for groups, k, c, size in [(4, 8, 8, (3, 4)), (3, 5, 4, (2, 5))]),
            *(
                plain(op, k, size)
                for op in (Op.ADD, Op.MULTIPLY, Op.REQUANTIZE, Op.LEAKY_RELU, Op.LOGISTIC, Op.TANH, Op.SOFTMAX)
                for k, size in [(16, (4, 4)), (5, (6, 7)), (64, (2, 8))]
            ),
            *(
                pool(op, k, size, f, s)
                for op in (Op.MAX_POOL2D, Op.AVG_POOL2D)
                for k, size, f, s in [(32, (3, 3), 2, 2), (13, (2, 2), 3, 1)]
            ),
        )
    ]
    cases = _cases([*products, *pixels, *short], [*rare, *short], others, [*partial, *short])
    cases += [Case(layer, "split", excepted=channels) for layer in excepting for channels in (1, 8)]
    cases += [Case(matrices(16, 32, 2, 17), form, excepted=1) for form in ("int64", "split")]
    cases += [Case(pool(Op.AVG_POOL2D, 12, (2, 3), 3, 2), form, excepted=12) for form in ("int64", "split")]
    rounded = [conv(16, 16, (4, 7)), pointwise(16, 8, (8, 8)), dense(10, 64), depthwise(8, (8, 8))]
    rounded += [depthwise(4, (6, 6), 5, 1), pool(Op.AVG_POOL2D, 8, (1, 1), 8, 1), grouped(4, 16, 16, (3, 3))]
    return cases + [Case(layer, "split", ties=True) for layer in rounded]


def _cases(products: list[Layer], rare: list[Layer], others: list[Layer], partial: list[Layer]) -> list[Case]:
    """In all forms that they are measured in; `partial` as sums, and with sums of other input channels before them."""
    cases = [Case(layer, form) for layer in products for form in FORMS]
    cases += [Case(layer, form) for layer in rare for form in RARE]
    cases += [Case(layer, "int64") for layer in others]
    cases += [Case(layer, "sums") for layer in partial]
    return cases + [Case(layer, form, begin=False) for layer in partial for form in ("sums", *FORMS, *RARE)]
