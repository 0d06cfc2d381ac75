"""Operators of TVM's in 64 bits, computed in 32 wherever no number needs more.

A control core of 32 bits takes two or three times as long for an addition, a comparison or a shift of 64 bits. Ranges
are those of the types that are loaded, carried through the operators by interval arithmetic.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from match.relay import tvm

_NARROW, _WIDE, _BITS = "int32", "int64", 32
_SHIFT_RIGHT = "tir.shift_right"


class Range(NamedTuple):
    """Integers from `least` to `most`, both included."""

    least: int
    most: int

    def holds(self, other: Range) -> bool:
        """Whether all of another range is inside."""
        return self.least <= other.least and other.most <= self.most


def narrowed(function: Any) -> Any:
    """The function of the same numbers, in which 64 bits are left where a number may need them.

    A number that needs them not any more, after a shift to the right, say, is narrowed there.
    """
    kinds = ["tir.Add", "tir.Sub", "tir.Mul", "tir.Min", "tir.Max", "tir.Select", "tir.Call", "tir.Cast"]
    body = tvm.tir.stmt_functor.ir_transform(function.body, None, _narrowed, kinds)
    return function.with_body(body)


def _narrowed(node: Any) -> Any:
    """A node whose operands have been narrowed; what is narrow and was not before is widened by a cast around it."""
    if isinstance(node, tvm.tir.Cast):
        return _cast(node)
    if node.dtype != _WIDE or not _limits(_NARROW).holds(_range(node)):
        return None
    operands = [_narrow(operand) for operand in _operands(node)]
    if _is_shift(node) and (operands[0] is None or int(node.args[1]) >= _BITS):
        return tvm.tir.Cast(_WIDE, tvm.tir.Cast(_NARROW, node))
    if any(operand is None for operand in operands):
        return None
    return tvm.tir.Cast(_WIDE, _again(node, operands))


def _cast(node: Any) -> Any:
    """A cast of what is in 32 bits and has been widened: of the narrow number."""
    inner = _narrow(node.value) if node.value.dtype == _WIDE else None
    if node.dtype == _WIDE or inner is None or not node.dtype.startswith(("int", "uint")):
        return None
    return inner if node.dtype == _NARROW else tvm.tir.Cast(node.dtype, inner)


def _narrow(node: Any) -> Any:
    """An integer of 64 bits as one of 32, which it was before it was widened; None if it was none."""
    if isinstance(node, tvm.tir.IntImm):
        return tvm.tir.IntImm(_NARROW, node.value) if _limits(_NARROW).holds(_range(node)) else None
    if not isinstance(node, tvm.tir.Cast) or not _is_integer(node.value.dtype):
        return None
    if not _limits(_NARROW).holds(_limits(node.value.dtype)):
        return None
    return node.value if node.value.dtype == _NARROW else tvm.tir.Cast(_NARROW, node.value)


def _operands(node: Any) -> list[Any]:
    """The numbers that an operator computes with, or chooses from."""
    if isinstance(node, tvm.tir.Select):
        return [node.true_value, node.false_value]
    if isinstance(node, tvm.tir.Call):
        return list(node.args) if _is_shift(node) else [node]  # of others nothing is known
    return [node.a, node.b]


def _again(node: Any, operands: list[Any]) -> Any:
    """The operator on other operands."""
    if isinstance(node, tvm.tir.Select):
        return tvm.tir.Select(node.condition, *operands)
    if isinstance(node, tvm.tir.Call):
        return tvm.tir.Call(_NARROW, node.op, operands)
    return type(node)(*operands)


def _is_shift(node: Any) -> bool:
    """Whether a number is shifted to the right, by as many bits as are written there."""
    found = isinstance(node, tvm.tir.Call) and node.op.name == _SHIFT_RIGHT
    return found and isinstance(node.args[1], tvm.tir.IntImm) and 0 <= int(node.args[1]) < 2 * _BITS


def _is_integer(dtype: str) -> bool:
    return dtype.startswith(("int", "uint")) and "x" not in dtype


def _limits(dtype: str) -> Range:
    """All integers of a type."""
    bits = tvm.DataType(dtype).bits
    return Range(0, (1 << bits) - 1) if dtype.startswith("uint") else Range(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def _range(node: Any) -> Range:
    """The integers that a node can be; all of its type if its own operators could leave that."""
    found = _computed(node)
    limits = _limits(node.dtype)
    return found if found is not None and limits.holds(found) else limits


def _computed(node: Any) -> Range | None:
    """By the ranges of its operands, of unbounded integers; None where nothing is known but the type."""
    match node:
        case tvm.tir.IntImm():
            return Range(int(node), int(node))
        case tvm.tir.Cast() if _is_integer(node.value.dtype):
            return _range(node.value)
        case tvm.tir.Select():
            return _around(_range(node.true_value), _range(node.false_value))
        case tvm.tir.Call() if _is_shift(node):
            bits, shifted = int(node.args[1]), _range(node.args[0])
            return Range(shifted.least >> bits, shifted.most >> bits)
        case tvm.tir.Add() | tvm.tir.Sub() | tvm.tir.Mul() | tvm.tir.Min() | tvm.tir.Max():
            return _of_two(node, _range(node.a), _range(node.b))
        case _:
            return None


def _of_two(node: Any, a: Range, b: Range) -> Range:
    match node:
        case tvm.tir.Add():
            return Range(a.least + b.least, a.most + b.most)
        case tvm.tir.Sub():
            return Range(a.least - b.most, a.most - b.least)
        case tvm.tir.Mul():
            products = [x * y for x in a for y in b]
            return Range(min(products), max(products))
        case tvm.tir.Min():
            return Range(min(a.least, b.least), min(a.most, b.most))
        case _:
            return Range(max(a.least, b.least), max(a.most, b.most))


def _around(a: Range, b: Range) -> Range:
    return Range(min(a.least, b.least), max(a.most, b.most))
