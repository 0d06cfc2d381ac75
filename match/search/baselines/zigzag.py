"""ZigZag's LOMA on one layer and one level of scratchpad, through the objects of zigzag-dse.

The chip is two memories above a single multiplier: the scratchpad, with a memory of its own for each private operand,
and one without limit that holds the layer. Dimensions that tiles have whole are unrolled on the multiplier, and so are
the smallest tiles of those that have a granularity. What is left is LOMA's: it cuts the temporal loops into prime
factors, tries their orders, and in each lets every operand keep as many of the inner loops in the scratchpad as move
least.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from zigzag.datatypes import LayerDim, LayerOperand, MemoryOperand
from zigzag.hardware.architecture.accelerator import Accelerator
from zigzag.hardware.architecture.memory_hierarchy import MemoryHierarchy
from zigzag.hardware.architecture.memory_instance import MemoryInstance
from zigzag.hardware.architecture.memory_level import ServedMemDimensions
from zigzag.hardware.architecture.memory_port import DataDirection, MemoryPort, MemoryPortType, PortAllocation
from zigzag.hardware.architecture.operational_array import OperationalArray
from zigzag.hardware.architecture.operational_unit import Multiplier
from zigzag.mapping.spatial_mapping import SpatialMapping, SpatialMappingHint
from zigzag.mapping.spatial_mapping_internal import SpatialMappingInternal
from zigzag.mapping.temporal_mapping import TemporalMapping, TemporalMappingType
from zigzag.opt.loma.engine import LomaEngine, NoValidLoopOrderingFoundException
from zigzag.workload.layer_attributes import (
    LayerDimRelation,
    LayerDimSizes,
    LayerEquation,
    LayerOperandPrecision,
    LayerPadding,
    LayerTemporalOrdering,
    MemoryOperandLinks,
)
from zigzag.workload.layer_node import LayerNode, LayerNodeAttributes, MappingAttributes

from match.ir.layer import Dim, Layer, Operand, Role
from match.mapping.memory import block_bytes

UNITS = 1024
"""ZigZag takes whole numbers for the sizes of elements and memories: all of ours are given in parts of a byte."""

UNLIMITED = 1 << 60
"""Size of the memory that holds the layer."""

PORT = "rw_port_1"
PORT_BITS = 64
"""ZigZag wants a port for each memory; LOMA does not look at it."""

WINDOWED = {Dim.OY: ("IY", Dim.FY), Dim.OX: ("IX", Dim.FX)}
"""The input's dimension that follows an output's, and the filter's dimension it depends on, too."""


class Nesting(NamedTuple):
    """One mapping of LOMA.

    loops: the temporal loops, (dimension, factor), outermost first.
    outside: of each operand, how many of them lie above its scratchpad.
    """

    loops: tuple[tuple[Dim, int], ...]
    outside: tuple[int, ...]


class Rooms(NamedTuple):
    """Bytes that LOMA may fill: of the shared scratchpad, and of the memories of operands that have their own."""

    shared: int
    private: Mapping[str, int]


class _Tensor(NamedTuple):
    """Operands that LOMA may keep as one, because they depend on the same loops and share a memory."""

    name: str
    operands: tuple[Operand, ...]
    room: str

    @property
    def like(self) -> Operand:
        return self.operands[0]


def nestings(
    layer: Layer,
    operands: tuple[Operand, ...],
    unrolled: Mapping[Dim, int],
    rooms: Rooms,
    double_buffering: bool,
    lpf_limit: int,
) -> Iterator[Nesting]:
    """LOMA's mappings, none if it finds none.

    Args:
        layer: what to compute.
        operands: its tensors. Two that depend on the same loops are one to LOMA, as long as both; those that depend on
            none (a table, the parameters of an addition) only take bytes.
        unrolled: the part of each dimension that every tile has.
        rooms: bytes to fill.
        double_buffering: whether LOMA counts a block that is not the whole operand twice.
        lpf_limit: at most this many loop prime factors; LOMA multiplies the smallest until there are no more.
    """
    tensors = _tensors(operands, rooms)
    accelerator = _accelerator(tensors, _without_fixed(layer, operands, rooms), double_buffering)
    if accelerator is None:
        return
    node = _node(layer, tensors)
    engine = LomaEngine(
        accelerator=accelerator,
        layer=node,
        spatial_mapping=_unrolling(unrolled, tensors, node),
        mapping_type=TemporalMappingType.UNEVEN,
        loma_lpf_limit=lpf_limit,
    )
    try:
        for mapping in engine.run():
            yield _nesting(mapping, operands, tensors)
    except NoValidLoopOrderingFoundException:
        return


def _tensors(operands: tuple[Operand, ...], rooms: Rooms) -> tuple[_Tensor, ...]:
    """The operands as LOMA sees them, the output first."""
    alike: dict[tuple[bool, bool, tuple[Dim, ...], str], list[Operand]] = {}
    for operand in operands:
        if operand.dims:
            room = operand.name if operand.name in rooms.private else ""
            image = operand.role is Role.INPUT
            key = (operand.role is not Role.OUTPUT, image, tuple(sorted(operand.dims)), room)
            alike.setdefault(key, []).append(operand)
    ordered = sorted(alike.items(), key=lambda entry: entry[0])
    return tuple(
        _Tensor(f"I{number}" if number else "O", tuple(together), key[-1])
        for number, (key, together) in enumerate(ordered)
    )


