"""TFLite Micro with help: networks with GELU and TILE, which it has no int8 kernel for.

These operators are taken out of the file and computed with NumPy. What they read is an output of the rest, what they
write an input.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import flatbuffers
import numpy as np
import numpy.typing as npt

from tests.passes.tflite_models import Micro, schema

Array = npt.NDArray[Any]


class Assisted:
    """Runs a file's network on TFLite Micro, and its GELU and TILE operators in NumPy."""

    def __init__(self, data: bytes) -> None:
        self._model = schema.ModelT.InitFromPackedBuf(data, 0)
        graph = self._model.subgraphs[0]
        codes = [self._model.operatorCodes[operator.opcodeIndex].builtinCode for operator in graph.operators]
        helped = {schema.BuiltinOperator.GELU: self._gelu, schema.BuiltinOperator.TILE: self._tile}
        pairs = list(zip(graph.operators, codes, strict=True))
        self._tensors: Sequence[Any] = graph.tensors
        self._helped = [(operator, helped[code]) for operator, code in pairs if code in helped]
        self._outputs = len(graph.outputs)
        graph.operators = [operator for operator, code in pairs if code not in helped]
        graph.inputs = [*graph.inputs, *(operator.outputs[0] for operator, _ in self._helped)]
        graph.outputs = [*graph.outputs, *(operator.inputs[0] for operator, _ in self._helped)]
        self._model.signatureDefs = []
        builder = flatbuffers.Builder(1024)
        builder.Finish(self._model.Pack(builder), b"TFL3")
        self._micro = Micro(bytes(builder.Output()), len(graph.outputs))

    def __call__(self, *inputs: Array) -> list[Array]:
        """The outputs for one sample: each run makes what the next operator in NumPy reads."""
        made = [np.zeros(self._tensors[operator.outputs[0]].shape, np.int8) for operator, _ in self._helped]
        for number, (operator, compute) in enumerate(self._helped):
            made[number] = compute(operator, self._micro(*inputs, *made)[self._outputs + number])
        return list(self._micro(*inputs, *made)[: self._outputs])

    def _gelu(self, operator: Any, x: Array) -> Array:
        """A table of TFLite's float32 formula for each value."""
        (scale, zero), (out_scale, out_zero) = (
            (np.float32(tensor.quantization.scale[0]), int(tensor.quantization.zeroPoint[0]))
            for tensor in (self._tensors[operator.inputs[0]], self._tensors[operator.outputs[0]])
        )
        table = np.empty(256, np.int8)
        for value in range(-128, 128):
            real = float(scale * np.float32(value - zero))
            if operator.builtinOptions is not None and operator.builtinOptions.approximate:
                share = math.tanh(math.sqrt(2 / math.pi) * (real + 0.044715 * real**3))
            else:
                share = math.erf(real / math.sqrt(2))
            scaled = 0.5 * real * (1 + share) / float(out_scale)
            rounded = math.copysign(math.floor(abs(scaled) + 0.5), scaled)
            table[value + 128] = np.clip(rounded + out_zero, -128, 127)
        return table[x.astype(np.int64) + 128]

    def _tile(self, operator: Any, x: Array) -> Array:
        times = np.frombuffer(bytes(self._model.buffers[self._tensors[operator.inputs[1]].buffer].data), np.int32)
        return np.tile(x, times)
