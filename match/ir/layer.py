"""The typed workload of one match: what a module is asked to compute, free of TVM objects.

Loop dimensions follow the accelerator literature: K output channels, C input channels, OY/OX output rows and columns,
FY/FX filter rows and columns. Channelwise operators, which are all but products, use K for their channels and have
C = 1. A grouped convolution uses K for its groups, each of `c` input channels and some output channels. A
dense layer is K x C with OY = FY = FX = 1 and OX rows (its batch). A recurrent layer has K units and C features, OY
steps and OX sequences side by side (its batch); states stay inside, and a tile has the whole of it. Matrices are OY
products of two activations, (OX, C) and (K, C), the second one transposed. Operators on each element and those that
move it take tensors of any rank: K is the last axis, OX the one before, OY all others. Activations are HWC.

A concatenation joins the channels of two tensors, each through a table of its own; K is the channels of both. A slice
has some of its input's channels. A transposition turns the last two of three axes: its output is (OY, OX, K), its input
(OY, K, OX), of single bytes or of elements of some neighbouring ones. A gather takes, for each column of its output,
one of its input's columns or `pad_value`, and a tile has all columns of the input. The inputs of an addition, a
multiplication, a squared or absolute difference, a maximum, a minimum, a sum of lookups or a looked-up line may be
broadcast (`Broadcast`); such a line is one of the first input, and the second chooses which, as a divisor does. A
softmax, its logarithm and a normalization are computed over the channels of each pixel, and a tile has all channels. A
resize interpolates between four pixels, and a tile has all rows and columns of the input. A float average is average
pooling that is summed in float32; it divides by the pixels of the window that lie inside the input.

A module may bring operators of its own (`match.target.own`), channelwise ones, whose channels are cut where it says so.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self, TypeVar

import msgspec

from match.ir.attributes import (
    NO_ATTRIBUTES,
    Attributes,
    Broadcast,
    ChannelGroups,
    Concatenation,
    Gathering,
    Interpolation,
    LookupTable,
    Own,
    Slice,
    Transposition,
)

_Kind = TypeVar("_Kind", bound=Attributes)


class Dim(enum.StrEnum):
    """A loop dimension of a layer."""

    K = "K"
    C = "C"
    OY = "OY"
    OX = "OX"
    FY = "FY"
    FX = "FX"

    # Of dictionaries by dimension the search reads millions of entries; the hash of Enum is computed in Python.
    __hash__ = str.__hash__


class Op(enum.StrEnum):
    """The operators that a layer can be, each with its name and, where it is not 1, its number of inputs."""

    _value_: str
    inputs: int

    def __new__(cls, name: str, inputs: int = 1) -> Self:
        """The member, a string."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.inputs = inputs
        return member

    CONV2D = "conv2d"
    DEPTHWISE_CONV2D = "depthwise_conv2d"
    GROUPED_CONV2D = "grouped_conv2d"
    DENSE = "dense"
    MATRICES = "matrices", 2
    ADD = "add", 2
    AVG_POOL2D = "avg_pool2d"
    FLOAT_AVG_POOL2D = "float_avg_pool2d"
    MAX_POOL2D = "max_pool2d"
    LOOKUP = "lookup"
    CHANNEL_LOOKUP = "channel_lookup"
    QUANTIZE = "quantize"
    DEQUANTIZE = "dequantize"
    DEQUANTIZE_SUMS = "dequantize_sums"
    REQUANTIZE = "requantize"
    LEAKY_RELU = "leaky_relu"
    LOGISTIC = "logistic"
    TANH = "tanh"
    MULTIPLY = "multiply", 2
    SQUARED_DIFFERENCE = "squared_difference", 2
    ABSOLUTE_DIFFERENCE = "absolute_difference", 2
    MAXIMUM = "maximum", 2
    MINIMUM = "minimum", 2
    LOOKUP_SUM = "lookup_sum", 2
    LOOKUP_LINE = "lookup_line", 2
    CONCATENATE = "concatenate", 2
    SLICE = "slice"
    TRANSPOSE = "transpose"
    GATHER = "gather"
    SOFTMAX = "softmax"
    LOG_SOFTMAX = "log_softmax"
    NORMALIZE = "normalize"
    LSTM = "lstm"
    GRU = "gru"
    GRU_RESET_FIRST = "gru_reset_first"
    RESIZE = "resize"
    OWN = "own"


GROUP = "group"
"""What a group is called in place of an operator."""

