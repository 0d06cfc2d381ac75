"""The batch that exporters leave open in an ONNX file: a network for a microcontroller is run on one sample."""

from __future__ import annotations

from typing import Any

import onnx


def is_open(dimension: Any) -> bool:
    """Whether a dimension has no fixed size: the file has a name for it, a negative number, or nothing."""
    return not dimension.HasField("dim_value") or dimension.dim_value < 0


def with_batch_of_one(proto: Any) -> tuple[Any, tuple[str, ...]]:
    """A copy of a model whose inputs have 1 for their first dimension where the file leaves that alone open.

    The model itself if no dimension is open, or others are too. Second, the inputs' names that this is about, each
    with the name of the dimension where it has one.
    """
    constants = {initializer.name for initializer in proto.graph.initializer}
    inputs = [value for value in proto.graph.input if value.name not in constants]
    opened = {value.name: [place for place, each in enumerate(_dimensions(value)) if is_open(each)] for value in inputs}
    if not any(opened.values()) or any(any(places) for places in opened.values()):
        return proto, ()
    batches = [(value.name, _dimensions(value)[0].dim_param) for value in inputs if opened[value.name]]
    names = {dimension for _, dimension in batches if dimension}
    copy: Any = onnx.ModelProto()
    copy.CopyFrom(proto)
    for value in copy.graph.input:
        if opened.get(value.name):
            _dimensions(value)[0].dim_value = 1
    for value in (*copy.graph.output, *copy.graph.value_info):
        for dimension in _dimensions(value):
            if dimension.dim_param in names:
                dimension.dim_value = 1
    return copy, tuple(f"{name!r} ({dimension})" if dimension else repr(name) for name, dimension in batches)


def _dimensions(value: Any) -> Any:
    """The dimensions of a tensor; none of what is no tensor."""
    return value.type.tensor_type.shape.dim
