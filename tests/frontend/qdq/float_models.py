"""Models of real numbers alone, which `match.frontend.load` refuses, as the graph of their operators."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import helper

from match.frontend.model import ModelTensor
from match.frontend.onnx_fusions import Fusions
from match.frontend.onnx_graph import opset_of
from match.frontend.onnx_network import OnnxNetwork
from match.frontend.qdq import reals_of
from match.graph.value import Graph


def graph_of(model: onnx.ModelProto) -> Graph:
    """The operators of a model whose only inputs have fixed shapes."""
    inputs: list[ModelTensor] = []
    for value in model.graph.input:
        kind = value.type.tensor_type
        dtype = np.dtype(helper.tensor_dtype_to_np_dtype(kind.elem_type)).name
        inputs.append(ModelTensor(value.name, tuple(extent.dim_value for extent in kind.shape.dim), dtype))
    fusions = Fusions(model.graph, opset_of(model), {})
    return reals_of(OnnxNetwork(model, fusions, tuple(inputs), (), b""), Path("reals.onnx"))