GATES = {Op.LSTM: 4, Op.GRU: 3, Op.GRU_RESET_FIRST: 3}
"""Number of gates of each unit of a recurrent layer."""

WIDEST_WEIGHTS = 8
"""Bits of weights that are bytes, and the most that a weight has."""

CHANNELWISE = frozenset(Op) - {Op.CONV2D, Op.GROUPED_CONV2D, Op.DENSE, Op.MATRICES, *GATES}

FLOATING_ON_CORE = frozenset({Op.FLOAT_AVG_POOL2D})
"""Operators that modules compute in integers, and TVM's C for the control core in floating point."""

BY_PIXEL = frozenset({Op.SOFTMAX, Op.LOG_SOFTMAX, Op.NORMALIZE})
"""Functions of all channels of a pixel together, in fixed point."""

_FLOATING = frozenset({Op.LOG_SOFTMAX, Op.DEQUANTIZE_SUMS})
"""Operators whose outputs are float32 and may be rounded otherwise than the reference's."""


class Padding(NamedTuple):
    """Rows and columns added around the input, in pixels."""

    top: int = 0
    left: int = 0
    bottom: int = 0
    right: int = 0


@dataclass(frozen=True)
class Layer:
    """Geometry and types of one operator; hashable, so that searches and caches can key on it.

    Sizes are in elements, padding is in pixels, types are NumPy's names ("uint8", "int8"; "float32" for numbers that
    are not quantized).

    Attributes:
        name: name of the layer; no part of its geometry.
        op: the operator, or the last one of a chain or a group.
        k: output channels; of operators that keep their channels, channels.
        c: input channels that one output sums over; 1 where each output channel depends on one.
        oy: output rows.
        ox: output columns.
        iy: input rows, without padding.
        ix: input columns, without padding.
        fy: filter rows; rows of a pooling window.
        fx: filter columns.
        stride: rows and columns between windows.
        dilation: rows and columns between the elements of a filter.
        padding: rows and columns around the input.
        pad_value: what padding holds, the input's zero point.
        input_dtype: type of the inputs.
        weight_dtype: type of the weights; empty for operators without.
        output_dtype: type of the output; "int32" where sums are not requantized.
        clip: closed range of output values, activation and saturation together.
        input_range: closed range of the values that inputs can have, where that is known of a layer that accumulates.
        weight_bits: fewer than 8 where a module stores signed weights in as few bits as they fit.
        pitches: of each input and of the output, channels of the array that its own are a part of, 0 for none; empty
            where no tensor is a part of another.
        attributes: what its operator has beside (`match.ir.attributes`); `get` reads it.
    """

    name: str
    op: Op
    k: int
    c: int
    oy: int
    ox: int
    iy: int
    ix: int
    fy: int = 1
    fx: int = 1
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    padding: Padding = Padding()
    pad_value: int = 0
    input_dtype: str = "uint8"
    weight_dtype: str = "int8"
    output_dtype: str = "uint8"
    clip: tuple[int, int] = (0, 255)
    input_range: tuple[int, int] | None = None
    weight_bits: int = WIDEST_WEIGHTS
    pitches: tuple[int, ...] = ()
    attributes: AnyAttributes = NO_ATTRIBUTES

    @property
    def geometry(self) -> Layer:
        """The layer without its name and the values it holds: layers of equal geometry have equal schedules."""
        return replace(self, name="", pad_value=0, clip=(0, 0), input_range=None, attributes=self.attributes.geometry)

    def get(self, kind: type[_Kind]) -> _Kind:
        """Its attributes if they are of a kind, and else what the kind says of other operators."""
        return self.attributes if isinstance(self.attributes, kind) else kind()

    @property
    def fused(self) -> bool:
        """Whether it is a chain or a group."""
        return isinstance(self.attributes, Fused)

    @property
    def operators(self) -> tuple[Layer, ...]:
        """The operators that it computes, in order: those of a chain or a group, or itself."""
        return self.attributes.stages if isinstance(self.attributes, Fused) else (self,)

    def with_operators(self, operators: Sequence[Layer]) -> Layer:
        """The same of other operators, which differ in the values that they hold or in how weights are stored."""
        if not isinstance(self.attributes, Fused):
            return operators[0]
        fused = msgspec.structs.replace(self.attributes, stages=tuple(operators))
        return replace(self, clip=operators[-1].clip, attributes=fused)

    @property
    def what(self) -> str:
        """Its operators by name, joined by "+"; `GROUP` for a group, which may have hundreds."""
        if isinstance(self.attributes, Group):
            return GROUP
        return "+".join(stage.get(Own).name or stage.op.value for stage in self.operators)

    @property
    def two_inputs(self) -> bool:
        """Whether it has a second input, the addend."""
        return max(self.op.inputs, self.get(Own).inputs) == 2

    @property
    def floating(self) -> bool:
        """Whether it computes real numbers that the reference may round otherwise."""
        return any(stage.op in _FLOATING for stage in self.operators)

    @property
    def channelwise(self) -> bool:
        """Whether output channel k depends on input channel k alone; of chains and groups this is not asked."""
        return self.op in CHANNELWISE and not self.fused

    @property
    def input_channels(self) -> int:
        """Channels of the input tensor, of the first one if there are two."""
        match self.attributes:
            case Fused(stages=(first, *_)):
                return first.input_channels
            case Concatenation(first_channels=channels) | Slice(channels=channels):
                return channels
            case _ if self.op is Op.GROUPED_CONV2D:
                return self.k * self.c
            case _:
                return self.k if self.channelwise else self.c

    @property
    def channels_summed(self) -> int:
        """Input channels that an output is the sum of."""
        return self.get(ChannelGroups).inputs or self.c

    @property
    def output_channels(self) -> int:
        """Channels of the output tensor."""
        return self.k * self.operators[-1].get(ChannelGroups).outputs

    @property
    def output_elements(self) -> int:
        """Elements of the output tensor; of a transposition its bytes."""
        return self.output_channels * self.oy * self.ox * self.operators[-1].get(Transposition).element_bytes

    @property
    def macs(self) -> int:
        """Multiply-accumulates (convolutions, dense and recurrent layers) or, for the other operators, none."""
        if self.fused:
            return sum(stage.macs for stage in self.operators)
        if self.op in GATES:
            return GATES[self.op] * self.k * (self.c + self.k) * self.oy * self.ox
        if self.op in (Op.CONV2D, Op.DEPTHWISE_CONV2D, Op.GROUPED_CONV2D, Op.DENSE, Op.MATRICES):
            return self.output_channels * self.channels_summed * self.oy * self.ox * self.fy * self.fx
        return 0

    def size(self, dim: Dim) -> int:
        """Extent of a loop dimension."""
        extent: int = getattr(self, dim.lower())
        return extent

    @property
    def extents(self) -> dict[Dim, int]:
        """Extent of each loop dimension, in the order of `Dim`."""
        return {Dim.K: self.k, Dim.C: self.c, Dim.OY: self.oy, Dim.OX: self.ox, Dim.FY: self.fy, Dim.FX: self.fx}

    @property
    def spans(self) -> dict[Dim, tuple[int, int]]:
        """Start and extent of the whole layer along each loop dimension."""
        return {dim: (0, extent) for dim, extent in self.extents.items()}

    @property
    def window(self) -> tuple[int, int]:
        """Rows and columns of input that one output pixel sees, dilation included."""
        return (self.fy - 1) * self.dilation[0] + 1, (self.fx - 1) * self.dilation[1] + 1


