"""Tensors of an integer network on their way into Relay, and what nodes read of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from match.errors import ModelError
from match.frontend.onnx_graph import Array, Node
from match.relay import relay

SIGNED, UNSIGNED = (-128, 127), (0, 255)


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor, NCHW or (N, C), of 8 bits or, on the way there, int64; `divisor` is a division whose rounding follows.

    `mean_of` is the type of 8 bits that it is an average of, and so fits once it is rounded; empty for other values.
    """

    expr: relay.Expr
    shape: tuple[int, ...]
    dtype: str = "int64"
    divisor: int = 1
    mean_of: str = ""


class OnnxReader:
    """Operands of nodes: tensors computed so far, `values`, and constants.

    All methods raise ModelError where the network has something else than what is asked for.
    """

    def __init__(self, constants: Mapping[str, Array], path: Path) -> None:
        self.values: dict[str, Value] = {}
        self.path = path
        self._constants = constants

    def error(self, node: Node, problem: str) -> ModelError:
        """What is wrong with a node, as the end of the sentence '... has <node>, which'."""
        return ModelError(f"{self.path} has {node.what}, which {problem}")

    def tensor(self, node: Node, position: int = 0) -> Value:
        """An operand that is no constant."""
        name = node.inputs[position] if position < len(node.inputs) else ""
        if name in self._constants:
            raise self.error(node, "computes a constant; fold it when exporting the model")
        if name not in self.values:
            raise self.error(node, f"reads {name!r}, which nothing computes; export the model again")
        return self.values[name]

    def attribute(self, node: Node, name: str) -> Any:
        """An attribute that must be there."""
        if name not in node.attributes:
            raise self.error(node, f"has no attribute {name!r}; export the model again")
        return node.attributes[name]

    def narrow(self, node: Node) -> Value:
        """The node's first operand, of 8 bits."""
        value = settled(self.tensor(node))
        if value.dtype == "int64":
            raise self.error(node, "reads sums that nothing has brought back to 8 bits; requantize them first")
        return value

    def wide(self, node: Node, position: int = 0) -> Value:
        """An operand as int64, for arithmetic."""
        value = replace(self.tensor(node, position), mean_of="")
        return value if value.dtype == "int64" else replace(value, expr=relay.cast(value.expr, "int64"), dtype="int64")

    def constant(self, node: Node, position: int) -> Array | None:
        """An operand's array, None if it is no constant."""
        return self._constants.get(node.inputs[position]) if position < len(node.inputs) else None

    def number(self, node: Node, name: str) -> int:
        """The integer that an attribute holds, which may be a tensor of one element."""
        array = np.asarray(self.attribute(node, name))
        if array.size != 1:
            raise self.error(node, f"has no single number in the attribute {name!r}; export the model again")
        return int(self.integers(node, array).item())

    def integers(self, node: Node, array: Array) -> Array:
        """A constant as int64."""
        whole = np.rint(array.astype(np.float64)) if array.dtype.kind in "biuf" else np.array(np.nan)
        if not np.array_equal(whole, array) or np.any(np.abs(whole) >= 2.0**62):
            raise self.error(node, "has a constant that is no integer; export the integer network")
        return whole.astype(np.int64)

    def parameter(self, node: Node, array: Array, like: Value) -> relay.Expr:
        """An integer constant that is broadcast: one number, or one for each channel."""
        values = self.integers(node, array)
        channels = like.shape[1]
        per_channel = values.size == channels == max(values.shape, default=1)
        if values.size == 1:
            return int64(int(values.reshape(-1)[0]))
        if not per_channel:
            raise self.error(node, f"has a constant of shape {list(array.shape)}, not one number or one per channel")
        return int64(values.reshape(channels, *[1] * (len(like.shape) - 2)))

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


def rounded(value: Value) -> Value:
    """The value with an outstanding division carried out, rounded down."""
    if value.divisor == 1:
        return value
    shift = value.divisor.bit_length() - 1
    if value.divisor == 1 << shift:
        expr = relay.right_shift(value.expr, int64(shift))
    else:
        expr = relay.floor_divide(value.expr, int64(value.divisor))
    return replace(value, expr=expr, divisor=1)


def settled(value: Value) -> Value:
    """The value with an outstanding division carried out; a mean in the type of 8 bits that it is of."""
    value = rounded(value)
    if not value.mean_of:
        return value
    return replace(value, expr=relay.cast(value.expr, value.mean_of), dtype=value.mean_of, mean_of="")


def int64(values: Any) -> relay.Expr:
    """An int64 constant."""
    return relay.const(np.asarray(values, np.int64), dtype="int64")
