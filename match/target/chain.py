"""Chains on a module: operands, scratch and cost of several operators that it computes tile by tile as one layer.

All is made from what the module says of each operator by itself: a chain has no kernel or cost model of its own. For a
tile of the last operator's outputs, the kernels run one after the other. The first one reads a block of the input, the
last one writes the block of the output. A tensor between two kernels lies in scratch, with the rows, columns and
channels that the tile needs of it. Blocks and scratch are in the innermost memory.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from match.ir.chain import channel_dims, sums_parts
from match.ir.layer import Axis, Component, Dim, Layer, Operand, Role, input_axes
from match.target import methods
from match.target.cost import Tile, larger, smaller
from match.target.hardware import HwModule
from match.target.operands import INPUT, Requantizers, input_operand, output_operand, weights_operand
from match.target.operators_cost import OperatorsCost

WORD = 4
"""Tensors between operators, and what kernels take of scratch, begin at multiples of so many bytes."""


def whole_words(size: Any) -> Any:
    """Bytes rounded up to whole words; an array, too."""
    return -(-size // WORD) * WORD


@dataclass(frozen=True)
class ScratchLayout:
    """Where tensors between operators and kernels' own scratch lie in scratch, for any tile up to a largest.

    tensors: byte offset of each tensor between operators. kernels: that of what kernels take, one after the other.
    bytes: all of it. The numbers may be arrays.
    """

    tensors: tuple[Any, ...]
    kernels: Any
    bytes: Any


def chain_operands(module: HwModule, layer: Layer, requantizers: Requantizers) -> tuple[Operand, ...]:
    """The input, what an addition at the end reads beside it, the constants of all operators as one, and the output."""
    each = [methods.operands(module, stage, form) for stage, form in zip(layer.operators, requantizers, strict=True)]
    dims = channel_dims(layer.operators)
    components: list[Component] = []
    for number, operands in enumerate(each):
        follows = {Dim.K: dims[number + 1], Dim.C: dims[number]}
        components += [
            replace(part, name=f"{part.name}_{number}", axes=tuple(_axis(axis, follows) for axis in part.axes))
            for operand in operands
            if operand.role is Role.CONSTANT
            for part in operand.components
        ]
    rows, columns, channels = input_operand(layer).components[0].axes
    channels = _axis(replace(channels, limit=layer.input_channels), {Dim.C: dims[0], Dim.K: dims[0]})
    first = Operand(INPUT, Role.INPUT, (Component(INPUT, (rows, columns, channels)),))
    beside = [operand for operand in each[-1] if operand.role is Role.INPUT][1:]
    partial = next(operand.partial_bytes for operand in each[-1] if operand.role is Role.OUTPUT)
    constants = [weights_operand(*components)] if components else []
    return (first, *beside, *constants, output_operand(layer, partial if sums_parts(layer.operators) else 0))


def _axis(axis: Axis, follows: Mapping[Dim, Dim | None]) -> Axis:
    """An axis of a stage's operand along the loops of the chain; what follows none of them is whole in each tile."""
    dim = follows.get(axis.dim)
    if dim is not None:
        return replace(axis, dim=dim)
    return Axis(Dim.FX, axis.limit, window=axis.limit, multiple=axis.multiple)


def chain_multiples(module: HwModule, layer: Layer) -> dict[Dim, int]:
    """What tiles of a chain are multiples of, see `HwModule.tile_multiples`."""
    dims = channel_dims(layer.operators)
    each = [methods.tile_multiples(module, stage) for stage in layer.operators]
    found = {dim: multiple for dim, multiple in each[-1].items() if dim in (Dim.OY, Dim.OX, Dim.C)}
    if not sums_parts(layer.operators):
        found[Dim.C] = 0
    for number, multiples in enumerate(each):
        dim = dims[number + 1]
        if dim is Dim.K or (dim is Dim.C and found.get(Dim.C)):
            found[dim] = math.lcm(found.get(dim, 1), multiples.get(Dim.K, 1))
    return found


def stage_tiles(layer: Layer, tile: Tile) -> tuple[Tile, ...]:
    """The kernel calls of a chain's tile, or upper bounds of them where it is one; numbers may be arrays.

    How many rows of an intermediate tensor there are follows from the outputs that need them and from the input that
    they are computed from: less at a border of the input, where windows reach beyond it.
    """
    stages, dims = layer.operators, channel_dims(layer.operators)
    above, beside = zip(*(input_axes(stage) for stage in stages), strict=True)
    rows = _sizes(above, [stage.padding.bottom for stage in stages], tile.oy, tile.iy)
    columns = _sizes(beside, [stage.padding.right for stage in stages], tile.ox, tile.ix)
    part = {Dim.K: tile.k, Dim.C: tile.c}
    found: list[Tile] = []
    for number, stage in enumerate(stages):
        before, after = dims[number], dims[number + 1]
        k: Any = part[after] if after else stage.k
        c: Any = 1 if stage.channelwise else part[before] if before else stage.c
        sums = number == len(stages) - 1 and not stage.channelwise
        oy, ox = rows[number + 1], columns[number + 1]
        begin, end = (tile.begin, tile.end) if sums else (True, True)
        found.append(Tile(k, c, oy, ox, rows[number], columns[number], stage.fy, stage.fx, begin, end))
    return tuple(found)


def _sizes(axes: Sequence[Axis], after: Sequence[int], outputs: Any, inputs: Any) -> list[Any]:
    """Indices of each tensor from the input to the output, along one axis."""
    needed = [outputs]
    for axis in reversed(axes):
        needed.insert(0, smaller(axis.limit, (needed[0] - 1) * axis.stride + axis.window))
    sizes = [inputs]
    for axis, padding, most in zip(axes[:-1], after, needed[1:], strict=False):
        reached = (sizes[-1] + axis.before + padding - axis.window) // axis.stride + 1
        sizes.append(smaller(most, larger(reached, 1)))
    return [*sizes, outputs]


@dataclass(frozen=True)
class ChainCost(OperatorsCost):
    """Cost of a chain: the kernel calls of its operators for a tile."""

    @property
    def arrays(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """If all models take them."""
        return all(model.arrays for model in self.models)

    def tiles(self, layer: Layer, tile: Tile) -> Sequence[Tile]:
        """See `stage_tiles`."""
        return stage_tiles(layer, tile)

    def layout(self, layer: Layer, tile: Tile) -> ScratchLayout:
        """What lies where in scratch."""
        tiles = self.tiles(layer, tile)
        offsets, end = self.tensors(layer, tiles)
        most: Any = 0
        for model, stage, inner in zip(self.models, layer.operators, tiles, strict=True):
            most = larger(most, model.scratch(stage, inner))
        return ScratchLayout(offsets, end, end + most)

    def scratch(self, layer: Layer, tile: Tile) -> int:
        """Tensors between operators, and what the kernel takes that takes most."""
        total: int = self.layout(layer, tile).bytes
        return total

    def overhead(self, layer: Layer) -> float:
        """Once for all operators; the last one's cost model is asked about the whole."""
        return self.models[-1].overhead(layer)

    def tensors(self, layer: Layer, tiles: Sequence[Tile]) -> tuple[tuple[Any, ...], Any]:
        """One after the other."""
        offsets: list[Any] = []
        end: Any = 0
        for inner in tiles[:-1]:
            offsets.append(end)
            end = end + whole_words(inner.k * inner.oy * inner.ox)
        return tuple(offsets), end