class Fused(Attributes, frozen=True, tag=True):
    """Operators that are computed as one layer: a `Chain` or a `Group`.

    Attributes:
        stages: the operators, in the order in which they are computed.
    """

    stages: tuple[Layer, ...] = ()

    @property
    def geometry(self) -> Attributes:
        """The operators' geometry."""
        return msgspec.structs.replace(self, stages=tuple(stage.geometry for stage in self.stages))


class Chain(Fused, frozen=True, tag=True):
    """Operators that each read what the one before writes, tile by tile."""


class Group(Fused, frozen=True, tag=True):
    """Operators with whole tensors between them.

    Attributes:
        links: for each operator where its inputs come from: n is operator n of the group, ~n tensor n from outside.
        cuts: for each operator the output channels of each of its kernel calls, 0 where one computes all.
    """

    links: tuple[tuple[int, ...], ...] = ()
    cuts: tuple[int, ...] = ()


AnyAttributes = (
    Attributes
    | ChannelGroups
    | Broadcast
    | Concatenation
    | Slice
    | Transposition
    | Gathering
    | Interpolation
    | LookupTable
    | Own
    | Chain
    | Group
)


class Role(enum.StrEnum):
    """What an operand is to the layer."""

    INPUT = "input"
    CONSTANT = "constant"
    OUTPUT = "output"


