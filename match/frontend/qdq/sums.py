"""Sums of products along named axes, and sums of integers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from match.frontend.onnx_graph import attribute_of
from match.frontend.qdq.reader import Handler, QdqReader, Refused, Unread
from match.graph import volumes
from match.graph.constants import in_order, is_constant, reshaped_constant
from match.graph.make import array_of, reshaped
from match.graph.moves import Move
from match.graph.reals import REAL, RealFunction, RealMatrices, RealProduct
from match.graph.value import Value, computed
from match.quantized.scales import Scales


@dataclass(frozen=True)
class _Letters:
    """The letters of the axes of two tensors and of the result.

    `batch` are axes of all three. `summed` are axes of both tensors, but not of the result. `rows` and `columns` are
    axes of the result and of one tensor.
    """

    left: str
    right: str
    result: str

    @property
    def batch(self) -> str:
        return "".join(one for one in self.result if one in self.left and one in self.right)

    @property
    def summed(self) -> str:
        return "".join(one for one in self.left if one in self.right and one not in self.result)

    @property
    def rows(self) -> str:
        return "".join(one for one in self.result if one not in self.right)

    @property
    def columns(self) -> str:
        return "".join(one for one in self.result if one not in self.left)

    @property
    def is_product(self) -> bool:
        """Whether all axes are of one of these kinds, none twice in a tensor, and something is summed."""
        kinds = self.batch + self.summed
        unique = all(len(set(axes)) == len(axes) for axes in (self.left, self.right, self.result))
        return (
            unique
            and bool(self.summed)
            and set(self.left) == set(kinds + self.rows)
            and set(self.right) == set(kinds + self.columns)
        )


def einsum(read: QdqReader, node: Any) -> Value:
    """Einsum of two tensors, if it is a product of matrices. onnxruntime has no kernel in integers."""
    letters = _letters(attribute_of(node, "equation", b"").decode().replace(" ", ""))
    if len(node.input) != 2 or letters is None or not letters.is_product:
        raise Unread
    left, right = read.input(node), read.input(node, 1)
    if (left.dtype, right.dtype) != (REAL, REAL):
        raise Unread
    if is_constant(left):  # weights come second
        left, right, letters = right, left, _Letters(letters.right, letters.left, letters.result)
    sizes = {**dict(zip(letters.left, left.shape, strict=True)), **dict(zip(letters.right, right.shape, strict=True))}
    count, rows, columns, summed = (
        math.prod(sizes[axis] for axis in axes)
        for axes in (letters.batch, letters.rows, letters.columns, letters.summed)
    )
    a = _ordered(left, letters.left, letters.batch + letters.rows + letters.summed)
    if is_constant(right) and not letters.batch:
        matrix = _ordered(right, letters.right, letters.summed + letters.columns)
        weights = reshaped_constant(matrix, (summed, columns))
        product = computed(RealProduct(), reshaped(a, (rows, summed)), weights, exact=False)
    else:
        b = reshaped(
            _ordered(right, letters.right, letters.batch + letters.columns + letters.summed), (count, columns, summed)
        )
        product = computed(RealMatrices(), reshaped(a, (count, rows, summed)), b, exact=False)
    order = letters.batch + letters.rows + letters.columns
    return _ordered(reshaped(product, [sizes[axis] for axis in order]), order, letters.result)


def matrices(read: QdqReader, node: Any) -> Value:
    """MatMulInteger: sums of 32 bits."""
    x, weights = read.input(node), read.input(node, 1)
    own, other = _steps(read, node, 2, x, 0), _steps(read, node, 3, weights, len(weights.shape) - 1)
    if own.zero_points.size != 1:
        raise Refused("with other zero points for its rows")
    if array_of(weights) is None or len(weights.shape) != 2:
        return read.made("MatMul", [own.steps(x), other.steps(weights)])
    return _whole(read.made("MatMul", [own.dequantized(x), other.dequantized(weights)]))


def convolution(read: QdqReader, node: Any) -> Value:
    """ConvInteger: sums of 32 bits."""
    x, filters = read.input(node), read.input(node, 1)
    if len(x.shape) == volumes.RANK:
        raise Refused("of volumes")
    own, other = _steps(read, node, 2, x, 1), _steps(read, node, 3, filters, 0)
    if array_of(filters) is None:
        return read.made("Conv", [own.steps(x), other.steps(filters)], node.attribute)
    return _whole(read.made("Conv", [own.dequantized(x), other.dequantized(filters)], node.attribute))


def _steps(read: QdqReader, node: Any, place: int, x: Value, axis: int) -> Scales:
    """Scales of 1, and the zero points at a place."""
    zeros = read.array(node, place).reshape(-1).astype(np.int64) if read.has(node, place) else np.zeros(1, np.int64)
    if zeros.size not in (1, x.shape[axis]):
        raise Refused(f"with {zeros.size} zero points along an axis of {x.shape[axis]}")
    return Scales(np.ones(zeros.size, np.float32), zeros, axis)


def _whole(layer: Value) -> Value:
    """A layer of real numbers that are integers, whose sums are integers, too; they are so in front of moves."""
    if isinstance(layer.operator, Move):
        return computed(layer.operator, _whole(layer.inputs[0]))
    return computed(RealFunction(function="cast", dtype="int32"), layer)


def _letters(equation: str) -> _Letters | None:
    """The axes that an equation names; without an arrow the result has those that stand once, in alphabetical order."""
    operands, arrow, result = equation.partition("->")
    left, _, right = operands.partition(",")
    if not arrow:
        result = "".join(sorted(one for one in left + right if (left + right).count(one) == 1))
    return None if "." in equation else _Letters(left, right, result)


def _ordered(x: Value, axes: str, order: str) -> Value:
    """A tensor with its axes in an order."""
    return in_order(x, [axes.index(axis) for axis in order])


HANDLERS: MappingProxyType[str, Handler] = MappingProxyType(
    {"ConvInteger": convolution, "Einsum": einsum, "MatMulInteger": matrices}
)
