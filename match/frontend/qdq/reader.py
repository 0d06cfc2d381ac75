"""What the readers of operators read of an ONNX graph, and the tensors that were computed so far."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy as np
import onnx

from match.arithmetic.interface import QuantizedType
from match.frontend.onnx_graph import Array, attribute_of, read_constants
from match.graph.constants import numbers_of
from match.graph.make import array_of, constant
from match.graph.value import Value


class Unread(Exception):  # noqa: N818 - it is no error: another reader takes the operator
    """An operator that is not read as one of the graph's."""


class Refused(Exception):  # noqa: N818 - the file's path, which the error names, is not known here
    """An operator that nothing can compile; the text says with what, after the operator's name."""


class QdqReader:
    """Tensors as those of the graph, and sequences of tensors, by their names.

    All methods raise Unread where the network has something else than what is asked for.
    """

    def __init__(self, graph: Any, opset: int, floating: Collection[str], read: Read) -> None:
        """`read` makes what an operator computes."""
        self.opset = opset
        self.values: dict[str, Value] = {name: constant(array) for name, array in read_constants(graph).items()}
        self.sequences: dict[str, tuple[Value, ...]] = {}
        self._floating, self._read = floating, read

    def value(self, name: str) -> Value:
        """A tensor."""
        if name not in self.values:
            raise Unread
        return self.values[name]

    def input(self, node: Any, place: int = 0) -> Value:
        """An input of an operator."""
        if not self.has(node, place):
            raise Unread
        return self.value(node.input[place])

    def has(self, node: Any, place: int) -> bool:
        """Whether an operator has an input: those that are left out have no name."""
        return place < len(node.input) and bool(node.input[place])

    def array(self, node: Any, place: int) -> Array:
        """An input that is a constant."""
        array = array_of(self.input(node, place))
        if array is None:
            raise Unread
        return array

    def numbers(self, node: Any, place: int) -> Array:
        """A constant input, which integers may stand for, as the numbers that the reference computes with."""
        numbers = numbers_of(self.input(node, place))
        if numbers is None:
            raise Unread
        return numbers

    def integers(self, node: Any, name: str, place: int, default: list[int] | None = None) -> list[int]:
        """Numbers that are an attribute of an operator in early versions of ONNX and an input of it in later ones."""
        given: list[int] | None = attribute_of(node, name, None)
        if given is None and self.has(node, place):
            given = [int(number) for number in self.array(node, place).reshape(-1)]
        if given is None:
            given = default
        if given is None:
            raise Unread
        return given

    def quantization(self, node: Any, place: int, dtype: str) -> QuantizedType:
        """The scale at a place, and the zero point after it, of a tensor of 8 bits that has one of each."""
        scale = self.array(node, place)
        zero = self.array(node, place + 1) if self.has(node, place + 1) else None
        if scale.size != 1 or (zero is not None and zero.size != 1) or dtype not in ("int8", "uint8"):
            raise Unread
        return QuantizedType(np.float32(scale.item()), 0 if zero is None else int(zero.item()), dtype)

    def is_exact(self, node: Any) -> bool:
        """Whether onnxruntime computes an operator in integers, where integers stand around it."""
        return node.output[0] not in self._floating

    def made(self, kind: str, inputs: Sequence[Value], attributes: Iterable[Any] = ()) -> Value:
        """What one of ONNX's operators makes of tensors."""
        names = [f"{kind} {len(self.values) + place}" for place in range(len(inputs) + 1)]
        self.values.update(zip(names, inputs, strict=False))
        node = onnx.helper.make_node(kind, names[:-1], names[-1:])
        node.attribute.extend(attributes)
        return self._read(self, node)[0]


Made = Value | tuple[Value, ...]
Handler = Callable[[QdqReader, Any], Made]
"""Makes what an operator computes of what it reads, or a tuple of all that."""

Read = Callable[[QdqReader, Any], tuple[Value, ...]]
"""Makes all that any operator computes."""
