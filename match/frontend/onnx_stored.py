"""How an ONNX model stores its constants: dense tensors in the file itself, those in other files, and sparse ones."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from match.errors import ModelError


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


def _tensors(graph: Any) -> Iterator[Any]:
    yield from graph.initializer
    for node in graph.node:
        yield from (attribute.t for attribute in node.attribute if attribute.type == onnx.AttributeProto.TENSOR)


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
