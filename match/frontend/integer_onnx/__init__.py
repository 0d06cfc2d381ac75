"""Integer ONNX: networks whose operators compute with integers as they stand, without quantization parameters.

This is how the tools of the PULP community export (NEMO, Quantlab, PLiNIO): a convolution or dense layer with integer
weights, then Mul, Add, Div, Floor and Clip, or one RequantShift, which bring its sums back to 8 bits. The files do not
agree on types; what counts is content. Weights are signed bytes, whether stored as int8, as uint8 with the same bits,
or as floats; an input that is declared float holds integers from 0 to 255. The arithmetic is that of integers of any
size: a division is by a power of two and rounds down.

The network becomes the graph, in int64 between the sums and 8 bits; `match.rewrites.integer_chains` makes layers of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from match.errors import ModelError
from match.frontend.integer_onnx import arithmetic, layers, pooling, shapes
from match.frontend.integer_onnx.values import WIDE, IntegerReader, Integers, settled
from match.frontend.model import ModelTensor
from match.frontend.onnx_graph import Node, read_constants, read_nodes
from match.graph.make import cast
from match.graph.moves import Move
from match.graph.value import Graph, Value
from match.ir.graph import Tensor
from match.ir.model_names import tensor_of
from match.rewrites.channels_last import with_channels_last

_STANDARD = "", "ai.onnx"
_QUANTLAB = "PACTOps"
"""The domain that Quantlab exports operators of its own in; where it exports for Deeploy, these have none."""

_PRECISIONS = ("weight_bits", "bias_bits", "out_bits", "mult_bits", "add_bits")
_WINDOW = ("kernel_shape", "pads", "strides", "dilations", "auto_pad", "ceil_mode", "count_include_pad")


@dataclass(frozen=True)
class _Handler:
    """How an operator is read.

    read: makes its output of what it reads. most: how many inputs it may have. attributes: those that it may have.
    domains: those that it is known in.
    """

    read: Callable[[IntegerReader, Node], Integers]
    most: int
    attributes: tuple[str, ...]
    domains: tuple[str, ...] = _STANDARD


def from_integer_onnx(
    graph: Any, inputs: tuple[ModelTensor, ...], path: Path
) -> tuple[Graph, tuple[ModelTensor, ...], tuple[ModelTensor, ...]]:
    """The network with integer operators, maps with channels last; its inputs and outputs with the types they have.

    Raises:
        ModelError: an operator or attribute is unknown, or computes what is no integer arithmetic of 8 bits.
    """
    read = IntegerReader(read_constants(graph), path)
    tensors = tuple(given if given.dtype in ("int8", "uint8") else replace(given, dtype="uint8") for given in inputs)
    parameters = tuple(Value(Tensor(given.shape, given.dtype), source=given.name) for given in tensors)
    read.values.update((parameter.source, Integers(parameter)) for parameter in parameters)
    known = set(parameters)
    for node in read_nodes(graph, path):
        made = _handler(read, node).read(read, node)
        value = _named(made.value, tensor_of(node.name or node.output), known)
        read.values[node.output] = replace(made, value=value)
        known.add(value)
    results = tuple(_output(read, value.name) for value in graph.output)
    outputs = tuple(
        ModelTensor(value.name, result.shape, result.dtype, layout="NCHW" if len(result.shape) == 4 else "")
        for value, result in zip(graph.output, results, strict=True)
    )
    return with_channels_last(Graph(parameters, results)), tensors, outputs


def _named(value: Value, source: str, known: Collection[Value]) -> Value:
    """A tensor of an operator with the operator's name, as has all else that is computed for it, but transpositions."""
    if value in known or not value.inputs:
        return value
    inputs = tuple(_named(x, source, known) for x in value.inputs)
    turned = isinstance(value.operator, Move) and list(value.operator.axes) != sorted(value.operator.axes)
    return replace(value, inputs=inputs, source="" if turned else source)


def _handler(read: IntegerReader, node: Node) -> _Handler:
    """What reads an operator, if it has just what is read."""
    if node.op not in _HANDLERS:
        raise read.error(node, "is no operator of integer networks; replace it in the model")
    handler = _HANDLERS[node.op]
    if node.domain not in handler.domains:
        raise read.error(node, f"is of the domain {node.domain!r}, which is unknown; replace it in the model")
    if len(node.inputs) > handler.most:
        raise read.error(node, f"has {len(node.inputs)} inputs, and {handler.most} have a meaning; remove the others")
    node.check_attributes(handler.attributes, read.path)
    return handler


_HANDLERS: MappingProxyType[str, _Handler] = MappingProxyType(
    {
        "Conv": _Handler(layers.conv, 3, ("group", *_WINDOW, *_PRECISIONS)),
        "Gemm": _Handler(layers.gemm, 3, ("alpha", "beta", "transA", "transB", *_PRECISIONS)),
        "MatMul": _Handler(layers.matmul, 2, _PRECISIONS),
        "Mul": _Handler(arithmetic.mul, 2, _PRECISIONS),
        "Add": _Handler(arithmetic.add, 2, (*arithmetic.ADD_ATTRIBUTES, arithmetic.SIGNED_SUM, *_PRECISIONS)),
        "Div": _Handler(arithmetic.div, 2, _PRECISIONS),
        "Floor": _Handler(arithmetic.floor, 1, ()),
        "Clip": _Handler(arithmetic.clip, 3, ("min", "max", *_PRECISIONS)),
        "Relu": _Handler(arithmetic.relu, 1, _PRECISIONS),
        "RequantShift": _Handler(
            arithmetic.requant_shift, 3, ("div", "signed", "n_levels_out", *_PRECISIONS), (*_STANDARD, _QUANTLAB)
        ),
        "Cast": _Handler(shapes.same, 1, ("to",)),
        "Identity": _Handler(shapes.same, 1, ()),
        "MaxPool": _Handler(pooling.max_pool, 1, (*_WINDOW, "storage_order")),
        "AveragePool": _Handler(pooling.average_pool, 1, _WINDOW),
        "GlobalAveragePool": _Handler(pooling.global_average_pool, 1, ()),
        "Pad": _Handler(shapes.pad, 3, ("pads", "mode", "value")),
        "Flatten": _Handler(shapes.flatten, 1, ("axis",)),
        "Reshape": _Handler(shapes.reshape, 2, ("allowzero",)),
    }
)
"""How operators are read, by name."""


def _output(read: IntegerReader, name: str) -> Value:
    """An output of the network: of 8 bits, or of 32 where nothing brings it back to 8."""
    if name not in read.values:
        raise ModelError(f"{read.path} has the output {name!r}, which nothing computes; export the model again")
    x = settled(read.values[name])
    return cast(x, "int32") if x.dtype == WIDE else x
