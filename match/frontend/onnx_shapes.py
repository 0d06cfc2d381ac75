"""Constants that do not fit the tensors beside them, and shapes that are none, of which ONNX's inference says nothing.

Of tensors without a known shape nothing is known here, and of extents that are left open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from match.errors import ModelError
from match.frontend.onnx_graph import Array, attribute_of, read_constants

_Shape = tuple[int, ...]

_FILTERS = MappingProxyType({"Conv": (1, 2), "ConvTranspose": (1, 2), "QLinearConv": (3, 8)})
"""Where operators have their filters and biases."""

_GATES = MappingProxyType({"GRU": 3, "LSTM": 4, "RNN": 1})
"""Rows of weights for each element of a state."""

_AT_POINTS = "GatherND", "ScatterND"
_ALONG_AN_AXIS = "Gather", "GatherElements", "ScatterElements"
"""Operators whose second input has indices of the first one's elements."""


def check_shapes(inferred: Any, path: object) -> None:
    """Refuse what does not fit, in a model with the shapes that ONNX infers.

    Raises:
        ModelError: there is an axis that a tensor lacks, weights or indices for another tensor, or a negative extent.
    """
    graph = inferred.graph
    values = (*graph.input, *graph.value_info, *graph.output)
    kinds = {value.name: value.type.tensor_type for value in values if value.type.tensor_type.HasField("shape")}
    constants = read_constants(graph)
    shapes = {name: tuple(dim.dim_value for dim in kind.shape.dim) for name, kind in kinds.items()}
    shapes |= {name: array.shape for name, array in constants.items()}
    for position, node in enumerate(graph.node):
        for fault in _faults(_Node(node, shapes, constants)):
            what = f"{node.op_type} ({node.name or f'number {position}'})"
            raise ModelError(f"{path} has {what} {fault}")


@dataclass(frozen=True)
class _Node:
    """An operator, with the shapes and the constants that are known, by name."""

    proto: Any
    shapes: Mapping[str, _Shape]
    constants: Mapping[str, Array]

    def name(self, place: int) -> str:
        """An input's name; none of an input that is left out."""
        return self.proto.input[place] if place < len(self.proto.input) else ""

    def shape(self, place: int) -> _Shape:
        """An input's shape, with 0 for open extents; () where it is not known."""
        return self.shapes.get(self.name(place), ())

    def constant(self, place: int) -> Array | None:
        """An input's elements; None of other inputs."""
        return self.constants.get(self.name(place))


def _faults(node: _Node) -> Iterator[str]:
    """What does not fit an operator."""
    yield from _axis(node)
    yield from _filters(node)
    yield from _recurrent(node)
    yield from _indices(node)
    yield from _updates(node)
    for output in node.proto.output:
        extents = node.shapes.get(output, ())
        if any(extent < 0 for extent in extents):
            yield f"whose output would have the shape {extents}, with negative extents; export it again"


def _axis(node: _Node) -> Iterator[str]:
    """An axis that its input does not have."""
    extents, axis = node.shape(0), None
    if node.proto.op_type == "LpNormalization":
        axis = attribute_of(node.proto, "axis", -1)
    elif node.proto.op_type in ("GatherElements", "ScatterElements"):
        axis = attribute_of(node.proto, "axis", 0)
    elif node.proto.op_type == "CumSum" and (given := node.constant(1)) is not None:
        axis = int(given.reshape(-1)[0])
    rank = len(extents)
    if axis is not None and rank and not -rank <= axis < rank:
        yield (
            f"along axis {axis} of a tensor with {rank} axes; choose one from {-rank} to {rank - 1}, or export it again"
        )


def _filters(node: _Node) -> Iterator[str]:
    """Filters for other channels than the input's, and a bias for other outputs than the filters'."""
    if node.proto.op_type not in _FILTERS:
        return
    places = _FILTERS[node.proto.op_type]
    x, filters, bias = (node.shape(place) for place in (0, *places))
    if min(len(x), len(filters)) < 3 or not all((*x[1:2], *filters)):
        return
    groups: int = attribute_of(node.proto, "group", 1)
    transposed = node.proto.op_type == "ConvTranspose"
    wanted, found = (x[1], filters[0]) if transposed else (x[1] // groups, filters[1])
    if x[1] % groups or filters[0] % groups or found != wanted:
        apart = f" in {groups} groups" if groups > 1 else ""
        yield f"with filters of shape {filters} for {x[1]} channels{apart}, which do not fit; export it again"
    outputs = filters[1] * groups if transposed else filters[0]
    yield from _other("a bias", bias, (outputs,))


def _recurrent(node: _Node) -> Iterator[str]:
    """Weights for other inputs or states."""
    gates, x, first = _GATES.get(node.proto.op_type), node.shape(0), node.shape(2)
    if gates is None or not x or not first:
        return
    size: int = attribute_of(node.proto, "hidden_size", first[-1])
    directions = 2 if attribute_of(node.proto, "direction", b"forward") == b"bidirectional" else 1
    rows = directions, gates * size
    yield from _other("weights of inputs", node.shape(1), (*rows, x[-1]))
    yield from _other("weights of states", node.shape(2), (*rows, size))
    yield from _other("a bias", node.shape(3), (directions, 2 * gates * size))


def _other(what: str, found: _Shape, wanted: _Shape) -> Iterator[str]:
    """Constants whose shape is known and is another one than is wanted."""
    if found and all((*found, *wanted)) and found != wanted:
        yield f"with {what} of shape {found}, where {wanted} fits its other inputs; export it again"


def _indices(node: _Node) -> Iterator[str]:
    """Constant indices of elements that its input does not have."""
    kind, extents, indices = node.proto.op_type, node.shape(0), node.constant(1)
    if kind not in (*_AT_POINTS, *_ALONG_AN_AXIS) or not extents or indices is None or not indices.size:
        return
    if kind in _AT_POINTS:
        first: int = attribute_of(node.proto, "batch_dims", 0)
        limits = [*zip(range(first, len(extents)), indices.reshape(-1, indices.shape[-1]).T, strict=False)]
    else:
        axis: int = attribute_of(node.proto, "axis", 0)
        limits = [(axis, indices)] if -len(extents) <= axis < len(extents) else []
    for axis, places in limits:
        extent = extents[axis]
        wrong = [int(place) for place in places.reshape(-1) if not -extent <= place < extent]
        if extent and wrong:
            yield f"with the index {wrong[0]} along an axis of {extent} elements; export it again"


def _updates(node: _Node) -> Iterator[str]:
    """Elements that replace others, of another shape than their indices say."""
    kind, extents, indices = node.proto.op_type, node.shape(0), node.shape(1)
    if kind == "ScatterElements":
        yield from _other("updates", node.shape(2), indices)
    elif kind == "ScatterND" and extents and indices:
        yield from _other("updates", node.shape(2), (*indices[:-1], *extents[indices[-1] :]))
