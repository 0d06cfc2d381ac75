"""Integer ONNX: networks whose operators compute with integers as they stand, without quantization parameters.

This is how the tools of the PULP community export (NEMO, Quantlab, PLiNIO): a convolution or dense layer with integer
weights, then Mul, Add, Div, Floor and Clip, or one RequantShift, which bring its sums back to 8 bits. The files do not
agree on types; what counts is content. Weights are signed bytes, whether stored as int8, as uint8 with the same bits,
or as floats; an input that is declared float holds integers from 0 to 255. The arithmetic is that of integers of any
size: a division is by a power of two and rounds down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from match.errors import ModelError
from match.frontend.integer_onnx import arithmetic, layers, pooling, shapes
from match.frontend.integer_onnx.values import OnnxReader, Value, settled
from match.frontend.model import ModelTensor
from match.frontend.onnx_graph import Node, read_constants, read_nodes
from match.frontend.relay import tensor
from match.relay import relay, tvm

Handler = Callable[[OnnxReader, Node], Value]
"""Makes a node's output of what it reads."""

_PRECISIONS = ("weight_bits", "bias_bits", "out_bits", "mult_bits", "add_bits")
_WINDOW = ("kernel_shape", "pads", "strides", "dilations", "auto_pad", "ceil_mode", "count_include_pad")


def from_integer_onnx(
    graph: Any, inputs: tuple[ModelTensor, ...], path: Path
) -> tuple[tvm.IRModule, tuple[ModelTensor, ...], tuple[ModelTensor, ...]]:
    """The network as Relay with integer operators, types inferred; its inputs and outputs with the types they have.

    Raises:
        ModelError: an operator or attribute is unknown, or computes what is no integer arithmetic of 8 bits.
    """
    read, handlers = OnnxReader(read_constants(graph), path), _handlers()
    tensors = tuple(given if given.dtype in ("int8", "uint8") else replace(given, dtype="uint8") for given in inputs)
    parameters = [relay.var(given.name, shape=given.shape, dtype=given.dtype) for given in tensors]
    for given, parameter in zip(tensors, parameters, strict=True):
        read.values[given.name] = Value(parameter, given.shape, given.dtype)
    for node in read_nodes(graph, path):
        if node.op not in handlers:
            raise read.error(node, "is no operator of integer networks; replace it in the model")
        handler, most, attributes = handlers[node.op]
        if len(node.inputs) > most:
            raise read.error(node, f"has {len(node.inputs)} inputs, and {most} have a meaning; remove the others")
        node.check_attributes(attributes, path)
        read.values[node.output] = handler(read, node)
    results = [_output(read, value.name) for value in graph.output]
    body = results[0] if len(results) == 1 else relay.Tuple(results)
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function(parameters, body)))
    kind = module["main"].ret_type
    kinds = kind.fields if isinstance(kind, tvm.ir.TupleType) else [kind]
    outputs = tuple(tensor(value.name, type_, str(path)) for value, type_ in zip(graph.output, kinds, strict=True))
    return module, tensors, outputs


def _handlers() -> Mapping[str, tuple[Handler, int, tuple[str, ...]]]:
    """By operator, who makes its output, and how many inputs and which attributes it may have."""
    return {
        "Conv": (layers.conv, 3, ("group", *_WINDOW, *_PRECISIONS)),
        "Gemm": (layers.gemm, 3, ("alpha", "beta", "transA", "transB", *_PRECISIONS)),
        "MatMul": (layers.matmul, 2, _PRECISIONS),
        "Mul": (arithmetic.mul, 2, _PRECISIONS),
        "Add": (arithmetic.add, 2, (*arithmetic.ADD_ATTRIBUTES, arithmetic.SIGNED_SUM, *_PRECISIONS)),
        "Div": (arithmetic.div, 2, _PRECISIONS),
        "Floor": (arithmetic.floor, 1, ()),
        "Clip": (arithmetic.clip, 3, ("min", "max", *_PRECISIONS)),
        "Relu": (arithmetic.relu, 1, _PRECISIONS),
        "RequantShift": (arithmetic.requant_shift, 3, ("div", "signed", "n_levels_out", *_PRECISIONS)),
        "Cast": (shapes.same, 1, ("to",)),
        "Identity": (shapes.same, 1, ()),
        "MaxPool": (pooling.max_pool, 1, (*_WINDOW, "storage_order")),
        "AveragePool": (pooling.average_pool, 1, _WINDOW),
        "GlobalAveragePool": (pooling.global_average_pool, 1, ()),
        "Pad": (shapes.pad, 3, ("pads", "mode", "value")),
        "Flatten": (shapes.flatten, 1, ("axis",)),
        "Reshape": (shapes.reshape, 2, ("allowzero",)),
    }


def _output(read: OnnxReader, name: str) -> relay.Expr:
    """An output of the network: of 8 bits, or of 32 where nothing brings it back to 8."""
    if name not in read.values:
        raise ModelError(f"{read.path} has the output {name!r}, which nothing computes; export the model again")
    value = settled(read.values[name])
    return relay.cast(value.expr, "int32") if value.dtype == "int64" else value.expr
