"""Chains on a module: operands, constants, scratch and cost of several operators that it computes as one layer.

All is made from what the module says of each operator by itself: a chain has no kernel or cost model of its own. For a
tile of the last operator's outputs, the kernels run one after the other. The first one reads a block of the input, the
last one writes the block of the output. A tensor between two kernels lies in scratch, with the rows, columns and
channels that the tile needs of it. Blocks and scratch are in the innermost memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from match.ir.chain import channel_dims, stage_spans, sums_parts
from match.ir.constants import LayerConstants
from match.ir.layer import Axis, Component, Dim, Layer, Operand, Role, input_axes
from match.ir.requantization import Requantizer
from match.mapping.storage import PLACES
from match.target.cost import Block, CostModel, Energy, Tile, larger, smaller
from match.target.hardware import HwModule
from match.target.operands import INPUT, input_operand, output_operand, weights_operand

Requantizers = Sequence[Requantizer | None]
"""Of each operator of a layer, see `Layer.operators`."""

_WORD = 4
"""Intermediate tensors and what kernels take of scratch begin at multiples of so many bytes."""


class PartError(Exception):
    """A module cannot read or write a tensor that lies inside another one; the text is the reason in a refusal."""


def operands_of(module: HwModule, layer: Layer, requantizers: Requantizers) -> tuple[Operand, ...]:
    """The operands of a layer on a module, as parts of larger arrays where the layer's are.

    Raises:
        PartError: if one of them would be a part, and its pixels do not follow one another, each with its channels.
    """
    operands = _dense_operands(module, layer, requantizers)
    activations = [operand for operand in operands if operand.role is not Role.CONSTANT]
    pitches = {operand.name: pitch for operand, pitch in zip(activations, layer.pitches, strict=False) if pitch}
    return tuple(
        _within(operand, pitches[operand.name]) if operand.name in pitches else operand for operand in operands
    )


def _within(operand: Operand, pitch: int) -> Operand:
    """An activation whose channels are some of the `pitch` channels of an array."""
    (component,) = operand.components
    *pixels, channels = component.axes
    if (
        [PLACES.get(axis.dim) for axis in component.axes] != [0, 1, 2]
        or component.byte_group > 1
        or component.element_bytes > 1
        or any(axis.multiple > 1 and axis.limit % axis.multiple for axis in component.axes)
    ):
        raise PartError(f"its {operand.name} cannot lie inside another tensor")
    return replace(operand, components=(replace(component, axes=(*pixels, replace(channels, array=pitch))),))


def _dense_operands(module: HwModule, layer: Layer, requantizers: Requantizers) -> tuple[Operand, ...]:
    """The operands of a layer that are no parts of others.

    Those of a chain are the input, what an addition at its end reads beside it, the constants of all operators as one,
    and the output.
    """
    if not layer.stages:
        return module.operands(layer, requantizers[0])
    each = [module.operands(stage, form) for stage, form in zip(layer.stages, requantizers, strict=True)]
    dims = channel_dims(layer.stages)
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
    return (first, *beside, *constants, output_operand(layer, partial if sums_parts(layer.stages) else 0))


def _axis(axis: Axis, follows: Mapping[Dim, Dim | None]) -> Axis:
    """An axis of a stage's operand along the loops of the chain; what follows none of them is whole in each tile."""
    dim = follows.get(axis.dim)
    if dim is not None:
        return replace(axis, dim=dim)
    return Axis(Dim.FX, axis.limit, window=axis.limit, multiple=axis.multiple)


def tile_multiples_of(module: HwModule, layer: Layer) -> dict[Dim, int]:
    """What tiles of a layer are multiples of, see `HwModule.tile_multiples`."""
    if not layer.stages:
        return dict(module.tile_multiples(layer))
    dims = channel_dims(layer.stages)
    each = [module.tile_multiples(stage) for stage in layer.stages]
    found = {dim: multiple for dim, multiple in each[-1].items() if dim in (Dim.OY, Dim.OX, Dim.C)}
    if not sums_parts(layer.stages):
        found[Dim.C] = 0
    for number, multiples in enumerate(each):
        dim = dims[number + 1]
        if dim is Dim.K or (dim is Dim.C and found.get(Dim.C)):
            found[dim] = math.lcm(found.get(dim, 1), multiples.get(Dim.K, 1))
    return found


def pack_of(
    module: HwModule,
    layer: Layer,
    requantizers: Requantizers,
    constants: Sequence[LayerConstants],
    spans: Mapping[Dim, tuple[int, int]],
) -> tuple[bytes, ...]:
    """Bytes of each component of the constants of a layer, for the tile that covers `spans`."""
    own = stage_spans(layer, spans) if layer.stages else (dict(spans),)
    each = zip(layer.operators, requantizers, constants, own, strict=True)
    return tuple(part for stage, form, values, span in each for part in module.pack(stage, form, values, span))


def cost_of(
    module: HwModule,
    layer: Layer,
    requantizers: Requantizers,
    changed: Callable[[CostModel], CostModel] = lambda model: model,
) -> CostModel:
    """The cost model of a layer's kernel on a module, or of the kernels of a chain; `changed` is asked for each."""
    models = [changed(module.cost(stage, form)) for stage, form in zip(layer.operators, requantizers, strict=True)]
    return ChainCost(tuple(models)) if layer.stages else models[0]


