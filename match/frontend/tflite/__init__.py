"""TFLite files, read operator by operator with the integer arithmetic of TFLite Micro.

Layers with weights, additions, multiplications and pooling are written as QNN operators, which `match.passes` brings
to the reference's integers. Functions of one tensor of 8 bits are tables; all others are integer Relay. Operators that
only move data pass integers on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from match.errors import ModelError
from match.frontend.failures import reason
from match.frontend.model import Model, ModelTensor, Quantization, Rounding
from match.frontend.tflite import (
    borders,
    elementwise,
    exponentials,
    layers,
    pooling,
    reals,
    recurrent,
    reductions,
    resize,
    shapes,
    tables,
)
from match.frontend.tflite.file import MALFORMED, QUANTIZE, File, FileOperator, is_tflite, read_file
from match.frontend.tflite.reader import TfliteReader
from match.relay import relay, tvm

__all__ = ["from_tflite", "is_tflite"]

Handler = Callable[[TfliteReader, FileOperator], Any]
"""Makes an operator's output of what it reads, or a tuple of its outputs."""

_DTYPES = ("float32", "int8", "uint8", "int16", "int32", "int64", "bool")


def from_tflite(data: bytes, path: Path) -> Model:
    """The network in the bytes of a TFLite file; `path` is what errors call it.

    Raises:
        ModelError: as `match.frontend.load`.
    """
    file = read_file(data, path)
    if not any(tensor.dtype in ("int8", "uint8") for tensor in file.tensors):
        raise ModelError(f"{path} is a float model: nothing in it is quantized; {QUANTIZE}")
    read, handlers = TfliteReader(file, path), _handlers()
    inputs, outputs = (tuple(_border(file, number, path) for number in side) for side in (file.inputs, file.outputs))
    for number, given in zip(file.inputs, inputs, strict=True):
        read.expressions[number] = relay.var(given.name, shape=given.shape, dtype=given.dtype)
    parameters = [read.expressions[number] for number in file.inputs]
    for operator in file.operators:
        try:
            _compute(read, operator, handlers)
        except (*MALFORMED, tvm.TVMError) as error:
            raise read.error(operator, f"does not fit its tensors ({reason(error)}); export the model again") from error
    return Model(
        path.stem,
        hashlib.sha256(data).hexdigest(),
        _module(read, parameters, outputs),
        inputs,
        outputs,
        Rounding.TFLITE,
        data,
    )


def _compute(read: TfliteReader, operator: FileOperator, handlers: Mapping[str, Handler]) -> None:
    """Add what an operator computes to what is known."""
    function = reals.functions(operator)
    if function is not None and operator.inputs[0] in read.reals:
        read.reals[operator.outputs[0]] = read.reals[operator.inputs[0]].then(function)
        return
    if operator.name not in handlers:
        raise read.error(operator, "cannot be compiled; replace it in the model")
    handler = handlers[operator.name]
    if reals.is_moved(read, operator):
        read.reals[operator.outputs[0]] = reals.moved(read, operator, handler)
        return
    results = handler(read, operator)
    computed = cast("tuple[relay.Expr, ...]", results) if isinstance(results, tuple) else (results,)
    for number, result in zip(operator.outputs, computed, strict=True):
        read.expressions[number] = _named(result, read.file.tensors[number].name)


def _named(result: relay.Expr, name: str) -> relay.Expr:
    """A call with the name of the file's tensor that it computes."""
    if not isinstance(result, relay.Call) or not name:
        return result
    span = relay.Span(relay.SourceName(name), 0, 0, 0, 0)
    return relay.Call(result.op, result.args, result.attrs, result.type_args, span)


def _border(file: File, number: int, path: Path) -> ModelTensor:
    """An input or output of the network."""
    tensor = file.tensors[number]
    if tensor.dtype not in _DTYPES:
        raise ModelError(f"{path} has the input or output {tensor.name!r} of type {tensor.dtype}; {QUANTIZE}")
    whole = len(tensor.scales) == 1 and tensor.dtype != "float32"
    quantization = Quantization(float(tensor.scales[0]), int(tensor.zero_points[0])) if whole else None
    return ModelTensor(tensor.name, tensor.shape, tensor.dtype, quantization, "NHWC" if len(tensor.shape) == 4 else "")


def _module(read: TfliteReader, parameters: list[relay.Expr], outputs: tuple[ModelTensor, ...]) -> tvm.IRModule:
    """The network, types inferred and compared with those of the file."""
    path = read.path
    results: list[relay.Expr] = []
    for number, output in zip(read.file.outputs, outputs, strict=True):
        if number not in read.expressions and number not in read.reals:
            raise ModelError(f"{path} has the output {output.name!r}, which nothing computes; export the model again")
        results.append(read.expressions[number] if number in read.expressions else read.reals[number].expr)
    body = results[0] if len(results) == 1 else relay.Tuple(results)
    try:
        function = relay.Function(parameters, body)
        module = relay.transform.InferType()(tvm.IRModule.from_expr(function))
    except tvm.TVMError as error:
        raise ModelError(f"{path} has tensors that do not fit together ({reason(error)}); export it again") from error
    kind = module["main"].ret_type
    kinds = list(kind.fields) if isinstance(kind, tvm.ir.TupleType) else [kind]
    for output, found in zip(outputs, kinds, strict=True):
        shape = tuple(int(extent) for extent in found.shape)
        if (shape, str(found.dtype)) != (output.shape, output.dtype):
            raise ModelError(
                f"{path} says that {output.name!r} is {output.dtype} {list(output.shape)}, but what computes it makes "
                f"{found.dtype} {list(shape)}; export the model again"
            )
    return module


