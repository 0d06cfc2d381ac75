"""ONNX files in QDQ or QOperator form, read operator by operator as the graph, as onnxruntime computes them.

The operators between a dequantize and a quantize are first read unchanged, as operators on real numbers
(`match.graph.reals`). A map gets its channels last by a transposition before each operator and one after it. Then
`match.rewrites.quantized_groups` replaces the real operators by integer ones.
"""

from __future__ import annotations

from collections.abc import Collection
from types import MappingProxyType
from typing import Any

from match.frontend.model import ModelTensor
from match.frontend.qdq import (
    borders,
    choices,
    functions,
    layers,
    pooling,
    qoperators,
    recurrent,
    reductions,
    resizes,
    rows,
    shapes,
)
from match.frontend.qdq.reader import Handler, QdqReader, Unread
from match.graph.make import named
from match.graph.value import Graph, Value
from match.ir.graph import Tensor
from match.ir.model_names import tensor_of
from match.rewrites.quantized_groups import with_quantized_groups

__all__ = ["graph_of", "reals_of"]

_HANDLERS: MappingProxyType[str, Handler] = MappingProxyType(
    {
        **borders.HANDLERS,
        **choices.HANDLERS,
        **functions.HANDLERS,
        **layers.HANDLERS,
        **pooling.HANDLERS,
        **qoperators.HANDLERS,
        **recurrent.HANDLERS,
        **reductions.HANDLERS,
        **resizes.HANDLERS,
        **rows.HANDLERS,
        **shapes.HANDLERS,
    }
)

_MALFORMED = IndexError, TypeError, ValueError
"""What is raised where an operator does not fit its tensors; another reader says what is wrong with it."""


def graph_of(graph: Any, inputs: tuple[ModelTensor, ...], opset: int, floating: Collection[str]) -> Graph | None:
    """The network of an ONNX graph, with integers where it is quantized; None where an operator is not read here.

    Arguments are those of `reals_of`.
    """
    reals = reals_of(graph, inputs, opset, floating)
    return None if reals is None else with_quantized_groups(reals)


def reals_of(graph: Any, inputs: tuple[ModelTensor, ...], opset: int, floating: Collection[str]) -> Graph | None:
    """The network as its operators are written, those between dequantize and quantize on real numbers; else None.

    Args:
        graph: the nodes and constants, in order of execution, padding and zero points written out.
        inputs: what the network is given.
        opset: the version of ONNX's operators.
        floating: the operators, by what they make, that onnxruntime computes in floating point though integers stand
            around them.
    """
    if any(node.op_type not in _HANDLERS for node in graph.node):
        return None
    read = QdqReader(graph, opset, floating)
    parameters = tuple(Value(Tensor(x.shape, x.dtype), source=x.name) for x in inputs)
    read.values.update((x.source, x) for x in parameters)
    try:
        for node in graph.node:
            made = _HANDLERS[node.op_type](read, node)
            if isinstance(made, tuple):
                read.values.update((name, named(one, name)) for name, one in zip(node.output, made, strict=False))
            else:
                read.values[node.output[0]] = named(made, tensor_of(node.name or node.output[0]))
        found = Graph(parameters, tuple(read.value(output.name) for output in graph.output))
    except (Unread, *_MALFORMED):
        return None
    empty = any(not value.tensor.elements for value in found.values)
    return None if empty else found  # the other reader names what has no elements