def stage_tiles(layer: Layer, tile: Tile) -> tuple[Tile, ...]:
    """The kernel calls of a chain's tile, or upper bounds of them where it is one; numbers may be arrays.

    How many rows of an intermediate tensor there are follows from the outputs that need them and from the input that
    they are computed from: less at a border of the input, where windows reach beyond it.
    """
    stages, dims = layer.stages, channel_dims(layer.stages)
    above, beside = zip(*(input_axes(stage) for stage in stages), strict=True)
    rows = _sizes(above, [stage.padding.bottom for stage in stages], tile.oy, tile.iy)
    columns = _sizes(beside, [stage.padding.right for stage in stages], tile.ox, tile.ix)
    part = {Dim.K: tile.k, Dim.C: tile.c}
    found: list[Tile] = []
    for number, stage in enumerate(stages):
        before, behind = dims[number], dims[number + 1]
        k: Any = part[behind] if behind else stage.k
        c: Any = 1 if stage.channelwise else part[before] if before else stage.c
        sums = number == len(stages) - 1 and not stage.channelwise
        oy, ox = rows[number + 1], columns[number + 1]
        begin, end = (tile.begin, tile.end) if sums else (True, True)
        found.append(Tile(k, c, oy, ox, rows[number], columns[number], stage.fy, stage.fx, begin, end))
    return tuple(found)


def _sizes(axes: Sequence[Axis], behind: Sequence[int], outputs: Any, inputs: Any) -> list[Any]:
    """Indices of each tensor from the input to the output, along one axis."""
    needed = [outputs]
    for axis in reversed(axes):
        needed.insert(0, smaller(axis.limit, (needed[0] - 1) * axis.stride + axis.window))
    sizes = [inputs]
    for axis, padding, most in zip(axes[:-1], behind, needed[1:], strict=False):
        reached = (sizes[-1] + axis.before + padding - axis.window) // axis.stride + 1
        sizes.append(smaller(most, larger(reached, 1)))
    return [*sizes, outputs]


@dataclass(frozen=True)
class ChainScratch:
    """Where intermediate tensors and kernels' own scratch lie in the scratch of a chain, for any tile up to a largest.

    tensors: byte offset of each intermediate tensor. kernels: that of what kernels take, one after the other.
    bytes: all of it. The numbers may be arrays.
    """

    tensors: tuple[Any, ...]
    kernels: Any
    bytes: Any


@dataclass(frozen=True)
class ChainCost(CostModel):
    """Cost of a chain: the kernel calls of its operators, by the cost model of each, and transfers of what is outside.

    It has the `latency` of no model: a module whose models have one of their own fuses nothing.
    """

    models: tuple[CostModel, ...]

    @property
    def overlap(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """As the module's DMA does."""
        return self.models[-1].overlap

    @property
    def arrays(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """If all models take them."""
        return all(model.arrays for model in self.models)

    @property
    def energy(self) -> Energy | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the module."""
        return self.models[-1].energy

    def layout(self, layer: Layer, tile: Tile) -> ChainScratch:
        """What lies where in scratch."""
        tiles = stage_tiles(layer, tile)
        offsets: list[Any] = []
        end: Any = 0
        for inner in tiles[:-1]:
            offsets.append(end)
            end = end + _aligned(inner.k * inner.oy * inner.ox)
        most: Any = 0
        for model, stage, inner in zip(self.models, layer.stages, tiles, strict=True):
            most = larger(most, model.scratch(stage, inner))
        return ChainScratch(tuple(offsets), end, end + most)

    def scratch(self, layer: Layer, tile: Tile) -> int:
        """Intermediate tensors, and what the kernel takes that takes most."""
        total: int = self.layout(layer, tile).bytes
        return total

    def calls(self, layer: Layer, tile: Tile) -> list[float]:
        """Cycles of each operator's kernel call, beside `launch`."""
        each = zip(self.models, layer.stages, stage_tiles(layer, tile), strict=True)
        return [model.compute(stage, inner) for model, stage, inner in each]

    def launches(self, layer: Layer) -> list[float]:
        """Cycles of each operator's kernel call, whatever its tile."""
        return [model.launch(stage) for model, stage in zip(self.models, layer.stages, strict=True)]

    def compute(self, layer: Layer, tile: Tile) -> float:
        """All kernel calls."""
        return sum(self.calls(layer, tile))

    def launch(self, layer: Layer) -> float:
        """Of all kernel calls."""
        return sum(self.launches(layer))

    def transfer(self, layer: Layer, block: Block) -> float:
        """The last operator's."""
        return self.models[-1].transfer(layer.stages[-1], block)

    def issue(self, layer: Layer) -> float:
        """The last operator's."""
        return self.models[-1].issue(layer.stages[-1])

    def overhead(self, layer: Layer) -> float:
        """Once for all operators; the last one's cost model is asked about the chain."""
        return self.models[-1].overhead(layer)


def _aligned(size: Any) -> Any:
    return -(-size // _WORD) * _WORD
