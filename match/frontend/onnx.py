"""ONNX files: integer networks by `match.frontend.integer_onnx`, QDQ and QOperator form by `match.frontend.qdq`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import onnx

from match.errors import ModelError
from match.frontend.failures import tvm_failures
from match.frontend.graph_indices import with_indices
from match.frontend.integer_onnx import from_integer_onnx
from match.frontend.model import Model, ModelTensor, Rounding
from match.frontend.onnx_file import OnnxFile, read_file
from match.frontend.onnx_network import network_of
from match.frontend.onnx_problems import QUANTIZE
from match.frontend.qdq import reals_of
from match.frontend.reasons import sentence
from match.graph.reals import Levels
from match.graph.value import Graph
from match.rewrites.quantized_groups import with_quantized_groups
from match.rewrites.unsigned_pairs import with_unsigned_pairs

_NARROW, _WIDE = frozenset({"int8", "uint8"}), frozenset({"int16", "uint16"})


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
    """A network with quantization operators."""
    network = network_of(file.proto, file.inputs, file.open_shapes, path)
    reals = reals_of(network, path)
    _check_quantized(reals, path)
    read = with_quantized_groups(with_unsigned_pairs(reals))
    outputs = _of_shapes(network.outputs, [value.shape for value in read.outputs])
    inputs = with_indices(network.inputs, read)
    return Model(path.stem, "", read, inputs, outputs, Rounding.ONNXRUNTIME, network.data)


def _check_quantized(reals: Graph, path: Path) -> None:
    """Refuse a network none of whose operators reads 8-bit integers.

    Raises:
        ModelError: it is one.
    """
    read = {
        x.operator.levels.dtype.name if isinstance(x.operator, Levels) else x.dtype
        for value in reals.values
        for x in value.inputs
    }
    if read.isdisjoint(_NARROW):
        wide = not read.isdisjoint(_WIDE)
        kind = "is quantized to 16 bits, not 8" if wide else "is a float model: nothing in it is quantized"
        raise ModelError(f"{path} {kind}; {QUANTIZE}")


def _of_shapes(outputs: tuple[ModelTensor, ...], shapes: Sequence[tuple[int, ...]]) -> tuple[ModelTensor, ...]:
    """Outputs with shapes; maps have channels first."""
    return tuple(
        replace(tensor, shape=shape, layout="NCHW" if len(shape) == 4 else "")
        for tensor, shape in zip(outputs, shapes, strict=True)
    )
