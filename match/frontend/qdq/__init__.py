"""ONNX files in QDQ or QOperator form, read operator by operator as the graph, as onnxruntime computes them.

The operators between a dequantize and a quantize are first read unchanged, as operators on real numbers
(`match.graph.reals`). A map gets its channels last by a transposition before each operator and one after it. Then
`match.rewrites.quantized_groups` replaces the real operators by integer ones.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from match.errors import ModelError
from match.frontend.onnx_graph import read_by
from match.frontend.onnx_network import OnnxNetwork
from match.frontend.onnx_problems import uses
from match.frontend.qdq.handlers import HANDLERS
from match.frontend.qdq.reader import QdqReader, Refused, Unread
from match.frontend.reasons import sentence
from match.graph.constants import numbers_of
from match.graph.evaluate import evaluate
from match.graph.make import constant, named
from match.graph.opaque import Constant
from match.graph.value import Graph, Value, ordered
from match.ir.graph import Tensor
from match.ir.model_names import tensor_of

__all__ = ["reals_of"]

_MALFORMED = IndexError, TypeError, ValueError
"""What is raised where an operator does not fit its tensors; TVM's importer says what is wrong with it."""


def reals_of(network: OnnxNetwork, path: Path) -> Graph:
    """The network as its operators are written, those between dequantize and quantize on real numbers.

    Operators that the graph has no class for are read by TVM's importer, each alone.

    Raises:
        ModelError: an operator of the file `path` cannot be compiled, or makes a tensor without elements.
    """
    read = QdqReader(network.graph, network.opset, network.fusions.floating, partial(_made, path))
    parameters = tuple(Value(Tensor(x.shape, x.dtype), source=x.name) for x in network.inputs)
    read.values.update((x.source, x) for x in parameters)
    for node in network.graph.node:
        called = node.name or node.output[0]
        try:
            made = _known(_made(path, read, node))
        except Refused as refused:
            raise ModelError(sentence(path, uses([f"{node.op_type} ({called}) {refused}"]))) from refused
        if not all(one.tensor.elements for one in made):
            what = f"{node.op_type} ({called}), whose output has no elements"
            raise ModelError(f"{path} uses {what}; remove it from the model")
        sources = [tensor_of(called)] if len(made) == 1 else node.output
        named_so = zip(node.output, made, sources, strict=False)
        read.values.update((name, named(one, source)) for name, one, source in named_so)
    return Graph(parameters, tuple(read.value(output.name) for output in network.graph.output))


def _made(path: Path, read: QdqReader, node: Any) -> tuple[Value, ...]:
    """All that an operator makes, by a class of the graph if there is one for it."""
    try:
        made = HANDLERS[node.op_type](read, node) if node.op_type in HANDLERS else None
    except (Unread, *_MALFORMED):
        made = None
    if made is None:
        return _imported(path, read, node)
    return made if isinstance(made, tuple) else (made,)


def _known(made: tuple[Value, ...]) -> tuple[Value, ...]:
    """The tensors, those that are computed of constants alone as constants."""
    return tuple(
        constant(evaluate(Graph((), (one,)), ())[0]) if one.inputs and _is_of_constants(one) else one for one in made
    )


def _is_of_constants(x: Value) -> bool:
    return all(value.inputs or isinstance(value.operator, Constant) for value in ordered([x]))


def _imported(path: Path, read: QdqReader, node: Any) -> tuple[Value, ...]:
    """All that an operator makes, as TVM's importer reads it."""
    from match.frontend.onnx_importer import imported

    names = [name for name in dict.fromkeys(read_by([node])) if name in read.values]
    constants = {name: numbers for name in names if (numbers := numbers_of(read.values[name])) is not None}
    others = {name: read.values[name] for name in names if name not in constants}
    made = imported(node, others, constants, read.opset, path)
    made = made if read.is_exact(node) else tuple(replace(value, exact=False) for value in made)
    outputs: list[str] = list(node.output)
    by_name = dict(zip((name for name in outputs if name), made, strict=True))
    return tuple(by_name.get(name, made[0]) for name in outputs)
