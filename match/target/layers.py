"""What modules say of a layer of any kind: a single operator, a chain or a group.

A chain and a group have no kernel or cost model of their own: all is made from what modules say of each operator.
Functions here are given a module for each operator of the layer. Operators of a group may be on several modules, those
of a chain are on one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from match.ir.constants import LayerConstants
from match.ir.group import operator_spans
from match.ir.layer import Chain, Dim, Group, Layer, Operand, Role
from match.mapping.storage import PLACES
from match.target import methods
from match.target.chain import ChainCost, chain_multiples, chain_operands
from match.target.cost import CostModel
from match.target.group import GroupCost, group_operands, lane_of
from match.target.hardware import HwModule
from match.target.operands import OperandError, Requantizers


def operands_of(modules: Sequence[HwModule], layer: Layer, requantizers: Requantizers) -> tuple[Operand, ...]:
    """The operands of a layer, as parts of larger arrays where the layer's are.

    Raises:
        OperandError: if a part's pixels would not follow one another, each with its channels, or tensors of a group
            are not dense.
    """
    operands = _dense_operands(modules, layer, requantizers)
    activations = [operand for operand in operands if operand.role is not Role.CONSTANT]
    pitches = {operand.name: pitch for operand, pitch in zip(activations, layer.pitches, strict=False) if pitch}
    return tuple(
        _within(operand, pitches[operand.name]) if operand.name in pitches else operand for operand in operands
    )


def _dense_operands(modules: Sequence[HwModule], layer: Layer, requantizers: Requantizers) -> tuple[Operand, ...]:
    """The operands of a layer that are no parts of others."""
    match layer.attributes:
        case Group():
            return group_operands(modules, layer, requantizers)
        case Chain():
            return chain_operands(modules[0], layer, requantizers)
        case _:
            return methods.operands(modules[0], layer, requantizers[0])


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
        raise OperandError(f"its {operand.name} cannot lie inside another tensor")
    return replace(operand, components=(replace(component, axes=(*pixels, replace(channels, array=pitch))),))


def tile_multiples_of(modules: Sequence[HwModule], layer: Layer) -> dict[Dim, int]:
    """What tiles of a layer are multiples of, see `HwModule.tile_multiples`; a group has none."""
    if isinstance(layer.attributes, Group):
        return {}
    return chain_multiples(modules[0], layer) if layer.fused else methods.tile_multiples(modules[0], layer)


def packer(
    modules: Sequence[HwModule], layer: Layer, requantizers: Requantizers, constants: Sequence[LayerConstants]
) -> Callable[[Mapping[Dim, tuple[int, int]]], tuple[bytes, ...]]:
    """What makes the bytes of each component of the constants of a layer, for the tile that covers some spans."""
    components = [
        [
            part
            for operand in methods.operands(module, stage, form)
            if operand.role is Role.CONSTANT
            for part in operand.components
        ]
        for module, stage, form in zip(modules, layer.operators, requantizers, strict=True)
    ]

    def pack(spans: Mapping[Dim, tuple[int, int]]) -> tuple[bytes, ...]:
        own = [*zip(modules, layer.operators, requantizers, constants, components, strict=True)]
        return tuple(
            part
            for number, part_spans in operator_spans(layer, spans)
            for part in methods.pack(*own[number][:-1], part_spans, own[number][-1])
        )

    return pack


def cost_model_of(
    modules: Sequence[HwModule],
    layer: Layer,
    requantizers: Requantizers,
    changed: Callable[[CostModel], CostModel] = lambda model: model,
) -> CostModel:
    """The cost model of a layer's kernel, or of the kernels of its operators.

    `changed` is asked for the cost model of each operator.
    """
    models = [
        changed(methods.cost(module, stage, form))
        for module, stage, form in zip(modules, layer.operators, requantizers, strict=True)
    ]
    if isinstance(layer.attributes, Group):
        asked = zip(modules, layer.operators, requantizers, strict=True)
        return GroupCost(tuple(models), tuple(lane_of(module, stage, form) for module, stage, form in asked))
    return ChainCost(tuple(models)) if layer.fused else models[0]
