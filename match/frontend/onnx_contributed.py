"""onnxruntime's own operators that are several of ONNX's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from onnx import helper, numpy_helper

from match.frontend.onnx_graph import attribute_of

_BIAS = 6
"""The place of the bias among the inputs of a MatMulIntegerToFloat."""

_TABLES = range(2, 7)
"""Places of what an EmbedLayerNormalization adds up and normalizes with: words, positions, segments; gamma, beta."""

_SCALES, _ZERO_POINTS = 8, 13
"""Where their scales and zero points begin, if they are quantized."""


def as_standard(node: Any, constants: Mapping[str, Any], graph: Any) -> Iterator[Any]:
    """The operator itself, or operators of ONNX that together compute the same; constants are added to the graph."""
    kind = node.op_type if node.domain == "com.microsoft" else ""
    if kind == "MatMulIntegerToFloat" and len(node.input) >= _BIAS - 2:
        yield from _product(node, constants)
    elif kind in ("EmbedLayerNormalization", "QEmbedLayerNormalization") and (shape := _embedded(node, graph)):
        yield from _embedding(node, shape, graph)
    else:
        yield node


def _product(node: Any, constants: Mapping[str, Any]) -> Iterator[Any]:
    """The real numbers that integers stand for, multiplied; the second matrix may have a scale for each column."""
    (output,), given = node.output, [*node.input, *[""] * (_BIAS + 1 - len(node.input))]
    columns = max(0, len(constants[given[1]].dims) - 1) if given[1] in constants else 0
    sides = [f"{output}_of_{name}" for name in ("rows", "columns")]
    for place, side in enumerate(sides):
        yield _dequantized(given[place], given[2 + place], given[4 + place], side, columns)
    product = f"{output}_without_bias" if given[_BIAS] else output
    yield helper.make_node("MatMul", sides, [product], name=node.name)
    if given[_BIAS]:
        yield helper.make_node("Add", [product, given[_BIAS]], [output])


def _embedded(node: Any, graph: Any) -> tuple[int, ...] | None:
    """The shape of the words of an embedding that can be written out: all but its first output are unread."""
    read = {name for other in graph.node for name in other.input} | {output.name for output in graph.output}
    known = [value for value in (*graph.input, *graph.value_info) if value.name == node.input[0]]
    if not known or any(name in read for name in node.output[1:] if name):
        return None
    shape = tuple(dim.dim_value for dim in known[0].type.tensor_type.shape.dim)
    return shape if len(shape) == len(("batch", "words")) and all(shape) else None


def _embedding(node: Any, shape: tuple[int, ...], graph: Any) -> Iterator[Any]:
    """Rows of tables for words, their positions and their segments, added up and normalized."""
    output, given = node.output[0], [*node.input, *[""] * (_ZERO_POINTS + len(_TABLES) - len(node.input))]
    names = [given[place] for place in _TABLES]
    quantized = node.op_type.startswith("Q")
    positions = "" if quantized else given[_TABLES.stop + 1]
    if not positions:
        positions = f"{output}_positions"
        graph.initializer.append(numpy_helper.from_array(np.arange(shape[1]), positions))
    for number, name in enumerate(names):
        if name and quantized:
            names[number] = f"{output}_table_{number}"
            yield _dequantized(name, given[_SCALES + number], given[_ZERO_POINTS + number], names[number], 0)
    total = ""
    for number, (table, indices) in enumerate(zip(names, (given[0], positions, given[1]), strict=False)):
        if table and indices:
            rows, before = f"{output}_rows_{number}", total
            yield helper.make_node("Gather", [table, indices], [rows], axis=0)
            total = f"{output}_sum_{number}" if before else rows
            if before:
                yield helper.make_node("Add", [before, rows], [total])
    epsilon = attribute_of(node, "epsilon", 1e-12)
    yield helper.make_node("LayerNormalization", [total, *names[3:]], [output], name=node.name, epsilon=epsilon)


def _dequantized(levels: str, scale: str, zero_point: str, output: str, axis: int) -> Any:
    names = [levels, scale, zero_point] if zero_point else [levels, scale]
    return helper.make_node("DequantizeLinear", names, [output], axis=axis)