def _handlers() -> Mapping[str, Handler]:
    """Who reads an operator, by its name in TFLite's schema."""
    return {
        "CONV_2D": layers.conv2d,
        "DEPTHWISE_CONV_2D": layers.depthwise_conv2d,
        "TRANSPOSE_CONV": layers.transpose_conv,
        "FULLY_CONNECTED": layers.fully_connected,
        "BATCH_MATMUL": layers.batch_matmul,
        "AVERAGE_POOL_2D": pooling.average_pool,
        "MAX_POOL_2D": pooling.max_pool,
        "MEAN": reductions.mean,
        "SUM": reductions.total,
        "REDUCE_MAX": reductions.extreme(relay.max),
        "REDUCE_MIN": reductions.extreme(relay.min),
        "REDUCE_ANY": reductions.extreme(relay.any),
        "REDUCE_ALL": reductions.extreme(relay.all),
        "ARG_MAX": reductions.where_extreme(relay.argmax),
        "ARG_MIN": reductions.where_extreme(relay.argmin),
        "L2_NORMALIZATION": reductions.l2_normalization,
        "SOFTMAX": exponentials.softmax,
        "LOG_SOFTMAX": exponentials.log_softmax,
        "UNIDIRECTIONAL_SEQUENCE_LSTM": recurrent.lstm,
        "ADD": elementwise.add,
        "SUB": elementwise.subtract,
        "MUL": elementwise.multiplication,
        "DIV": elementwise.division,
        "SQUARED_DIFFERENCE": elementwise.squared_difference,
        "ADD_N": elementwise.add_n,
        "CUMSUM": elementwise.cumulative_sum,
        "MAXIMUM": elementwise.extremum(relay.maximum),
        "MINIMUM": elementwise.extremum(relay.minimum),
        "EQUAL": elementwise.comparison(relay.equal),
        "NOT_EQUAL": elementwise.comparison(relay.not_equal),
        "GREATER": elementwise.comparison(relay.greater),
        "GREATER_EQUAL": elementwise.comparison(relay.greater_equal),
        "LESS": elementwise.comparison(relay.less),
        "LESS_EQUAL": elementwise.comparison(relay.less_equal),
        "SELECT": elementwise.select,
        "SELECT_V2": elementwise.select,
        "LOGICAL_AND": elementwise.logical(relay.logical_and),
        "LOGICAL_OR": elementwise.logical(relay.logical_or),
        "LOGICAL_NOT": elementwise.logical(relay.logical_not),
        "CAST": elementwise.cast,
        "LOGISTIC": tables.logistic,
        "TANH": tables.tanh,
        "HARD_SWISH": tables.hard_swish,
        "RELU": tables.relu,
        "RELU6": tables.relu6,
        "LEAKY_RELU": tables.leaky_relu,
        "PRELU": tables.prelu,
        "ELU": tables.elu,
        "ABS": tables.absolute,
        "RSQRT": tables.inverse_root,
        "EXP": tables.exponential,
        "NEG": tables.negative,
        "LOG": tables.logarithm,
        "GELU": tables.gelu,
        "SVDF": recurrent.svdf,
        "QUANTIZE": borders.quantize,
        "DEQUANTIZE": borders.dequantize,
        "RESIZE_BILINEAR": resize.bilinear,
        "RESIZE_NEAREST_NEIGHBOR": resize.nearest,
        "RESHAPE": shapes.reshape,
        "SQUEEZE": shapes.reshape,
        "EXPAND_DIMS": shapes.reshape,
        "TRANSPOSE": shapes.transpose,
        "CONCATENATION": shapes.concatenation,
        "PACK": shapes.pack,
        "UNPACK": shapes.unpack,
        "SPLIT": shapes.split,
        "SPLIT_V": shapes.split_v,
        "SLICE": shapes.slice_,
        "STRIDED_SLICE": shapes.strided_slice,
        "GATHER": shapes.gather,
        "GATHER_ND": shapes.gather_nd,
        "EMBEDDING_LOOKUP": shapes.embedding_lookup,
        "TILE": shapes.tile,
        "BROADCAST_TO": shapes.broadcast_to,
        "REVERSE_V2": shapes.reverse,
        "PAD": shapes.pad,
        "PADV2": shapes.pad,
        "MIRROR_PAD": shapes.mirror_pad,
        "SPACE_TO_DEPTH": shapes.space_to_depth,
        "DEPTH_TO_SPACE": shapes.depth_to_space,
        "SPACE_TO_BATCH_ND": shapes.space_to_batch,
        "BATCH_TO_SPACE_ND": shapes.batch_to_space,
        "DYNAMIC_UPDATE_SLICE": shapes.dynamic_update_slice,
        "SHAPE": shapes.shape,
        "FILL": shapes.fill,
        "ZEROS_LIKE": shapes.zeros_like,
    }
