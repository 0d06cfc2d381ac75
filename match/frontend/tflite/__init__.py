"""TFLite files, read operator by operator as the graph, with the integer arithmetic of TFLite Micro.

Functions of one tensor of 8 bits are tables. Operators that only move data pass integers on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from match.errors import ModelError
from match.frontend.graph_indices import with_indices
from match.frontend.model import Model, ModelTensor, Rounding
from match.frontend.tflite import (
    borders,
    dilated,
    elementwise,
    exponentials,
    int16,
    layers,
    pooling,
    problems,
    real_functions,
    reals,
    recurrent,
    reductions,
    resize,
    shapes,
    svdf,
    tables,
    variables,
)
from match.frontend.tflite.file import QUANTIZE, Array, File, FileOperator, read_file
from match.frontend.tflite.reader import Handler, TfliteReader, fitting, results_of
from match.graph.evaluate import evaluate
from match.graph.make import constant, named
from match.graph.value import Graph, Value
from match.ir.graph import Tensor

__all__ = ["from_tflite"]

_OF_REALS = (
    "TFLite Micro's kernel computes real numbers alone; leave it in floating point when quantizing (between DEQUANTIZE "
    "and QUANTIZE it becomes a table), or replace it in the model"
)
"""The end of the sentence about an operator that has a float kernel only."""

_Handlers = tuple[Mapping[str, Handler], Mapping[str, Handler]]
"""Readers of operators on 8 bits, and of those on 16."""

_DTYPES = ("float32", "int8", "uint8", "int16", "int32", "int64", "bool")


def from_tflite(data: bytes, path: Path) -> Model:
    """The network in the bytes of a TFLite file; `path` is what errors call it.

    Raises:
        ModelError: as `match.frontend.load`.
    """
    file = read_file(data, path)
    read, handlers = TfliteReader(file, path), (_handlers(), {**_handlers(), **int16.handlers()})
    problems.check(read, handlers[1].keys() | variables.OPERATORS)
    inputs, outputs = (tuple(_border(file, number, path) for number in side) for side in (file.inputs, file.outputs))
    for number, given in zip(file.inputs, inputs, strict=True):
        read.values[number] = Value(Tensor(given.shape, given.dtype), source=given.name)
    parameters = tuple(read.values[number] for number in file.inputs)
    kept = (*_computed(read, handlers, _initial(file, path, handlers)).kept, *read.kept)
    before, after = tuple(one.before for one in kept), tuple(one.after for one in kept)
    states = tuple(one.state for one in kept)
    graph = Graph((*parameters, *before), (*_outputs(read), *after), tuple(state.initial for state in states))
    return Model(
        path.stem,
        hashlib.sha256(data).hexdigest(),
        graph,
        with_indices(inputs, graph),
        outputs,
        Rounding.TFLITE,
        data,
        states=states,
    )


def _initial(file: File, path: Path, handlers: _Handlers) -> Mapping[variables.Name, Array]:
    """What variables are in front of the first inference."""
    found: dict[variables.Name, Array] = {}
    for subgraph in file.once:
        found |= _computed(TfliteReader(subgraph, path), handlers, found).constants
    return found


def _computed(read: TfliteReader, handlers: _Handlers, initial: Mapping[variables.Name, Array]) -> variables.Variables:
    """Read all operators; what then is known of the variables."""
    kept = variables.Variables(read, initial)
    for operator in read.file.operators:
        with fitting(read, operator):
            if operator.name in variables.OPERATORS:
                kept.execute(operator)
            else:
                _compute(read, operator, handlers[int16.has_int16(read, operator)])
    return kept


def _compute(read: TfliteReader, operator: FileOperator, handlers: Mapping[str, Handler]) -> None:
    """Add what an operator computes to what is known."""
    real = real_functions.computed(read, operator)
    if real is not None:
        read.reals[operator.outputs[0]] = real
        return
    if operator.name not in handlers and real_functions.is_known(operator):
        dtype = read.input_quantization(operator).dtype
        raise read.error(operator, f"reads {dtype}: {_OF_REALS}")
    _check_one_type(read, operator)
    handler = handlers[operator.name]
    if reals.is_moved(read, operator):
        read.reals.update(zip(operator.outputs, reals.moved(read, operator, handler), strict=True))
        return
    values = results_of(read, operator, handler)
    if read.is_constant(operator):
        values = tuple(constant(array) for array in evaluate(Graph((), values), ()))
    for number, value in zip(operator.outputs, values, strict=True):
        if 0 in value.shape:
            raise ModelError(
                f"{read.path} uses {operator.what}, whose output has no elements; remove it from the model"
            )
        read.values[number] = named(value, read.file.tensors[number].name)


def _check_one_type(read: TfliteReader, operator: FileOperator) -> None:
    """Refuse operators on activations of several types: TFLite Micro has kernels for one at a time."""
    tensors = [read.file.tensors[number] for number in (*operator.inputs, *operator.outputs) if number >= 0]
    narrow = {tensor.dtype for tensor in tensors if tensor.data is None and tensor.dtype in ("int8", "uint8")}
    if len(narrow) > 1 and operator.name not in ("QUANTIZE", "CAST"):
        advice = "quantize all to int8, or put a QUANTIZE between"
        problem = "has tensors of both int8 and uint8, for which TFLite Micro has no kernel"
        raise read.error(operator, f"{problem}; {advice}")


def _border(file: File, number: int, path: Path) -> ModelTensor:
    """An input or output of the network, with the order of its axes if there are four."""
    tensor = file.tensors[number]
    if tensor.dtype not in _DTYPES:
        raise ModelError(f"{path} has the input or output {tensor.what} of type {tensor.dtype}; {QUANTIZE}")
    return ModelTensor(tensor.name, tensor.shape, tensor.dtype, tensor.quantization, _layout(file, number))


def _layout(file: File, number: int) -> str:
    """TFLite's NHWC, but NCHW if the network itself turns its input from it, or its output to it; "" without four axes.

    Converters of PyTorch keep the order that the network had there.
    """
    if len(file.tensors[number].shape) != 4:
        return ""
    reading = [operator for operator in file.operators if number in operator.inputs]
    if len(reading) == 1 and reading[0].name == "QUANTIZE":
        return _layout(file, reading[0].outputs[0])
    writing = [operator for operator in file.operators if number in operator.outputs]
    if len(writing) == 1 and writing[0].name == "DEQUANTIZE":
        return _layout(file, writing[0].inputs[0])
    first = bool(reading) and all(_turns(file, operator, (0, 2, 3, 1)) for operator in reading)
    last = any(_turns(file, operator, (0, 3, 1, 2)) for operator in writing)
    return "NCHW" if first or last else "NHWC"


def _turns(file: File, operator: FileOperator, axes: tuple[int, ...]) -> bool:
    """Whether an operator is the transposition to these axes."""
    if operator.name != "TRANSPOSE" or len(operator.inputs) != 2:
        return False
    order = file.tensors[operator.inputs[1]].data
    return order is not None and tuple(order.reshape(-1)) == axes


def _outputs(read: TfliteReader) -> tuple[Value, ...]:
    """The tensors that the file hands out."""
    found: list[Value] = []
    for number in read.file.outputs:
        output = read.file.tensors[number]
        if number in read.values:
            found.append(read.values[number])
        elif number in read.reals:
            found.append(read.reals[number].value)
        elif output.data is not None:
            found.append(constant(output.data, output.dtype))
        else:
            raise ModelError(
                f"{read.path} has the output {output.what}, which nothing computes; export the model again"
            )
        value = found[-1]
        if value.tensor != Tensor(output.shape, output.dtype):
            raise ModelError(
                f"{read.path} says that {output.what} is {output.dtype} {list(output.shape)}, but what computes it "
                f"makes {value.dtype} {list(value.shape)}; export the model again"
            )
    return tuple(found)


def _handlers() -> Mapping[str, Handler]:
    """Readers of all operators, by their names in TFLite's schema."""
    parts = (
        borders.handlers(),
        dilated.handlers(),
        elementwise.handlers(),
        exponentials.handlers(),
        layers.handlers(),
        pooling.handlers(),
        recurrent.handlers(),
        reductions.handlers(),
        resize.handlers(),
        shapes.handlers(),
        svdf.handlers(),
        tables.handlers(),
    )
    return {name: handler for part in parts for name, handler in part.items()}
