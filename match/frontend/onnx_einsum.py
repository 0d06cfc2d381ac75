"""ONNX's Einsum of two tensors as a product of matrices, where it is one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from match.frontend.onnx_elementwise import Inputs
from match.relay import relay
from match.relay.integer_form import real_sums
from match.relay.rewrite import constant, is_call


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


def einsum(inputs: Inputs, attributes: Any, _params: Any) -> relay.Expr:
    """Einsum; what is no product of two matrices is TVM's own operator."""
    equation = attributes["equation"].decode().replace(" ", "")
    letters = _letters(equation) if len(inputs) == 2 else None
    if letters is None or not letters.is_product:
        return relay.einsum(tuple(inputs), equation)
    left, right = (x for x in inputs if x is not None)
    if _is_constant(left):  # weights come second
        left, right, letters = right, left, _Letters(letters.right, letters.left, letters.result)
    extents = {
        axis: extent
        for axes, x in ((letters.left, left), (letters.right, right))
        for axis, extent in zip(axes, relay.transform.InferTypeLocal(x).shape, strict=True)
    }
    sizes: Mapping[str, int] = {axis: int(extent) for axis, extent in extents.items()}
    count, rows, columns, summed = (
        math.prod(sizes[axis] for axis in axes)
        for axes in (letters.batch, letters.rows, letters.columns, letters.summed)
    )
    order = letters.batch + letters.columns + letters.summed
    a = _moved(left, letters.left, letters.batch + letters.rows + letters.summed)
    if _is_constant(right) and not letters.batch:
        product = relay.nn.dense(relay.reshape(a, (rows, summed)), _weights(right, letters.right, order, columns))
    else:
        b = relay.reshape(_moved(right, letters.right, order), (count, columns, summed))
        product = relay.nn.batch_matmul(relay.reshape(a, (count, rows, summed)), b)
    order = letters.batch + letters.rows + letters.columns
    product = real_sums(product)  # onnxruntime has no kernel in integers
    return _moved(relay.reshape(product, [sizes[axis] for axis in order]), order, letters.result)


def _letters(equation: str) -> _Letters | None:
    """The axes that an equation names; without an arrow the result has those that stand once, in alphabetical order."""
    operands, arrow, result = equation.partition("->")
    left, _, right = operands.partition(",")
    if not arrow:
        result = "".join(sorted(one for one in left + right if (left + right).count(one) == 1))
    return None if "." in equation else _Letters(left, right, result)


def _is_constant(x: relay.Expr) -> bool:
    """Whether a tensor is a constant, which may be dequantized."""
    return isinstance(x.args[0] if is_call(x, "qnn.dequantize") else x, relay.Constant)


def _moved(x: relay.Expr, axes: str, order: str) -> relay.Expr:
    """A tensor with its axes in an order."""
    return relay.transpose(x, [axes.index(axis) for axis in order]) if axes != order else x


def _weights(x: relay.Expr, axes: str, order: str, columns: int) -> relay.Expr:
    """A constant as a matrix with a row for each column of the product.

    Of a dequantized one the integers are moved, unless they have scales along an axis that is not the rows'.
    """
    values = constant(x.args[0]) if is_call(x, "qnn.dequantize") else None
    if values is None or not isinstance(x, relay.Call):
        return relay.reshape(_moved(x, axes, order), (columns, -1))
    scales, own = constant(x.args[1]), axes[int(x.attrs.axis) % values.ndim]
    if scales is None or (scales.size > 1 and (order[0] != own or scales.size != columns)):
        return relay.reshape(_moved(x, axes, order), (columns, -1))
    matrix = values.transpose([axes.index(axis) for axis in order]).reshape(columns, -1)
    return relay.qnn.op.dequantize(relay.const(np.ascontiguousarray(matrix)), x.args[1], x.args[2], 0)
