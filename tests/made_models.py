"""Networks of operators of the graph, as a front end gives them."""

from __future__ import annotations

from match.frontend.model import Model, ModelTensor, Rounding
from match.graph.value import Value
from tests.made import graph


def model(*outputs: Value) -> Model:
    """The network that computes some tensors, with the arithmetic of TFLite Micro."""
    made = graph(*outputs)
    inputs = tuple(ModelTensor(x.source, x.shape, x.dtype) for x in made.inputs)
    named = tuple(ModelTensor(f"output_{number}", x.shape, x.dtype) for number, x in enumerate(outputs))
    return Model("made", "", made, inputs, named, Rounding.TFLITE)