def _without_fixed(layer: Layer, operands: tuple[Operand, ...], rooms: Rooms) -> Rooms:
    """The rooms without the bytes of operands that depend on no loop."""
    shared, private = rooms.shared, dict(rooms.private)
    for operand in operands:
        if not operand.dims:
            size = block_bytes(operand, layer.extents, 1)
            if operand.name in private:
                private[operand.name] -= size
            else:
                shared -= size
    return Rooms(shared, private)


def _node(layer: Layer, tensors: tuple[_Tensor, ...]) -> LayerNode:
    """The layer as loops over tensors; ZigZag accepts two or more."""
    output, *inputs = (f"{tensor.name} {_indices(tensor.like)}" for tensor in tensors)
    return LayerNode(
        layer_id=0,
        node_name=layer.name,
        node_attr=LayerNodeAttributes(
            layer_type=layer.op,
            equation=LayerEquation(f"{output} = {' * '.join(inputs)}"),
            layer_dim_sizes=LayerDimSizes({LayerDim(dim): extent for dim, extent in layer.extents.items()}),
            operand_precision=LayerOperandPrecision(
                {LayerOperand(tensor.name): _precision(layer, tensor) for tensor in tensors}
            ),
            dimension_relations=[
                LayerDimRelation(LayerDim(image), LayerDim(out), LayerDim(inner), stride, dilation)
                for (out, (image, inner)), stride, dilation in zip(
                    WINDOWED.items(), layer.stride, layer.dilation, strict=True
                )
            ],
            padding=LayerPadding.empty(),
            constant_operands=[LayerOperand(tensor.name) for tensor in tensors if tensor.like.role is Role.CONSTANT],
            input_operand_source={},
            pr_layer_dim_sizes=LayerDimSizes({LayerDim("IY"): layer.iy, LayerDim("IX"): layer.ix}),
        ),
        mapping_attr=MappingAttributes(
            spatial_mapping=SpatialMapping({}),
            spatial_mapping_hint=SpatialMappingHint({}),
            memory_operand_links=MemoryOperandLinks(
                {LayerOperand(tensor.name): MemoryOperand(tensor.name) for tensor in tensors}
            ),
            temporal_ordering=LayerTemporalOrdering.empty(),
        ),
    )


def _indices(operand: Operand) -> str:
    """The tensor's indices in ZigZag's notation; input pixels follow output and filter pixels."""
    dims = [dim for dim in Dim if dim in operand.dims]
    image = operand.role is Role.INPUT
    return "".join(f"[{WINDOWED[dim][0] if image and dim in WINDOWED else dim}]".lower() for dim in dims)


def _unrolling(unrolled: Mapping[Dim, int], tensors: tuple[_Tensor, ...], node: LayerNode) -> SpatialMappingInternal:
    """All of it at the multiplier, nothing at the two memories."""
    parts: list[tuple[LayerDim, int | float]] = [(LayerDim(dim), size) for dim, size in unrolled.items() if size > 1]
    return SpatialMappingInternal({LayerOperand(tensor.name): [parts, [], []] for tensor in tensors}, node)


def _precision(layer: Layer, tensor: _Tensor) -> int:
    """Units of an element such that the whole tensor has its real bytes, parameters and layout included."""
    whole = layer.extents
    pixels = {Dim.OY: layer.iy, Dim.OX: layer.ix} if tensor.like.role is Role.INPUT else {}
    elements = math.prod((whole | pixels)[dim] for dim in tensor.like.dims)
    return -(-UNITS * sum(block_bytes(operand, whole, 1) for operand in tensor.operands) // elements)


def _accelerator(tensors: tuple[_Tensor, ...], rooms: Rooms, double_buffering: bool) -> Accelerator | None:
    """The module's memories above a multiplier; none if one of them has no bytes left."""
    array = OperationalArray(Multiplier(0, 0), {})
    hierarchy = MemoryHierarchy(array)
    for room, size in {"": rooms.shared, **rooms.private}.items():
        held = [tensor for tensor in tensors if tensor.room == room]
        if held and size <= 0:
            return None
        if held:
            _add(hierarchy, held, UNITS * size, double_buffering)
    _add(hierarchy, tensors, UNLIMITED, double_buffering=False)
    return Accelerator(0, "module", array, hierarchy)


def _add(hierarchy: MemoryHierarchy, tensors: Sequence[_Tensor], size: int, double_buffering: bool) -> None:
    held = [MemoryOperand(tensor.name) for tensor in tensors]
    port = MemoryPort(PORT, MemoryPortType.READ_WRITE, PORT_BITS, PORT_BITS)
    hierarchy.add_memory(
        MemoryInstance("memory", size, ports=(port,), force_double_buffering=double_buffering),
        held,
        PortAllocation({operand: dict.fromkeys(DataDirection, PORT) for operand in held}),
        ServedMemDimensions(set()),
    )


def _nesting(mapping: TemporalMapping, operands: tuple[Operand, ...], tensors: tuple[_Tensor, ...]) -> Nesting:
    """ZigZag lists a tensor's loops by memory, innermost first; all tensors have the same loops in the same order."""
    levels = {tensor.name: mapping.mapping_dic_origin[LayerOperand(tensor.name)] for tensor in tensors}
    ordered = [(Dim(dim.name), int(factor)) for level in levels["O"] for dim, factor in level]
    above = {operand.name: len(levels[tensor.name][-1]) for tensor in tensors for operand in tensor.operands}
    return Nesting(tuple(reversed(ordered)), tuple(above.get(operand.name, 0) for operand in operands))
