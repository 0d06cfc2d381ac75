"""Graphs with other inputs and outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from match.errors import OptionError
from match.frontend.model import Model, ModelTensor, Quantization, Rounding
from match.graph.elements import Dequantize, Quantize
from match.graph.make import lookup, transposed
from match.graph.rewrite import replacements
from match.graph.value import Graph, Value, computed, readers
from match.ir.dtypes import levels
from match.ir.float_border import FloatQuantization
from match.ir.graph import Tensor
from match.passes.border import Border, given_input, wanted_output
from match.rewrites.channels_last import with_channels_last


def graph_with_border(model: Model, graph: Graph, border: Border) -> Model:
    """A model that is a graph, with other inputs and outputs.

    Raises:
        OptionError: an input or output cannot have the type or layout.
    """
    read = readers(graph)
    inputs: list[tuple[ModelTensor, Value]] = []
    given: dict[Value, Value] = {}
    for tensor, x in zip(model.inputs, graph.given, strict=True):
        own, value, expr = _read(tensor, x, read[x], border, model.rounding)
        inputs.append((own, value))
        given[x] = expr
        if tensor.dtype == "float32" != own.dtype:
            given |= dict.fromkeys((reader for reader in read[x] if reader is not None), expr)

    def rule(value: Value, original: Value) -> Value:
        return given.get(original, replace(value, inputs=tuple(given.get(x, x) for x in value.inputs)))

    replaced = replacements(graph, rule)
    ends = [given.get(value, replaced[value]) for value in graph.outputs]
    outputs = [_written(tensor, end, border.output_type) for tensor, end in zip(model.outputs, ends, strict=False)]
    before, after = graph.inputs[len(inputs) :], ends[len(outputs) :]
    made = Graph((*(x for _, x in inputs), *before), (*(y for _, y in outputs), *after), graph.states)
    return replace(
        model,
        # What is given with channels last and turned is turned back in front of the first layer.
        network=made if border.input_layout is None else with_channels_last(made),
        inputs=tuple(tensor for tensor, _ in inputs),
        outputs=tuple(tensor for tensor, _ in outputs),
        original=model,
    )


def _read(
    tensor: ModelTensor, x: Value, reading: Sequence[Value | None], border: Border, rounding: Rounding
) -> tuple[ModelTensor, Value, Value]:
    """An input as the caller gives it, as a tensor, and what the network begins with."""
    found = given_input(tensor, partial(_quantize_of, tensor, reading), border)
    kind, own = found.tensor.dtype, found.quantization
    value = Value(Tensor(found.tensor.shape, kind), source=x.source)
    begin = value if found.axes is None else transposed(value, found.axes)
    if kind != found.stored and own is not None:
        if kind == "float32":
            even = rounding is Rounding.ONNXRUNTIME
            function = FloatQuantization(np.float32(own.scale), own.zero_point, found.stored, half_to_even=even)
            begin = computed(Quantize(function=function), begin)
        else:
            begin = _turned(begin, found.stored)
    return found.tensor, value, begin


def _quantize_of(tensor: ModelTensor, reading: Sequence[Value | None]) -> tuple[Quantization, str]:
    """The one quantization of a float input."""
    functions = [reader.operator.function for reader in reading if reader and isinstance(reader.operator, Quantize)]
    found = {(float(one.scale), one.zero_point, one.dtype) for one in functions}
    if len(found) != 1 or len(functions) < len(reading):
        raise OptionError(f"input {tensor.name} is not quantized before all else in the model; leave out --input-type.")
    ((scale, zero_point, stored),) = found
    return Quantization(scale, zero_point), stored


def _written(tensor: ModelTensor, value: Value, kind: str | None) -> tuple[ModelTensor, Value]:
    """An output as the caller gets it."""
    if kind is None or kind == tensor.dtype:
        return tensor, value
    given, stored = tensor.quantization, tensor.dtype
    if isinstance(value.operator, Dequantize):
        given = Quantization(float(value.operator.scale), value.operator.zero_point)
        (value,) = value.inputs
        stored = value.dtype
    wanted = wanted_output(tensor, stored, given, kind)
    if kind == stored or given is None:
        return wanted, value
    if kind == "float32":
        return wanted, computed(Dequantize(scale=np.float32(given.scale), zero_point=given.zero_point), value)
    return wanted, _turned(value, kind)


def _turned(x: Value, kind: str) -> Value:
    """Numbers of 8 bits in the other type, so that they stand for the same real numbers: their places stay."""
    return lookup(x, levels(kind).astype(kind))
