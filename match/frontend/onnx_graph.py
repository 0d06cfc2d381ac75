"""ONNX nodes as typed values: attributes by name, constants as arrays."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper

from match.errors import ModelError

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Node:
    """One operator of a graph.

    name: empty where it has none. domain: "" for ONNX's own operators. what: it as errors call it. inputs: one that is
    left out is called "".
    """

    op: str
    name: str
    domain: str
    what: str
    inputs: tuple[str, ...]
    output: str
    attributes: Mapping[str, Any]

    def check_attributes(self, known: Collection[str], path: object) -> None:
        """Refuse what would otherwise be dropped.

        Raises:
            ModelError: the node has an attribute that is not among `known`.
        """
        unknown = sorted(set(self.attributes) - set(known))
        if unknown:
            raise ModelError(
                f"{path} has {self.what} with the attribute {unknown[0]!r}, whose meaning is unknown; remove it or "
                "export the model without it"
            )


def read_nodes(graph: Any, path: object) -> tuple[Node, ...]:
    """The operators in execution order, those that only hold a constant left out.

    Raises:
        ModelError: an operator has several outputs.
    """
    nodes: list[Node] = []
    for position, node in enumerate(graph.node):
        if node.op_type == "Constant":
            continue
        what = f"{node.op_type} ({node.name or f'number {position}'})"
        outputs = [name for name in node.output if name]
        if len(outputs) != 1:
            raise ModelError(f"{path} has {what} with {len(outputs)} outputs; only operators with one are supported")
        attributes = {attribute.name: _value(attribute) for attribute in node.attribute}
        nodes.append(Node(node.op_type, node.name, node.domain, what, tuple(node.input), outputs[0], attributes))
    return tuple(nodes)


def read_constants(graph: Any) -> dict[str, Array]:
    """Arrays by name: initializers and what Constant operators hold."""
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant":
            constants[node.output[0]] = np.asarray(_value(node.attribute[0]))
    return constants


def type_name(kind: int) -> str:
    """What ONNX calls a type of numbers, in lower case; the number itself where it has no such type."""
    known = kind in onnx.TensorProto.DataType.values()
    return onnx.TensorProto.DataType.Name(kind).lower() if known else f"number {kind}"


def opset_of(model: onnx.ModelProto) -> int:
    """The version of ONNX's own operators that a model uses."""
    return next((opset.version for opset in model.opset_import if opset.domain in ("", "ai.onnx")), 1)


def attribute_of(node: Any, name: str, default: Any) -> Any:
    """The value of an operator's attribute, or a default where it has none."""
    return next((onnx.helper.get_attribute_value(each) for each in node.attribute if each.name == name), default)


def read_by(nodes: Iterable[Any]) -> Iterator[str]:
    """The names of tensors that operators read, those in branches and loops included."""
    for node in nodes:
        yield from node.input
        yield from read_inside(node)


def read_inside(node: Any) -> Iterator[str]:
    """Those that branches and loops of an operator read and hand out."""
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            yield from read_by(graph.node)
            yield from (output.name for output in graph.output)


def with_fields(model: Any, **fields: Iterable[Any]) -> Any:
    """A copy of an `onnx.ModelProto` with other values in fields of its graph (node, initializer, ...)."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for field, values in fields.items():
        copy.graph.ClearField(field)
        getattr(copy.graph, field).extend(values)
    return copy


def _value(attribute: Any) -> Any:
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    return value.decode() if isinstance(value, bytes) else value


def is_integer_dialect(graph: Any) -> bool:
    """Whether a graph without quantization operators brings sums back to few bits by itself."""
    operators = {node.op_type for node in graph.node}
    if any(name.startswith("Q") or name == "DequantizeLinear" for name in operators):
        return False
    requantizes = "RequantShift" in operators or {"Div", "Floor", "Clip"} <= operators
    return requantizes and bool(operators & {"Conv", "Gemm", "MatMul"})
