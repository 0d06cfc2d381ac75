"""Small networks of the zoo, and what onnxruntime makes of them."""

from __future__ import annotations

import functools
import math
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from match import zoo
from match.validation.exact_session import exact_session

SMALL = {
    "autoencoder": zoo.autoencoder,
    "ds_cnn": zoo.ds_cnn,
    "resnet8": zoo.resnet8,
    "mobilenet_v1": functools.partial(zoo.mobilenet_v1, 0.25, 48, 20),
    "mobilenet_v2": functools.partial(zoo.mobilenet_v2, 0.35, 40, 20),
}


@functools.cache
def small(name: str, activations: str) -> onnx.ModelProto:
    """One of `SMALL`."""
    return SMALL[name](activations=activations)


def session(model: onnx.ModelProto, optimized: Path | None = None) -> Any:
    """An onnxruntime session that computes quantized layers in integers of the model's own type."""
    signed = onnx.TensorProto.UINT8 not in {tensor.data_type for tensor in model.graph.initializer}
    return exact_session(model.SerializeToString(), signed=signed, optimized=optimized)


def run(model: onnx.ModelProto, inputs: npt.NDArray[np.float32]) -> list[npt.NDArray[Any]]:
    """All outputs, each for a batch of inputs along a new first axis."""
    reference = session(model)
    results = [reference.run(None, {reference.get_inputs()[0].name: x}) for x in inputs]
    return [np.stack(outputs) for outputs in zip(*results, strict=True)]


def noise(model: onnx.ModelProto, count: int) -> npt.NDArray[np.float32]:
    """Inputs over all of the range that the input's quantization has, shape (count, 1, ...)."""
    constants = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    node = next(node for node in model.graph.node if node.op_type == "QuantizeLinear")
    scale, zero_point = (constants[name] for name in node.input[1:])
    limits = np.iinfo(zero_point.dtype)
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    levels = np.random.default_rng(11).uniform(limits.min, limits.max, (count, *shape)) - float(zero_point)
    return (levels * float(scale)).astype(np.float32)


def macs(model: onnx.ModelProto) -> int:
    """Multiply-accumulates of convolutions and dense layers, by the shapes that ONNX infers."""
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    shapes = {
        value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        for value in (*inferred.graph.value_info, *inferred.graph.output)
    }
    total = 0
    for node in model.graph.node:
        if node.op_type in ("Conv", "Gemm"):
            outputs, weights = shapes[node.output[0]], shapes[node.input[1]]
            assert outputs[1] == weights[0]
            total += math.prod(outputs[2:]) * math.prod(weights)
    return total


def weights(model: onnx.ModelProto) -> int:
    """Number of weights, without biases."""
    return sum(math.prod(tensor.dims) for tensor in model.graph.initializer if tensor.name.endswith("weight_quantized"))


def scores(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without a closing softmax."""
    cut = onnx.ModelProto.FromString(model.SerializeToString())
    if any(node.op_type == "Softmax" for node in cut.graph.node):
        del cut.graph.node[-3:]
        cut.graph.output[0].name = cut.graph.node[-1].output[0]
    return cut


def integers(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with the results of all its quantizing operators as outputs."""
    exposed = onnx.ModelProto.FromString(model.SerializeToString())
    inferred = onnx.shape_inference.infer_shapes(model)
    values = {value.name: value for value in inferred.graph.value_info}
    del exposed.graph.output[:]
    exposed.graph.output.extend(values[node.output[0]] for node in model.graph.node if node.op_type == "QuantizeLinear")
    return exposed


def executed(model: onnx.ModelProto) -> set[str]:
    """The operators that onnxruntime executes, after its fusions."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "optimized.onnx"
        session(model, path)
        return {node.op_type for node in onnx.load(path).graph.node}
