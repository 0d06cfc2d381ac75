"""What a module says of a layer of any kind: a single operator, a chain or a group.

A chain and a group have no kernel or cost model of their own: all is made from what the module says of each operator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from match.ir.constants import LayerConstants
from match.ir.group import operator_spans
from match.ir.layer import Dim, Layer, Operand, Role
from match.mapping.storage import PLACES
from match.target import methods
from match.target.chain import ChainCost, chain_multiples, chain_operands
from match.target.cost import CostModel
from match.target.group import GROUP_MULTIPLES, GroupCost, group_operands
from match.target.hardware import HwModule
from match.target.operands import OperandError, Requantizers


def operands_of(module: HwModule, layer: Layer, requantizers: Requantizers) -> tuple[Operand, ...]:
    """The operands of a layer on a module, as parts of larger arrays where the layer's are.

    Raises:
        OperandError: if a part's pixels would not follow one another, each with its channels, or tensors of a group
            are not dense.
    """
    operands = _dense_operands(module, layer, requantizers)
    activations = [operand for operand in operands if operand.role is not Role.CONSTANT]
    pitches = {operand.name: pitch for operand, pitch in zip(activations, layer.pitches, strict=False) if pitch}
    return tuple(
        _within(operand, pitches[operand.name]) if operand.name in pitches else operand for operand in operands
    )


def _dense_operands(module: HwModule, layer: Layer, requantizers: Requantizers) -> tuple[Operand, ...]:
    """The operands of a layer that are no parts of others."""
    if layer.links:
        return group_operands(module, layer, requantizers)
    if layer.stages:
        return chain_operands(module, layer, requantizers)
    return methods.operands(module, layer, requantizers[0])


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


def tile_multiples_of(module: HwModule, layer: Layer) -> dict[Dim, int]:
    """What tiles of a layer are multiples of, see `HwModule.tile_multiples`."""
    if layer.links:
        return dict(GROUP_MULTIPLES)
    return chain_multiples(module, layer) if layer.stages else methods.tile_multiples(module, layer)


def packer(
    module: HwModule, layer: Layer, requantizers: Requantizers, constants: Sequence[LayerConstants]
) -> Callable[[Mapping[Dim, tuple[int, int]]], tuple[bytes, ...]]:
    """What makes the bytes of each component of the constants of a layer, for the tile that covers some spans."""
    components = [
        [
            part
            for operand in methods.operands(module, stage, form)
            if operand.role is Role.CONSTANT
            for part in operand.components
        ]
        for stage, form in zip(layer.operators, requantizers, strict=True)
    ]

    def pack(spans: Mapping[Dim, tuple[int, int]]) -> tuple[bytes, ...]:
        each = zip(layer.operators, requantizers, constants, operator_spans(layer, spans), components, strict=True)
        return tuple(part for asked in each for part in methods.pack(module, *asked))

    return pack


def cost_model_of(
    module: HwModule,
    layer: Layer,
    requantizers: Requantizers,
    changed: Callable[[CostModel], CostModel] = lambda model: model,
) -> CostModel:
    """The cost model of a layer's kernel on a module, or of the kernels of its operators.

    `changed` is asked for the cost model of each operator.
    """
    models = [
        changed(methods.cost(module, stage, form)) for stage, form in zip(layer.operators, requantizers, strict=True)
    ]
    if layer.links:
        return GroupCost(tuple(models))
    return ChainCost(tuple(models)) if layer.stages else models[0]
