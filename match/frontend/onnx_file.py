"""The bytes of an ONNX file as a valid model, and what is given to its network."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import onnx
from google.protobuf.message import DecodeError

from match.errors import ModelError
from match.frontend import onnx_problems
from match.frontend.model import ModelTensor
from match.frontend.onnx_attributes import check_kinds
from match.frontend.onnx_batch import with_batch_of_one
from match.frontend.onnx_canonical import with_shaped_outputs
from match.frontend.onnx_graph import is_integer_dialect
from match.frontend.onnx_network import typed
from match.frontend.onnx_order import in_order
from match.frontend.onnx_stored import check_other_files, check_tensors, with_dense_constants
from match.frontend.reasons import reason


@dataclass(frozen=True, eq=False)
class OnnxFile:
    """A valid ONNX file.

    proto: its `onnx.ModelProto`, nodes in order, weights from other files among the constants.
    is_integer_dialect: whether its operators compute with integers as they stand.
    inputs: what is given to the network.
    opened: inputs whose batch the file leaves open, which is taken for 1.
    open_shapes: the reasons against inputs of which it leaves other extents open.
    """

    proto: Any
    is_integer_dialect: bool
    inputs: tuple[ModelTensor, ...]
    opened: tuple[str, ...]
    open_shapes: tuple[str, ...]


def read_file(data: bytes, path: Path) -> OnnxFile:
    """The bytes of an ONNX file; `path` is what errors call it.

    Raises:
        ModelError: the file is damaged or not valid, or an input is none that a network can have.
    """
    try:
        proto = onnx.load_model_from_string(data)
        _check_names(proto)
        check_other_files(proto, path)
        onnx.load_external_data_for_model(proto, str(path.parent))
        check_tensors(proto, path)
        _write_out_sparse(proto, path)
        dialect = is_integer_dialect(proto.graph)
        proto, opened = with_batch_of_one(in_order(proto))
        if dialect:  # which has attributes and operators of its own, which its importer checks
            check_kinds(proto.graph, path)
        else:
            onnx.checker.check_model(with_shaped_outputs(proto))
    except (DecodeError, UnicodeDecodeError) as error:
        raise ModelError(f"{path} is truncated or corrupt; export or download the model again") from error
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} keeps its weights in a file that cannot be read: {reason(error)}") from error
    except onnx.checker.ValidationError as error:
        raise ModelError(f"{path} is not a valid ONNX model: {reason(error)}; export it again") from error
    _check_version(proto, path)
    constants = {initializer.name for initializer in proto.graph.initializer}
    given = [value for value in proto.graph.input if value.name not in constants]
    inputs = tuple(_tensor(value, path) for value in given)
    if not inputs or not proto.graph.output:
        lacking = "output" if inputs else "input"
        raise ModelError(f"{path} has no {lacking}, so that there is nothing to compute; export the model again")
    return OnnxFile(proto, dialect, inputs, tuple(opened), tuple(onnx_problems.open_shapes_of(given)))


def _write_out_sparse(proto: Any, path: Path) -> None:
    try:
        with_dense_constants(proto)
    except (ValueError, IndexError, TypeError) as error:
        raise ModelError(f"{path} is not a valid ONNX model: {reason(error)}; export it again") from error


def _check_names(proto: onnx.ModelProto) -> None:
    """Check that names are text.

    Raises:
        DecodeError: a name is not valid UTF-8, or an operator's name has characters that cannot be printed.
    """
    names: list[Any] = [
        name for node in proto.graph.node for name in (node.name, node.op_type, node.domain, *node.input, *node.output)
    ]
    names += [attribute.name for node in proto.graph.node for attribute in node.attribute]
    names += [value.name for value in (*proto.graph.initializer, *proto.graph.input, *proto.graph.output)]
    if any(isinstance(name, bytes) for name in names):
        raise DecodeError
    if not all(node.op_type.isprintable() and node.domain.isprintable() for node in proto.graph.node):
        raise DecodeError


def _tensor(value: Any, path: Path) -> ModelTensor:
    kind = value.type.tensor_type
    if not value.type.HasField("tensor_type"):
        form = str(value.type.WhichOneof("value")).removesuffix("_type")
        raise ModelError(f"{path} has the input {value.name!r}, which is no tensor ({form}); inputs must be tensors")
    dimensions = list(kind.shape.dim)
    if any(dim.HasField("dim_value") and dim.dim_value == 0 for dim in dimensions):
        raise ModelError(f"{path} has the input {value.name!r} with a dimension of 0; nothing is in such a tensor")
    layout = "NCHW" if len(dimensions) == 4 else ""
    return replace(typed(value, path), shape=tuple(dim.dim_value for dim in dimensions), layout=layout)


def _check_version(proto: onnx.ModelProto, path: Path) -> None:
    known = onnx.defs.onnx_opset_version()
    newest = max((opset.version for opset in proto.opset_import if opset.domain in ("", "ai.onnx")), default=0)
    if newest > known:
        raise ModelError(
            f"{path} uses version {newest} of ONNX's operators, and version {known} is the last one known here; export "
            "it for that version, or install a newer onnx"
        )
