"""TFLite files: checked, then imported by TVM with the rounding of TFLite Micro where the importer's differs."""

from __future__ import annotations

import hashlib
import math
import struct
from pathlib import Path
from typing import Any

import numpy as np
import tflite

from match.errors import ModelError
from match.frontend.failures import reason
from match.frontend.model import Model, Rounding, Tensor
from match.frontend.relay import bind, check_quantized
from match.frontend.tflite_options import check_options
from match.relay import relay, tvm

_QUANTIZE = (
    "quantize weights and activations to int8 in TensorFlow's converter, with Optimize.DEFAULT, a "
    "representative_dataset and the operators TFLITE_BUILTINS_INT8 (https://www.tensorflow.org/lite/performance/post_training_integer_quant)"
)
_DTYPES = {tflite.TensorType.FLOAT32: "float32", tflite.TensorType.INT8: "int8", tflite.TensorType.UINT8: "uint8"}
_ARITHMETIC = frozenset(
    {"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV", "BATCH_MATMUL", "ADD", "SUB", "MUL"}
    | {"AVERAGE_POOL_2D", "MAX_POOL_2D", "MEAN", "SUM"}
)
# What reading a file with wild offsets and lengths can raise, here and in the importer.
_MALFORMED = (struct.error, IndexError, KeyError, ValueError, TypeError, AttributeError, OverflowError, AssertionError)


def from_tflite(data: bytes, path: Path) -> Model:
    """The network in the bytes of a TFLite file; `path` is what errors call it.

    Raises:
        ModelError: as `match.frontend.load`.
    """
    graph = _Graph.read(data, path)
    try:
        module, params = relay.frontend.from_tflite(graph.model, op_converter=_Converter)
    except tvm.error.OpNotImplemented as error:
        # The importer's message lists the operators, each in quotes, on one or more lines.
        operators = ", ".join(dict.fromkeys(str(error).split("'")[1::2])) or "an operator"
        raise ModelError(f"{path} uses {operators}, which cannot be compiled; replace it in the model") from error
    except (*_MALFORMED, NotImplementedError, tvm.TVMError) as error:
        raise ModelError(f"{path} has something TVM's TFLite importer does not support: {reason(error)}") from error
    bound = bind(module, params, str(path))
    check_quantized(bound, str(path), _QUANTIZE)
    digest = hashlib.sha256(data).hexdigest()
    return Model(path.stem, digest, bound, graph.inputs, graph.outputs, Rounding.TFLITE, data)


def is_tflite(data: bytes) -> bool:
    """Whether these are the bytes of a TFLite file: a flatbuffer with the identifier TFL3."""
    return data[4:8] == b"TFL3"


