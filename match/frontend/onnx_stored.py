"""How an ONNX model stores its constants: dense tensors in the file itself, those in other files, and sparse ones."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from match.errors import ModelError
from match.frontend.reasons import reason


def check_other_files(proto: Any, path: Path) -> None:
    """Raise ModelError if a tensor is in a file that is not there."""
    for tensor in _tensors(proto.graph):
        places = {entry.key: entry.value for entry in tensor.external_data}
        location = places.get("location", "") if tensor.data_location == onnx.TensorProto.EXTERNAL else ""
        file = path.parent / location
        if location and not file.is_file():
            what = "a folder" if file.is_dir() else "not there"
            advice = "copy that file there, too, or export the model with its weights in one file"
            raise ModelError(f"{path} keeps its weights in {file}, which is {what}; {advice}")


def check_tensors(proto: Any, path: Path) -> None:
    """Raise ModelError if a tensor has no type, or other bytes than its shape: it can be read by NumPy after this."""
    graphs = (proto.graph, *proto.functions)
    for tensor in chain.from_iterable(map(_tensors, graphs)):
        try:
            numpy_helper.to_array(tensor)
        except (ValueError, TypeError, KeyError, OverflowError, MemoryError) as error:
            what = f"the tensor {tensor.name!r}" if tensor.name else "a tensor without a name"
            raise ModelError(
                f"{path} has {what} that cannot be read: {reason(error)}; download or export the model again"
            ) from error


def _tensors(graph: Any) -> Iterator[Any]:
    """The dense tensors of a graph or a function, those of sparse ones and of its branches and loops included."""
    if isinstance(graph, onnx.GraphProto):
        yield from graph.initializer
        yield from (part for sparse in graph.sparse_initializer for part in (sparse.values, sparse.indices))
    for attribute in chain.from_iterable(node.attribute for node in graph.node):
        yield from (attribute.t,) if attribute.HasField("t") else ()
        yield from attribute.tensors
        sparse_tensors = (
            *([attribute.sparse_tensor] if attribute.HasField("sparse_tensor") else []),
            *attribute.sparse_tensors,
        )
        yield from (part for sparse in sparse_tensors for part in (sparse.values, sparse.indices))
        graphs = (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs)
        yield from chain.from_iterable(map(_tensors, graphs))


def with_dense_constants(proto: Any) -> None:
    """Replace sparse initializers, and sparse values of Constant operators, by dense ones. The model is changed.

    Raises:
        ValueError: a sparse tensor's indices are none of its elements, or its numbers are not in the file.
    """
    graph = proto.graph
    graph.initializer.extend(_dense(one, one.values.name) for one in graph.sparse_initializer)
    del graph.sparse_initializer[:]
    for node in graph.node:
        for attribute in node.attribute:
            if node.op_type == "Constant" and attribute.name == "sparse_value":
                dense = _dense(attribute.sparse_tensor, "")
                attribute.CopyFrom(onnx.helper.make_attribute("value", dense))


def _dense(sparse: Any, name: str) -> Any:
    """A sparse tensor of an ONNX model as a dense one; what it does not name is zero."""
    extents, values = tuple(sparse.dims), numpy_helper.to_array(sparse.values)
    indices = numpy_helper.to_array(sparse.indices)
    whole = np.zeros(math.prod(extents), values.dtype)
    places = np.asarray(indices if indices.ndim == 1 else np.ravel_multi_index(tuple(indices.T), extents))
    if values.ndim != 1 or places.size != values.size or np.any((places < 0) | (places >= whole.size)):
        raise ValueError(f"the sparse tensor {name!r} has other indices than elements")
    whole[places] = values
    return numpy_helper.from_array(whole.reshape(extents), name)
