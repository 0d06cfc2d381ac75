"""Networks of the zoo that take and give integers, and what onnxruntime computes with them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper

import match
from match.validation.exact_session import exact_session


def integers(name: str) -> onnx.ModelProto:
    """A network of the zoo without its floating-point border.

    Raises:
        OptionError: there is no such network.
    """
    model = match.zoo.build(name)
    take_integers(model)
    return model


def take_integers(model: onnx.ModelProto) -> None:
    """Cut a network in QDQ form down to its quantized input, as a camera gives it, and the scores before a softmax."""
    graph = model.graph
    image = graph.input[0]
    first = next(node for node in graph.node if node.input[0] == image.name)
    kinds = {initializer.name: initializer.data_type for initializer in graph.initializer}
    shape = [dimension.dim_value for dimension in image.type.tensor_type.shape.dim]
    graph.node.remove(first)
    graph.input.remove(image)
    graph.input.append(helper.make_tensor_value_info(first.output[0], kinds[first.input[2]], shape))
    softmax = next((node for node in graph.node if node.op_type == "Softmax"), None)
    if softmax is not None:
        behind = [*graph.node][[*graph.node].index(softmax) :]
        for node in behind:
            graph.node.remove(node)
        dimensions = [dimension.dim_value for dimension in graph.output[0].type.tensor_type.shape.dim]
        graph.output.remove(graph.output[0])
        graph.output.append(helper.make_tensor_value_info(softmax.input[0], TensorProto.FLOAT, dimensions))
    read = {name for node in graph.node for name in node.input}
    for initializer in [initializer for initializer in graph.initializer if initializer.name not in read]:
        graph.initializer.remove(initializer)
    onnx.checker.check_model(model, full_check=True)


def take_channels_last(model: onnx.ModelProto) -> None:
    """Give a network of integers an input (1, H, W, C) in place of (1, C, H, W), as exporters of NHWC networks do."""
    graph = model.graph
    (image,) = graph.input
    tensor = image.type.tensor_type
    batch, channels, rows, columns = (dimension.dim_value for dimension in tensor.shape.dim)
    graph.node.insert(0, helper.make_node("Transpose", ["pixels"], [image.name], perm=(0, 3, 1, 2)))
    graph.input.remove(image)
    graph.input.append(helper.make_tensor_value_info("pixels", tensor.elem_type, (batch, rows, columns, channels)))
    onnx.checker.check_model(model, full_check=True)


def sample(model: onnx.ModelProto, seed: int = 0) -> dict[str, npt.NDArray[np.generic]]:
    """One random input."""
    tensor = model.graph.input[0].type.tensor_type
    dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    limits = np.iinfo(dtype)
    shape = [dimension.dim_value for dimension in tensor.shape.dim]
    rng = np.random.default_rng(seed)
    return {model.graph.input[0].name: rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)}


def onnxruntime_outputs(model: onnx.ModelProto, inputs: dict[str, npt.NDArray[np.generic]]) -> npt.NDArray[np.float32]:
    """What onnxruntime computes, without its approximations."""
    (output,) = exact_session(model.SerializeToString()).run(None, inputs)
    return output
