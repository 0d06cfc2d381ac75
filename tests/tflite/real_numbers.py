"""Files of 8-bit operators with real numbers in the place of 8-bit integers, but for the inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.passes.tflite_models import packed, schema

_TYPES = {7: np.int16, 2: np.int32, 9: np.int8}
"""NumPy's types of those in the schema that have scales."""


def with_real_numbers(data: bytes) -> bytes:
    """The file with DEQUANTIZE behind each quantized input; what is computed and quantized constants are real."""
    model = schema.ModelT.InitFromPackedBuf(data, 0)
    (graph,) = model.subgraphs
    code = schema.OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.DEQUANTIZE
    code.version = 1
    model.operatorCodes.append(code)
    operators: list[Any] = []
    for number, tensor in enumerate(list(graph.tensors)):
        if tensor.quantization is None or tensor.quantization.scale is None:
            continue
        kind, quantization = tensor.type, tensor.quantization
        tensor.type, tensor.quantization = schema.TensorType.FLOAT32, None
        buffer = model.buffers[tensor.buffer]
        if buffer.data is not None:
            values = np.frombuffer(bytes(buffer.data), _TYPES[kind]) * np.float32(quantization.scale[0])
            buffer.data = np.frombuffer(values.astype(np.float32).tobytes(), np.uint8)
        elif number in graph.inputs:
            given = schema.TensorT()
            given.name, given.shape, given.type, given.buffer = tensor.name, tensor.shape, kind, 0
            given.quantization, tensor.name = quantization, tensor.name + b"_real"
            graph.tensors.append(given)
            graph.inputs = [len(graph.tensors) - 1 if place == number else place for place in graph.inputs]
            operator = schema.OperatorT()
            operator.opcodeIndex = len(model.operatorCodes) - 1
            operator.inputs, operator.outputs = [len(graph.tensors) - 1], [number]
            operators.append(operator)
    graph.operators = [*operators, *graph.operators]
    return packed(model)
