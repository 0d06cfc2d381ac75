"""ONNX files as Relay, for TVM's own passes, also where they are read as the graph otherwise."""

from __future__ import annotations

from pathlib import Path

from match.frontend.file import model_bytes
from match.frontend.integer_onnx import from_integer_onnx
from match.frontend.onnx_file import read_file
from match.frontend.onnx_network import network_of
from match.frontend.onnx_relay import imported
from match.relay import tvm
from match.relay.graph_writer import write_graph


def relay_of(path: Path) -> tvm.IRModule:
    """The network of a file, with QNN operators or of integers as they stand.

    Raises:
        ModelError: as `match.frontend.load`.
    """
    file = read_file(model_bytes(path), path)
    if file.is_integer_dialect:
        return write_graph(from_integer_onnx(file.proto.graph, file.inputs, path)[0]).module
    return imported(network_of(file.proto, file.inputs, file.open_shapes, path), path)
