"""TFLite files, read operator by operator with the integer arithmetic of TFLite Micro.

Layers with weights, additions, multiplications and pooling are written as QNN operators, which `match.passes` brings
to the reference's integers. Functions of one tensor of 8 bits are tables; all others are integer Relay. Operators that
only move data pass integers on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import cast

from match.errors import ModelError
from match.frontend.failures import diagnostics, reason
from match.frontend.index_ranges import with_index_ranges
from match.frontend.model import Model, ModelTensor, Quantization, Rounding
from match.frontend.relay import check_shapes
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
    tables,
)
from match.frontend.tflite.file import QUANTIZE, File, FileOperator, read_file
from match.frontend.tflite.reader import Handler, TfliteReader, handled
from match.relay import relay, tvm

__all__ = ["from_tflite"]

_OF_REALS = (
    "TFLite Micro's kernel computes real numbers alone; leave it in floating point when quantizing (between DEQUANTIZE "
    "and QUANTIZE it becomes a table), or replace it in the model"
)
"""The end of the sentence about an operator that has a float kernel only."""

_DTYPES = ("float32", "int8", "uint8", "int16", "int32", "int64", "bool")


def from_tflite(data: bytes, path: Path) -> Model:
    """The network in the bytes of a TFLite file; `path` is what errors call it.

    Raises:
        ModelError: as `match.frontend.load`.
    """
    file = read_file(data, path)
    read, handlers = TfliteReader(file, path), (_handlers(), {**_handlers(), **int16.handlers()})
    problems.check(read, handlers[1].keys())
    inputs, outputs = (tuple(_border(file, number, path) for number in side) for side in (file.inputs, file.outputs))
    for number, given in zip(file.inputs, inputs, strict=True):
        read.expressions[number] = relay.var(given.name, shape=given.shape, dtype=given.dtype)
    parameters = [read.expressions[number] for number in file.inputs]
    for operator in file.operators:
        handled(read, operator, partial(_compute, handlers=handlers[int16.has_int16(read, operator)]))
    module = _module(read, parameters)
    check_shapes(module, str(path))
    return Model(
        path.stem,
        hashlib.sha256(data).hexdigest(),
        module,
        with_index_ranges(inputs, module),
        outputs,
        Rounding.TFLITE,
        data,
    )


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
        read.reals[operator.outputs[0]] = reals.moved(read, operator, handler)
        return
    results = handler(read, operator)
    computed = cast("tuple[relay.Expr, ...]", results) if isinstance(results, tuple) else (results,)
    if read.is_constant(operator):
        computed = tuple(relay.transform.FoldConstantExpr(result, tvm.IRModule()) for result in computed)
    for number, result in zip(operator.outputs, computed, strict=True):
        read.expressions[number] = _named(result, read.file.tensors[number].name)


def _check_one_type(read: TfliteReader, operator: FileOperator) -> None:
    """Refuse operators on activations of several types: TFLite Micro has kernels for one at a time."""
    tensors = [read.file.tensors[number] for number in (*operator.inputs, *operator.outputs) if number >= 0]
    narrow = {tensor.dtype for tensor in tensors if tensor.data is None and tensor.dtype in ("int8", "uint8")}
    if len(narrow) > 1 and operator.name not in ("QUANTIZE", "CAST"):
        advice = "quantize all to int8, or put a QUANTIZE between"
        problem = "has tensors of both int8 and uint8, for which TFLite Micro has no kernel"
        raise read.error(operator, f"{problem}; {advice}")


def _named(result: relay.Expr, name: str) -> relay.Expr:
    """A call with the name of the file's tensor that it computes, the first of those that are this one."""
    if not isinstance(result, relay.Call) or not name or result.span:
        return result
    span = relay.Span(relay.SourceName(name), 0, 0, 0, 0)
    return relay.Call(result.op, result.args, result.attrs, result.type_args, span)


def _border(file: File, number: int, path: Path) -> ModelTensor:
    """An input or output of the network, with the order of its axes if there are four."""
    tensor = file.tensors[number]
    if tensor.dtype not in _DTYPES:
        raise ModelError(f"{path} has the input or output {tensor.what} of type {tensor.dtype}; {QUANTIZE}")
    whole = len(tensor.scales) == 1 and tensor.dtype != "float32"
    quantization = Quantization(float(tensor.scales[0]), int(tensor.zero_points[0])) if whole else None
    return ModelTensor(tensor.name, tensor.shape, tensor.dtype, quantization, _layout(file, number))


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


def _module(read: TfliteReader, parameters: list[relay.Expr]) -> tvm.IRModule:
    """The network, types inferred and compared with those of the file."""
    path = read.path
    results: list[relay.Expr] = []
    outputs = [read.file.tensors[number] for number in read.file.outputs]
    for number, output in zip(read.file.outputs, outputs, strict=True):
        if number not in read.expressions and number not in read.reals and output.data is not None:
            read.expressions[number] = relay.const(output.data, output.dtype)
        if number not in read.expressions and number not in read.reals:
            raise ModelError(f"{path} has the output {output.what}, which nothing computes; export the model again")
        results.append(read.expressions[number] if number in read.expressions else read.reals[number].expr)
    body = results[0] if len(results) == 1 else relay.Tuple(results)
    with diagnostics() as said:
        try:
            function = relay.Function(parameters, body)
            module = relay.transform.InferType()(tvm.IRModule.from_expr(function))
        except tvm.TVMError as error:
            why = said[0] if said else reason(error)
            raise ModelError(f"{path} has tensors that do not fit together ({why}); export it again") from error
    kind = module["main"].ret_type
    kinds = list(kind.fields) if isinstance(kind, tvm.ir.TupleType) else [kind]
    for output, found in zip(outputs, kinds, strict=True):
        shape = tuple(int(extent) for extent in found.shape)
        if (shape, str(found.dtype)) != (output.shape, output.dtype):
            raise ModelError(
                f"{path} says that {output.what} is {output.dtype} {list(output.shape)}, but what computes it makes "
                f"{found.dtype} {list(shape)}; export the model again"
            )
    return module


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
        tables.handlers(),
    )
    return {name: handler for part in parts for name, handler in part.items()}
