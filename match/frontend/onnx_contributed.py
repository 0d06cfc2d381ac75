"""onnxruntime's own operators that are several of ONNX's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from onnx import helper

_BIAS = 6
"""The place of the bias among the inputs of a MatMulIntegerToFloat."""


def as_standard(node: Any, constants: Mapping[str, Any]) -> Iterator[Any]:
    """The operator itself, or, of a MatMulIntegerToFloat, the real numbers that its integers stand for, multiplied.

    Its second matrix has one scale, or one for each column.
    """
    if node.domain != "com.microsoft" or node.op_type != "MatMulIntegerToFloat" or len(node.input) < _BIAS - 2:
        yield node
        return
    (output,), given = node.output, [*node.input, *[""] * (_BIAS + 1 - len(node.input))]
    columns = max(0, len(constants[given[1]].dims) - 1) if given[1] in constants else 0
    sides = [f"{output}_of_{name}" for name in ("rows", "columns")]
    for place, side in enumerate(sides):
        names = [given[place], given[2 + place], given[4 + place]]
        yield helper.make_node("DequantizeLinear", names if names[-1] else names[:2], [side], axis=columns)
    product = f"{output}_without_bias" if given[_BIAS] else output
    yield helper.make_node("MatMul", sides, [product], name=node.name)
    if given[_BIAS]:
        yield helper.make_node("Add", [product, given[_BIAS]], [output])
