"""ONNX files as TVM's own importer reads them, for programs of TVM's own passes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from match.frontend.file import model_bytes
from match.frontend.integer_onnx import from_integer_onnx
from match.frontend.onnx_file import read_file
from match.frontend.onnx_graph import with_fields
from match.frontend.onnx_importer import converted
from match.frontend.onnx_network import network_of
from match.frontend.relay import bind
from match.relay import relay, tvm
from match.relay.graph_writer import write_graph


def relay_of(path: Path) -> tvm.IRModule:
    """The network of a file, with QNN operators or of integers as they stand.

    Raises:
        ModelError: as `match.frontend.load`.
    """
    file = read_file(model_bytes(path), path)
    if file.is_integer_dialect:
        return write_graph(from_integer_onnx(file.proto.graph, file.inputs, path)[0]).module
    network = network_of(file.proto, file.inputs, file.open_shapes, path)
    module, params = converted(_with_scalars(network.written), path)
    main = module["main"]
    place = {tensor.name: number for number, tensor in enumerate(network.inputs)}
    parameters = sorted(main.params, key=lambda parameter: place.get(parameter.name_hint, len(place)))
    return bind(tvm.IRModule.from_expr(relay.Function(parameters, main.body)), params, str(path))


def _with_scalars(proto: Any) -> Any:
    """A copy of a model whose scales and zero points of one number, which PyTorch exports with an axis, have none."""
    copy = with_fields(proto)
    quantizing = ("QuantizeLinear", "DequantizeLinear")
    names = {name for node in copy.graph.node if node.op_type in quantizing for name in node.input[1:]}
    for tensor in copy.graph.initializer:
        if tensor.name in names and list(tensor.dims) == [1]:
            del tensor.dims[:]
    return copy
