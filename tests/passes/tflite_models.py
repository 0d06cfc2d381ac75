"""TFLite files written for a test, and TFLite Micro to run them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import flatbuffers
import numpy as np
import numpy.typing as npt
from tflite_micro.python.tflite_micro import runtime
from tflite_micro.tensorflow.lite.micro.python import schema_py_generated

schema: Any = schema_py_generated
_TYPES = {"float32": 0, "int32": 2, "uint8": 3, "int64": 4, "bool": 6, "int16": 7, "int8": 9, "resource": 13}


@dataclass
class TfliteModel:
    """One subgraph, built operator by operator; tensors are named by the numbers that the methods return.

    `others` are subgraphs without inputs and outputs behind it, which share its buffers.
    """

    tensors: list[Any] = field(default_factory=list)
    buffers: list[Any] = field(default_factory=lambda: [schema.BufferT()])
    operators: list[Any] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)
    others: list[TfliteModel] = field(default_factory=list)

    def subgraph(self) -> TfliteModel:
        """Another subgraph, behind this one."""
        self.others.append(TfliteModel(buffers=self.buffers, codes=self.codes))
        return self.others[-1]

    def tensor(
        self,
        shape: Sequence[int],
        dtype: str = "int8",
        scale: npt.ArrayLike | None = None,
        zero_point: int = 0,
        data: npt.NDArray | None = None,
        axis: int = 0,
        variable: bool = False,
    ) -> int:
        tensor = schema.TensorT()
        tensor.isVariable = variable
        tensor.name = f"t{len(self.tensors)}".encode()
        tensor.shape, tensor.type = list(shape), _TYPES[dtype]
        tensor.buffer = 0
        if data is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(np.ascontiguousarray(data.astype(dtype)).tobytes(), np.uint8)
            self.buffers.append(buffer)
            tensor.buffer = len(self.buffers) - 1
        if scale is not None:
            scales = np.atleast_1d(np.asarray(scale, np.float32))
            quantization = schema.QuantizationParametersT()
            quantization.scale, quantization.zeroPoint = scales.tolist(), [zero_point] * len(scales)
            quantization.quantizedDimension = axis
            tensor.quantization = quantization
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def operator(
        self,
        name: str,
        inputs: Sequence[int],
        output: int | Sequence[int],
        options: str | None = None,
        *,
        intermediates: Sequence[int] = (),
        **values: Any,
    ) -> int:
        """Add an operator; the number of its first output. An input of -1 is an optional one that is left out."""
        outputs = [output] if isinstance(output, int) else list(output)
        code = getattr(schema.BuiltinOperator, name)
        if code not in self.codes:
            self.codes.append(code)
        operator = schema.OperatorT()
        operator.opcodeIndex, operator.inputs, operator.outputs = self.codes.index(code), list(inputs), outputs
        if intermediates:
            operator.intermediates = list(intermediates)
        if options is not None:
            operator.builtinOptionsType = getattr(schema.BuiltinOptions, options)
            operator.builtinOptions = getattr(schema, options + "T")()
            for key, value in values.items():
                assert hasattr(operator.builtinOptions, key)
                setattr(operator.builtinOptions, key, value)
        self.operators.append(operator)
        return outputs[0] if outputs else -1

    def build(self, inputs: Sequence[int], outputs: Sequence[int]) -> bytes:
        model = schema.ModelT()
        model.version, model.buffers, model.subgraphs = 3, self.buffers, []
        for own, given, handed_out in ((self, inputs, outputs), *((other, (), ()) for other in self.others)):
            graph = schema.SubGraphT()
            graph.tensors, graph.operators = own.tensors, own.operators
            graph.inputs, graph.outputs = list(given), list(handed_out)
            model.subgraphs.append(graph)
        model.operatorCodes = []
        for code in self.codes:
            entry = schema.OperatorCodeT()
            entry.builtinCode, entry.deprecatedBuiltinCode, entry.version = code, min(code, 127), 1
            model.operatorCodes.append(entry)
        return packed(model)


def with_outputs(data: bytes, inner: bool) -> bytes:
    """A copy of a model whose outputs are those of every operator but softmax, or the last of these alone."""
    model = schema.ModelT.InitFromPackedBuf(data, 0)
    graph = model.subgraphs[0]
    codes = [max(code.builtinCode, code.deprecatedBuiltinCode) for code in model.operatorCodes]
    softmax = schema.BuiltinOperator.SOFTMAX
    outputs = [operator.outputs[0] for operator in graph.operators if codes[operator.opcodeIndex] != softmax]
    graph.outputs = outputs if inner else outputs[-1:]
    model.signatureDefs = None
    return packed(model)


def with_buffers_outside(data: bytes) -> bytes:
    """A copy of a model as newer quantizers write it: constants behind the flatbuffer, later operator codes."""
    model = schema.ModelT.InitFromPackedBuf(data, 0)
    for code in model.operatorCodes:
        code.deprecatedBuiltinCode = 0
    constants = {buffer: bytes(buffer.data) for buffer in model.buffers if buffer.data is not None}
    for buffer, values in constants.items():
        buffer.data, buffer.offset, buffer.size = None, 2, len(values)  # as many bytes as with the right offset
    end = -(-len(packed(model)) // 16) * 16
    behind = b""
    for buffer, values in constants.items():
        buffer.offset = end + len(behind)
        behind += values + bytes(-len(values) % 16)
    return packed(model).ljust(end, b"\0") + behind


def packed(model: Any) -> bytes:
    """The bytes of a file of the schema's objects."""
    builder = flatbuffers.Builder(1 << 16)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


class Micro:
    """TFLite Micro's interpreter on a model."""

    def __init__(self, data: bytes, outputs: int) -> None:
        self._interpreter = runtime.Interpreter.from_bytes(data, arena_size=1 << 22)
        self._outputs = outputs

    def __call__(self, *inputs: npt.NDArray) -> list[npt.NDArray]:
        """Outputs for one sample; state is what it is at the start."""
        self._interpreter.reset()
        for index, value in enumerate(inputs):
            self._interpreter.set_input(value, index)
        self._interpreter.invoke()
        return [self._interpreter.get_output(index).copy() for index in range(self._outputs)]