@dataclass(frozen=True)
class Axis:
    """How one axis of an operand's block follows a loop dimension.

    A tile of `t` iterations of `dim` touches `(t - 1) * stride + window` indices, clipped to the tensor's `limit` and
    rounded up to `multiple`. `before` is the padding in front: the tile that starts at iteration `i` touches indices
    from `i * stride - before`; less than 0, it is what is skipped. With a stride of 0 all iterations touch the same
    indices. `array`: 0, or, for a tensor that lies inside a larger array in main memory, the array's extent along this
    axis.
    """

    dim: Dim
    limit: int
    stride: int = 1
    window: int = 1
    before: int = 0
    multiple: int = 1
    array: int = 0

    def windows_see(self, outputs: int) -> bool:
        """Whether the windows of the first `outputs` iterations each have an index of the tensor, not padding alone."""
        return self.before < self.window and (outputs - 1) * self.stride - self.before < self.limit

    @property
    def room(self) -> int:
        """Indices that the array in main memory has along this axis."""
        return self.array or -(-self.limit // self.multiple) * self.multiple

    def length(self, tile: int) -> int:
        """Elements a block must hold along this axis for any tile of `tile` iterations."""
        length = min(self.limit, (tile - 1) * self.stride + self.window)
        return -(-length // self.multiple) * self.multiple

    def span(self, start: int, tile: int) -> tuple[int, int]:
        """First index and number of indices that iterations `start .. start + tile - 1` really touch."""
        begin = start * self.stride - self.before
        end = begin + (tile - 1) * self.stride + self.window
        return max(0, begin), max(0, min(self.limit, end) - max(0, begin))


def whole_axis(dim: Dim, extent: int) -> Axis:
    """An axis that every tile has all of."""
    return Axis(dim, extent, stride=0, window=extent)


def input_axes(layer: Layer) -> tuple[Axis, Axis]:
    """How input rows follow OY and input columns follow OX."""
    if layer.op is Op.RESIZE or layer.get(Broadcast).kind == "outer":
        return whole_axis(Dim.OY, layer.iy), whole_axis(Dim.OX, layer.ix)
    if layer.op is Op.GATHER:
        return Axis(Dim.OY, layer.iy), whole_axis(Dim.OX, layer.ix)
    window = layer.window
    return (
        Axis(Dim.OY, layer.iy, layer.stride[0], window[0], layer.padding.top),
        Axis(Dim.OX, layer.ix, layer.stride[1], window[1], layer.padding.left),
    )


@dataclass(frozen=True)
class Component:
    """One dense array inside an operand's block: axes from slowest to fastest, bytes of an element.

    `divisible` tells whether a kernel can be given a part of the block, some of its output channels: they lie together.
    A layout that is laid out anew for each number of channels (one array of all multipliers, then one of all shifts) is
    not: no loop may then cut its dimensions inside the block.

    Of an activation, order and multiples of the axes are also those of the tensor in main memory. `byte_group` is how
    many bytes of its fastest axis lie in reverse order together, the last first; 1 where they lie in order.

    `part` is, of the constants of a group, the number among `match.ir.group.calls` of the call that reads them: all
    calls with the same output channels of an operator do.
    """

    name: str
    axes: tuple[Axis, ...]
    element_bytes: int = 1
    divisible: bool = True
    byte_group: int = 1
    part: int = 0


@dataclass(frozen=True)
class Operand:
    """A tensor that moves as one: its block is its components one after the other, each aligned.

    Activations have one component. A layer's constants are one operand with a component for the filter and one for the
    requantization parameters, so that a tile of output channels costs one transfer.

    `partial_bytes` are, of an output, the bytes of an element's partial sum between kernel calls that each add up some
    of the input channels; 0 where kernels need all of them at once.
    `transposed` tells that the tensor itself, not a layout of it, has its axes in the order of the component's.
    """

    name: str
    role: Role
    components: tuple[Component, ...]
    partial_bytes: int = 0
    transposed: bool = False

    @cached_property
    def dims(self) -> frozenset[Dim]:
        """Loop dimensions that this operand depends on."""
        return frozenset(axis.dim for component in self.components for axis in component.axes if axis.stride)

    @property
    def indivisible_dims(self) -> frozenset[Dim]:
        """Loop dimensions that must not be cut inside a block.

        Those of components that are not divisible, and, of constants, the input channels: what a kernel is given of a
        filter lies together.
        """
        reduced = self.dims & {Dim.C} if self.role is Role.CONSTANT else frozenset[Dim]()
        return reduced.union(
            axis.dim for component in self.components if not component.divisible for axis in component.axes
        )