class _Graph:
    """The checked flatbuffer: one subgraph of static shapes that computes in 8 bits."""

    def __init__(self, data: bytes, path: Path) -> None:
        self.path = path
        self.model = tflite.Model.GetRootAsModel(data, 0)
        if self.model.SubgraphsLength() != 1:
            raise ModelError(f"{path} has {self.model.SubgraphsLength()} subgraphs; only models with one are supported")
        self.subgraph = self.model.Subgraphs(0)
        self.inputs = tuple(self._tensor(int(index)) for index in self.subgraph.InputsAsNumpy())
        self.outputs = tuple(self._tensor(int(index)) for index in self.subgraph.OutputsAsNumpy())
        self._check_buffers()
        self._check_operators()

    @classmethod
    def read(cls, data: bytes, path: Path) -> _Graph:
        if not is_tflite(data):
            raise ModelError(f"{path} is not a TFLite file: it lacks the identifier TFL3; check what was exported")
        try:
            return cls(data, path)
        except _MALFORMED as error:
            raise ModelError(f"{path} is truncated or corrupt; export or download the model again") from error

    def _tensor(self, index: int) -> Tensor:
        tensor = self.subgraph.Tensors(index)
        name = tensor.Name().decode()
        shape = tuple(int(extent) for extent in tensor.ShapeAsNumpy()) if tensor.ShapeLength() else ()
        # A free batch size (-1 first in the signature) is 1 in the shape, as TFLite Micro takes it too.
        signature = [int(tensor.ShapeSignature(axis)) for axis in range(tensor.ShapeSignatureLength())]
        if any(extent <= 0 for extent in shape) or any(extent < 0 for extent in signature[1:]):
            raise ModelError(f"{self.path} has a dynamic shape at {name!r}; fix every dimension before compiling")
        if tensor.Type() not in _DTYPES:
            raise ModelError(f"{self.path} has the input or output {name!r} that is neither int8, uint8 nor float32")
        return Tensor(name, shape, _DTYPES[tensor.Type()])

    def _check_buffers(self) -> None:
        for index in range(self.model.BuffersLength()):
            self.model.Buffers(index).DataAsNumpy()  # raises where the data would lie beyond the end of the file

    def _check_operators(self) -> None:
        codes: dict[str, Any] = tflite.BuiltinOperator.__dict__
        names = {value: name for name, value in codes.items() if not name.startswith("_")}
        for position in range(self.subgraph.OperatorsLength()):
            operator = self.subgraph.Operators(position)
            code = self.model.OperatorCodes(operator.OpcodeIndex())
            name = names.get(max(code.BuiltinCode(), code.DeprecatedBuiltinCode()), "?")
            first = self.subgraph.Tensors(operator.Inputs(0)) if operator.InputsLength() else None
            where = f"operator {position}, {name},"
            check_options(name, operator, where, self.path)
            if first is None or name not in _ARITHMETIC:
                continue
            if first.Type() == tflite.TensorType.FLOAT32:
                raise ModelError(f"{self.path} is a float model: {where} computes in float32; {_QUANTIZE}")
            if first.Type() not in (tflite.TensorType.INT8, tflite.TensorType.UINT8):
                raise ModelError(f"{self.path} is not an 8-bit model: {where} has wider activations; {_QUANTIZE}")


class _Converter(relay.frontend.tflite.OperatorConverter):
    """TVM's importer with what it drops of softmax, and fused activations' clamps rounded as TFLite Micro does."""

    def convert_softmax(self, op: Any) -> relay.Expr:
        """Softmax over the last axis of the input times beta."""
        (x,), (output,) = self.get_input_tensors(op), self.get_output_tensors(op)
        options, table = tflite.SoftmaxOptions(), op.BuiltinOptions()
        if table is not None:
            options.Init(table.Bytes, table.Pos)
        beta = np.float32(1 if table is None else options.Beta())
        if not 0 < beta < np.inf:
            raise tvm.error.OpNotImplemented(f"the operator 'SOFTMAX with a Beta of {beta}'")
        expr = self.get_expr(x.tensor_idx)
        expr = self.dequantize(expr, x) if x.qnn_params else expr
        expr = relay.nn.softmax(expr if beta == 1 else relay.multiply(expr, relay.const(beta)), axis=-1)
        return self.quantize(expr, output) if output.qnn_params else expr

    def convert_qnn_fused_activation_function(
        self, expr: relay.Expr, fused_activation_fn: int, scale: float, zero_point: int, dtype: str
    ) -> relay.Expr:
        """Clip `expr` to the activation: bounds divided by the scale in float32 and rounded half away from zero."""
        kind = tflite.ActivationFunctionType
        bounds = {
            kind.NONE: (-math.inf, math.inf),
            kind.RELU: (0.0, math.inf),
            kind.RELU6: (0.0, 6.0),
            kind.RELU_N1_TO_1: (-1.0, 1.0),
        }
        if fused_activation_fn not in bounds:
            raise tvm.error.OpNotImplemented(f"the fused activation '{self.activation_fn_type[fused_activation_fn]}'")
        if fused_activation_fn == kind.NONE:
            return expr
        limits = np.iinfo(dtype)

        def quantize(bound: float) -> int:
            if math.isinf(bound):
                return limits.min if bound < 0 else limits.max
            quotient = float(np.float32(bound) / np.float32(scale))
            rounded = int(math.copysign(math.floor(abs(quotient) + 0.5), quotient))
            return min(max(rounded + zero_point, limits.min), limits.max)

        low, high = (quantize(bound) for bound in bounds[fused_activation_fn])
        return relay.clip(expr, low, high)
