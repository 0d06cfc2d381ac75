"""ONNX files.

Integer networks are read as the graph by `match.frontend.integer_onnx`; QDQ and QOperator form by `match.frontend.qdq`
or, where an operator among them has no class there, imported by TVM.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import onnx

from match.errors import ModelError
from match.frontend.failures import tvm_failures
from match.frontend.integer_onnx import from_integer_onnx
from match.frontend.model import Model, ModelTensor, Rounding
from match.frontend.onnx_file import OnnxFile, read_file
from match.frontend.onnx_network import network_of
from match.frontend.qdq import graph_of
from match.frontend.reasons import sentence


def from_proto(proto: onnx.ModelProto) -> Model:
    """The network of an `onnx.ModelProto`, called as its graph is: what its file of that name would be.

    Raises:
        ModelError: as `match.frontend.load`; also if it is no `onnx.ModelProto`.
    """
    if not isinstance(proto, onnx.ModelProto):
        kinds = "a path or an ONNX model (onnx.ModelProto), to match.compile also a Relay module or relay.Function"
        raise ModelError(f"a model is {kinds}, not {type(proto).__name__}.")
    path = Path(f"{proto.graph.name or 'model'}.onnx")
    with tvm_failures(str(path)):
        return from_onnx(proto.SerializeToString(), path)


def from_onnx(data: bytes, path: Path) -> Model:
    """The network in the bytes of an ONNX file; `path` is what errors call it.

    Raises:
        ModelError: as `match.frontend.load`.
    """
    file = read_file(data, path)
    notes = ()
    if file.opened:
        where = " and ".join(file.opened)
        notes = (f"{path} leaves the batch open at {where}: the network is compiled for a batch of 1.",)
    model = _of_integers(file, data, path) if file.is_integer_dialect else _of_quantized(file, path)
    return replace(model, sha256=hashlib.sha256(data).hexdigest(), notes=notes)


def _of_integers(file: OnnxFile, data: bytes, path: Path) -> Model:
    """A network whose operators compute with integers as they stand."""
    if file.open_shapes:
        raise ModelError(sentence(path, file.open_shapes))
    graph, inputs, outputs = from_integer_onnx(file.proto.graph, file.inputs, path)
    kept = file.proto.SerializeToString() if file.opened else data
    return Model(path.stem, "", graph, inputs, outputs, Rounding.INTEGER, kept)


def _of_quantized(file: OnnxFile, path: Path) -> Model:
    """A network with quantization operators: as the graph, or imported by TVM where an operator has no class there."""
    network = network_of(file.proto, file.inputs, file.open_shapes, path)
    read = graph_of(network.graph, network.inputs, network.opset, network.fusions.floating)
    if read is not None:
        shapes, found, inputs = [value.shape for value in read.outputs], read, network.inputs
    else:
        from match.frontend import onnx_relay
        from match.frontend.index_ranges import with_index_ranges

        found = onnx_relay.imported(network, path)
        shapes, inputs = onnx_relay.shapes_of(found), with_index_ranges(network.inputs, found)
    outputs = _of_shapes(network.outputs, shapes)
    return Model(path.stem, "", found, inputs, outputs, Rounding.ONNXRUNTIME, network.data)


def _of_shapes(outputs: tuple[ModelTensor, ...], shapes: Sequence[tuple[int, ...]]) -> tuple[ModelTensor, ...]:
    """Outputs with shapes; maps have channels first."""
    return tuple(
        replace(tensor, shape=shape, layout="NCHW" if len(shape) == 4 else "")
        for tensor, shape in zip(outputs, shapes, strict=True)
    )
