"""Small float networks, quantized by onnxruntime's static quantization and run by onnxruntime."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

from match.validation.exact_session import exact_session

QUANTIZING = ("QuantizeLinear", "QLinear", "QGemm")


class OnnxModel:
    """A chain of operators with random weights; `current` names the last tensor and `channels` counts its channels."""

    def __init__(self, shape: Sequence[int], seed: int = 3) -> None:
        self.shape = list(shape)
        self.rng = np.random.default_rng(seed)
        self.current, self.channels = "x", shape[1]
        self.nodes: list[Any] = []
        self._initializers: list[Any] = []

    def constant(self, values: npt.NDArray) -> str:
        """The name of a constant: int64 (shapes, axes) as they are, other numbers as float32."""
        name = f"c{len(self._initializers)}"
        values = values if values.dtype == np.int64 else values.astype(np.float32)
        self._initializers.append(numpy_helper.from_array(values, name))
        return name

    def add(self, kind: str, *more: str, **attributes: Any) -> str:
        """Append an operator on the last tensor and others."""
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, [self.current, *more], [name], name=f"{kind}_{name}", **attributes))
        self.current = name
        return name

    def split(self, *parts: str, axis: int, sizes: Sequence[int] | None = None) -> None:
        """Append a Split of the last tensor, in equal parts or of these sizes; `current` is the last of them."""
        numbers = [] if sizes is None else [self.constant(np.array(sizes))]
        self.nodes.append(helper.make_node("Split", [self.current, *numbers], parts, axis=axis, name="split"))
        self.current = parts[-1]

    def conv(
        self, filters: int, kernel: tuple[int, ...] = (3, 3), group: int = 1, bias: bool = True, **attributes: Any
    ) -> str:
        fan_in = math.prod(kernel) * self.channels // group
        shape = (filters, self.channels // group, *kernel)
        parameters = [self.constant(self.rng.normal(0, fan_in**-0.5, shape))]
        if bias:
            parameters.append(self.constant(self.rng.normal(0, 0.3, filters)))
        self.channels = filters
        return self.add("Conv", *parameters, kernel_shape=list(kernel), group=group, **attributes)

    def gemm(self, inputs: int, outputs: int, transposed: bool = True, bias: bool = True) -> str:
        shape = (outputs, inputs) if transposed else (inputs, outputs)
        parameters = [self.constant(self.rng.normal(0, inputs**-0.5, shape))]
        if bias:
            parameters.append(self.constant(self.rng.normal(0, 0.3, outputs)))
        return self.add("Gemm", *parameters, transB=int(transposed))

    def build(self, more: Sequence[Any] = ()) -> Any:
        """The model, with more constants that operators name."""
        graph = helper.make_graph(
            self.nodes,
            "network",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)],
            [helper.make_tensor_value_info(self.current, TensorProto.FLOAT, None)],
            [*self._initializers, *more],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        return onnx.shape_inference.infer_shapes(model)


class _Normal(CalibrationDataReader):
    def __init__(self, shape: Sequence[int]) -> None:
        rng = np.random.default_rng(0)
        self._samples = iter([{"x": rng.normal(0, 1, shape).astype(np.float32)} for _ in range(6)])

    def get_next(self) -> Any:
        return next(self._samples, None)


def quantize(model: OnnxModel, folder: Path, form: str, activations: str, per_channel: bool) -> Path:
    """The quantized file. Weights have 7 bits: with 8, x86 without VNNI saturates inside onnxruntime's products."""
    source, target = folder / "float.onnx", folder / "quantized.onnx"
    onnx.save(model.build(), source)
    disabled = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        quantize_static(
            source,
            target,
            _Normal(model.shape),
            quant_format=QuantFormat[form],
            per_channel=per_channel,
            reduce_range=True,
            activation_type=QuantType[activations],
            weight_type=QuantType.QInt8,
        )
    finally:
        logging.disable(disabled)
    return target


def expose_integers(path: Path) -> Path:
    """A copy of the model whose outputs are the results of all its quantizing operators."""
    model = onnx.load(path)
    graph = model.graph
    names = [node.output[0] for node in graph.node if node.op_type.startswith(QUANTIZING)]
    del graph.output[:]
    graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names)
    shape = [dim.dim_value for dim in graph.input[0].type.tensor_type.shape.dim]
    results = exact_session(model.SerializeToString()).run(None, {graph.input[0].name: np.zeros(shape, np.float32)})
    del graph.output[:]
    for name, result in zip(names, results, strict=True):
        kind = helper.np_dtype_to_tensor_dtype(result.dtype)
        graph.output.append(helper.make_tensor_value_info(name, kind, result.shape))
    exposed = path.with_name("exposed.onnx")
    onnx.save(model, exposed)
    return exposed


def executed_operators(path: Path) -> set[str]:
    """The operators that onnxruntime executes for a model, after its fusions."""
    optimized = path.with_name("optimized.onnx")
    exact_session(path, optimized=optimized)
    return {node.op_type for node in onnx.load(optimized).graph.node}
