"""Tensors of an integer network as those of the graph, and what nodes read of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from match.errors import ModelError
from match.frontend.onnx_graph import Array, Node
from match.graph.make import arithmetic, cast, constant
from match.graph.value import Value

SIGNED, UNSIGNED = (-128, 127), (0, 255)
WIDE = "int64"
"""The type of integers on their way back to 8 bits."""

_MOST = 1 << 26
"""The most elements that a tensor may have: a larger one is a mistake in the file, and would fill the memory."""


@dataclass(frozen=True, eq=False)
class Integers:
    """A tensor (N, C, H, W) or (N, C) of 8 bits or `WIDE`, whose division by `divisor` is still to be rounded.

    mean_of: the type of 8 bits that it is an average of, and so fits once it is rounded; empty for other tensors.
    """

    value: Value
    divisor: int = 1
    mean_of: str = ""

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents."""
        return self.value.shape

    @property
    def is_wide(self) -> bool:
        """Whether nothing has brought it back to 8 bits yet."""
        return self.value.dtype == WIDE


class IntegerReader:
    """Operands of nodes: tensors computed so far, `values`, and constants.

    All methods raise ModelError where the network has something else than what is asked for.
    """

    def __init__(self, constants: Mapping[str, Array], path: Path) -> None:
        self.values: dict[str, Integers] = {}
        self.path = path
        self._constants = constants

    def error(self, node: Node, problem: str) -> ModelError:
        """What is wrong with a node, as the end of the sentence '... has <node>, which'."""
        return ModelError(f"{self.path} has {node.what}, which {problem}")

    def check_size(self, node: Node, shape: Sequence[int]) -> None:
        """Refuse what no target holds."""
        if math.prod(shape) > _MOST:
            raise self.error(node, f"has a tensor of shape {list(shape)}, which no target holds; correct the model")

    def tensor(self, node: Node, position: int = 0) -> Integers:
        """An operand that is no constant."""
        name = node.inputs[position] if position < len(node.inputs) else ""
        if name in self._constants:
            raise self.error(node, "computes a constant; fold it when exporting the model")
        if name not in self.values:
            raise self.error(node, f"reads {name!r}, which nothing computes; export the model again")
        self.check_size(node, self.values[name].shape)
        return self.values[name]

    def attribute(self, node: Node, name: str) -> Any:
        """An attribute that must be there."""
        if name not in node.attributes:
            raise self.error(node, f"has no attribute {name!r}; export the model again")
        return node.attributes[name]

    def narrow(self, node: Node) -> Value:
        """The node's first operand, of 8 bits."""
        x = settled(self.tensor(node))
        if x.dtype == WIDE:
            raise self.error(node, "reads sums that nothing has brought back to 8 bits; requantize them first")
        return x

    def map(self, node: Node) -> Value:
        """The node's first operand, a map (N, C, H, W) of 8 bits."""
        x = self.narrow(node)
        if len(x.shape) != 4:
            raise self.error(node, "is not two-dimensional; only operators on maps are supported")
        return x

    def wide(self, node: Node, position: int = 0) -> Integers:
        """An operand as `WIDE`, for arithmetic."""
        x = self.tensor(node, position)
        return replace(x, value=cast(x.value, WIDE), mean_of="")

    def constant(self, node: Node, position: int) -> Array | None:
        """An operand's array, None if it is no constant."""
        return self._constants.get(node.inputs[position]) if position < len(node.inputs) else None

    def number(self, node: Node, name: str) -> int:
        """The integer that an attribute holds, which may be a tensor of one element."""
        array = np.asarray(self.attribute(node, name))
        if array.size != 1:
            raise self.error(node, f"has no single number in the attribute {name!r}; export the model again")
        return int(self.integers(node, array).item())

    def integers(self, node: Node, array: Array, times: int = 1) -> Array:
        """A constant as int64, multiplied by a number."""
        numbers = array.astype(np.float64) * times if array.dtype.kind in "biuf" else np.array(np.nan)
        if not np.array_equal(np.rint(numbers), numbers) or np.any(np.abs(numbers) >= 2.0**62):
            raise self.error(node, "has a constant that is no integer; export the integer network")
        return numbers.astype(np.int64) if array.dtype.kind == "f" else array.astype(np.int64) * times

    def parameter(self, node: Node, array: Array, like: Value, times: int = 1) -> Value:
        """An integer constant that is broadcast, multiplied by a number: one number, or one for each channel."""
        values, rank = self.integers(node, array, times), len(like.shape)
        if values.size == 1:
            return wide_constant(values.item())
        if rank < 2 or not values.size == like.shape[1] == max(values.shape):
            raise self.error(node, f"has a constant of shape {list(array.shape)}, not one number or one per channel")
        return wide_constant(values.reshape(-1, *[1] * (rank - 2)))

    def weights(self, node: Node) -> Array:
        """The second operand as int8; unsigned bytes are the same bits."""
        array = self.constant(node, 1)
        if array is None:
            raise self.error(node, "multiplies two tensors; only constant weights are supported")
        if array.dtype == np.uint8:
            return array.view(np.int8)
        values = self.integers(node, array)
        if values.size and (values.min() < SIGNED[0] or values.max() > SIGNED[1]):
            raise self.error(node, "has weights that 8 bits do not hold; quantize it to 8 bits or fewer")
        return values.astype(np.int8)


def rounded(x: Integers) -> Value:
    """The tensor with an outstanding division carried out, rounded down."""
    shift = x.divisor.bit_length() - 1
    if not shift:
        return x.value
    if x.divisor == 1 << shift:
        return arithmetic("right_shift", x.value, wide_constant(shift))
    return arithmetic("floor_divide", x.value, wide_constant(x.divisor))


def settled(x: Integers) -> Value:
    """The tensor with an outstanding division carried out; a mean in the type of 8 bits that it is of."""
    return cast(rounded(x), x.mean_of) if x.mean_of else rounded(x)


def wide_constant(numbers: Any) -> Value:
    """A constant of the type `WIDE`."""
    return constant(numbers, WIDE)
