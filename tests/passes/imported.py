"""ONNX networks as Relay: what TVM imports of those, too, that are read as the graph otherwise."""

from __future__ import annotations

from pathlib import Path

from match.frontend import load
from match.frontend.onnx import read_file
from match.frontend.onnx_network import network_of
from match.frontend.onnx_relay import imported
from match.relay import tvm


def imported_relay(path: Path) -> tvm.IRModule:
    """The network of a file."""
    file = read_file(path.read_bytes(), path)
    if file.is_integer_dialect:
        return load(path).module
    return imported(network_of(file.proto, file.inputs, file.open_shapes, path), path)
